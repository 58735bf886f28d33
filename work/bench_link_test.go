package work_test

import (
	"fmt"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// linked is a project with the maximum number of tasks, each of which depends on the ones before
// it, and with the IDs of its tasks.
func linked(b *testing.B, dependencies int) (*world, []id.ID) {
	w := filled(b, 10)
	tasks := make([]id.ID, 0, work.TasksMax)
	for n := range work.TasksMax {
		spec := work.TaskSpec{Title: fmt.Sprint("task ", n), Priority: work.PriorityNormal}
		spec.Dependencies = append(spec.Dependencies, tasks[max(0, n-dependencies):]...)
		tasks = append(tasks, w.must(b, &work.CreateTask{Spec: spec}).Result.Subject)
	}
	return w, tasks
}

// BenchmarkLinkTasks changes the dependencies and the parent of a hundred tasks in one checkpoint,
// each to one from which nearly all other tasks are reached.
func BenchmarkLinkTasks(b *testing.B) {
	const links = 100
	for _, dependencies := range []int{1, 100} {
		b.Run(fmt.Sprint("dependencies=", dependencies), func(b *testing.B) {
			w, tasks := linked(b, dependencies)
			command := &work.CreateCheckpoint{Summary: "links"}
			for n := range links {
				last := tasks[len(tasks)-1-links-n]
				list := []id.ID{last}
				command.Tasks = append(command.Tasks, work.CheckpointTask{Update: work.UpdateTask{
					Task:   tasks[len(tasks)-1-n],
					Change: work.TaskChange{Dependencies: &list, Parent: &last},
				}})
			}
			stamp := w.stamp(agent("ann"))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := work.Decide(command, w.project, stamp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWaitingTasks finds that no task of a project can be claimed.
func BenchmarkWaitingTasks(b *testing.B) {
	for _, dependencies := range []int{1, 100} {
		b.Run(fmt.Sprint("dependencies=", dependencies), func(b *testing.B) {
			w, tasks := linked(b, dependencies)
			// The first task holds up all others, as the last dependency of each.
			for n, task := range tasks {
				change := work.TaskChange{Status: work.TaskBlocked, Blocked: &work.Blocked{
					Kind: work.BlockedByTransient,
				}}
				if n > 0 && n <= dependencies {
					change = work.TaskChange{Status: work.TaskDone}
				} else if n > 0 {
					list := append(tasks[1:dependencies:dependencies], tasks[0])
					change = work.TaskChange{Dependencies: &list}
				}
				w.must(b, &work.UpdateTask{Task: task, Change: change})
			}
			stamp := w.stamp(agent("ann"))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := work.Decide(new(work.ClaimNext), w.project, stamp); err == nil {
					b.Fatal("a task was claimed")
				}
			}
		})
	}
}
