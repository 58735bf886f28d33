package work_test

import (
	"fmt"
	"testing"

	"pws/work"
)

// BenchmarkClaimNextUnskilled finds that no task fits, each for the last of the skills that it
// requires.
func BenchmarkClaimNextUnskilled(b *testing.B) {
	w := filled(b, 10)
	skills := make([]string, 100)
	for n := range skills {
		skills[n] = fmt.Sprintf("%064d", n)
	}
	for range work.TasksMax {
		w.must(b, &work.CreateTask{Spec: work.TaskSpec{
			Title: "t", Skills: append(skills[len(skills)-19:], "another"),
		}})
	}
	stamp := w.stamp(agent("ann"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := work.Decide(&work.ClaimNext{Skills: skills}, w.project, stamp); err == nil {
			b.Fatal("a task was claimed")
		}
	}
}
