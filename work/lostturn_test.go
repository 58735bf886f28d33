package work_test

import (
	"slices"
	"testing"

	"pws/work"
)

// TestLostTurnIsReported: a turn that ends because its holder may not hold it any more has the same
// activity as one that is ended, and the agent that waits keeps its place.
func TestLostTurnIsReported(t *testing.T) {
	for name, lose := range map[string]func(w *world) (work.Decision, error){
		"private": func(w *world) (work.Decision, error) {
			return w.do(agent("ann"), &work.UpdateProject{Visibility: work.Private})
		},
		"suspended": func(w *world) (work.Decision, error) {
			return w.do(agent("eve"), new(work.ReleaseAll))
		},
	} {
		w := newWorld()
		w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community,
			About: work.About{
				Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
			}})
		if _, err := w.do(agent("eve"), new(work.TakeTurn)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.do(agent("bob"), new(work.TakeTurn)); err == nil {
			t.Fatal("two agents hold the turn")
		}
		w.now += 1000
		decision, err := lose(w)
		if err != nil {
			t.Fatal(name, err)
		}
		var types []string
		for _, event := range decision.Events {
			for _, one := range work.Activities(event) {
				types = append(types, one.Type.String())
			}
		}
		if !slices.Contains(types, "turn.ended") {
			t.Errorf("%s: the activities are %q", name, types)
		}
		if _, held := w.project.Turn(w.now); held {
			t.Errorf("%s: the turn goes on", name)
		}
		if name == "suspended" {
			if _, err := w.do(agent("bob"), new(work.TakeTurn)); err != nil {
				t.Errorf("the agent that waited: %v", err)
			}
		}
	}
}
