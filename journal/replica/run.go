package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
)

// stepBytesMax is how large the messages may be that become durable together.
const stepBytesMax = 4 << 20

// run is the goroutine that owns the node.
func (j *Journal) run() {
	defer close(j.done)
	ticker := time.NewTicker(j.options.Tick)
	defer ticker.Stop()
	for j.turn() {
		select {
		case <-j.stop:
			j.end(journal.ErrClosed)
			return
		case <-ticker.C:
			j.node.Tick()
			j.tick()
		case m := <-j.inbox:
			j.step(m)
		case p := <-j.pulled:
			j.learn(p)
		case call := <-j.calls:
			call()
		case <-j.wake:
		}
	}
}

// turn does all that is to be done now. It reports false AFTER a failure, which ends the journal.
func (j *Journal) turn() bool {
	j.propose()
	if err := j.node.Work(j.send); err != nil {
		j.latch(err)
	}
	if err := j.Healthy(); err != nil {
		j.end(err)
		return false
	}
	j.answer()
	j.noteStatus()
	j.noteMembers()
	return true
}

// noteMembers reports the members, and once that this server was removed.
func (j *Journal) noteMembers() {
	if members := j.node.Members(); !slices.Equal(members, j.members) {
		j.members = members
		j.options.Log.Info("the members of the group", "members", members)
		if j.options.OnMembers != nil {
			j.options.OnMembers(slices.Clone(members))
		}
	}
	if !j.released && j.node.Released() {
		j.released = true
		j.options.Log.Warn("this server was removed from the group")
		if j.options.OnRemoved != nil {
			j.options.OnRemoved()
		}
	}
}

// end reports all that was appended and not reported.
func (j *Journal) end(err error) {
	if errors.Is(err, journal.ErrClosed) {
		err = journal.ErrOutcomeUnknown
	}
	j.node.end(err)
	j.mu.Lock()
	queue, reads := j.mu.queue, j.mu.reads
	j.mu.queue, j.mu.reads = nil, nil
	j.mu.Unlock()
	for _, one := range queue {
		one.Committed(0, err)
	}
	for _, r := range append(reads, j.reads.take()...) {
		close(r.failed)
	}
}

// latch ends the journal AFTER a failure.
func (j *Journal) latch(err error) {
	if !errors.Is(err, journal.ErrLatched) {
		err = fmt.Errorf("%w: %w", journal.ErrLatched, err)
	}
	j.mu.Lock()
	if j.mu.failed == nil {
		j.mu.failed = err
	}
	j.mu.progress.Broadcast()
	j.mu.Unlock()
	j.leased.Store(0)
	j.awake()
	if j.onFailure != nil {
		j.failing.Do(func() { go j.onFailure(err) })
	}
}

// step takes messages until they are so large that they become durable.
func (j *Journal) step(m *raftpb.Message) {
	for size := int64(0); ; {
		bytes := messageBytes(m)
		j.inboxBytes.Add(-bytes)
		size += bytes
		j.take(m)
		if size > stepBytesMax {
			return
		}
		select {
		case m = <-j.inbox:
		default:
			return
		}
	}
}

// take gives a message to raft, if it is one that members send each other.
func (j *Journal) take(m *raftpb.Message) {
	if m.GetTo() != j.options.Member || m.GetFrom() == j.options.Member {
		return
	}
	switch m.GetType() {
	case raftpb.MsgSnap:
		s, err := j.node.stateOf(m.GetSnapshot())
		if err != nil {
			if errors.Is(err, ErrNewerFormat) {
				j.latch(err)
			}
			return
		}
		if m.GetTerm() < j.node.log.hard.GetTerm() {
			// A deposed leader may have less than this member.
			return
		}
		if _, position := j.node.Applied(); s.position > position {
			// Raft asks for it again until the entries are here.
			j.pull(m.GetFrom())
			return
		}
		// Raft's log goes on behind the descriptor, so the entries up to there have to be durable in the
		// other one. This member may have pulled more than those.
		if j.settle(); j.Healthy() != nil {
			return
		}
	case raftpb.MsgApp, raftpb.MsgAppResp, raftpb.MsgVote, raftpb.MsgVoteResp, raftpb.MsgHeartbeat,
		raftpb.MsgHeartbeatResp, raftpb.MsgReadIndex, raftpb.MsgReadIndexResp, raftpb.MsgPreVote,
		raftpb.MsgPreVoteResp:
	case raftpb.MsgTimeoutNow:
		// The leader has given up its lease BEFORE, and has taken none since. Step takes it from the
		// leader of this term alone.
	default:
		return
	}
	j.node.Step(m)
}

