package replica

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
)

// ErrNewerFormat: the group has agreed on a format that this program does not understand. A newer
// program does.
var ErrNewerFormat = errors.New("replica: the group uses a format of a newer program")

// announcedElections is how many times ElectionTicks what a member has announced counts.
const announcedElections = 6

// announcement is what a member has said that it understands.
type announcement struct {
	format uint64
	at     int
}

// Announced notes the newest format that another member understands. Members that do not say it
// have logformat.First.
func (n *Node) Announced(member, format uint64) {
	n.announced[member] = announcement{max(format, logformat.First), n.now}
}

// Format is the format that the group has agreed on, as far as this member has applied.
func (n *Node) Format() uint64 { return n.format }

// stateOf decodes the data of a descriptor whose format this member understands.
func (n *Node) stateOf(base *raftpb.Snapshot) (state, error) {
	s, err := decodeState(base)
	if err == nil {
		err = n.understands(s.format)
	}
	return s, err
}

// understands checks a format that others have agreed on.
func (n *Node) understands(format uint64) error {
	return understood(format, n.config.Understands)
}

// understood checks a format against the newest one that a program understands.
func understood(format, newest uint64) error {
	if format > newest {
		return fmt.Errorf("%w: %d, and this one understands %d", ErrNewerFormat, format, newest)
	}
	return nil
}

// common is the newest format that all members understand, those that learn included, by what they
// have said lately. It is 0 where one has not said it.
func (n *Node) common() uint64 {
	least := n.config.Understands
	for _, m := range n.group.members {
		if m.Number == n.config.Member {
			continue
		}
		said, ever := n.announced[m.Number]
		if !ever || n.now-said.at > announcedElections*n.config.ElectionTicks {
			return 0
		}
		least = min(least, said.format)
	}
	return least
}

// raise proposes a newer format, unless that is under way. This member leads, and no change of the
// group waits: a member that is added later is known BEFORE the next format is proposed.
func (n *Node) raise(term uint64) {
	format := n.common()
	if format > n.format && n.raising != term && n.raw.Propose(encodeFormat(format)) == nil {
		n.raising = term
	}
}

// raises reports whether this leader has proposed a format that is not applied.
func (n *Node) raises() bool { return n.raising == n.raw.BasicStatus().GetTerm() }

// applyFormat applies a format that was agreed on.
func (n *Node) applyFormat(format uint64) error {
	if err := n.understands(format); err != nil {
		return err
	}
	n.format = max(n.format, format)
	n.raising = 0
	return nil
}
