package work_test

import (
	"testing"

	"pws/internal/id"
	"pws/work"
)

// manyClaims is a project in which an agent holds more claims than one entry records the ends of.
// It returns the tasks in the order of their claims.
func manyClaims(t *testing.T, who id.ID) (w *world, tasks []id.ID) {
	t.Helper()
	w = newWorld()
	w.create(t)
	if who != w.project.Owner {
		w.must(t, &work.AddMember{Agent: who, Role: work.Contributor})
	}
	for range work.OrderEventsMax + 10 {
		task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
		if _, err := w.do(who, &work.ClaimTask{Task: task}); err != nil {
			t.Fatal(err)
		}
		w.now++
		tasks = append(tasks, task)
	}
	return w, tasks
}

// TestReleaseAllIsBounded releases many claims with several orders.
func TestReleaseAllIsBounded(t *testing.T) {
	who := agent("bob")
	w, tasks := manyClaims(t, who)
	for _, want := range []int{1 + work.OrderEventsMax, 10, 0} {
		decision, err := w.do(who, new(work.ReleaseAll))
		if err != nil || len(decision.Events) != want {
			t.Fatalf("%d events and not %d, %v", len(decision.Events), want, err)
		}
	}
	if w.project.ClaimedCount(w.now) != 0 || w.project.TaskCount(work.TaskOpen, w.now) != len(tasks) {
		t.Error("claims were left")
	}
}

// TestExpiryOfManyClaimsIsBounded has many claims expire at once. Each order records some, and
// those of the tasks that it is about; all read as expired from the beginning.
func TestExpiryOfManyClaimsIsBounded(t *testing.T) {
	who := agent("bob")
	w, tasks := manyClaims(t, who)
	w.now += 2 * work.LeaseSeconds * 1000
	open := func() int { return w.project.TaskCount(work.TaskOpen, w.now) }
	if open() != len(tasks) {
		t.Fatalf("%d of %d tasks are open", open(), len(tasks))
	}
	last, other := tasks[len(tasks)-1], tasks[len(tasks)-2]
	decision := w.must(t, &work.ClaimTask{Task: last})
	if len(decision.Events) > work.OrderEventsMax+3 {
		t.Errorf("%d events", len(decision.Events))
	}
	one, _ := w.project.Task(last, w.now)
	if one.Claim == nil || one.Claim.Agent != w.project.Owner || one.Status != work.TaskInProgress ||
		one.Attempts != 1 || one.Claim.Before != work.TaskOpen {
		t.Errorf("%+v", one)
	}
	title := "changed"
	w.must(t, &work.UpdateTask{Task: other, Change: work.TaskChange{Title: &title}})
	if one, _ := w.project.Task(other, work.AsStored); one.Claim != nil || one.Attempts != 1 {
		t.Errorf("%+v", one)
	}
	for range 3 {
		if _, err := w.do(id.ID{}, new(work.ExpireClaims)); err != nil {
			t.Fatal(err)
		}
	}
	if first := w.project.NextExpiry(); first <= w.now || open() != len(tasks)-1 {
		t.Errorf("the next expiry is at %d, %d tasks are open", first, open())
	}
}

// TestBlockIsBounded blocks a former member that holds many claims.
func TestBlockIsBounded(t *testing.T) {
	who := agent("bob")
	w, tasks := manyClaims(t, who)
	w.must(t, &work.RemoveMember{Agent: who})
	decision := w.must(t, &work.BlockAgent{Agent: who})
	if len(decision.Events) > work.OrderEventsMax {
		t.Errorf("%d events", len(decision.Events))
	}
	w.now += 2 * work.LeaseSeconds * 1000
	if open := w.project.TaskCount(work.TaskOpen, w.now); open != len(tasks) {
		t.Errorf("%d of %d tasks are open", open, len(tasks))
	}
}
