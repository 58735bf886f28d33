//go:build unix

package api_test

import (
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"testing"
	"time"

	"pws/actors"
	"pws/api"
	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// population is a testEngine in which nothing happens beside what is measured, with many
// projects of one owner.
type population struct {
	*testEngine
	owner    *testAgent
	projects []id.ID
}

// populationInFlight is how many orders wait for the disk together while a population is made.
const populationInFlight = 128

// gather makes projects, each of them filled by fill.
func gather(b *testing.B, count int, fill func(c *population, nth int)) *population {
	b.Helper()
	engine, _, err := actors.Open(actors.Config{
		Dir: b.TempDir(), ReserveBytes: -1, Log: slog.New(slog.DiscardHandler),
		SnapshotEvery: time.Hour, SweepEvery: time.Hour, NoSearch: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	o := &testEngine{Engine: engine, t: b}
	o.service = api.NewService(o, api.Config{})
	c := &population{testEngine: o, owner: o.register("owner"), projects: make([]id.ID, count)}
	now := o.Now()
	c.together(count, func(nth int) {
		c.projects[nth] = id.New(now, [10]byte{byte(nth), byte(nth >> 8), 1})
		c.give(c.owner, c.projects[nth], &work.CreateProject{
			ID: c.projects[nth], Kind: work.Standard, About: work.About{
				Name: fmt.Sprint("project ", nth), Visibility: work.Public, Reuse: work.AllowReuse,
				License: "MIT", Topics: []string{fmt.Sprint("topic-", nth%50)},
			},
		})
		fill(c, nth)
	})
	return c
}

// together does something many times, some at one time.
func (c *population) together(count int, do func(nth int)) {
	var group sync.WaitGroup
	for first := range min(count, populationInFlight) {
		group.Go(func() {
			for nth := first; nth < count; nth += populationInFlight {
				do(nth)
			}
		})
	}
	group.Wait()
}

// processorTime is what this process has used of the processors. It says more than the clock where
// others take most of them.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ask measures an operation.
func (c *population) ask(b *testing.B, who *testAgent, r request) {
	b.ReportAllocs()
	before := processorTime(b)
	defer func() {
		used := processorTime(b) - before
		b.ReportMetric(float64(used.Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
	}()
	var call api.Call
	for _, one := range api.Table {
		if one.Name == r.operation {
			call.Operation = one
		}
	}
	for b.Loop() {
		fresh := &api.Call{
			Service: c.service, Operation: call.Operation, Now: c.Now(), Query: r.query,
			Session: who.session, Agent: who.id(),
		}
		reply, err := fresh.Operation.Run(fresh, fresh.Operation.NewRequest())
		if err != nil {
			b.Fatal(err)
		}
		if len(reply.AppendData(nil)) == 0 {
			b.Fatal("no answer")
		}
	}
}

// BenchmarkOpportunities asks for what could be done where 1,000 projects have 100,000 open tasks:
// as an agent that has said nothing of itself, as one that has, and for one skill.
func BenchmarkOpportunities(b *testing.B) {
	const projects, tasksEach = 1000, 100
	c := gather(b, projects, func(c *population, nth int) {
		checkpoint := &work.CreateCheckpoint{Summary: "tasks"}
		for task := range tasksEach {
			checkpoint.Tasks = append(checkpoint.Tasks, work.CheckpointTask{Create: &work.TaskSpec{
				Title: fmt.Sprint("task ", task), Description: "what there is to do",
				Priority: work.Priority(1 + (nth+task)%4), Type: fmt.Sprint("type-", task%10),
				Skills:       []string{fmt.Sprint("skill-", (nth*7+task)%40), "common"},
				RelatedFiles: []string{"main.go"},
			}})
		}
		c.give(c.owner, c.projects[nth], checkpoint)
	})
	nobody, skilled := c.register("nobody"), c.register("skilled")
	said := &identity.DeclareProfile{
		Caller: identity.Caller{Agent: skilled.id(), Session: skilled.session.ID},
	}
	for n := range 8 {
		said.Lists[identity.ProfileCapabilities] = append(
			said.Lists[identity.ProfileCapabilities], fmt.Sprint("skill-", n))
		said.Lists[identity.ProfileDomains] = append(
			said.Lists[identity.ProfileDomains], fmt.Sprint("topic-", n))
	}
	said.Lists[identity.ProfileLanguages] = []string{"go"}
	c.identify(said)
	for _, one := range []struct {
		name  string
		who   *testAgent
		query map[string]string
	}{
		{"no profile", nobody, nil},
		{"profile", skilled, nil},
		{"skill", nobody, map[string]string{"skill": "skill-3"}},
		{"common skill", nobody, map[string]string{"skill": "common"}},
		{"owner of all", c.owner, nil},
	} {
		b.Run(one.name, func(b *testing.B) {
			c.ask(b, one.who, request{operation: "opportunity.list", query: one.query})
		})
	}
}

// BenchmarkInboxWatching reads the inbox of an agent that watches 500 projects, with different
// numbers of events in each.
func BenchmarkInboxWatching(b *testing.B) {
	for _, tasksEach := range []int{0, 1, 20} {
		c := gather(b, work.WatchesMax, func(*population, int) {})
		reader := c.register("reader")
		c.together(len(c.projects), func(nth int) {
			c.give(reader, c.projects[nth], new(work.WatchProject))
			for range tasksEach {
				c.give(c.owner, c.projects[nth], &work.CreateTask{
					Spec: work.TaskSpec{Title: "news", Priority: work.PriorityNormal},
				})
			}
		})
		b.Run(fmt.Sprint("events of each=", tasksEach), func(b *testing.B) {
			c.ask(b, reader, request{operation: "inbox.read"})
		})
	}
}

// BenchmarkStreams has 1,000 streams of one project look for one event. An operation is one event
// for one stream.
func BenchmarkStreams(b *testing.B) {
	const streams = 1000
	c := gather(b, 1, func(*population, int) {})
	reader := c.register("reader")
	var lives []api.EventStream
	for range streams {
		call := &api.Call{
			Service: c.service, Now: c.Now(), Session: reader.session, Agent: reader.id(),
			Query: map[string]string{"project": c.projects[0].Format(id.Project)}, Streams: true,
		}
		for _, one := range api.Table {
			if one.Name == "events.poll" {
				call.Operation = one
			}
		}
		reply, err := call.Operation.Run(call, call.Operation.NewRequest())
		if err != nil {
			b.Fatal(err)
		}
		live := reply.Data.(api.EventStream)
		defer live.Stop()
		lives = append(lives, live)
	}
	var text []byte
	look := func(nth int) int {
		var err error
		if text, err = lives[nth].Look(text[:0]); err != nil {
			b.Fatal(err)
		}
		return len(text)
	}
	for nth := range lives {
		look(nth)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%streams == 0 {
			b.StopTimer()
			c.give(c.owner, c.projects[0], &work.CreateTask{
				Spec: work.TaskSpec{Title: "news", Priority: work.PriorityNormal},
			})
			// The feed follows on its own.
			if _, err := c.Activity(api.ActivityQuery{Limit: 1}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if look(n%streams) == 0 {
			b.Fatal("nothing came")
		}
	}
}
