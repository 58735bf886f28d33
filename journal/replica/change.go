package replica

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
	"google.golang.org/protobuf/proto"

	"pws/journal"
)

const (
	// promoteDistance is how many entries of raft a learner may lack that is promoted, and
	// promoteTicks how long it has to be so close BEFORE the leader promotes it by itself.
	promoteDistance = 64
	promoteTicks    = 5
	// partElections is how many times ElectionTicks a removed member goes on since another has asked
	// it for something. Those who wait for it ask within two.
	partElections = 3
)

// hears reports whether a message is to be taken, and notes that its sender was heard.
func (n *Node) hears(m *raftpb.Message) bool {
	from := m.GetFrom()
	if m.GetType() == raftpb.MsgTimeoutNow {
		// Only the leader asks for an election at once, also one that was removed just now.
		status := n.raw.BasicStatus()
		return !n.listens() && status.Lead == from && status.GetTerm() == m.GetTerm()
	}
	if n.group.has(from) {
		n.heard[from], n.parting = n.now, 0
		return true
	}
	return !n.group.hadRemoved(from)
}

// heardLately reports whether a member was heard within ElectionTicks.
func (n *Node) heardLately(member uint64) bool {
	at, ever := n.heard[member]
	return member == n.config.Member || ever && n.now-at <= n.config.ElectionTicks
}

// Members are those whom this member knows, in the order of their numbers. The list must not be
// changed.
func (n *Node) Members() []Member { return n.group.members }

// Removed reports whether this member was removed. It does not lead or ask for votes any more. It
// answers others that do not know of the removal: they may need its vote to agree on it.
func (n *Node) Removed() bool { return n.group.hadRemoved(n.config.Member) }

// Released reports whether this member was removed and others have not asked it for anything for a
// while. Those who are down may still need it; Parted says whether any can.
func (n *Node) Released() bool {
	return n.Removed() && n.parting >= partElections*n.config.ElectionTicks
}

// Change changes the group, unless a member is to be promoted that votes already. done is called
// once, AFTER this member has applied the change, or with an error; then the change has no effect,
// unless the error is journal.ErrOutcomeUnknown. Errors: journal.ErrNotLeading, ErrChangePending,
// ErrNumberUsed, ErrAddressUsed, ErrUnknownMember, ErrLagging, ErrNoQuorum, ErrMalformed, and why
// Work has failed.
func (n *Node) Change(c Change, done func(error)) {
	err := n.allows(c)
	if at, found := n.group.find(c.Number); found && c.Kind == Promote && n.group.members[at].Voter &&
		n.reign != 0 {
		done(nil)
		return
	}
	if err == nil && n.raw.ProposeConfChange(c.conf()) != nil {
		if err = ErrChangePending; n.raw.BasicStatus().RaftState != raft.StateLeader {
			err = journal.ErrNotLeading
		}
	}
	if err != nil {
		done(err)
		return
	}
	n.changing = done
}

// allows says why a change is not proposed. All changes of earlier terms are applied BEFORE a reign
// begins, so the group is the newest where no change of this reign is pending.
func (n *Node) allows(c Change) error {
	switch {
	case n.failed != nil:
		return n.failed
	case n.reign == 0:
		return journal.ErrNotLeading
	case n.changing != nil || n.transfer != nil || n.raises():
		return ErrChangePending
	}
	next, err := n.group.after(c)
	switch {
	case err != nil:
		return err
	case c.Kind == Promote && !n.nearlyCaughtUp(c.Number):
		return fmt.Errorf("%w: %d", ErrLagging, c.Number)
	case c.Kind != AddLearner && !n.hearsMost(next.voters()):
		return ErrNoQuorum
	}
	return nil
}

// hearsMost reports whether most of the voters were heard lately.
func (n *Node) hearsMost(voters []uint64) bool { return most(voters, n.heardLately) }

// nearlyCaughtUp reports whether a member has almost all that this leader has.
func (n *Node) nearlyCaughtUp(member uint64) (is bool) {
	n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if id == member {
			is = p.State == tracker.StateReplicate && p.Match+promoteDistance >= n.log.last()
		}
	})
	return is && n.heardLately(member)
}

// promote promotes a learner that has caught up.
func (n *Node) promote() {
	if n.reign == 0 || n.changing != nil || n.transfer != nil {
		clear(n.near)
		return
	}
	for _, learner := range n.group.learners() {
		if !n.nearlyCaughtUp(learner) {
			delete(n.near, learner)
			continue
		}
		if n.near[learner]++; n.near[learner] > promoteTicks {
			clear(n.near)
			n.Change(Change{Kind: Promote, Number: learner}, func(error) {})
			return
		}
	}
}

// changeWaits reports whether a change is not applied. Nothing is proposed behind it: a leader that
// it removes would have entries which the others lack, and could neither lead them nor vote for
// them, while they need its vote to learn that the change was agreed on.
func (n *Node) changeWaits() bool {
	if n.changing != nil {
		return true
	}
	for _, e := range n.log.entries[n.applied-n.log.base.GetMetadata().GetIndex():] {
		if e.GetType() == raftpb.EntryConfChangeV2 {
			return true
		}
	}
	return false
}

// changed reports the outcome of the change that this leader has proposed.
func (n *Node) changed(err error) {
	if done := n.changing; done != nil {
		n.changing = nil
		done(err)
	}
}

// applyChange applies a change, or lets it have no effect, on all members alike. That it was agreed
// on is durable BEFORE: a member that has used a group does not come back with an older one, whose
// voters may be gone.
func (n *Node) applyChange(e *raftpb.Entry) error {
	cc := &raftpb.ConfChangeV2{}
	if err := proto.Unmarshal(e.GetData(), cc); err != nil {
		return fmt.Errorf("%w: %w", errCommand, err)
	}
	c, err := changeOf(cc)
	if err != nil {
		return err
	}
	next, refused := n.group.after(c)
	if refused != nil {
		n.changed(refused)
		return nil
	}
	if err := n.log.KeepAgreed(e.GetIndex()); err != nil {
		return err
	}
	status := n.raw.BasicStatus()
	leaves := c.Kind == Remove && c.Number == n.config.Member
	if leaves && status.RaftState == raft.StateLeader {
		n.farewell = &raftpb.Message{
			Type: raftpb.MsgTimeoutNow.Enum(), From: new(n.config.Member), Term: new(status.GetTerm()),
			To: new(n.foremost(next.voters())),
		}
	}
	n.raw.ApplyConfChange(cc)
	n.group = next
	n.changed(nil)
	if leaves {
		// Raft does not lead any more. The lease ends BEFORE another member is asked to lead.
		n.parting = 0
		n.yield(journal.ErrOutcomeUnknown)
	}
	return nil
}

// foremost is the one of some members that has most entries.
func (n *Node) foremost(members []uint64) (found uint64) {
	match := map[uint64]uint64{}
	n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		match[id] = p.Match
	})
	for _, member := range members {
		if found == 0 || match[member] > match[found] {
			found = member
		}
	}
	return found
}
