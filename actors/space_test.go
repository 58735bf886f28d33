package actors

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pws/api"
	"pws/identity"
	"pws/internal/disk"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

const mib = 1 << 20

// TestReserveFitsTheDisk checks that the reserve always covers the snapshot that its sizes permit.
func TestReserveFitsTheDisk(t *testing.T) {
	for _, c := range []struct {
		name              string
		reserve, disk     int64
		want, blobs, logs int64
	}{
		{"a large disk", 0, 1 << 40, (256 + 128 + 8 + 32) * mib, 256 * mib, 128 * mib},
		{"a disk of 256 MiB", 0, 256 * mib, 64 * mib, 27962026, 13981013},
		{"a tiny disk", 0, 8 * mib, 2 * mib, mib, mib},
		{"a reserve that is given", 64 * mib, 1 << 40, 64 * mib, 27962026, 13981013},
		{"a reserve above all", 1 << 60, 1 << 40, 1 << 60, 256 * mib, 128 * mib},
		{"no reserve", -1, 1 << 40, -1, 256 * mib, 128 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Config{ReserveBytes: c.reserve, SnapshotBlobBytes: 256 * mib,
				SnapshotLogBytes: 128 * mib}
			if c.reserve == 0 {
				config.fitReserve(c.disk)
			}
			config.fitSnapshots()
			if config.ReserveBytes != c.want || config.SnapshotBlobBytes != c.blobs ||
				config.SnapshotLogBytes != c.logs {
				t.Errorf("reserve %d, contents %d, log %d", config.ReserveBytes,
					config.SnapshotBlobBytes, config.SnapshotLogBytes)
			}
			room := snapshotRoom(config.SnapshotBlobBytes, config.SnapshotLogBytes)
			floors := 2 * spaceFloor(config.ReserveBytes)
			excess := config.excess(config.SnapshotBlobBytes)
			if config.ReserveBytes >= 0 && room+floors > config.ReserveBytes+excess {
				t.Errorf("a snapshot of %d bytes and floors of %d do not fit into %d and %d", room,
					floors, config.ReserveBytes, excess)
			}
			if config.ReserveBytes > 16*mib && excess > 0 {
				t.Errorf("a reserve of %d lacks %d", config.ReserveBytes, excess)
			}
		})
	}
}

// TestReserveOfACrowdedDisk starts on a disk that others have filled: the reserve is a quarter of
// what is left, so that writes are accepted, and stays that AFTER the server has used a part.
func TestReserveOfACrowdedDisk(t *testing.T) {
	const left, want, few = 400 * mib, 100 * mib, mib / 2
	var free atomic.Int64
	free.Store(left)
	config := quiet(t.TempDir())
	config.ReserveBytes, config.free = 0, freeIn(&free)
	for n := range 2 {
		e := start(t, config)
		if space := e.Space(); !space.Writable ||
			space.ReserveBytes < want-few || space.ReserveBytes > want+few {
			t.Fatalf("%+v", space)
		}
		createProject(t, e, register(t, e, fmt.Sprint("owner", n)), work.Private)
		stop(t, e)
		free.Store(left - folderBytes(config.Dir))
	}
}

// smallDisk is a configuration whose free space the test says.
func smallDisk(dir string, free *atomic.Int64) Config {
	config := quiet(dir)
	config.ReserveBytes = 64 * mib
	config.free = freeIn(free)
	return config
}

var errNoStatfs = errors.New("the file system does not answer")

// freeIn answers with a number, and with errNoStatfs where it is negative.
func freeIn(free *atomic.Int64) func() (int64, error) {
	return func() (int64, error) {
		if free.Load() < 0 {
			return 0, errNoStatfs
		}
		return free.Load(), nil
	}
}

func refusedForSpace(err error) bool {
	var refusal *fault.Error
	return errors.As(err, &refusal) && refusal.Code == fault.StorageUnavailable &&
		refusal.Details["reason"] == reasonReserve
}

// TestSnapshotFitsIntoItsRoom saves contents that do not compress, up to the sizes that make a
// snapshot due, and measures what that takes.
func TestSnapshotFitsIntoItsRoom(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	config := smallDisk(t.TempDir(), &free)
	config.ReserveBytes = 16 * mib
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Private)
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, 3000)
	before := folderBytes(config.Dir + "/blobs")
	beforeSections := folderBytes(config.Dir + "/snapshot")
	for n := 0; e.blobs.RecentBytes() < e.config.SnapshotBlobBytes; n++ {
		_, _ = random.Read(content)
		text := fmt.Sprintf("%x", content)
		mustPut(t, e, project, owner, fmt.Sprintf("f%d", n), text)
	}
	saveAll(t, e)
	took := folderBytes(config.Dir+"/blobs") - before +
		folderBytes(config.Dir+"/snapshot") - beforeSections
	if room := snapshotRoom(e.config.SnapshotBlobBytes, e.config.SnapshotLogBytes); took > room {
		t.Errorf("a snapshot took %d bytes, and its room is %d", took, room)
	}
}

