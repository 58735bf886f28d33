package blobs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
)

// The story packs the blobs of each chapter, commits chapter 0 as a Batch in the middle, merges
// after some, and drops at the end what is not live. Its contents are small, so that a fault can be
// put at every operation.
const (
	storyChapters = 9
	batchChapter  = 5
)

var (
	chapters = makeChapters()
	// liveBlobs are those of the odd chapters.
	liveBlobs = makeLive()
)

func makeChapters() [][][]byte {
	var out [][][]byte
	for n := range storyChapters + 1 {
		r := rand.New(rand.NewPCG(7, uint64(n)))
		out = append(out, [][]byte{text(r, 40+n), text(r, 700), noise(r, 50), text(r, 5000),
			[]byte(fmt.Sprint("chapter ", n))})
	}
	return out
}

func makeLive() map[Hash]bool {
	out := map[Hash]bool{}
	for n := 1; n <= storyChapters; n += 2 {
		for _, c := range chapters[n] {
			out[Sum(c)] = true
		}
	}
	return out
}

func liveAtEnd(h Hash) bool { return liveBlobs[h] }

func openOn(d *disktest.Disk) (*Store, error) {
	return Open(Options{Dir: "d", CacheBytes: 1, disk: d})
}

func add(s *Store, n int) {
	for _, c := range chapters[n] {
		s.Add(uint64(n), Sum(c), c)
	}
}

// writeChapter goes through one chapter: what is durable after it returned nil has to stay.
func writeChapter(s *Store, n int) error {
	add(s, n)
	if err := s.Pack(uint64(n)); err != nil {
		return err
	}
	if n == batchChapter {
		return writeBatch(s)
	}
	if n%4 == 0 {
		return s.TryMerge()
	}
	if n == storyChapters {
		return dropOthers(s, liveAtEnd)
	}
	return nil
}

func writeBatch(s *Store) error {
	b, err := s.Begin()
	if err != nil {
		return err
	}
	defer b.Abort()
	for _, c := range chapters[0] {
		if err := b.Add(Sum(c), c); err != nil {
			return err
		}
	}
	return b.Commit()
}

// holds checks that the chapters 1 to n are all there, and chapter 0 once a later one than that of
// the batch has begun; those that may have been dropped need not.
func holds(s *Store, n int, mayBeDropped bool) error {
	first := 1
	if n > batchChapter {
		first = 0
	}
	for i := first; i <= n; i++ {
		for _, c := range chapters[i] {
			got, err := s.Get(Sum(c))
			if errors.Is(err, ErrNotFound) && mayBeDropped && !liveAtEnd(Sum(c)) {
				continue
			}
			if err != nil {
				return fmt.Errorf("chapter %d: %w", i, err)
			}
			if Sum(got) != Sum(c) {
				return fmt.Errorf("chapter %d: wrong content", i)
			}
		}
	}
	return nil
}

// TestCrashAtEveryStep stops the machine at every operation of the story, in three ways.
func TestCrashAtEveryStep(t *testing.T) {
	for i := 1; ; i += stride {
		d := disktest.New()
		d.CrashAt = i
		done := 0
		if s, err := openOn(d); err == nil {
			for n := 1; n <= storyChapters && writeChapter(s, n) == nil; n++ {
				done = n
			}
			s.Close()
		}
		for kind := range disktest.CrashKinds {
			after := d.AfterCrash(kind)
			if _, err := verify(after, "d", nil); err != nil {
				t.Fatalf("crash at %d, kind %d: verify: %v", i, kind, err)
			}
			s, err := openOn(after)
			if err != nil {
				t.Fatalf("crash at %d, kind %d: open: %v", i, kind, err)
			}
			if err := holds(s, done, done >= storyChapters-1); err != nil {
				t.Fatalf("crash at %d, kind %d, after chapter %d: %v", i, kind, done, err)
			}
			// The log is replayed from the chapter that was not finished.
			for n := done + 1; n <= storyChapters; n++ {
				if err := writeChapter(s, n); err != nil {
					t.Fatalf("crash at %d, kind %d: chapter %d: %v", i, kind, n, err)
				}
			}
			if err := holds(s, storyChapters, true); err != nil {
				t.Fatalf("crash at %d, kind %d: end: %v", i, kind, err)
			}
			s.Close()
			// All files are in the manifest, or Open has removed them.
			if s, err = openOn(after); err != nil {
				t.Fatal(err)
			}
			if n := len(after.Files()); n != s.Stats().Packs+1 {
				t.Fatalf("crash at %d, kind %d: %d files for %d packs", i, kind, n, s.Stats().Packs)
			}
			s.Close()
		}
		if d.Ops < i {
			if done != storyChapters || i < 100 {
				t.Fatalf("the story ended at chapter %d after %d operations", done, d.Ops)
			}
			return
		}
	}
}

