package replica

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"

	"pws/journal"
)

// Machine is what a Node applies entries to.
type Machine interface {
	journal.Machine
	// Install replaces all by the state of a descriptor that another member gave to Compact, and
	// makes that durable. The newest entry in it is that of the position.
	Install(position uint64, descriptor []byte) error
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
	// applied is the index of the newest entry of raft that was applied, and marks has the gate AFTER
	// each of them behind the log's base.
	applied uint64
	marks   []journal.Gate
	// reign is 0 while this member does not lead. claimed is the term in which it has proposed one.
	reign   journal.Reign
	claimed uint64
	// queue waits to be proposed, inFlight was proposed and is not applied. There is one batch at a
	// time.
	queue, inFlight []queued
	queueBytes      int
	// quiet are the ticks since the last record, listening those that remain of ListenTicks, and
	// opened is the term of the log at the start.
	quiet, listening int
	opened           uint64
	// awaited counts, on the leader, the ticks since a member was sent a descriptor of which nothing
	// was reported.
	awaited map[uint64]int
	// unfenced is how tests show what the gate and the reigns are for.
	unfenced bool
	failed   error
}

// ErrForgotten: another member knows that this one has acknowledged entries which it does not have.
// Its disk has lost them. It must not take part any more.
var ErrForgotten = errors.New("replica: the log has lost entries that were acknowledged")

// sealTicks is how long a record may be the last one without a seal.
const sealTicks = 2

type queued struct {
	payload []byte
	done    journal.Committed
}

// NewNode returns a member that goes on with a log.
func NewNode(config Config) (*Node, error) {
	n := &Node{
		config: config, log: config.Log, listening: config.ListenTicks,
		opened: config.Log.hard.GetTerm(), awaited: map[uint64]int{},
	}
	if err := n.restore(config.Log.base); err != nil {
		return nil, err
	}
	raw, err := raft.NewRawNode(&raft.Config{
		ID: config.Member, ElectionTick: config.ElectionTicks, HeartbeatTick: config.HeartbeatTicks,
		Storage: config.Log, Applied: n.applied, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 256,
		MaxCommittedSizePerReady: 16 << 20, CheckQuorum: true, PreVote: true,
		ReadOnlyOption: raft.ReadOnlySafe, DisableProposalForwarding: true, Logger: config.Logger,
	})
	n.raw = raw
	return n, err
}

// restore takes over the gate of a descriptor.
func (n *Node) restore(base *raftpb.Snapshot) error {
	s, err := decodeState(base.GetData())
	if err != nil {
		return fmt.Errorf("replica: descriptor of %d: %w", base.GetMetadata().GetIndex(), err)
	}
	n.gate, n.applied, n.marks = s.gate, base.GetMetadata().GetIndex(), nil
	return nil
}

// First is the descriptor of what the members of a group begin with.
func First(position uint64, descriptor []byte) []byte {
	s := state{
		gate: journal.Gate{Position: position}, position: position, machine: descriptor,
	}
	return s.encode()
}

// Tick counts the time.
func (n *Node) Tick() {
	n.quiet++
	if n.listens() {
		n.listening--
		return
	}
	n.raw.Tick()
	n.resend()
}

// reportElections is how many times ElectionTicks may pass until a report is lost.
const reportElections = 4

// resend has a member sent a descriptor again where no report has come of the last one: raft sends
// nothing else to it until then, and what would report may have crashed.
func (n *Node) resend() {
	if n.raw.BasicStatus().RaftState != raft.StateLeader {
		clear(n.awaited)
		return
	}
	var lost []uint64
	n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if p.State != tracker.StateSnapshot {
			delete(n.awaited, id)
			return
		}
		if n.awaited[id]++; n.awaited[id] > reportElections*n.config.ElectionTicks {
			lost = append(lost, id)
		}
	})
	for _, id := range lost {
		delete(n.awaited, id)
		n.Reported(id, false)
	}
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

// Step takes a message of another member. What does not belong to the group is ignored.
func (n *Node) Step(m *raftpb.Message) {
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote, raftpb.MsgTimeoutNow:
		if n.listens() {
			return
		}
	case raftpb.MsgHeartbeat:
		// A leader names nothing that this member has not acknowledged.
		if m.GetTerm() >= n.log.hard.GetTerm() && m.GetCommit() > n.log.last() && n.failed == nil {
			n.fail(fmt.Errorf("%w: %d, and the last is %d", ErrForgotten, m.GetCommit(), n.log.last()))
			return
		}
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

// Applied is the index of raft up to which the machine has everything, and Position the position.
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

// Unneeded is the newest position that all members have which the leader has heard lately. It is
// the newest of all on others.
func (n *Node) Unneeded() uint64 {
	least := n.applied
	if n.raw.BasicStatus().RaftState == raft.StateLeader {
		n.raw.WithProgress(func(_ uint64, _ raft.ProgressType, p tracker.Progress) {
			if p.RecentActive {
				least = min(least, p.Match)
			}
		})
	}
	base := n.log.base.GetMetadata().GetIndex()
	if least <= base || len(n.marks) == 0 {
		return 0
	}
	return n.marks[min(least-base, uint64(len(n.marks)))-1].Position
}

// Status is what a member knows of its group.
type Status struct {
	Member uint64 `json:"member"`
	// Leader is 0 while none is known.
	Leader uint64 `json:"leader"`
	Term   uint64 `json:"term"`
	// Reign is 0 while this member does not lead.
	Reign uint64 `json:"reign"`
	// Agreed is the index of raft up to which the members agree, Applied the one up to which this
	// member has handed on everything, Last that of its newest entry.
	Agreed  uint64 `json:"agreed"`
	Applied uint64 `json:"applied"`
	Last    uint64 `json:"last"`
	// Position is that of the newest entry of the journal. LogBytes is the size of raft's entries.
	Position uint64 `json:"position"`
	LogBytes int64  `json:"log_bytes"`
	// Matches are, on the leader, the indexes that the members have.
	Matches map[uint64]uint64 `json:"matches,omitempty"`
}

// Status returns what is known now.
func (n *Node) Status() Status {
	basic := n.raw.BasicStatus()
	s := Status{
		Member: n.config.Member, Leader: basic.Lead, Term: basic.GetTerm(), Reign: uint64(n.reign),
		Agreed: basic.GetCommit(), Applied: n.applied, Last: n.log.last(),
		Position: n.config.Position, LogBytes: n.log.Bytes(),
	}
	if basic.RaftState == raft.StateLeader {
		s.Matches = map[uint64]uint64{}
		n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
			s.Matches[id] = p.Match
		})
	}
	return s
}

