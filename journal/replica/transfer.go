package replica

import (
	"context"
	"errors"

	"go.etcd.io/raft/v3"

	"pws/journal"
)

// The errors of transfers.
var (
	// ErrNotVoter: the number is not that of another voter.
	ErrNotVoter = errors.New("replica: the number is not that of another voter")
	// ErrNotTransferred: the other member did not lead in time. It may lead later.
	ErrNotTransferred = errors.New("replica: the other member did not lead in time")
)

// transferElections is how many times ElectionTicks a transfer may take. Raft itself takes nothing
// new during the first of them, unless another leads.
const transferElections = 3

// transfer is a transfer of leadership that is under way.
type transfer struct {
	term  uint64
	since int
	done  func(error)
}

// Transfer has another voter lead. done is called once: without an error AFTER another member
// leads. Until then what is appended waits. Errors: journal.ErrNotLeading, ErrChangePending,
// ErrNotVoter, ErrLagging where the other was not heard lately, ErrNotTransferred, and why Work has
// failed.
func (n *Node) Transfer(member uint64, done func(error)) {
	at, found := n.group.find(member)
	status := n.raw.BasicStatus()
	var err error
	switch {
	case n.failed != nil:
		err = n.failed
	case n.reign == 0 || status.RaftState != raft.StateLeader:
		err = journal.ErrNotLeading
	case n.changing != nil || n.transfer != nil:
		err = ErrChangePending
	case !found || !n.group.members[at].Voter || member == n.config.Member:
		err = ErrNotVoter
	case !n.heardLately(member):
		err = ErrLagging
	}
	if err != nil {
		done(err)
		return
	}
	n.transferred = status.GetTerm()
	n.transfer = &transfer{n.transferred, n.now, done}
	n.raw.TransferLeader(member)
}

// Leases reports whether this leader may trust in it that no other leads, because most members have
// said that they do not vote for another. AFTER a transfer has begun it may not until its term
// ends: the message that asks the other member for an election may come late, and whoever then asks
// for votes gets them in spite of what was said.
func (n *Node) Leases() bool {
	status := n.raw.BasicStatus()
	return n.reign != 0 && status.RaftState == raft.StateLeader && status.GetTerm() != n.transferred
}

// checkTransfer ends a transfer that has an outcome.
func (n *Node) checkTransfer() {
	if n.transfer == nil {
		return
	}
	status := n.raw.BasicStatus()
	leads := status.RaftState == raft.StateLeader
	switch {
	case status.Lead != 0 && status.Lead != n.config.Member && status.GetTerm() > n.transfer.term:
		n.endTransfer(nil)
	case leads && status.LeadTransferee == 0,
		n.now-n.transfer.since > transferElections*n.config.ElectionTicks:
		n.endTransfer(ErrNotTransferred)
	}
}

func (n *Node) endTransfer(err error) {
	if t := n.transfer; t != nil {
		n.transfer = nil
		t.done(err)
	}
}

// Transfer has another voter lead, and returns AFTER another member does. The lease ends BEFORE
// that, and reads ask the group from then on. What was appended is proposed again if the transfer
// fails, and is reported with journal.ErrOutcomeUnknown if it does not. Errors:
// journal.ErrNotLeading, ErrChangePending, ErrNotVoter and ErrLagging, all without effect;
// ErrNotTransferred; that of the context, without effect unless it comes with
// journal.ErrOutcomeUnknown; journal.ErrOutcomeUnknown; journal.ErrClosed; and why the journal has
// failed.
func (j *Journal) Transfer(ctx context.Context, member uint64) error {
	return j.outcomeOf(ctx, func(done func(error)) {
		j.node.Transfer(member, done)
		if !j.node.Leases() {
			// Messages are sent AFTER this, by Work.
			j.leased.Store(0)
		}
	})
}