// TestNearlyFullDisk takes space away and gives it back: writes are refused and come back without a
// restart, sign-in and reads go on, the health says so, and the log has one line for each change.
func TestNearlyFullDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	var out lockedBuffer
	config := smallDisk(t.TempDir(), &free)
	config.Log = slog.New(slog.NewTextHandler(&out, nil))
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Private)
	mustPut(t, e, project, owner, "a", "1")
	if space := e.Space(); !space.Writable || space.ReserveBytes != 64*mib {
		t.Fatalf("%+v", space)
	}
	free.Store(64*mib - 1)
	settleSpace(t, e, false)
	for range 3 {
		e.space.noteSpace()
		if _, err := put(e, project, owner, "a", "2"); !refusedForSpace(err) {
			t.Fatalf("a write on a nearly full disk: %v", err)
		}
	}
	if got, _, err := contentOf(e, viewOf(t, e, project), "a"); err != nil || got != "1" {
		t.Fatalf("read %q: %v", got, err)
	}
	keys := e.Identity().Keys(owner)
	asks := identityOrderOf(&identity.RequestChallenge{
		AgentID: owner.Format(id.Agent), KeyID: keys[0].ID.Format(id.Key),
	})
	if _, err := e.DoIdentity(asks); err != nil {
		t.Fatalf("sign-in is refused: %v", err)
	}
	for _, check := range e.Health() {
		if check.Fault != "" {
			t.Errorf("%s has failed: %s", check.Name, check.Fault)
		}
	}
	// Below the floor of the log nothing is written at all.
	free.Store(1 * mib)
	settleSpace(t, e, false)
	if _, err := e.DoIdentity(asks); !refusedForSpace(err) {
		t.Fatalf("sign-in below the floor: %v", err)
	}
	free.Store(1 << 40)
	settleSpace(t, e, true)
	e.space.noteSpace()
	mustPut(t, e, project, owner, "a", "3")
	checkLines(t, e, &out, map[string]int{"nearly full": 1, "available again": 1})
	// Where the file system does not answer, the log says why.
	free.Store(-1)
	settleSpace(t, e, false)
	e.space.noteSpace()
	if _, err := put(e, project, owner, "a", "4"); !refusedForSpace(err) {
		t.Fatalf("a write on a disk that does not answer: %v", err)
	}
	checkLines(t, e, &out, map[string]int{"nearly full": 1, errNoStatfs.Error(): 1})
	free.Store(1 << 40)
	settleSpace(t, e, true)
	e.space.noteSpace()
	checkLines(t, e, &out, map[string]int{"available again": 2})
}

// fillingUp is a journal of a disk that fills up AFTER the first look. Unless the space is locked,
// another goroutine notes the full disk BEFORE the first look is noted.
type fillingUp struct {
	journal.Journal
	space *diskSpace
	looks int
}

// Space implements journal.Journal.
func (f *fillingUp) Space() journal.Space {
	if f.looks++; f.looks > 1 {
		return journal.Space{}
	}
	if f.space.noting.TryLock() {
		f.space.noting.Unlock()
		f.space.noteSpace()
	}
	return journal.Space{Writable: true}
}

// TestSpaceIsNotedInOrder looks at the space twice while a disk fills up. The older look is noted
// first: nothing becomes available.
func TestSpaceIsNotedInOrder(t *testing.T) {
	var out lockedBuffer
	filling := &fillingUp{}
	e := &Engine{journal: filling, log: slog.New(slog.NewTextHandler(&out, nil))}
	e.reign.Store(1)
	filling.space = newDiskSpace(e)
	filling.space.noteSpace()
	filling.space.noteSpace()
	log := out.String()
	if !filling.space.short.Load() || strings.Contains(log, "available again") {
		t.Errorf("the log says: %s", log)
	}
}