// Position is that of the newest entry that was applied.
func (n *Node) Position() uint64 { return n.gate.Position }

// Append queues an entry; see journal.Journal. Errors: journal.ErrNotLeading, journal.ErrTooLarge,
// journal.ErrBusy, and why Work has failed.
func (n *Node) Append(reign journal.Reign, payload []byte, c journal.Committed) error {
	switch {
	case n.failed != nil:
		return n.failed
	case reign == 0 || reign != n.reign:
		return journal.ErrNotLeading
	case len(payload) > journal.EntryBytesMax:
		return journal.ErrTooLarge
	case n.queueBytes > 0 && n.queueBytes+len(payload) > n.config.QueueBytesMax:
		return journal.ErrBusy
	}
	n.queue = append(n.queue, queued{payload, c})
	n.queueBytes += len(payload)
	return nil
}

// Work does all that is to be done: it makes durable what raft has, sends messages AFTER that, and
// applies what was agreed on. AFTER an error the member is of no use until its log is opened again;
// what was appended is reported with the error.
func (n *Node) Work(send func(*raftpb.Message)) error {
	if n.failed != nil {
		return n.failed
	}
	err := n.work(send)
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
	n.yield(n.failed)
}

func (n *Node) work(send func(*raftpb.Message)) error {
	for n.propose(); n.raw.HasReady(); n.propose() {
		ready := n.raw.Ready()
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
		for _, m := range ready.Messages {
			send(m)
		}
		for _, e := range ready.CommittedEntries {
			if err := n.apply(e); err != nil {
				return fmt.Errorf("entry %d of raft: %w", e.GetIndex(), err)
			}
		}
		n.raw.Advance(ready)
	}
	return nil
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
	s, err := decodeState(ready.Snapshot.GetData())
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
	if len(e.GetData()) > 0 {
		if err := n.command(e); err != nil {
			return err
		}
	}
	n.applied = e.GetIndex()
	n.marks = append(n.marks, n.gate)
	return nil
}

func (n *Node) command(e *raftpb.Entry) error {
	member, b, err := decodeCommand(e.GetData())
	if err != nil {
		return err
	}
	if b != nil {
		return n.applyBatch(b)
	}
	n.yield(journal.ErrOutcomeUnknown)
	n.gate.Begin(journal.Reign(e.GetIndex()))
	status := n.raw.BasicStatus()
	if member == n.config.Member && status.RaftState == raft.StateLeader &&
		status.GetTerm() == e.GetTerm() {
		n.lead(n.gate.Reign)
	}
	return nil
}

func (n *Node) lead(reign journal.Reign) {
	n.reign = reign
	n.config.Machine.Lead(reign)
}

func (n *Node) applyBatch(b *batch) error {
	if n.unfenced {
		n.gate.Position = b.first + uint64(len(b.payloads)) - 1
	} else if !n.gate.Admit(b.reign, b.first, uint64(len(b.payloads))) {
		return nil
	}
	if n.reign != 0 {
		return n.applyOwn(b)
	}
	for at, payload := range b.payloads {
		pos := b.first + uint64(at)
		if pos <= n.config.Position {
			continue
		}
		if err := n.config.Machine.Follow(pos, payload); err != nil {
			return err
		}
		n.config.Position = pos
	}
	return nil
}

// applyOwn reports the batch of this reign that is in flight.
func (n *Node) applyOwn(b *batch) error {
	if len(b.payloads) != len(n.inFlight) {
		return fmt.Errorf("a batch of %d, and %d are in flight", len(b.payloads), len(n.inFlight))
	}
	done := n.inFlight
	n.inFlight = nil
	for at, one := range done {
		n.queueBytes -= len(one.payload)
		n.config.Position = b.first + uint64(at)
		if one.done != nil {
			one.done.Committed(n.config.Position, nil)
		}
	}
	return nil
}

// Compact lets the log forget commands that a state of the machine contains, which is durable and
// of a position that was applied. It does nothing where none can be forgotten.
func (n *Node) Compact(position uint64, descriptor []byte) error {
	if n.failed != nil {
		return n.failed
	}
	base := n.log.base.GetMetadata()
	keep := len(n.marks)
	for keep > 0 && n.marks[keep-1].Position > position {
		keep--
	}
	if keep == 0 {
		return nil
	}
	index := base.GetIndex() + uint64(keep)
	term, err := n.log.Term(index)
	if err != nil {
		return err
	}
	s := state{gate: n.marks[keep-1], position: position, machine: descriptor}
	err = n.log.Compact(&raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{
			Index: &index, Term: &term, ConfState: base.GetConfState(),
		},
		Data: s.encode(),
	})
	if err != nil {
		n.fail(err)
		return n.failed
	}
	n.marks = append([]journal.Gate(nil), n.marks[keep:]...)
	return nil
}
