package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/journal"
)

// hub is a network in memory between journals with real logs and real time.
type hub struct {
	t       testing.TB
	members []*resident
	// steady has leader let time pass.
	steady bool
	mu     struct {
		sync.Mutex
		cut map[[2]uint64]bool
		// diverted, unless nil, takes messages away.
		diverted func(*raftpb.Message) bool
	}
	// newest is the newest position that was acknowledged.
	newest atomic.Uint64
}

// resident is a member and its machine: a list of values.
type resident struct {
	hub    *hub
	member uint64
	dir    string
	change func(*Options)
	// j is nil while the member is down.
	j  atomic.Pointer[Journal]
	mu struct {
		sync.Mutex
		values []uint64
		reign  journal.Reign
	}
	failed atomic.Pointer[error]
	// told are the members that OnMembers was given, and removals how often OnRemoved was called.
	told     atomic.Pointer[[]Member]
	removals atomic.Int32
	// ignores has the machine keep nothing.
	ignores bool
}

// Send implements Transport.
func (r *resident) Send(m *raftpb.Message) {
	r.hub.mu.Lock()
	diverted := r.hub.mu.diverted
	r.hub.mu.Unlock()
	if diverted != nil && diverted(proto.CloneOf(m)) {
		return
	}
	if to := r.hub.reach(r.member, m.GetTo()); to != nil {
		to.Deliver(proto.CloneOf(m))
	}
}

// Pull implements Transport.
func (r *resident) Pull(_ context.Context, member, from uint64) ([][]byte, error) {
	to := r.hub.reach(r.member, member)
	if to == nil {
		return nil, errors.New("it cannot be reached")
	}
	return to.Entries(from)
}

// all are the members at this moment, while others join.
func (h *hub) all() []*resident {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.members)
}

func (h *hub) reach(from, to uint64) *Journal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.cut[[2]uint64{from, to}] {
		return nil
	}
	for _, each := range h.members {
		if each.member == to {
			return each.j.Load()
		}
	}
	return nil
}

func (h *hub) divert(diverted func(*raftpb.Message) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.diverted = diverted
}

// isolate cuts a member off, or heals its ways.
func (h *hub) isolate(member uint64, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, each := range h.members {
		h.mu.cut[[2]uint64{member, each.member}] = cut
		h.mu.cut[[2]uint64{each.member, member}] = cut
	}
}

// Follow implements journal.Machine.
func (r *resident) Follow(pos uint64, payload []byte) error {
	r.apply(pos, binary.LittleEndian.Uint64(payload))
	return nil
}

func (r *resident) apply(pos, value uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ignores {
		return
	}
	if pos != uint64(len(r.mu.values))+1 {
		r.hub.t.Errorf("%d: entry %d AFTER %d", r.member, pos, len(r.mu.values))
	}
	r.mu.values = append(r.mu.values, value)
}

// Lead implements journal.Machine.
func (r *resident) Lead(reign journal.Reign) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reign <= r.mu.reign {
		r.hub.t.Errorf("%d: reign %d AFTER %d", r.member, reign, r.mu.reign)
	}
	r.mu.reign = reign
}

// Yield implements journal.Machine.
func (r *resident) Yield() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.reign = 0
}

func (r *resident) position() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return uint64(len(r.mu.values))
}

func (r *resident) leading() journal.Reign {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.j.Load() == nil {
		return 0
	}
	return r.mu.reign
}

// membersOf are the first members of a group.
func membersOf(size int) (all []Member) {
	for i := range size {
		all = append(all, Member{uint64(i + 1), addressOf(uint64(i + 1)), true})
	}
	return all
}

func addressOf(member uint64) string { return fmt.Sprintf("host-%d:1", member) }

func newHub(t testing.TB, size int, change func(*Options)) *hub {
	t.Helper()
	h := &hub{t: t}
	if change != nil {
		var o Options
		change(&o)
		h.steady = o.ElectionTicks == steadyTicks
	}
	h.mu.cut = map[[2]uint64]bool{}
	voters := membersOf(size)
	for _, m := range voters {
		r := &resident{hub: h, member: m.Number, dir: t.TempDir(), change: change}
		if err := Begin(filepath.Join(r.dir, "raft"), voters, 0); err != nil {
			t.Fatal(err)
		}
		h.members = append(h.members, r)
	}
	t.Cleanup(func() {
		for _, r := range h.members {
			r.stop()
		}
	})
	for _, r := range h.members {
		r.start()
	}
	return h
}

// steadyTicks are 10 seconds: a busy machine, with a slow disk, does not keep a leader silent for
// so long.
const steadyTicks = 500

// steady has the first leader lead until it is stopped. hub.leader lets the time pass at once that
// an election waits.
func steady(o *Options) { o.ElectionTicks = steadyTicks }