// checkLines expects lines in a log.
func checkLines(t *testing.T, e *Engine, out *lockedBuffer, want map[string]int) {
	t.Helper()
	for line, times := range want {
		// The engine itself looks as well, and it may be about to log what it saw.
		waitFor(t, func() bool { return strings.Count(out.String(), line) >= times })
		e.space.noteSpace()
		if got := strings.Count(out.String(), line); got != times {
			t.Errorf("%d lines with %q:\n%s", got, line, out.String())
		}
	}
}

// TestRejectedEntryLeavesNoTrace has a nearly full disk refuse an entry of identity and one of a
// project: what is decided later, on the same disk and on one with space, knows nothing of them.
func TestRejectedEntryLeavesNoTrace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	e := start(t, smallDisk(t.TempDir(), &free))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Private)
	before := fullState(t, e)
	complaint := identityOrderOf(&identity.MakeReport{
		Agent: owner, Type: identity.ReportedProject, Entity: project, Reason: identity.ReasonSpam,
	})
	free.Store(64*mib - 1)
	settleSpace(t, e, false)
	if _, err := e.DoIdentity(complaint); !refusedForSpace(err) {
		t.Fatalf("a report on a nearly full disk: %v", err)
	}
	if _, err := put(e, project, owner, "refused", "1"); !refusedForSpace(err) {
		t.Fatalf("a write on a nearly full disk: %v", err)
	}
	if done, err := e.DoIdentity(pruneOrder); err != nil || done.State != e.Identity() {
		t.Errorf("identity decides on another state than the published one: %v", err)
	}
	nothing := api.Order{Project: project, Agent: owner, Command: new(work.UnwatchProject)}
	if done, err := e.Do(nothing); err != nil || done.Project != viewOf(t, e, project) {
		t.Errorf("the project decides on another state than the published one: %v", err)
	}
	sameState(t, "refused", before, fullState(t, e))
	free.Store(1 << 40)
	settleSpace(t, e, true)
	if _, err := e.DoIdentity(complaint); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, project, owner, "taken", "1")
	if reports := e.Identity().Counts().Reports; reports != 1 {
		t.Errorf("there are %d reports, want 1", reports)
	}
	if files := viewOf(t, e, project).FilesCount(); files != 1 {
		t.Errorf("there are %d files, want 1", files)
	}
	again := start(t, quiet(crashCopy(t, e.config.Dir)))
	sameState(t, "behind a kill", fullState(t, e), fullState(t, again))
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// settleSpace looks until the log has seen the present space.
func settleSpace(t *testing.T, e *Engine, writable bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		free, _ := e.config.free()
		if space := e.Space(); space.Writable == writable && space.FreeBytes <= free &&
			free-space.FreeBytes < mib {
			return
		}
	}
	t.Fatalf("%+v", e.Space())
}

// TestSnapshotWaitsForSpace has a snapshot meet a disk without room for it: that is no fault, the
// log keeps everything, and the next one with space saves it.
func TestSnapshotWaitsForSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	e := start(t, smallDisk(t.TempDir(), &free))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Private)
	mustPut(t, e, project, owner, "a", strings.Repeat("x", 1000))
	before := e.snapshot.Position()
	free.Store(12 * mib)
	if err := e.Save(); !disk.IsFull(err) {
		t.Fatalf("a snapshot without room: %v", err)
	}
	for _, check := range e.Health() {
		if check.Fault != "" || check.Paused != (check.Name == "snapshot") {
			t.Errorf("%+v", check)
		}
	}
	// Within the reserve there is room for it: it lets the log be cut.
	free.Store(40 * mib)
	saveAll(t, e)
	if now := e.snapshot.Position(); now <= before {
		t.Fatalf("the snapshot covers %d, as before", now)
	}
	for _, check := range e.Health() {
		if check.Fault != "" || check.Paused {
			t.Errorf("%+v", check)
		}
	}
}

// TestSnapshotIsTriedWithSpace has snapshots fail for want of space. The pause behind that ends
// when there is room, or when writes are accepted again. Room is not enough for one that has
// written.
func TestSnapshotIsTriedWithSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	e := start(t, smallDisk(t.TempDir(), &free))
	register(t, e, "owner")
	expect := func(when string, allowed bool) {
		t.Helper()
		e.saver.running.Lock()
		now := e.saver.lastAt
		e.saver.running.Unlock()
		if got := e.saver.saveAllowed(now); got != allowed {
			t.Errorf("%s, a snapshot is tried: %t, want %t", when, got, allowed)
		}
	}
	free.Store(12 * mib)
	if err := e.Save(); !disk.IsFull(err) {
		t.Fatal(err)
	}
	expect("without room", false)
	free.Store(40 * mib)
	expect("with room", true)
	hook := func(hook func(string) error) {
		e.saver.running.Lock()
		defer e.saver.running.Unlock()
		e.saver.hook = hook
	}
	hook(func(string) error { return disk.ErrNoRoom })
	defer hook(nil)
	settleSpace(t, e, false)
	e.space.noteSpace()
	for range 2 {
		if err := e.Save(); !disk.IsFull(err) {
			t.Fatal(err)
		}
		expect("AFTER it has filled the disk", false)
		free.Store(1 << 40)
		settleSpace(t, e, true)
		e.space.noteSpace()
		// The engine itself notes it as well, and may be about to.
		waitFor(t, e.space.freed.Load)
		expect("with space for writes", true)
		free.Store(40 * mib)
		settleSpace(t, e, false)
		e.space.noteSpace()
	}
}

