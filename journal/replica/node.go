package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
	"pws/journal"
	"pws/wal"
)

// Machine is what a Node applies entries to.
type Machine interface {
	journal.Machine
	// Install replaces all by the state of a descriptor that another member gave to Compact, and
	// makes that durable. The newest entry in it is that of the position. The descriptor is empty if
	// the members get the entries elsewhere, as those of a Journal do.
	Install(position uint64, descriptor []byte) error
	// Has reports whether the machine has a payload at a position that it has applied already.
	Has(position uint64, payload []byte) (bool, error)
}

// Config is how a Node runs.
type Config struct {
	// Member is the number of this member, not 0.
	Member  uint64
	Log     *Log
	Machine Machine
	// Position is that of the newest entry that the machine has applied already.
	Position uint64
	// ElectionTicks is how many ticks without a leader begin an election, HeartbeatTicks how often a
	// leader is heard.
	ElectionTicks, HeartbeatTicks int
	// QueueBytesMax bounds the entries that wait.
	QueueBytesMax int
	// ListenTicks is how many ticks this member neither votes nor asks for votes, unless it gets an
	// entry of a newer term. ElectionTicks is the least where leaders trust in the answers of members
	// that have started since. More is for a log whose torn end was removed: in case it was not torn
	// but damaged, others that have all of theirs go first.
	ListenTicks int
	// Understands is the newest format that this member understands; logformat.Newest.
	Understands uint64
	// Confirmed, unless nil, learns of AskRead's answers.
	Confirmed func(token, index uint64)
	Logger    raft.Logger
}

// batchBytesMax bounds a batch of more than one entry.
const batchBytesMax = 4 << 20

// Node is a member's part in the agreement. It has no goroutines, no clock and no network: one
// goroutine calls Tick in equal distances, Step for each message that arrives, and Work AFTER any
// other method.
type Node struct {
	config Config
	raw    *raft.RawNode
	log    *Log
	gate   journal.Gate
	group  *group
	format uint64
	// applied is the index of the newest entry of raft that was applied, and marks has what was so
	// AFTER each of them behind the log's base.
	applied uint64
	marks   []mark
	// reign is 0 while this member does not lead. claimed is the term in which it has proposed one.
	reign   journal.Reign
	claimed uint64
	// queue waits to be proposed, inFlight was proposed and is not applied. There is one batch at a
	// time.
	queue, inFlight []queued
	queueBytes      int
	// assured is the newest index of raft of which the log knew at the start that it was agreed on.
	assured uint64
	// quiet are the ticks since the last record, listening those that remain of ListenTicks, and
	// opened is the term of the log at the start.
	quiet, listening int
	opened           uint64
	// awaited counts, on the leader, the ticks since a member was sent a descriptor of which nothing
	// was reported.
	awaited map[uint64]int
	// unnamed says that a member was to get a descriptor that does not name it.
	unnamed bool
	// now counts the ticks, and heard has when members were heard of last.
	now   int
	heard map[uint64]int
	// changing receives the outcome of the change that this leader has proposed; nil without one.
	changing func(error)
	// announced has what others understand, and raising is the term in which this leader has proposed
	// a format that is not applied.
	announced map[uint64]announcement
	raising   uint64
	// near counts, on the leader, the ticks in which the log of a learner was close to its own.
	near map[uint64]int
	// parting are the ticks since this member was removed and heard another.
	parting int
	// farewell is sent AFTER this leader has applied its own removal.
	farewell *raftpb.Message
	// summons is a message that asks for an election at once. It waits until all that is agreed on is
	// applied.
	summons *raftpb.Message
	// transfer is nil without one, and transferred the newest term in which one has begun.
	transfer    *transfer
	transferred uint64
	// unfenced is how tests show what the gate and the reigns are for.
	unfenced bool
	// ineligible members ask for no votes.
	ineligible bool
	// least is what a member must have for this one to vote for it while it has no entry itself.
	least  Newest
	failed error
}

// ErrForgotten: another member knows that this one has acknowledged entries which it does not have.
// Its disk has lost them. It must not take part any more.
var ErrForgotten = errors.New("replica: the log has lost entries that were acknowledged")

// sealTicks is how long a record may be the last one without a seal.
const sealTicks = 2

// mark is what was so AFTER an entry of raft.
type mark struct {
	gate   journal.Gate
	group  *group
	format uint64
}

type queued struct {
	payload []byte
	done    journal.Committed
}

