package actors

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"pws/index"
	"pws/work"
)

// fillProjects makes projects with tasks, files, a relation and a watcher each.
func fillProjects(b *testing.B, e *Engine, count int) {
	owner, friend := register(b, e, "owner"), register(b, e, "friend")
	first := createProject(b, e, owner, work.Public)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := n; i < count; i += 8 {
				project := createProject(b, e, owner, work.Public)
				createTasks(b, e, project, owner, 5)
				mustWrite(b, e, project, owner, "a.go", "b.go", fmt.Sprint(i, ".py"))
				mustDo(b, e, project, owner, relate(first))
				mustDo(b, e, project, friend, &work.WatchProject{})
			}
		})
	}
	all.Wait()
}

// BenchmarkStart2000 starts an engine with 2,000 projects and asks each index once: with all of
// them in a snapshot, and with all of them in the log. KiB is the heap after that.
func BenchmarkStart2000(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "data")
	config := quiet(dir)
	e := start(b, config)
	fillProjects(b, e, 2000)
	inLog := crashCopy(b, dir)
	saveAll(b, e)
	saved := crashCopy(b, dir)
	for _, c := range []struct{ name, dir string }{{"snapshot", saved}, {"log", inLog}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				config.Dir = c.dir
				again := start(b, config)
				of, now := again.Indexes(index.ForTasks|index.ForSubjects), again.Now()
				if len(of.Tasks.Public(work.TaskOpen, now, index.TaskPosition{}, 10)) != 10 ||
					len(of.Subjects.Find("go", 10)) != 10 ||
					len(of.Tasks.Working("none", now, 10)) != 0 {
					b.Fatal("the indexes are empty")
				}
				agent, _ := again.Identity().AgentByHandle("friend")
				again.Indexes(index.ForProfiles).Profiles.Of(agent.ID)
				if len(again.Indexes(index.ForWatches).Watches.Of(agent.ID)) != 2000 {
					b.Fatal("nothing is watched")
				}
				b.StopTimer()
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc>>10), "KiB")
				stop(b, again)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPublish applies changes of tasks to the indexes of a project with a thousand of them.
func BenchmarkPublish(b *testing.B) {
	e, project, owner := oneProject(b, nil)
	tasks := createTasks(b, e, project, owner, 1000)
	h, _ := e.handles.Load(project)
	before := h.view.Load().project
	type step struct {
		next   *work.Project
		events []work.Event
	}
	var steps []step
	for i := range 100 {
		title := fmt.Sprint(i)
		event := &work.TaskUpdated{Task: tasks[i], Change: work.TaskChange{Title: &title}}
		next := before.Clone()
		next.Apply(event, work.Moment{Now: e.Now(), Agent: owner})
		steps = append(steps, step{next, []work.Event{event}})
		before = next
	}
	position := e.journal.Durable()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		one := steps[n%len(steps)]
		e.publish(h, one.next, position, one.events)
	}
}
