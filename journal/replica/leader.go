package replica

import "context"

// SetEligible says whether this member may become the leader, as it may at the start. One that may
// not votes for others, and follows. One that leads goes on, until a Transfer. A group of one voter
// has no choice.
func (n *Node) SetEligible(is bool) { n.ineligible = !is }

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