// NewNode returns a member that goes on with a log.
func NewNode(config Config) (*Node, error) {
	n := &Node{
		config: config, log: config.Log, listening: config.ListenTicks,
		assured: config.Log.hard.GetCommit(),
		opened:  config.Log.hard.GetTerm(), awaited: map[uint64]int{},
		heard: map[uint64]int{}, near: map[uint64]int{}, announced: map[uint64]announcement{},
	}
	if n.config.Understands == 0 {
		n.config.Understands = logformat.Newest
	}
	if err := n.restore(config.Log.base); err != nil {
		return nil, err
	}
	raw, err := raft.NewRawNode(&raft.Config{
		ID: config.Member, ElectionTick: config.ElectionTicks, HeartbeatTick: config.HeartbeatTicks,
		Storage: config.Log, Applied: n.applied, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
		MaxCommittedSizePerReady: 16 << 20, CheckQuorum: true, PreVote: true,
		ReadOnlyOption: raft.ReadOnlySafe, DisableProposalForwarding: true,
		StepDownOnRemoval: true, Logger: config.Logger,
	})
	n.raw = raw
	return n, err
}

// Tick counts the time.
func (n *Node) Tick() {
	n.quiet++
	n.now++
	n.parting++
	if n.listens() {
		n.listening--
		return
	}
	n.raw.Tick()
	n.resend()
	n.promote()
}

// listens reports whether this member keeps out of elections.
func (n *Node) listens() bool {
	if n.listening > 0 {
		if term, err := n.log.Term(n.log.last()); err == nil && term > n.opened {
			n.listening = 0
		}
	}
	return n.listening > 0
}

// Step takes a message of another member. What removed members send is ignored; others that this
// one does not know may be new.
func (n *Node) Step(m *raftpb.Message) {
	if n.failed != nil || !n.hears(m) {
		return
	}
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote:
		has := Newest{m.GetLogTerm(), m.GetIndex()}
		if n.listens() || n.log.last() == beginIndex && has.Before(n.least) {
			return
		}
	case raftpb.MsgTimeoutNow:
		n.summons = m
		return
	case raftpb.MsgHeartbeat:
		// A leader names nothing that this member has not acknowledged.
		if m.GetTerm() >= n.log.hard.GetTerm() && m.GetCommit() > n.log.last() {
			n.fail(fmt.Errorf("%w: %d, and the last is %d", ErrForgotten, m.GetCommit(), n.log.last()))
			return
		}
	case raftpb.MsgPreVoteResp, raftpb.MsgVoteResp:
		n.believe(m)
	default:
	}
	// The error says that the message was of no use.
	_ = n.raw.Step(m)
}

// Reported says whether a snapshot descriptor has reached another member, AFTER it was sent.
func (n *Node) Reported(member uint64, arrived bool) {
	status := raft.SnapshotFailure
	if arrived {
		status = raft.SnapshotFinish
	}
	n.raw.ReportSnapshot(member, status)
}

// Reign is the reign of this member, 0 while it does not lead.
func (n *Node) Reign() journal.Reign { return n.reign }

// AskRead asks the group for an index of raft: whoever has applied everything up to there has all
// that took effect BEFORE the question. Config.Confirmed gets it with the token, which is not used
// again, unless messages are lost. On the leader the answer says, too, that most members have
// heard it AFTER the question.
func (n *Node) AskRead(token uint64) {
	n.raw.ReadIndex(binary.BigEndian.AppendUint64(nil, token))
}

// Applied is the index of raft up to which the machine has everything, and the position of the
// newest entry that the machine has.
func (n *Node) Applied() (index, position uint64) { return n.applied, n.config.Position }

// Learn applies an entry that another member has applied, in front of what raft has.
func (n *Node) Learn(pos uint64, payload []byte) error {
	if n.failed != nil || n.reign != 0 || pos != n.config.Position+1 {
		return n.failed
	}
	if err := n.config.Machine.Follow(pos, payload); err != nil {
		n.fail(err)
		return n.failed
	}
	n.config.Position = pos
	return nil
}

// Admitted is the position of the newest entry that this member has come to in raft's log. The
// machine may have later ones: it keeps its entries when the member starts again, and raft's log is
// gone through again then.
func (n *Node) Admitted() uint64 { return n.gate.Position }

// Append queues an entry; see journal.Journal. Errors: journal.ErrNotLeading, journal.ErrTooLarge,
// journal.ErrBusy, and why Work has failed.
func (n *Node) Append(reign journal.Reign, payload []byte, c journal.Committed) error {
	switch {
	case n.failed != nil:
		return n.failed
	case reign == 0 || reign != n.reign:
		return journal.ErrNotLeading
	case len(payload) > wal.EntryBytesMax:
		return journal.ErrTooLarge
	case n.queueBytes > 0 && n.queueBytes+len(payload) > n.config.QueueBytesMax:
		return journal.ErrBusy
	}
	n.queue = append(n.queue, queued{payload, c})
	n.queueBytes += len(payload)
	return nil
}

