package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// raced is an engine with a history of every kind that a snapshot saves, and writers that act
// between two steps of a save.
type raced struct {
	*contributors
	config Config
	writes int
}

func newRaced(t *testing.T) *raced {
	r := &raced{contributors: newContributors(t)}
	r.config = r.e.config
	r.write()
	saveAll(t, r.e)
	r.write()
	return r
}

// write changes a project and agents, makes others, and delivers inbox items. It returns when the
// log says that all of it is durable.
func (r *raced) write() {
	r.t.Helper()
	r.writes++
	name := fmt.Sprint("n", r.writes)
	mustPut(r.t, r.e, r.project, r.owner, name, name)
	if _, err := r.do(r.owner, putOf(name, name+" again"), keyFor(name, "put")); err != nil {
		r.t.Fatal(err)
	}
	other := createProject(r.t, r.e, register(r.t, r.e, "agent-"+name), work.Public)
	mustPut(r.t, r.e, other, viewOf(r.t, r.e, other).Owner, name, name)
	r.submit(name, name+".go")
	if r.writes%2 == 0 {
		r.must(r.eve, &work.WithdrawContribution{Contribution: r.offer})
	}
	stats := r.e.journal.Stats()
	for ; stats.Durable < stats.Last; stats = r.e.journal.Stats() {
		runtime.Gosched()
	}
}

// sameAfterAKill starts another engine on what is on disk, and compares all that it publishes.
func (r *raced) sameAfterAKill(what string) {
	r.t.Helper()
	want := fullState(r.t, r.e)
	config := r.config
	config.Dir = crashCopy(r.t, r.e.config.Dir)
	again := start(r.t, config)
	sameState(r.t, what, want, fullState(r.t, again))
	checkFound(r.t, what, again)
	for _, project := range []id.ID{r.project} {
		viewOf(r.t, again, project).Files("", func(file work.FileInfo) bool {
			if _, err := again.Blob(file.Blob); err != nil {
				r.t.Errorf("%s: %s: %v", what, file.Path, err)
			}
			return true
		})
	}
	stop(r.t, again)
}

// saveSteps are the names of the steps of a save.
func saveSteps(t *testing.T) (names []string) {
	r := newRaced(t)
	r.e.saver.hook = func(name string) error {
		names = append(names, name)
		return nil
	}
	saveAll(t, r.e)
	return names
}

// saveAtEachStep takes a snapshot for each step of a save. Writers act at that step, and the
// snapshot fails there with the error that is injected, if one is. A kill behind it, and behind the
// next one, loses nothing of what was answered, and applies nothing twice.
func saveAtEachStep(t *testing.T, injected error) {
	t.Helper()
	names := saveSteps(t)
	if len(names) < 12 {
		t.Fatalf("a save has the steps %q only", names)
	}
	for i, name := range names {
		t.Run(fmt.Sprint(i, name), func(t *testing.T) {
			r, seen := newRaced(t), 0
			r.e.saver.hook = func(string) error {
				if seen++; seen != i+1 {
					return nil
				}
				r.write()
				return injected
			}
			if err := r.e.Save(); !errors.Is(err, injected) {
				t.Fatalf("the snapshot ends with %v, want %v", err, injected)
			}
			r.e.saver.hook = nil
			r.sameAfterAKill("behind the snapshot")
			saveAll(t, r.e)
			r.sameAfterAKill("behind the next one")
			mustVerify(t, crashCopy(t, r.e.config.Dir))
		})
	}
}

// TestSaveRacedAtEachStep lets writers act at each step of a snapshot.
func TestSaveRacedAtEachStep(t *testing.T) { saveAtEachStep(t, nil) }

// TestSaveFailsAtEachStep has a snapshot fail at each step, while writers act. The log keeps
// everything, and the next snapshot saves everything: a start that has only that snapshot, because
// the log was cut, misses nothing.
func TestSaveFailsAtEachStep(t *testing.T) { saveAtEachStep(t, errors.New("injected fault")) }

// TestKeyEndsToTheMillisecond repeats a request in the last millisecond of its key and in the next.
func TestKeyEndsToTheMillisecond(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	var at atomic.Int64
	at.Store(e.Now() + 1000)
	source := func() reading { return reading{at.Load(), at.Load()} }
	e.clock.source.Store(&source)
	do := func() bool {
		t.Helper()
		done, err := (&contributors{e: e, project: project}).do(owner, putOf("a", fmt.Sprint(at.Load())),
			keyFor("key", "put"))
		if err != nil {
			t.Fatal(err)
		}
		return done.Replayed
	}
	if do() {
		t.Fatal("the first request is a replay")
	}
	made := at.Load()
	if at.Store(made + work.IdempotencySeconds*1000 - 1); !do() {
		t.Error("not replayed in the last millisecond")
	}
	if at.Store(made + work.IdempotencySeconds*1000); do() {
		t.Error("replayed when the result has run out")
	}
}