// TestEveryOperationFailsOnce lets each operation fail once; the caller tries again, and opens
// the store again and replays where the store asks for it.
func TestEveryOperationFailsOnce(t *testing.T) {
	for i := 1; ; i += stride {
		d := disktest.New()
		d.FailAt = i
		s, err := openOn(d)
		if err != nil {
			if s, err = openOn(d); err != nil {
				t.Fatalf("fault at %d: second open: %v", i, err)
			}
		}
		for n := 1; n <= storyChapters; n++ {
			before := d.Ops
			err := writeChapter(s, n)
			if err != nil && before >= i {
				t.Fatalf("fault at %d: a later chapter fails: %v", i, err)
			}
			last := n == storyChapters
			if herr := holds(s, n, last); herr != nil && !errors.Is(herr, disktest.ErrInjected) {
				t.Fatalf("fault at %d: chapter %d after %v: %v", i, n, err, herr)
			}
			if errors.Is(err, ErrUncertain) {
				if perr := s.Pack(1); !errors.Is(perr, ErrUncertain) {
					t.Fatalf("fault at %d: pack after an unknown outcome: %v", i, perr)
				}
				s.Close()
				if s, err = openOn(d); err != nil {
					t.Fatalf("fault at %d: open after an unknown outcome: %v", i, err)
				}
				add(s, n)
				if err := holds(s, n, last); err != nil {
					t.Fatalf("fault at %d: chapter %d after opening anew: %v", i, n, err)
				}
				n--
			} else if err != nil {
				n--
			}
		}
		over := d.Ops < i
		d.FailAt = 0
		if err := holds(s, storyChapters, true); err != nil {
			t.Fatalf("fault at %d: end: %v", i, err)
		}
		s.Close()
		after := d.AfterCrash(disktest.CrashKeepsNothing)
		if _, err := verify(after, "d", nil); err != nil {
			t.Fatalf("fault at %d: verify: %v", i, err)
		}
		if s, err = openOn(after); err != nil {
			t.Fatalf("fault at %d: last open: %v", i, err)
		}
		if err := holds(s, storyChapters, true); err != nil {
			t.Fatalf("fault at %d: durable end: %v", i, err)
		}
		s.Close()
		if over {
			return
		}
	}
}

// TestAddDuringAFailedBatch adds the contents of a batch while its manifest is written, which fails
// at one of its operations. What was added is durable once it is packed, whatever became of the
// batch.
func TestAddDuringAFailedBatch(t *testing.T) {
	content := []byte("a license that many have")
	for i := 1; ; i++ {
		d := disktest.New()
		s, err := openOn(d)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin()
		if err == nil {
			err = b.Add(Sum(content), content)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.FailAt = d.Ops + i
		added := false
		d.Before = func(_, path string) {
			if strings.Contains(path, manifestName) {
				s.AddCopy(7, Sum(content), content)
				added = true
			}
		}
		err = b.Commit()
		over := d.Ops < d.FailAt
		d.Before, d.FailAt = nil, 0
		if added && !errors.Is(err, ErrUncertain) {
			if err := s.Pack(7); err != nil {
				t.Fatal(err)
			}
			mustGet(t, s, content)
			s.Close()
			if s, err = openOn(d.AfterCrash(disktest.CrashKeepsNothing)); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(Sum(content)); !bytes.Equal(got, content) {
				t.Errorf("fault at %d: %q, %v", i, got, err)
			}
		}
		s.Close()
		if over {
			return
		}
	}
}

// damaged checks that the damage of file name is reported there and nothing wrong is served.
func damaged(t *testing.T, d *disktest.Disk, all [][]byte, name, what string) {
	t.Helper()
	var c *CorruptError
	if _, err := verify(d, "d", nil); !errors.As(err, &c) || c.File != name {
		t.Fatalf("%s of %s: verify says %v", what, name, err)
	}
	s, err := openOn(d)
	if err != nil {
		if !errors.As(err, &c) || c.File != name || !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s of %s: open says %v", what, name, err)
		}
		return
	}
	defer s.Close()
	found := false
	for _, content := range all {
		got, err := s.Get(Sum(content))
		if err != nil {
			found = true
			if !errors.As(err, &c) || c.File != name {
				t.Fatalf("%s of %s: get says %v", what, name, err)
			}
		} else if Sum(got) != Sum(content) {
			t.Fatalf("%s of %s: wrong content is served", what, name)
		}
	}
	if !found {
		t.Fatalf("%s of %s: neither open nor get has met it", what, name)
	}
}