// Work does all that is to be done: it makes durable what raft has, applies what was agreed on, and
// sends messages AFTER that. AFTER an error the member is of no use until its log is opened again;
// what was appended is reported with the error.
func (n *Node) Work(send func(*raftpb.Message)) error {
	if n.failed != nil {
		return n.failed
	}
	err := n.work(send)
	if err == nil {
		// The reign has ended where another member leads.
		n.checkTransfer()
	}
	if err == nil && n.quiet >= sealTicks {
		err = n.log.Seal()
	}
	if err != nil {
		n.fail(err)
	}
	return n.failed
}

// fail ends this member's part.
func (n *Node) fail(err error) {
	n.failed = fmt.Errorf("%w: %w", journal.ErrLatched, err)
	n.end(n.failed)
}

// end reports all that waits.
func (n *Node) end(err error) {
	n.yield(err)
	n.endTransfer(err)
}

func (n *Node) work(send func(*raftpb.Message)) error {
	for n.ready() {
		ready := n.raw.Ready()
		messages := n.sendEntries(&ready, send)
		if err := n.persist(&ready); err != nil {
			return err
		}
		if state := n.raw.BasicStatus().RaftState; state != raft.StateLeader {
			n.yield(journal.ErrOutcomeUnknown)
		}
		for _, read := range ready.ReadStates {
			if len(read.RequestCtx) == 8 && n.config.Confirmed != nil {
				n.config.Confirmed(binary.BigEndian.Uint64(read.RequestCtx), read.Index)
			}
		}
		// The machine knows of what is agreed on BEFORE others may learn of it, and show it.
		for _, e := range ready.CommittedEntries {
			if err := n.apply(e); err != nil {
				return fmt.Errorf("entry %d of raft: %w", e.GetIndex(), err)
			}
		}
		for _, m := range messages {
			n.send(m, send)
		}
		n.raw.Advance(ready)
		if n.farewell != nil {
			send(n.farewell)
			n.farewell = nil
		}
	}
	return nil
}

// ready reports whether there is something to do. An election is asked for when nothing else is:
// raft does not begin one while a change of the group waits to be applied.
func (n *Node) ready() bool {
	n.propose()
	if n.summons != nil && !n.raw.HasReady() {
		if !n.ineligible {
			_ = n.raw.Step(n.summons)
		}
		n.summons = nil
	}
	return n.raw.HasReady()
}

// sendEntries sends the entries of a leader BEFORE they are durable here, so that all members write
// them at the same time, and returns the other messages. Raft counts this member AFTER Advance.
// What says that more is agreed on than the machine knows waits, and all of a term that is not
// durable.
func (n *Node) sendEntries(ready *raft.Ready, send func(*raftpb.Message)) []*raftpb.Message {
	status := n.raw.BasicStatus()
	if status.RaftState != raft.StateLeader || n.log.hard.GetTerm() != status.GetTerm() {
		return ready.Messages
	}
	return slices.DeleteFunc(ready.Messages, func(m *raftpb.Message) bool {
		early := m.GetType() == raftpb.MsgApp && m.GetCommit() <= n.applied
		if early {
			n.send(m, send)
		}
		return early
	})
}

// send sends a message, unless it is a descriptor that would be ignored, asks for votes that this
// member must not get, or answers one that believe has made.
func (n *Node) send(m *raftpb.Message, send func(*raftpb.Message)) {
	if n.ineligible && m.GetType() == raftpb.MsgPreVote || m.GetTo() == 0 {
		return
	}
	n.vouch(m)
	if m.GetType() == raftpb.MsgSnap && !names(m.GetSnapshot(), m.GetTo()) {
		n.unnamed = true
		n.Reported(m.GetTo(), false)
		return
	}
	send(m)
}

// persist makes durable what has to be BEFORE messages are sent. How far the members agree need
// not: it is found again.
func (n *Node) persist(ready *raft.Ready) error {
	if !ready.MustSync && raft.IsEmptySnap(ready.Snapshot) {
		n.log.Agree(ready.HardState)
		return nil
	}
	n.quiet = 0
	if raft.IsEmptySnap(ready.Snapshot) {
		return n.log.Append(ready.HardState, nil, ready.Entries)
	}
	// The log follows the state that the machine has made durable BEFORE, also where the machine has
	// applied all of it: that may not be durable.
	s, err := n.stateOf(ready.Snapshot)
	if err == nil && s.position >= n.config.Position {
		n.yield(journal.ErrOutcomeUnknown)
		err = n.config.Machine.Install(s.position, s.machine)
		n.config.Position = s.position
	}
	if err == nil {
		err = n.log.Append(ready.HardState, ready.Snapshot, ready.Entries)
	}
	if err == nil {
		err = n.restore(ready.Snapshot)
	}
	return err
}

