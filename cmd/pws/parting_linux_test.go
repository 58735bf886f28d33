package main

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"
)

// TestGroupRemovedMemberIsNeeded removes one of three members while another one does not run. The
// removed one goes on until the other has applied that, and ends by itself.
func TestGroupRemovedMemberIsNeeded(t *testing.T) {
	n := underLoad(t)
	removed := n.anyFollower()
	removed.leaves = true
	var halted *nemesisMember
	n.wait("the removal", func() error {
		leader := n.leader()
		if leader == removed {
			n.leads(n.anyFollower())
			leader = n.leader()
		}
		halted = n.members[slices.IndexFunc(n.members, func(m *nemesisMember) bool {
			return m != leader && m != removed
		})]
		n.halt(halted)
		// The leader takes it for present for half a second longer. On a busy machine it takes as long to
		// start a program.
		remove := &ClusterRemoveCommand{Data: leader.data, Member: removed.number}
		err := remove.Run(io.Discard)
		if err == nil {
			return nil
		}
		if status, unknown := n.status(leader); unknown == nil && !status.has(removed.number) {
			return nil
		}
		n.proceed(halted)
		return err
	})
	n.logs(removed, "goes on until most others have applied that")
	select {
	case <-removed.process.Done():
		t.Error("the removed member has ended while another may need it")
	default:
	}
	n.proceed(halted)
	n.parts(removed)
	n.load.regain("a member was removed")
	n.finish()
}

// TestGroupRemovedWhileDown has a member start that the others have removed while it was down. They
// send it nothing, and it must learn from their answers that it is to end. It may not know all of
// them.
func TestGroupRemovedWhileDown(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		t.Run(fmt.Sprintf("replaced=%v", replaced), func(t *testing.T) {
			n := underLoad(t)
			removed := n.anyFollower()
			removed.leaves = true
			n.kill(removed)
			n.order(func(status *clusterStatus) bool { return !status.has(removed.number) },
				"remove", fmt.Sprint(removed.number))
			if replaced {
				n.replaceMember(n.members[slices.IndexFunc(n.members, func(m *nemesisMember) bool {
					return m != removed
				})])
			}
			n.startAgain(removed)
			n.logs(removed, "was removed while they did not reach it")
			n.parts(removed)
			n.load.regain("a member was removed")
			n.finish()
		})
	}
}

// parts waits until a member that was removed ends, unless it is down, and forgets it.
func (n *disturbed) parts(m *nemesisMember) {
	n.t.Helper()
	if m.process != nil {
		select {
		case <-m.process.Done():
		case <-time.After(patience):
			n.t.Fatalf("member %d was removed and does not end", m.number)
		}
	}
	_ = m.log.Close()
	n.members = slices.DeleteFunc(n.members, func(one *nemesisMember) bool { return one == m })
	n.publish()
}