// pass lets the time of some ticks pass for a member.
func (r *resident) pass() {
	if j := r.j.Load(); j != nil {
		// AFTER an error the journal has ended.
		_ = j.call(r.hub.t.Context(), func() {
			for range steadyTicks / 50 {
				j.node.Tick()
			}
		})
	}
}

func (r *resident) start() {
	r.hub.t.Helper()
	o := Options{
		Member: r.member, Dir: filepath.Join(r.dir, "raft"), Transport: r, Tick: 20 * time.Millisecond,
		OnMembers: func(all []Member) { r.told.Store(&all) }, OnRemoved: func() { r.removals.Add(1) },
	}
	if r.change != nil {
		r.change(&o)
	}
	j, _, err := OpenJournal(journal.Options{
		Dir: filepath.Join(r.dir, "log"), ReserveBytes: -1, SegmentBytes: 1 << 16,
		OnFailure: func(err error) { r.failed.Store(&err) },
	}, o)
	if err != nil {
		r.hub.t.Fatal(err)
	}
	r.mu.values, r.mu.reign = nil, 0
	err = j.Replay(0, r.Follow)
	if err != nil {
		r.hub.t.Fatal(err)
	}
	j.Start(r)
	r.j.Store(j)
}

func (r *resident) stop() {
	if j := r.j.Swap(nil); j != nil {
		if err := j.Close(); err != nil {
			r.hub.t.Error(err)
		}
	}
}

// until waits for a condition.
func (h *hub) until(what string, condition func() bool) {
	h.t.Helper()
	within := time.After(30 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-within:
			for _, r := range h.all() {
				if j := r.j.Load(); j != nil {
					h.t.Logf("%d has %d: %+v", r.member, r.position(), j.Status())
				}
			}
			h.t.Fatalf("%s: not in time", what)
		case <-tick.C:
		}
	}
}

// leader waits for one, other than some.
func (h *hub) leader(except ...uint64) (found *resident) {
	h.t.Helper()
	h.until("a leader", func() bool {
		for _, r := range h.all() {
			if r.leading() != 0 && !slices.Contains(except, r.member) {
				found = r
			}
		}
		for _, r := range h.all() {
			if h.steady && found == nil && !slices.Contains(except, r.member) {
				r.pass()
			}
		}
		return found != nil
	})
	return found
}

// entry is a value that a member has appended.
type entry struct {
	r     *resident
	value uint64
	done  chan error
}

// Committed implements journal.Committed.
func (e *entry) Committed(pos uint64, err error) {
	if err == nil {
		e.r.apply(pos, e.value)
		for {
			newest := e.r.hub.newest.Load()
			if pos <= newest || e.r.hub.newest.CompareAndSwap(newest, pos) {
				break
			}
		}
	}
	e.done <- err
}

// put appends a value.
func (r *resident) put(value uint64) *entry { return r.putOf(value, 0) }

// putOf is put of an entry that needs a format.
func (r *resident) putOf(value, format uint64) *entry {
	e := &entry{r: r, value: value, done: make(chan error, 1)}
	j := r.j.Load()
	if j == nil {
		e.done <- journal.ErrNotLeading
		return e
	}
	payload := binary.LittleEndian.AppendUint64(nil, value)
	if err := j.Append(r.leading(), journal.Entry{Payload: payload, Format: format}, e); err != nil {
		e.done <- err
	}
	return e
}

// mustPut appends values and waits for them.
func (r *resident) mustPut(from, count uint64) {
	r.hub.t.Helper()
	var all []*entry
	for i := range count {
		all = append(all, r.put(from+i))
	}
	for _, e := range all {
		if err := <-e.done; err != nil {
			r.hub.t.Fatal(err)
		}
	}
}

// write has whoever leads append values, one by one, until each is acknowledged. Where another one
// comes to lead, a value may be there twice.
func (h *hub) write(from, count uint64) {
	h.t.Helper()
	for i := range count {
		h.until("a write", func() bool { return <-h.leader().put(from+i).done == nil })
	}
}

// read reads the position of a member, and reports whether it was one that is allowed.
func (r *resident) read() (err error, stale bool) {
	j := r.j.Load()
	if j == nil {
		return journal.ErrNotLeading, false
	}
	newest := r.hub.newest.Load()
	begun, err := j.BeginRead()
	if err == nil {
		position := r.position()
		if err = j.EndRead(begun); err == nil {
			return nil, position < newest
		}
	}
	return err, false
}

func (h *hub) agree() bool {
	for _, r := range h.members {
		if r.position() != h.members[0].position() || r.position() < h.newest.Load() {
			return false
		}
	}
	return true
}