// propose asks for a reign, or for a batch of what waits.
func (n *Node) propose() {
	status := n.raw.BasicStatus()
	if status.RaftState != raft.StateLeader {
		return
	}
	if n.changeWaits() {
		return
	}
	if n.reign == 0 && n.unfenced {
		n.lead(journal.Reign(status.GetTerm()))
	}
	if n.reign == 0 {
		// Raft may refuse it for now. Then it is asked again.
		if n.claimed != status.GetTerm() && n.raw.Propose(encodeReign(n.config.Member)) == nil {
			n.claimed = status.GetTerm()
		}
		return
	}
	n.raise(status.GetTerm())
	if len(n.inFlight) > 0 || len(n.queue) == 0 {
		return
	}
	b, size := &batch{reign: n.reign, first: n.gate.Position + 1}, 0
	for _, one := range n.queue {
		if size += len(one.payload); size > batchBytesMax && len(b.payloads) > 0 {
			break
		}
		b.payloads = append(b.payloads, one.payload)
	}
	if n.raw.Propose(b.encode()) == nil {
		count := len(b.payloads)
		n.inFlight, n.queue = n.queue[:count:count], n.queue[count:]
	}
}

// yield ends the reign, and reports what is not applied.
func (n *Node) yield(err error) {
	if n.reign == 0 {
		return
	}
	n.reign = 0
	n.config.Machine.Yield()
	n.changed(err)
	pending := append(n.inFlight, n.queue...)
	n.inFlight, n.queue, n.queueBytes = nil, nil, 0
	for _, one := range pending {
		if one.done != nil {
			one.done.Committed(0, err)
		}
	}
}

var errUnexpected = errors.New("it does not follow the one before")

// apply applies an entry of raft.
func (n *Node) apply(e *raftpb.Entry) error {
	if e.GetIndex() != n.applied+1 {
		return errUnexpected
	}
	var err error
	switch {
	case e.GetType() == raftpb.EntryConfChangeV2:
		err = n.applyChange(e)
	case e.GetType() != raftpb.EntryNormal:
		err = errCommand
	case len(e.GetData()) > 0:
		err = n.command(e)
	case n.reign != 0:
		// Raft has put it in the place of a change that it does not take.
		n.changed(ErrChangePending)
	}
	if err != nil {
		return err
	}
	n.applied = e.GetIndex()
	n.marks = append(n.marks, n.mark())
	return nil
}

// mark is what is so now.
func (n *Node) mark() mark { return mark{n.gate, n.group, n.format} }

func (n *Node) command(e *raftpb.Entry) error {
	c, err := decodeCommand(e.GetData())
	switch {
	case err != nil:
		return err
	case c.batch != nil:
		return n.applyBatch(c.batch, e.GetIndex() > n.assured)
	case c.format != 0:
		return n.applyFormat(c.format)
	}
	n.yield(journal.ErrOutcomeUnknown)
	n.gate.Begin(journal.Reign(e.GetIndex()))
	status := n.raw.BasicStatus()
	if c.member == n.config.Member && status.RaftState == raft.StateLeader &&
		status.GetTerm() == e.GetTerm() {
		n.lead(n.gate.Reign)
	}
	return nil
}

func (n *Node) lead(reign journal.Reign) {
	n.reign = reign
	n.config.Machine.Lead(reign)
}

// applyBatch applies a batch of entries, and compares those that the machine has already where the
// batch is new to this member.
func (n *Node) applyBatch(b *batch, compare bool) error {
	if n.unfenced {
		n.gate.Position = b.first + uint64(len(b.payloads)) - 1
	} else if !n.gate.Admit(b.reign, b.first, uint64(len(b.payloads))) {
		return nil
	}
	if n.reign != 0 {
		return n.applyOwn(b)
	}
	for i, payload := range b.payloads {
		pos := b.first + uint64(i)
		if pos <= n.config.Position {
			if compare {
				if err := n.requireSame(pos, payload); err != nil {
					return err
				}
			}
			continue
		}
		if err := n.config.Machine.Follow(pos, payload); err != nil {
			return err
		}
		n.config.Position = pos
	}
	return nil
}

// requireSame returns ErrOtherHistory where the machine has another entry at a position.
func (n *Node) requireSame(pos uint64, payload []byte) error {
	same, err := n.config.Machine.Has(pos, payload)
	if err == nil && !same {
		err = fmt.Errorf("%w: entry %d is another one", ErrOtherHistory, pos)
	}
	return err
}

// applyOwn reports the batch of this reign that is in flight.
func (n *Node) applyOwn(b *batch) error {
	if len(b.payloads) != len(n.inFlight) {
		return fmt.Errorf("a batch of %d, and %d are in flight", len(b.payloads), len(n.inFlight))
	}
	done := n.inFlight
	n.inFlight = nil
	for i, one := range done {
		n.queueBytes -= len(one.payload)
		n.config.Position = b.first + uint64(i)
		if one.done != nil {
			one.done.Committed(n.config.Position, nil)
		}
	}
	return nil
}
