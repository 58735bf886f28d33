package actors

import (
	"fmt"
	"testing"
	"time"

	"pws/api"
	"pws/work"
)

// overtaken is a command during whose decision something else happens.
type overtaken struct {
	work.Command
	meanwhile func()
}

func (o *overtaken) Decide(p *work.Project, stamp work.Stamp) (work.Decision, error) {
	decision, err := o.Command.Decide(p, stamp)
	o.meanwhile()
	return decision, err
}

// TestDeposedActorDoesNotOverwriteFollowedState has a server lose its reign while its actor
// decides, and follow the new leader at once. The actor's state, which nobody will see, is not
// written over that of the new leader.
func TestDeposedActorDoesNotOverwriteFollowedState(t *testing.T) {
	for writes := range 6 {
		t.Run(fmt.Sprint(writes), func(t *testing.T) { oneSuccessor(t, writes) })
	}
}

func oneSuccessor(t *testing.T, writes int) {
	g := newGroup(t, 2)
	old, next := g.nodes[0], g.nodes[1]
	g.elect(old)
	g.deliverAll()
	g.atOnce = true
	owner := register(t, old.e, "owner")
	project := createProject(t, old.e, owner, work.Public)
	put := func(n *node, path string, meanwhile func()) *attempt {
		made := n.give(0, api.Order{Project: project, Agent: owner, Command: &overtaken{
			Command: putOf(path, "content of "+path), meanwhile: meanwhile,
		}})
		if !made.answered() {
			t.Fatalf("%s was not answered", path)
		}
		return made
	}
	// The memory of states has room behind them AFTER most numbers of writes.
	for nth := range writes {
		if err := put(old, fmt.Sprint("first", nth), func() {}).err; err != nil {
			t.Fatal(err)
		}
	}
	g.atOnce = false
	followed := make(chan struct{})
	lost := put(old, "lost", func() {
		g.elect(next)
		for next.deliver() {
		}
		write := next.give(0, api.Order{
			Project: project, Agent: owner, Command: putOf("second", "content of second"),
		})
		g.agree(next.propose())
		for next.deliver() {
		}
		if !write.answered() || write.err != nil {
			t.Error(write.err)
		}
		go func() {
			defer close(followed)
			for old.deliver() {
			}
		}()
		select {
		case <-followed:
		case <-time.After(100 * time.Millisecond):
		}
	})
	<-followed
	if reasonOf(lost.err) != api.ReasonNotLeading {
		t.Errorf("the order of the reign before: %v", lost.err)
	}
	var have, want work.Changeset
	mine, theirs := viewOf(t, old.e, project), viewOf(t, next.e, project)
	newest := uint32(theirs.ChangesetsCount())
	if mine.ChangesetsCount() != int(newest) {
		t.Fatalf("%d changesets instead of %d", mine.ChangesetsCount(), newest)
	}
	mine.ReadChangeset(newest, &have, true)
	theirs.ReadChangeset(newest, &want, true)
	if have.ID != want.ID || len(have.Ops) != 1 || *have.Ops[0].Path != "second" {
		t.Errorf("the changeset is %v of %s instead of %v", have.ID, *have.Ops[0].Path, want.ID)
	}
	if file, there := mine.File("second"); !there || file.Updated.ID != want.ID {
		t.Errorf("the file is %+v", file)
	}
}