// send gives a message to the transport.
func (j *Journal) send(m *raftpb.Message) {
	j.options.Transport.Send(m)
	if m.GetType() == raftpb.MsgSnap {
		// It is small. Where it is lost, raft finds that out by the next message.
		j.node.Reported(m.GetTo(), true)
	}
}

// propose gives what was appended to the node.
func (j *Journal) propose() {
	j.mu.Lock()
	queue := j.mu.queue
	j.mu.queue = nil
	j.mu.Unlock()
	for _, one := range queue {
		if err := j.node.Append(one.reign, one.payload, one); err != nil {
			one.Committed(0, journal.ErrOutcomeUnknown)
		}
	}
}

const (
	// keepEntries bounds the number of entries of raft in memory.
	keepEntries = 1 << 18
	// compactTicks is how many ticks are between two times that some are forgotten.
	compactTicks = 10
	// pullTimeMax bounds a Pull.
	pullTimeMax = 10 * time.Second
)

// tick asks whether this member still leads, and lets raft forget what nobody needs. Work finds the
// errors.
func (j *Journal) tick() {
	j.noteAnnounced()
	j.reads.age++
	if j.node.Reign() != 0 {
		j.ask()
	}
	if j.node.NeedsCompact() {
		_ = j.node.Compact(j.entries.Durable(), nil)
	}
	if j.ticks++; j.ticks%compactTicks != 0 {
		return
	}
	bytes, count := j.node.log.Bytes(), len(j.node.log.entries)
	if bytes <= j.options.KeepBytes/2 && count <= keepEntries/2 {
		return
	}
	position := j.entries.Durable()
	if bytes <= j.options.KeepBytes && count <= keepEntries {
		position = min(position, j.node.Unneeded())
	}
	_ = j.node.Compact(position, nil)
}

// noteAnnounced passes on to the node what others understand.
func (j *Journal) noteAnnounced() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for member, format := range j.mu.announced {
		j.node.Announced(member, format)
	}
	clear(j.mu.announced)
}

// pulled is what another member has returned.
type pulled struct {
	member  uint64
	from    uint64
	entries [][]byte
	err     error
}

// pull asks another member for the entries that raft's log of the leader does not have any more.
func (j *Journal) pull(member uint64) {
	if j.pulling {
		return
	}
	j.pulling = true
	from := j.agreed.Load() + 1
	go func() {
		ctx, cancel := context.WithTimeout(j.alive, pullTimeMax)
		defer cancel()
		entries, err := j.options.Transport.Pull(ctx, member, from)
		// There is room for the one pull at a time.
		j.pulled <- pulled{member, from, entries, err}
	}()
}

func (j *Journal) learn(p pulled) {
	j.pulling = false
	if p.err != nil && !j.cut {
		j.options.Log.Warn("this member lacks entries and cannot get them from the leader", "from",
			p.from, "error", p.err)
	}
	if errors.Is(p.err, journal.ErrOutOfRange) && !j.cut && j.options.OnCut != nil {
		j.cut = j.options.OnCut(p.member)
	}
	for i, payload := range p.entries {
		if err := j.node.Learn(p.from+uint64(i), payload); err != nil {
			return
		}
	}
}