func TestEveryByteIsGuarded(t *testing.T) {
	end := disktest.New()
	s, err := openOn(end)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for n := range 2 {
		add(s, n)
		mustPack(t, s, uint64(n))
		all = append(all, chapters[n]...)
	}
	s.Close()
	for name, n := range end.Files() {
		for i := 0; i < len(n.Data); i += stride {
			// Inside an index page any byte is as good as any other.
			if i%7 != 0 && i > 1500 && i < len(n.Data)-footerBytes {
				continue
			}
			d := end.AfterCrash(disktest.CrashKeepsAll)
			d.Files()[name].Data[i] ^= 1 << (i % 8)
			damaged(t, d, all, name, fmt.Sprintf("bit flip at %d", i))
			d = end.AfterCrash(disktest.CrashKeepsAll)
			d.Files()[name].Data = d.Files()[name].Data[:i]
			damaged(t, d, all, name, fmt.Sprintf("cut at %d", i))
		}
	}
	for name := range end.Files() {
		d := end.AfterCrash(disktest.CrashKeepsAll)
		d.Lose(name)
		if _, err := openOn(d); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("open without %s: %v", name, err)
		}
	}
}

// TestDamageDoesNotStopMerges has a pack damaged while the store is open: the merge that meets it
// says so, and the next ones go on without it.
func TestDamageDoesNotStopMerges(t *testing.T) {
	d := disktest.New()
	s, err := openOn(d)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := 1; n <= tierPacks; n++ {
		add(s, n)
		mustPack(t, s, uint64(n))
	}
	d.Files()["d/"+packName(1)].Data[headerBytes+blockHeadBytes+2] ^= 1
	if err := s.TryMerge(); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("merge: %v", err)
	}
	for n := tierPacks + 1; n <= 2*tierPacks; n++ {
		add(s, n)
		mustPack(t, s, uint64(n))
	}
	if err := s.TryMerge(); err != nil {
		t.Fatalf("second merge: %v", err)
	}
	damaged := 0
	for _, p := range s.list.Load().packs {
		if p.stuck.Load() {
			damaged++
		}
	}
	if st := s.Stats(); damaged != 1 || st.Packs != 2 {
		t.Fatalf("%d damaged packs, stats %+v", damaged, st)
	}
}

// TestFullDisk packs on a disk that is too small, by a little more each time: the fault says that
// the disk is full, nothing is lost, and with space the same pack succeeds.
func TestFullDisk(t *testing.T) {
	const step = 61
	for more, packed := 0, false; !packed; more += step {
		d := disktest.New()
		s, err := openOn(d)
		if err != nil {
			t.Fatal(err)
		}
		add(s, 1)
		d.Capacity = d.Used() + 1 + more
		if err = s.Pack(1); err == nil {
			packed = true
		} else if !disk.IsFull(err) || errors.Is(err, ErrUncertain) {
			t.Fatalf("%d bytes: %v", more, err)
		}
		for _, c := range chapters[1] {
			if got, err := s.Get(Sum(c)); err != nil || string(got) != string(c) {
				t.Fatalf("%d bytes: read %q: %v", more, got, err)
			}
		}
		d.Capacity = 0
		if err := s.Pack(1); err != nil {
			t.Fatalf("%d bytes, then space: %v", more, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := openOn(d.AfterCrash(disktest.CrashKeepsNothing))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chapters[1] {
			if got, err := again.Get(Sum(c)); err != nil || string(got) != string(c) {
				t.Fatalf("%d bytes, after a crash: %q: %v", more, got, err)
			}
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if more == 0 && packed {
			t.Fatal("the disk was never full")
		}
	}
}

// TestPackWithoutRoomWritesNothing refuses a pack for which there is no room, and writes nothing of
// it.
func TestPackWithoutRoomWritesNothing(t *testing.T) {
	d := disktest.New()
	room := func(int64) error { return nil }
	s, err := Open(Options{Dir: "d", CacheBytes: 1, disk: d,
		Room: func(bytes int64) error { return room(bytes) }})
	if err != nil {
		t.Fatal(err)
	}
	add(s, 1)
	used := d.Used()
	room = func(int64) error { return disk.ErrNoRoom }
	if err := s.Pack(1); !disk.IsFull(err) {
		t.Fatal(err)
	}
	if now := d.Used(); now != used {
		t.Fatalf("%d bytes were written", now-used)
	}
	room = func(int64) error { return nil }
	if err := s.Pack(1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
