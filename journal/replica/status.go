package replica

import (
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// Status is what a member knows of its group.
type Status struct {
	Member uint64 `json:"member"`
	// Leader is 0 while none is known.
	Leader uint64 `json:"leader"`
	Term   uint64 `json:"term"`
	// Reign is 0 while this member does not lead.
	Reign uint64 `json:"reign"`
	// Agreed is the index of raft up to which the members agree, Applied the one up to which this
	// member has handed on everything, Last that of its newest entry, LastTerm the term of that.
	Agreed   uint64 `json:"agreed"`
	Applied  uint64 `json:"applied"`
	Last     uint64 `json:"last"`
	LastTerm uint64 `json:"last_term,omitempty"`
	// Position is that of the newest entry of the journal. LogBytes is the size of raft's entries.
	Position uint64 `json:"position"`
	LogBytes int64  `json:"log_bytes"`
	// Format is the one that the group has agreed on, Understands the newest that this member
	// understands. Members that do not say it have logformat.First.
	Format      uint64 `json:"format,omitempty"`
	Understands uint64 `json:"understands,omitempty"`
	// Full says that the disk is nearly full: if this member led it would refuse writes.
	Full bool `json:"full,omitempty"`
	// Damaged is how much of the data of this member was found damaged, Options.Damaged.
	Damaged int `json:"damaged,omitempty"`
	// Version is that of the program, Options.Version.
	Version string `json:"version,omitempty"`
	// Members are those whom this member knows, and Removed says that it was removed itself. The list
	// must not be changed.
	Members []Member `json:"members"`
	Removed bool     `json:"removed,omitempty"`
	// Matches are, on the leader, the indexes that the members have, and Heard says of each whether
	// it was heard within the last ElectionTicks.
	Matches map[uint64]uint64 `json:"matches,omitempty"`
	Heard   map[uint64]bool   `json:"heard,omitempty"`
}

// Newest names the last entry in raft's log of a member.
type Newest struct{ Term, Index uint64 }

// Nobody is behind the last entry of every member.
var Nobody = Newest{math.MaxUint64, math.MaxUint64}

// Before reports whether a log ends before another one, as raft compares them.
func (n Newest) Before(other Newest) bool {
	return n.Term < other.Term || n.Term == other.Term && n.Index < other.Index
}

// Newest is the last entry of the member.
func (s *Status) Newest() Newest { return Newest{s.LastTerm, s.Last} }

// Unbegun reports whether the member has no entry of its group: the group had no leader yet, or the
// data of the member was lost since.
func (s *Status) Unbegun() bool { return s.Last == beginIndex }

// Parted reports whether a group goes on without a member that was removed, by the member's own
// status and those that others have answered. Most voters must have applied the removal. Until then
// the group may need the member's vote: a voter that has not applied the removal counts the member
// among the voters.
func Parted(own Status, answers []Status) bool {
	return own.Removed && most(numbersOf(own.Members, true), func(voter uint64) bool {
		// The member itself is sent nothing AFTER its removal.
		return slices.ContainsFunc(answers, func(s Status) bool {
			return s.Member == voter && s.Applied >= own.Applied
		})
	})
}

// RemovedAway reports whether a member was removed while it was not reached, by the member's own
// status and those that others have answered. Nobody sends it the removal any more. By the newest
// answer it is no member, and most voters in that answer say the same and are ahead of the member.
// The number of a member that was removed is not used again.
func RemovedAway(own Status, answers []Status) bool {
	if own.Removed || !Listed(own.Members, own.Member) {
		return false
	}
	var newest Status
	without := func(s Status) bool {
		return s.Applied > own.Applied && !Listed(s.Members, own.Member)
	}
	for _, s := range answers {
		if s.Applied > newest.Applied {
			newest = s
		}
	}
	return without(newest) && most(numbersOf(newest.Members, true), func(voter uint64) bool {
		return slices.ContainsFunc(answers, func(s Status) bool {
			return s.Member == voter && without(s)
		})
	})
}

// Listed reports whether one of the members has the number.
func Listed(members []Member, number uint64) bool {
	return slices.ContainsFunc(members, func(m Member) bool { return m.Number == number })
}

// Status returns what is known now.
func (n *Node) Status() Status {
	basic := n.raw.BasicStatus()
	s := Status{
		Member: n.config.Member, Leader: basic.Lead, Term: basic.GetTerm(), Reign: uint64(n.reign),
		Agreed: basic.GetCommit(), Applied: n.applied, Last: n.log.last(),
		Position: n.config.Position, LogBytes: n.log.Bytes(),
		Format: n.format, Understands: n.config.Understands,
		Members: n.group.members, Removed: n.Removed(),
	}
	s.LastTerm, _ = n.log.Term(s.Last)
	if basic.RaftState == raft.StateLeader {
		s.Matches, s.Heard = map[uint64]uint64{}, map[uint64]bool{}
		n.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
			s.Matches[id], s.Heard[id] = p.Match, n.heardLately(id)
		})
	}
	return s
}