func (j *Journal) noteStatus() {
	s := j.node.Status()
	s.Version = j.options.Version
	j.mu.Lock()
	before := j.mu.status.Format
	j.mu.status = s
	j.mu.Unlock()
	if before != s.Format && before != 0 {
		j.options.Log.Info("the group has agreed on a newer format of its log", "format", s.Format)
	}
}

// own is an entry that this server has appended. It is reported by the node when it was agreed on,
// and by the log of entries when it is durable there.
type own struct {
	j       *Journal
	reign   journal.Reign
	payload []byte
	done    journal.Committed
}

// Committed implements journal.Committed, for the node.
func (o *own) Committed(pos uint64, err error) {
	if err == nil {
		err = o.j.appendAgreed(pos, o.payload, (*ownDurable)(o))
	}
	if err != nil {
		o.report(0, err)
	}
}

func (o *own) report(pos uint64, err error) {
	o.j.mu.Lock()
	o.j.mu.queueBytes -= int64(len(o.payload)) + entryOverheadBytes
	o.j.mu.Unlock()
	if o.done != nil {
		o.done.Committed(pos, err)
	}
}

// ownDurable is own for the log of entries.
type ownDurable own

// Committed implements journal.Committed.
func (o *ownDurable) Committed(pos uint64, err error) {
	if err == nil {
		err = o.j.Healthy()
	}
	(*own)(o).report(pos, err)
	o.j.reported(pos, err)
}

// followed is an entry of another server.
type followed struct {
	j       *Journal
	payload []byte
}

// Committed implements journal.Committed.
func (f *followed) Committed(pos uint64, err error) {
	if err == nil {
		err = f.j.Healthy()
	}
	if err == nil {
		err = f.j.machine.Follow(pos, f.payload)
	}
	f.j.reported(pos, err)
}

// reported notes that the machine has an entry, or never will.
func (j *Journal) reported(pos uint64, err error) {
	if err != nil {
		j.latch(err)
		return
	}
	j.mu.Lock()
	j.shown.Store(pos)
	j.mu.progress.Broadcast()
	j.mu.Unlock()
	j.awake()
}

// appendAgreed appends an entry that was agreed on to the log of entries.
func (j *Journal) appendAgreed(pos uint64, payload []byte, c journal.Committed) error {
	if agreed := j.agreed.Load(); pos != agreed+1 {
		return fmt.Errorf("entry %d was agreed on after %d", pos, agreed)
	}
	_, err := j.entries.AppendReserved(payload, c)
	if errors.Is(err, journal.ErrBusy) {
		j.settle()
		_, err = j.entries.AppendReserved(payload, c)
	}
	if err == nil {
		j.agreed.Store(pos)
		return nil
	}
	err = fmt.Errorf("entry %d: %w", pos, err)
	j.latch(err)
	return err
}

// settle waits until the machine has all that was agreed on.
func (j *Journal) settle() { j.awaitShown(j.agreed.Load()) }

// replicated is the machine of the node.
type replicated struct{ j *Journal }

// Follow implements Machine.
func (r replicated) Follow(pos uint64, payload []byte) error {
	return r.j.appendAgreed(pos, payload, &followed{r.j, payload})
}

// Lead implements Machine. The machine has all that was agreed on in front.
func (r replicated) Lead(reign journal.Reign) {
	r.j.settle()
	r.j.reign.Store(uint64(reign))
	r.j.options.Log.Info("this server leads", "reign", uint64(reign))
	r.j.machine.Lead(reign)
	r.j.ask()
}

// Yield implements Machine.
func (r replicated) Yield() {
	r.j.reign.Store(0)
	r.j.leased.Store(0)
	r.j.settle()
	r.j.options.Log.Info("this server does not lead any more")
	r.j.machine.Yield()
}

// Install implements Machine: the entries were pulled BEFORE raft learned of the descriptor.
func (r replicated) Install(position uint64, _ []byte) error {
	r.j.settle()
	if agreed := r.j.agreed.Load(); position > agreed {
		return fmt.Errorf("a state of entry %d, and this member has %d", position, agreed)
	}
	return r.j.Healthy()
}
