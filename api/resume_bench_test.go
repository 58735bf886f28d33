package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pws/internal/id"
	"pws/work"
)

// old is a project with a long history: changesets over some hundred files, a thousand tasks of all
// kinds, handoffs, and many agents that once wrote.
func old(b *testing.B, changesets, tasks, handoffs int) *fakeEngine {
	b.Helper()
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(b, work.About{Name: "old", Description: "A project with a history."})
	for n := range changesets {
		path := fmt.Sprintf("src/package%d/file%d.go", n%20, n%400)
		operation := writes(path, "package main\n\nfunc main() {}\n")
		if n >= 400 {
			operation.Action = work.Modify
		}
		d.publish(b, fmt.Sprintf("Change %d: %s", n, strings.Repeat("why ", 20)), operation)
	}
	d.do(b, "ann", &work.UpdateState{Statement: work.Statement{
		Summary: strings.Repeat("current status ", 20), Objective: "a long life",
		KnownProblems: items(10), NextActions: items(10), Decisions: items(30),
		ImportantFiles: []string{"src/package0/file0.go", "src/package1/file1.go"},
	}})
	var last id.ID
	for n := range tasks {
		spec := work.TaskSpec{
			Title: fmt.Sprintf("Task %d", n), Description: strings.Repeat("at length ", 30),
			Skills: []string{"go", "testing"}, Conditions: items(3),
		}
		if n%5 == 0 && n > 0 {
			spec.Dependencies = []id.ID{last}
		}
		last = d.task(b, spec)
		if n%10 == 1 {
			name := fmt.Sprintf("w%d", n)
			d.join(name, "worker-"+name)
			d.do(b, name, &work.ClaimTask{Task: last})
		}
		if n%10 == 2 {
			d.block(b, last, "nobody knows how")
		}
	}
	for range handoffs {
		d.do(b, "ann", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: "left", NextActions: items(10), Blockers: items(3), CompletedWork: items(20),
			FailedApproaches: []work.Note{{Text: "one", Reason: "slow", Reasoned: true}},
		}})
	}
	return d
}

func items(count int) []string {
	return slices.Repeat([]string{strings.Repeat("an item of text ", 10)}, count)
}

// BenchmarkResume and BenchmarkManifest read a small project and one with a long history; half of
// the reads take no longer than p50-µs.
func BenchmarkResume(b *testing.B) {
	benchmarkRead(b, "resume.read",
		[]string{"detail", "compact"}, nil, []string{"detail", "full", "max_chars", "200000"})
}

func BenchmarkManifest(b *testing.B) { benchmarkRead(b, "manifest.read", nil) }

func benchmarkRead(b *testing.B, operation string, queries ...[]string) {
	for _, size := range [][3]int{{20, 5, 1}, {10_000, 1000, 500}} {
		d := old(b, size[0], size[1], size[2])
		for _, query := range queries {
			b.Run(fmt.Sprintf("changesets=%d%s", size[0], strings.Join(query, ",")),
				func(b *testing.B) { measure(b, d, operation, query) })
		}
	}
}

func measure(b *testing.B, d *fakeEngine, operation string, query []string) {
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		if _, err := d.read(operation, "ann", query...); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
}
