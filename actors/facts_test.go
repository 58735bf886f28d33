package actors

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pws/internal/id"
	"pws/wal"
	"pws/work"
)

// kept is what the indexes keep of a project, by the fact that says that an event changes it.
func kept(p *work.Project) map[kindFacts]string {
	watchers := fmt.Sprint(slices.Collect(p.Watchers))
	return map[kindFacts]string{
		changesTasks: fmt.Sprint(tasksOf(p).Entries), makesLinks: fmt.Sprint(linksOf(p)),
		changesOffers: string(encodeOffers(offersOf(p))), changesWatches: watchers,
		changesAudience: fmt.Sprint(p.Visibility, p.Status, membersOf(p)),
	}
}

// checkFacts applies a log event by event, and expects that the table of kinds says of each event
// what it has changed: a start looks at no more than that table. It counts the events of each kind
// that changed anything.
func checkFacts(t *testing.T, dir string, trees *trees) map[string]int {
	t.Helper()
	states, seen := map[id.ID]*work.Project{}, map[string]int{}
	err := wal.Read(filepath.Join(dir, logName), 1, func(position uint64, payload []byte) error {
		e, err := decodeEntry(bytes.Clone(payload))
		if err != nil || e.target != targetProject {
			return err
		}
		p := states[e.id]
		if p == nil {
			p = new(work.Project)
		}
		for _, stored := range e.events {
			event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
			if err == nil {
				err = trees.give(event)
			}
			if err != nil {
				return err
			}
			next := p.Clone()
			next.Apply(event, work.Moment{Now: e.now, Agent: e.agent})
			if states[e.id] != nil {
				before := kept(p)
				for fact, now := range kept(next) {
					if before[fact] == now {
						continue
					}
					seen[reflect.TypeOf(event).Elem().Name()]++
					if fact == changesTasks || fact == makesLinks {
						// Who may read them is kept with them.
						fact |= changesAudience
					}
					if factsOf(stored.kind)&fact == 0 {
						t.Errorf("entry %d: %T changes what fact %b stands for, and the table does "+
							"not say so", position, event, fact)
					}
				}
			}
			p, states[e.id] = next, next
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
			if len(c.e.WaitingReviews("go", c.owner, 10)) != 1 {
				t.Fatal("the contribution does not wait")
			}
			saveAll(t, c.e)
			decide(c)
			again := start(t, quiet(crashCopy(t, c.e.config.Dir)))
			for what, e := range map[string]*Engine{"live": c.e, "after a kill": again} {
				if waiting := e.WaitingReviews("go", c.owner, 10); len(waiting) != 0 {
					t.Errorf("%s: %+v still waits", what, waiting)
				}
				checkOffers(t, what, e)
			}
			checkFacts(t, c.e.config.Dir, c.e.trees)
		})
	}
}
