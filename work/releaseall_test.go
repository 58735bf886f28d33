package work_test

import (
	"testing"

	"pws/work"
)

// TestReleaseAllIsNoWork: an agent whose claims are released on its behalf does not work. Its open
// session ends, and no other begins.
func TestReleaseAllIsNoWork(t *testing.T) {
	for _, open := range []bool{false, true} {
		w := newWorld()
		w.create(t)
		task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
		eve := agent("eve")
		if _, err := w.do(eve, &work.ClaimTask{Task: task}); err != nil {
			t.Fatal(err)
		}
		session, _ := w.project.OpenSession(eve)
		if !open {
			if _, err := w.do(eve, &work.EndWorkSession{Session: session.ID}); err != nil {
				t.Fatal(err)
			}
		}
		w.now += 600_000
		if _, err := w.do(eve, new(work.ReleaseAll)); err != nil {
			t.Fatal(err)
		}
		if one, _ := w.project.Task(task, w.now); one.Claim != nil {
			t.Error("the claim was not released")
		}
		if _, works := w.project.OpenSession(eve); works {
			t.Errorf("open before: %v, the agent has an open session", open)
		}
		ended, _ := w.project.WorkSession(session.ID)
		if ended.EndedAt == 0 || ended.LastActiveAt != session.LastActiveAt {
			t.Errorf("the session ended at %d, last active at %d", ended.EndedAt, ended.LastActiveAt)
		}
	}
}
