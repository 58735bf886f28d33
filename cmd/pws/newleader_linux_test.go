package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

// TestGroupLeaderIsNew has a member be down while another one is added and leads. It learns of the
// new member from those that it knows, and gets what it lacks from the one that leads.
func TestGroupLeaderIsNew(t *testing.T) {
	for _, lacks := range []bool{false, true} {
		t.Run(fmt.Sprintf("lacks=%v", lacks), func(t *testing.T) {
			n := underLoad(t, awayOptions...)
			away := n.anyFollower()
			n.kill(away)
			added := n.add()
			n.leads(added)
			if lacks {
				// Another one keeps its log for a while for the member that it was copied to.
				n.cutLogs(added)
			}
			n.startAgain(away)
			if lacks {
				n.replacedOrLed(away, added)
			}
			n.waitAgreed(false)
			if leader := n.leader(); leader != added {
				// A busy machine has others come to lead, too.
				t.Logf("member %d came to lead meanwhile", leader.number)
			}
			// The member that was away votes for the new one, and follows it.
			n.leads(added)
			n.waitAgreed(false)
			n.finish()
		})
	}
}

// replacedOrLed waits until the data of a member was replaced by the leader's, or another one
// leads, which a busy machine brings about: that one may still have all that the member lacks.
func (n *disturbed) replacedOrLed(m, leader *nemesisMember) {
	n.t.Helper()
	n.wait("the data of a member", func() error {
		all, err := os.ReadFile(n.path(fmt.Sprint("log-", m.number)))
		if err != nil {
			return err
		}
		replaced := bytes.Contains(all, []byte("the data of this member was replaced"))
		if !replaced && n.leader() == leader {
			return errors.New("it was not replaced")
		}
		return nil
	})
}