// TestSearchKeepsAwayFromTheReserve writes while there is space for the log and none for the index.
func TestSearchKeepsAwayFromTheReserve(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	config := smallDisk(t.TempDir(), &free)
	config.NoSearch = false
	e := start(t, config)
	<-e.search.settled
	free.Store(64*mib + searchMargin/2)
	settleSpace(t, e, true)
	register(t, e, "owner")
	waitFor(t, e.search.paused.Load)
	e.AwaitSearch()
	if space := e.Space(); !space.Writable {
		t.Fatalf("%+v", space)
	}
	free.Store(1 << 40)
	waitFor(t, func() bool { return !e.search.paused.Load() && e.search.waitingNow() == 0 })
	if err := e.search.fault.Load(); err != nil {
		t.Fatal(*err)
	}
}

// TestWritesStopWhileASnapshotFits fills a disk with contents, under reserves of several sizes,
// until writes are refused. The snapshot that gives space back fits then, however small the reserve
// is.
func TestWritesStopWhileASnapshotFits(t *testing.T) {
	for _, reserve := range []int64{1, 2_000_000, 8 * mib, 12 * mib, 16 * mib} {
		t.Run(fmt.Sprint(reserve), func(t *testing.T) {
			const size = 40 * mib
			var free atomic.Int64
			var out lockedBuffer
			config := smallDisk(t.TempDir(), &free)
			config.ReserveBytes = reserve
			config.Log = slog.New(slog.NewTextHandler(&out, nil))
			free.Store(1 << 40)
			e := start(t, config)
			owner := register(t, e, "owner")
			project := createProject(t, e, owner, work.Private)
			random := rand.NewChaCha8([32]byte{1})
			content := make([]byte, 256<<10)
			e.saver.running.Lock()
			refused := func(n int) bool {
				free.Store(size - folderBytes(config.Dir))
				_, _ = random.Read(content)
				_, err := put(e, project, owner, fmt.Sprint("f", n), fmt.Sprintf("%x", content))
				if err != nil && !refusedForSpace(err) {
					t.Fatal(err)
				}
				return err != nil
			}
			for n := 0; !refused(n); n++ {
			}
			e.saver.running.Unlock()
			if err := e.space.roomToSave(); err != nil {
				t.Fatalf("with %d recent bytes: %v", e.blobs.RecentBytes(), err)
			}
			saveAll(t, e)
			warned := strings.Contains(out.String(), "smaller than what a snapshot needs")
			if want := reserve < 13*mib; warned != want {
				t.Errorf("warned of the reserve: %t, want %t", warned, want)
			}
		})
	}
}

// TestNothingTakesTheRoomOfASnapshot has a snapshot need more than the reserve. What it needs
// beyond that is kept free by all who free nothing, and not only by those who write to the log.
func TestNothingTakesTheRoomOfASnapshot(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	config := smallDisk(t.TempDir(), &free)
	config.ReserveBytes = 8 * mib
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Private)
	random := rand.NewChaCha8([32]byte{1})
	content := make([]byte, 64<<10)
	_, _ = random.Read(content)
	e.saver.running.Lock()
	defer e.saver.running.Unlock()
	mustPut(t, e, project, owner, "a", fmt.Sprintf("%x", content))
	kept := e.Space().ReserveBytes
	if kept < config.ReserveBytes+2*mib {
		t.Fatalf("writers leave %d bytes", kept)
	}
	free.Store(kept + mib)
	if !e.space.roomy(mib) {
		t.Error("there is room for 1 MiB beside the snapshot")
	}
	if e.space.roomy(mib + 1) {
		t.Error("more than 1 MiB leaves less than the snapshot needs")
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it does not happen")
		}
	}
}
