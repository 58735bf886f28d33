package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
	"pws/journal/replica"
)

// simJournal is the journal of one life of a member, from a start to a crash: what replica.Journal
// is, with disks, a network and a clock of the simulation. All but Read, Durable and Stats is
// called by the goroutine of the test.
type simJournal struct {
	server  *simServer
	entries *simEntries
	node    *replica.Node
	machine journal.Machine
	reign   journal.Reign
	// agreed is the newest position that was agreed on, shown the newest that the machine has.
	agreed uint64
	shown  atomic.Uint64
	// format is the node's, for other goroutines.
	format atomic.Uint64
	// waiting was agreed on and is not durable in entries.
	waiting []simWaiting
	// queue was appended and is not with the node, open is not reported.
	queue, open []*simOwn
	failed      error
	// over says that the engine was dropped, or closed.
	over    bool
	pulling bool
	// compacting says that raft's log is to forget something.
	compacting bool
	simReads
}

var _ journal.Journal = (*simJournal)(nil)

// simWaiting is an entry that is to be reported when it is durable.
type simWaiting struct {
	pos  uint64
	done journal.Committed
}

// simOwn is an entry that the engine has appended.
type simOwn struct {
	j       *simJournal
	payload []byte
	done    journal.Committed
	over    bool
}

// Committed implements journal.Committed, for the node.
func (w *simOwn) Committed(pos uint64, err error) {
	if err == nil {
		err = w.j.hand(pos, w.payload, (*simOwnDurable)(w))
	}
	if err != nil {
		w.report(0, err)
	}
}

func (w *simOwn) report(pos uint64, err error) {
	if !w.over {
		w.over = true
		w.done.Committed(pos, err)
	}
}

// simOwnDurable is simOwn for the log of entries.
type simOwnDurable simOwn

// Committed implements journal.Committed.
func (w *simOwnDurable) Committed(pos uint64, err error) { (*simOwn)(w).report(pos, err) }

// simFollowed is an entry of another member.
type simFollowed struct {
	j       *simJournal
	payload []byte
}

// Committed implements journal.Committed.
func (f *simFollowed) Committed(pos uint64, err error) {
	if err == nil {
		err = f.j.machine.Follow(pos, f.payload)
	}
	if err != nil {
		f.j.failed = err
		f.j.server.sim.found("member %d cannot apply entry %d: %v", f.j.server.member, pos, err)
	}
}

// Append implements journal.Journal.
func (j *simJournal) Append(reign journal.Reign, e journal.Entry, c journal.Committed) error {
	s := j.server.sim
	switch {
	case j.over:
		return journal.ErrClosed
	case j.failed != nil:
		return fmt.Errorf("%w: %w", journal.ErrLatched, j.failed)
	case reign == 0 || reign != j.reign:
		return journal.ErrNotLeading
	case s.fails():
		return journal.ErrBusy
	}
	own := &simOwn{j: j, payload: e.Payload, done: c}
	j.queue, j.open = append(j.queue, own), append(j.open, own)
	s.noteAppended(e.Payload, j.server.orders.tag)
	for s.atOnce && !own.over && s.fault == "" {
		s.act()
	}
	if s.atOnce {
		own.report(0, journal.ErrOutcomeUnknown)
	}
	return nil
}

// turn does all that is to be done now.
func (j *simJournal) turn() {
	if j.compacting || j.node.NeedsCompact() {
		j.compact()
	}
	queue := j.queue
	j.queue = nil
	for i, one := range queue {
		if j.server.sim.hasty {
			one.report(j.agreed+uint64(i)+1, nil)
		}
		if err := j.node.Append(j.reign, one.payload, one); err != nil {
			one.Committed(0, journal.ErrOutcomeUnknown)
		}
	}
	if err := j.node.Work(j.server.send); err != nil && j.failed == nil {
		j.failed = err
	}
	j.format.Store(j.node.Format())
	j.open = slices.DeleteFunc(j.open, func(w *simOwn) bool { return w.over })
	if j.failed == nil {
		j.answer()
	}
}

// step takes a message of another member.
func (j *simJournal) step(m *raftpb.Message) {
	if m.GetType() == raftpb.MsgSnap {
		if _, has := j.node.Applied(); simPosition(m.GetSnapshot()) > has {
			// Raft asks for it again until the entries are here.
			j.server.pull(m.GetFrom())
			return
		}
		// What was pulled is durable BEFORE raft's log begins behind it.
		if j.settle(); j.failed != nil {
			return
		}
	}
	j.node.Step(m)
}

// simState is the state of a machine in a descriptor, which ends with it.
func simState(position uint64) []byte { return binary.BigEndian.AppendUint64(nil, position) }

// simPosition is the position that simState has put into a descriptor.
func simPosition(base *raftpb.Snapshot) uint64 {
	data := base.GetData()
	return binary.BigEndian.Uint64(data[len(data)-8:])
}

// hand appends an entry that was agreed on to the log of entries.
func (j *simJournal) hand(pos uint64, payload []byte, done journal.Committed) error {
	if j.failed != nil {
		return j.failed
	}
	if pos != j.agreed+1 {
		j.server.sim.found("member %d has entry %d AFTER %d", j.server.member, pos, j.agreed)
		return errSimDisk
	}
	j.server.sim.noteAgreed(j.server.member, pos, payload)
	j.agreed = pos
	j.entries.append(payload)
	j.waiting = append(j.waiting, simWaiting{pos, done})
	return nil
}

