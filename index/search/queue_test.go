package search

import (
	"fmt"
	"testing"

	"pws/internal/id"
)

func numbered(n int) id.ID { return id.New(int64(n+1), [10]byte{byte(n), byte(n >> 8), 1}) }

func fileOf(project id.ID, path string) Key {
	return Key{Kind: File, Project: project, Path: path}
}

func waitingIn(q *Queue) int {
	all, _, _ := q.Len()
	return all
}

func TestQueueKeepsPositions(t *testing.T) {
	q, project := NewQueue(), numbered(1)
	a, b := fileOf(project, "a"), fileOf(project, "b")
	q.Put(Mark{Position: 1}, numbered(0), a, b)
	q.Put(Mark{Position: 2}, numbered(0), a)
	if waitingIn(q) != 2 || q.Oldest(true).Position != 1 {
		t.Error(waitingIn(q), q.Oldest(true))
	}
	if step, any := q.Take(true); !any || len(step.Keys) != 2 || q.Oldest(true).Position != 1 {
		t.Error(step, q.Oldest(true))
	}
	q.Put(Mark{Position: 3}, numbered(0), b)
	if q.Oldest(false).Position != 3 || q.Oldest(true).Position != 1 {
		t.Error(q.Oldest(false), q.Oldest(true))
	}
	q.Done()
	if q.Oldest(true).Position != 3 || waitingIn(q) != 1 {
		t.Error(q.Oldest(true), waitingIn(q))
	}
}

// TestQueueIsFair has one owner with many projects and documents, and strangers with few. A
// stranger waits for one step of each other owner at most, and for those of other ranks.
func TestQueueIsFair(t *testing.T) {
	q, busy := NewQueue(), numbered(0)
	position := uint64(0)
	mark := func() Mark { position++; return Mark{Position: position} }
	for n := range 100 {
		project := numbered(10 + n)
		for file := range 200 {
			q.Put(mark(), busy, fileOf(project, fmt.Sprint(file)))
		}
		q.PutWhole(mark(), busy, project, 5000)
	}
	for n := range 3 {
		owner, project := numbered(1000+n), numbered(2000+n)
		q.Put(mark(), owner, fileOf(project, "x"))
		q.PutWhole(mark(), owner, project, 1)
	}
	q.PutHidden(mark(), numbered(3000))
	named, whole := map[id.ID]int{}, map[id.ID]int{}
	for n := range 50 {
		step, any := q.Take(true)
		switch {
		case !any:
			t.Fatal("nothing waits")
		case n == 0 && step.Project != numbered(3000):
			t.Fatal("the hidden project is not the first")
		case len(step.Keys) > stepKeysMax:
			t.Fatalf("%d documents in a step", len(step.Keys))
		case len(step.Keys) > 0:
			named[step.Project] = n
		case n > 0:
			whole[step.Project] = n
			q.Continue(step, fileOf(step.Project, "a"), false, step.waiting.ownedBy, 100)
		}
	}
	for n := range 3 {
		if at, there := named[numbered(2000+n)]; !there || at > 8 {
			t.Errorf("the document of stranger %d is in step %d, %t", n, at, there)
		}
		if _, there := whole[numbered(2000+n)]; !there {
			t.Errorf("the project of stranger %d is not in the first 50 steps", n)
		}
	}
}

// TestForksComeLast has forks whose files wait behind all else, and are not forgotten.
func TestForksComeLast(t *testing.T) {
	q, owner := NewQueue(), numbered(0)
	const forks = 30
	for n := range forks {
		q.PutWhole(Mark{Position: 1}, owner, numbered(10+n), 1000)
	}
	for range forks {
		step, any := q.Take(false)
		if !any || step.Copies || step.From != (Key{}) {
			t.Fatalf("%+v", step)
		}
		q.Continue(step, Key{Kind: File, Project: step.Project}, true, owner, 3)
	}
	if step, any := q.Take(false); any {
		t.Fatalf("a fork has its turn: %+v", step)
	}
	if all, named, ofCopies := q.Len(); all != forks*997 || named != 0 || ofCopies != all {
		t.Error(all, named, ofCopies)
	}
	stranger := numbered(1)
	for n := range 100 {
		q.PutWhole(Mark{Position: 2}, stranger, numbered(500+n), 1)
	}
	copied := 0
	for range 40 {
		step, _ := q.Take(true)
		if step.Copies {
			copied++
			q.Continue(step, fileOf(step.Project, "a"), true, owner, 10)
		}
	}
	if copied != 40/len(turns) {
		t.Errorf("%d of 40 steps were for forks", copied)
	}
	if q.Oldest(true).Position != 1 {
		t.Error(q.Oldest(true))
	}
}

// TestQueueIsBoundedByProjects changes many documents of one project.
func TestQueueIsBoundedByProjects(t *testing.T) {
	q, owner, project := NewQueue(), numbered(0), numbered(1)
	for n := range 10 * projectKeysMax {
		q.Put(Mark{Position: uint64(n + 1)}, owner, fileOf(project, fmt.Sprint(n)))
	}
	if len(q.mu.keys) != projectKeysMax || q.Wholes() != 1 {
		t.Errorf("%d documents, %d projects", len(q.mu.keys), q.Wholes())
	}
	for i := 1; i < 2*queueKeysMax/projectKeysMax; i++ {
		for n := range projectKeysMax {
			q.Put(Mark{Position: 9999}, owner, fileOf(numbered(i+1), fmt.Sprint(n)))
		}
	}
	if len(q.mu.keys) != queueKeysMax {
		t.Errorf("%d documents", len(q.mu.keys))
	}
	for {
		if _, any := q.Take(true); !any {
			break
		}
	}
	if len(q.mu.keys) != 0 || waitingIn(q) != 0 {
		t.Errorf("%d documents wait, %d keys are left", waitingIn(q), len(q.mu.keys))
	}
}

// TestChangesBehindALookAreNotLost changes a project while it is looked through: in a step, and
// between two. It is looked through once more, and until then its oldest change counts.
func TestChangesBehindALookAreNotLost(t *testing.T) {
	for _, inStep := range []bool{true, false} {
		q, owner, project := NewQueue(), numbered(0), numbered(1)
		q.PutWhole(Mark{Position: 5}, owner, project, 10)
		q.PutWhole(Mark{Position: 6}, owner, project, 10)
		step, _ := q.Take(true)
		if inStep {
			q.PutWhole(Mark{Position: 7}, owner, project, 10)
		}
		q.Continue(step, fileOf(project, "m"), false, owner, 5)
		if !inStep {
			q.PutWhole(Mark{Position: 7}, owner, project, 10)
		}
		q.Done()
		if q.Oldest(true).Position != 5 || q.Wholes() != 1 {
			t.Error(q.Oldest(true), q.Wholes())
		}
		if step, _ = q.Take(true); step.From != fileOf(project, "m") {
			t.Errorf("%+v", step)
		}
		q.Finish(step)
		q.Done()
		if q.Oldest(true).Position != 7 {
			t.Error(q.Oldest(true))
		}
		if step, _ = q.Take(true); step.From != (Key{}) {
			t.Errorf("%+v", step)
		}
		q.Finish(step)
		q.Done()
		if _, any := q.Take(true); any || q.Oldest(true) != never {
			t.Error("something is left")
		}
	}
}
