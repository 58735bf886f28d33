package replica

import "context"

// SetEligible says whether this member may become the leader, as it may at the start. One that may
// not votes for others, and follows. One that leads goes on, until a Transfer. A group of one voter
// has no choice.
func (n *Node) SetEligible(is bool) { n.ineligible = !is }

// SetLeast says what a member must have for this one to vote for it while this one is Unbegun: the
// data of this member may be lost, and others may count on it. Nobody has Nobody.
func (n *Node) SetLeast(least Newest) { n.least = least }

// SetLeast says whom an Unbegun member votes for; see Node. Errors: journal.ErrClosed.
func (j *Journal) SetLeast(ctx context.Context, least Newest) error {
	return j.call(ctx, func() { j.node.SetLeast(least) })
}

// SetEligible says whether this member may become the leader; see Node. Errors: journal.ErrClosed.
func (j *Journal) SetEligible(ctx context.Context, is bool) error {
	return j.call(ctx, func() { j.node.SetEligible(is) })
}

// Reign is the number of this server's reign, 0 while it does not lead.
func (j *Journal) Reign() uint64 { return j.reign.Load() }

// Leader is the number of the member that leads, 0 while none is known. It may be this one BEFORE
// its reign begins.
func (j *Journal) Leader() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.status.Leader
}
