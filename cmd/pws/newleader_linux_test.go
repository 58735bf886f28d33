package main

import (
	"bytes"
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
				n.logsUnder(added, away, "the data of this member was replaced")
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

// logsUnder waits until the log of a member has a text, or another member leads than the one under
// which it is to have it, which a busy machine brings about.
func (n *disturbed) logsUnder(leader, m *nemesisMember, text string) {
	n.t.Helper()
	n.wait("the log of a member", func() error {
		all, err := os.ReadFile(n.path(fmt.Sprint("log-", m.number)))
		if err != nil || bytes.Contains(all, []byte(text)) {
			return err
		}
		if now := n.leader(); now != leader {
			n.t.Logf("member %d came to lead", now.number)
			return nil
		}
		return fmt.Errorf("it does not say %q", text)
	})
}