// TestJournalGroup has writers and readers, while members are closed, cut off, and come back.
func TestJournalGroup(t *testing.T) {
	h := newHub(t, 3, nil)
	h.leader()
	var next, reads, refused, unknown atomic.Uint64
	acknowledged := make([][]uint64, 4)
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for i := range acknowledged {
		crowd.Go(func() {
			for ctx.Err() == nil {
				value := next.Add(1)
				switch err := <-h.members[value%3].put(value).done; {
				case err == nil:
					acknowledged[i] = append(acknowledged[i], value)
				case errors.Is(err, journal.ErrOutcomeUnknown):
					unknown.Add(1)
				case errors.Is(err, journal.ErrNotLeading), errors.Is(err, journal.ErrClosed):
					pause(ctx)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	for _, r := range h.members {
		crowd.Go(func() {
			for ctx.Err() == nil {
				pause(ctx)
				switch err, stale := r.read(); {
				case stale:
					t.Errorf("%d: a read that is stale", r.member)
					return
				case err == nil:
					reads.Add(1)
				case errors.Is(err, journal.ErrNotLeading):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		h.disturb(round)
	}
	cancel()
	crowd.Wait()
	h.until("agreement", h.agree)
	h.check(acknowledged)
	t.Logf("%d values, %d reads, %d refused, %d unknown", h.newest.Load(), reads.Load(),
		refused.Load(), unknown.Load())
	if reads.Load() == 0 {
		t.Error("nobody has read")
	}
}

// pause leaves the processor to others.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond / 4):
	}
}

// disturb takes a member away until others have written, and lets it come back.
func (h *hub) disturb(round int) {
	h.t.Helper()
	victim := h.members[rand.IntN(3)]
	if round%2 == 0 {
		victim = h.leader()
	}
	away, back := victim.stop, victim.start
	if round%4 > 1 {
		away, back = func() { h.isolate(victim.member, true) }, func() { h.isolate(victim.member, false) }
	}
	away()
	h.leader(victim.member)
	before := h.newest.Load()
	h.until("writes without one", func() bool { return h.newest.Load() > before+50 })
	back()
	h.until("the member that is back", func() bool { return victim.position() > before })
}

func (h *hub) check(acknowledged [][]uint64) {
	h.t.Helper()
	values := h.members[0].mu.values
	for _, r := range h.members {
		if !slices.Equal(r.mu.values, values) {
			h.t.Errorf("%d has other values", r.member)
		}
	}
	count := map[uint64]int{}
	for _, value := range values {
		count[value]++
		if count[value] > 1 {
			h.t.Errorf("%d took effect twice", value)
		}
	}
	for _, value := range slices.Concat(acknowledged...) {
		if count[value] != 1 {
			h.t.Errorf("%d was acknowledged and is there %d times", value, count[value])
		}
	}
}

// forgotten is how many entries raft's log of a member has forgotten.
func (r *resident) forgotten() uint64 {
	return r.ofLog(func(l *Log) uint64 { return l.base.GetMetadata().GetIndex() })
}

// ofLog is a number of raft's log of a member.
func (r *resident) ofLog(number func(l *Log) uint64) uint64 {
	found, j := make(chan uint64, 1), r.j.Load()
	j.calls <- func() { found <- number(j.node.log) }
	return <-found
}

// BenchmarkAppend has 64 writers append 400 bytes to a group of three on one disk, and to the log
// of one server.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 400)
	run := func(b *testing.B, reign journal.Reign, j journal.Journal) {
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			done := make(outcome, 1)
			for pb.Next() {
				err := j.Append(reign, journal.Entry{Payload: slices.Clone(payload)}, done)
				if err == nil {
					err = (<-done).err
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
		b.StopTimer()
	}
	b.Run("local", func(b *testing.B) {
		j, _, err := journal.OpenLocal(journal.Options{Dir: b.TempDir(), ReserveBytes: -1})
		if err != nil {
			b.Fatal(err)
		}
		run(b, 1, j)
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("group", func(b *testing.B) {
		h := newHub(b, 3, func(o *Options) { o.Tick = 50 * time.Millisecond })
		leader := h.leader()
		for _, r := range h.members {
			r.mu.Lock()
			r.ignores = true
			r.mu.Unlock()
		}
		run(b, leader.leading(), leader.j.Load())
	})
}

func TestBegin(t *testing.T) {
	dir := t.TempDir()
	options := journal.Options{Dir: filepath.Join(dir, "log"), ReserveBytes: -1}
	raft := Options{Member: 1, Dir: filepath.Join(dir, "raft")}
	if _, _, err := OpenJournal(options, raft); !errors.Is(err, ErrNoMember) {
		t.Errorf("without a beginning: %v", err)
	}
	if err := Begin(raft.Dir, membersOf(1), 7); err != nil {
		t.Fatal(err)
	}
	if err := Begin(raft.Dir, membersOf(1), 7); err == nil {
		t.Error("it begins twice")
	}
	if _, _, err := OpenJournal(options, raft); !errors.Is(err, ErrInconsistent) {
		t.Errorf("entries in front are missing: %v", err)
	}
}