// sync makes the first entries that wait durable, and reports them. The disk may fail at it.
func (j *simJournal) sync(count int) {
	for range count {
		if j.server.sim.fails() {
			j.failed = errSimDisk
		}
		if j.failed != nil {
			return
		}
		one := j.waiting[0]
		j.waiting = j.waiting[1:]
		j.entries.sync(one.pos)
		one.done.Committed(one.pos, nil)
		j.shown.Store(one.pos)
	}
}

// settle makes all durable that was agreed on.
func (j *simJournal) settle() { j.sync(len(j.waiting)) }

// simMachine is the machine of the node.
type simMachine struct{ j *simJournal }

var _ replica.Machine = simMachine{}

// Follow implements replica.Machine.
func (m simMachine) Follow(pos uint64, payload []byte) error {
	payload = slices.Clone(payload)
	return m.j.hand(pos, payload, &simFollowed{m.j, payload})
}

// Lead implements replica.Machine.
func (m simMachine) Lead(reign journal.Reign) {
	m.j.settle()
	m.j.server.sim.noteLeader(m.j.server.member, reign)
	m.j.reign = reign
	m.j.machine.Lead(reign)
}

// Yield implements replica.Machine.
func (m simMachine) Yield() {
	m.j.reign, m.j.leased = 0, 0
	m.j.settle()
	m.j.machine.Yield()
}

// Install implements replica.Machine. The entries were pulled BEFORE raft learned of the
// descriptor.
func (m simMachine) Install(position uint64, _ []byte) error {
	m.j.settle()
	if position > m.j.agreed {
		m.j.server.sim.found("member %d installs a state of entry %d, and has %d", m.j.server.member,
			position, m.j.agreed)
		return errSimDisk
	}
	m.j.server.sim.counts.installs++
	return m.j.failed
}

// Has implements replica.Machine.
func (m simMachine) Has(pos uint64, payload []byte) (same bool, err error) {
	err = m.j.entries.read(pos, func(_ uint64, has []byte) error {
		same = string(has) == string(payload)
		return errSimPulled
	})
	switch {
	case errors.Is(err, errSimPulled):
		return same, nil
	case errors.Is(err, journal.ErrOutOfRange):
		return true, nil
	}
	return same, err
}

// end reports all that was appended and not reported: nobody learns what becomes of it.
func (j *simJournal) end(err error) {
	j.over = true
	for _, one := range j.open {
		one.report(0, err)
	}
}

// Replay implements journal.Journal.
func (j *simJournal) Replay(from uint64, fn func(pos uint64, payload []byte) error) error {
	return j.entries.read(from, fn)
}

// Read implements journal.Journal.
func (j *simJournal) Read(from uint64, fn func(pos uint64, payload []byte) error) error {
	return j.entries.read(from, fn)
}

// Start implements journal.Journal.
func (j *simJournal) Start(m journal.Machine) { j.machine = m }

// Durable implements journal.Journal.
func (j *simJournal) Durable() uint64 { return j.shown.Load() }

// CutBefore implements journal.Journal. Now and then raft's log forgets the entries, too.
func (j *simJournal) CutBefore(pos uint64) error {
	s := j.server.sim
	if j.over {
		return journal.ErrClosed
	}
	if pos = min(pos, j.shown.Load()); pos > j.entries.first {
		j.entries.cut(uint64(s.pick(int(pos-j.entries.first) + 1)))
		s.counts.cuts++
	}
	j.compacting = j.compacting || s.pick(3) == 0
	return nil
}

// compact lets raft's log forget what the machine has.
func (j *simJournal) compact() {
	j.compacting = false
	position := j.shown.Load()
	if err := j.node.Compact(position, simState(position)); err != nil && j.failed == nil {
		j.failed = err
	}
}

// AgreedOn implements journal.Journal.
func (j *simJournal) AgreedOn(format uint64) bool { return j.format.Load() >= format }

// BeginRead implements journal.Journal.
func (j *simJournal) BeginRead() (journal.Reign, error) {
	if j.reign == 0 {
		return 0, journal.ErrNotLeading
	}
	return j.reign, nil
}

// EndRead implements journal.Journal.
func (j *simJournal) EndRead(begun journal.Reign) error {
	if begun != j.reign {
		return journal.ErrNotLeading
	}
	return nil
}

// Stats implements journal.Journal.
func (j *simJournal) Stats() journal.Stats {
	j.entries.mu.Lock()
	defer j.entries.mu.Unlock()
	shown := j.shown.Load()
	return journal.Stats{First: j.entries.first, Last: shown, Durable: shown}
}

// Space implements journal.Journal.
func (j *simJournal) Space() journal.Space { return journal.Space{Writable: true} }

// Roll implements journal.Journal.
func (j *simJournal) Roll() {}

// Healthy implements journal.Journal.
func (j *simJournal) Healthy() error { return nil }

// Close implements journal.Journal.
func (j *simJournal) Close() error {
	if !j.over {
		j.settle()
		j.end(journal.ErrOutcomeUnknown)
	}
	return nil
}
