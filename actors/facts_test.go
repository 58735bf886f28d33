package actors

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// checkFacts applies a log event by event, and expects that projections name the kinds of all
// events that change their parts of a card: a start looks at no more than the kind. It counts the
// events of each kind that changed anything.
func checkFacts(t *testing.T, dir string, trees *trees) map[string]int {
	t.Helper()
	states, seen := map[id.ID]*work.Project{}, map[string]int{}
	of := index.NewProjections()
	log := filepath.Join(dir, datadir.LogName)
	err := journal.Read(log, 1, func(position uint64, payload []byte) error {
		e, err := datadir.DecodeEntry(bytes.Clone(payload))
		if err != nil || e.Target != datadir.TargetProject {
			return err
		}
		p := states[e.ID]
		if p == nil {
			p = work.NewProject()
		}
		for _, stored := range e.Events {
			event, err := work.DecodeEvent(work.Kind(stored.Kind), stored.Data)
			if err == nil {
				err = trees.give(event)
			}
			if err != nil {
				return err
			}
			next := p.Clone()
			next.Apply(event, work.Moment{Now: e.Now, Agent: e.Agent})
			if states[e.ID] != nil {
				differ, err := of.Compare(of.EncodeCard(p), next)
				if err != nil {
					return err
				}
				named := of.OfKind(work.Kind(stored.Kind))
				if differ != 0 {
					seen[reflect.TypeOf(event).Elem().Name()]++
				}
				if lacks := differ &^ named &^ index.ForListing; lacks != 0 || differ != 0 && named == 0 {
					t.Errorf("entry %d: %T changes the parts %s, and their kinds do not name it",
						position, event, differ)
				}
			}
			p, states[e.ID] = next, next
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestDecidedContributionsAfterAKill has a contribution that waits for a review in a snapshot, and
// decides on it behind that: a start knows of it from the log.
func TestDecidedContributionsAfterAKill(t *testing.T) {
	for name, decide := range map[string]func(c *contributors){
		"withdrawn": func(c *contributors) {
			c.must(c.eve, &work.WithdrawContribution{Contribution: c.offer})
		},
		"rejected": func(c *contributors) {
			c.must(c.owner, &work.RejectContribution{Contribution: c.offer, Reason: "no"})
		},
		"accepted": func(c *contributors) {
			if err := c.accept(c.owner, nil); err != nil {
				c.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newContributors(t)
			c.submit("text", "a.go")
			if len(c.e.Indexes(index.ForReviews).Reviews.Public("go", c.owner, 10)) != 1 {
				t.Fatal("the contribution does not wait")
			}
			saveAll(t, c.e)
			decide(c)
			again := start(t, quiet(crashCopy(t, c.e.config.Dir)))
			for what, e := range map[string]*Engine{"live": c.e, "after a kill": again} {
				waiting := e.Indexes(index.ForReviews).Reviews.Public("go", c.owner, 10)
				if len(waiting) != 0 {
					t.Errorf("%s: %+v still waits", what, waiting)
				}
				checkOffers(t, what, e)
			}
			checkFacts(t, c.e.config.Dir, c.e.trees)
		})
	}
}
