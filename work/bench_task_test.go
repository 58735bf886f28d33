package work_test

import (
	"fmt"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// BenchmarkPutFileOfMany lets many agents write in turns, each in its own work session.
func BenchmarkPutFileOfMany(b *testing.B) {
	for _, agents := range []int{1, 64, 900} {
		b.Run(fmt.Sprint("agents=", agents), func(b *testing.B) {
			w := filled(b, 10)
			stamps := make([]work.Stamp, agents)
			for n := range stamps {
				who := agent(fmt.Sprint("a", n))
				w.must(b, &work.AddMember{Agent: who, Role: work.Maintainer})
				stamps[n] = w.stamp(who)
			}
			contents := []work.Blob{blob("one"), blob("two")}
			p, at := w.project, 0
			b.ReportAllocs()
			for b.Loop() {
				command := &work.PutFile{
					Path: "folder-0/file-0.go", Blob: contents[at%2], ContentType: "text/plain",
				}
				p = next(b, p, command, stamps[at%agents])
				at++
			}
		})
	}
}

// backlog is a project with open tasks.
func backlog(b *testing.B, tasks int) *world {
	w := filled(b, 10)
	for n := range tasks {
		w.must(b, &work.CreateTask{Spec: work.TaskSpec{
			Title: fmt.Sprint("task ", n), Priority: work.Priority(1 + n%4), Skills: []string{"go"},
		}})
	}
	return w
}

// BenchmarkClaimNext takes the best task and gives it back.
func BenchmarkClaimNext(b *testing.B) {
	for _, tasks := range []int{10, 1000, work.TasksMax} {
		b.Run(fmt.Sprint("tasks=", tasks), func(b *testing.B) {
			w := backlog(b, tasks)
			stamp, p := w.stamp(agent("bob")), w.project
			b.ReportAllocs()
			for b.Loop() {
				p = next(b, p, &work.ClaimNext{Skills: []string{"go", "sql"}}, stamp)
				var claimed id.ID
				p.ClaimedTasks(stamp.Now, func(t *work.Task) bool {
					claimed = t.ID
					return false
				})
				p = next(b, p, &work.ReleaseTask{Task: claimed}, stamp)
			}
		})
	}
}

// BenchmarkCheckpoint writes two files, the state, a handoff and a task as one step. Handoffs are
// bounded, so each round begins with the same project.
func BenchmarkCheckpoint(b *testing.B) {
	w := backlog(b, 1000)
	stamp, at := w.stamp(agent("ann")), 0
	task := w.project.NewestTasks(1, w.now)[0].ID
	b.ReportAllocs()
	for b.Loop() {
		at++
		one, two := blob(fmt.Sprint("one ", at)), blob(fmt.Sprint("two ", at))
		base, title := w.project.Head().ID, fmt.Sprint("title ", at)
		next(b, w.project, &work.CreateCheckpoint{
			Summary: "night", Base: &base, Message: "work",
			Files: []work.CheckpointFile{
				{Path: "folder-0/file-0.go", Content: &one, ContentType: "text/plain"},
				{Path: "new.go", Content: &two, ContentType: "text/plain"},
			},
			State: &work.UpdateState{Statement: work.Statement{
				Summary: "state", NextActions: []string{"go on"},
			}},
			Handoff: &work.Continuation{Summary: "left", NextActions: []string{"go on"}},
			Tasks: []work.CheckpointTask{{Update: work.UpdateTask{
				Task: task, Change: work.TaskChange{Title: &title},
			}}},
		}, stamp)
	}
}
