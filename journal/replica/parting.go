package replica

import "go.etcd.io/raft/v3/raftpb"

// A removed member may be the only one that knows that its removal is agreed on, and it may have
// entries behind that one, which the others have lost before they were durable there. Its log is
// longer then, so it refuses its vote to a voter that needs it, and it must not lead itself. So its
// answers to requests for votes name the last entry that it has applied.

// vouch names in an answer of a removed member the last entry that is known to be agreed on.
func (n *Node) vouch(m *raftpb.Message) {
	if kind := m.GetType(); kind != raftpb.MsgPreVoteResp && kind != raftpb.MsgVoteResp ||
		!n.Removed() {
		return
	}
	if term, err := n.log.Term(n.applied); err == nil {
		m.Commit, m.LogTerm = new(n.applied), new(term)
	}
}

// believe takes the entry that an answer to a request for votes names for agreed on, if this member
// has it and knows no leader, who would say so. Whoever has the entry has all that are before it.
func (n *Node) believe(m *raftpb.Message) {
	status := n.raw.BasicStatus()
	if m.GetCommit() <= status.GetCommit() || status.Lead != 0 {
		return
	}
	if term, err := n.log.Term(m.GetCommit()); err != nil || term != m.GetLogTerm() {
		return
	}
	// Raft learns what is agreed on from leaders. This one has no number, so that nobody takes the
	// removed member for the leader.
	_ = n.raw.Step(&raftpb.Message{
		Type: raftpb.MsgHeartbeat.Enum(), From: new(uint64(0)), To: new(n.config.Member),
		Term: new(status.GetTerm()), Commit: new(m.GetCommit()),
	})
}
