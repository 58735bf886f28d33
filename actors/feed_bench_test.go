//go:build unix

package actors

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"pws/api"
	"pws/internal/id"
	"pws/work"
)

// tail is one who is always at the end of what happens: polls that wait, each with the cursor of
// the one before.
type tail struct {
	engine *Engine
	query  map[string]string
	stop   chan struct{}
	ended  sync.WaitGroup
	// polls, events and err are read when it has ended.
	polls, events int
	err           error
}

// newTail comes to the end before it waits there.
func newTail(b *testing.B, e *Engine) *tail {
	b.Helper()
	t := &tail{engine: e, stop: make(chan struct{}), query: map[string]string{"limit": "200"}}
	for more := true; more; {
		reply, err := t.poll()
		data, ok := reply.Data.(api.EventsData)
		if err != nil || !ok {
			b.Fatal(err)
		}
		t.query["after"], more = data.NextCursor, data.HasMore
	}
	t.query["wait"] = "30"
	t.ended.Go(t.run)
	return t
}

func (t *tail) poll() (api.Reply, error) {
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == "events.poll" })
	op := api.Table[at]
	call := &api.Call{
		Service: api.NewService(t.engine, api.Config{}), Operation: op, Now: t.engine.Now(),
		Query: t.query,
	}
	return op.Run(call, op.NewRequest())
}

func (t *tail) run() {
	for {
		reply, err := t.poll()
		if later, waits := reply.Data.(api.Deferred); waits {
			reply, err = t.await(later)
		}
		data, ok := reply.Data.(api.EventsData)
		if t.err = err; !ok {
			return
		}
		t.polls++
		t.events += len(data.Events)
		t.query["after"] = data.NextCursor
	}
}

// await is done with the first events, and without any when the tail is to stop.
func (t *tail) await(later api.Deferred) (reply api.Reply, err error) {
	defer later.Stop()
	for there := false; !there && err == nil; {
		select {
		case <-t.stop:
			return reply, nil
		case <-later.Ready():
		}
		reply, there, err = later.Look(false)
	}
	return reply, err
}

func (t *tail) end() {
	close(t.stop)
	t.ended.Wait()
}

const benchWriters, benchWrites = 64, 100

// benchRound has writers write at once, and gives the writes in a second of the clock, and the
// microseconds of the processors for each.
func benchRound(b *testing.B, e *Engine, projects []id.ID, owner id.ID, round string) (r rate) {
	b.Helper()
	var all sync.WaitGroup
	began, used := time.Now(), usedProcessor(b)
	for nth := range benchWriters {
		all.Go(func() {
			for step := range benchWrites {
				content := fmt.Sprint(round, nth, step)
				if _, err := put(e, projects[nth], owner, fmt.Sprint("f", step%10), content); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	const writes = benchWriters * benchWrites
	r.cost = (usedProcessor(b) - used).Seconds() * 1e6 / writes
	r.writes = writes / time.Since(began).Seconds()
	return r
}

type rate struct{ writes, cost float64 }

func usedProcessor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkWritersAndFeed has 64 agents write, in rounds that take turns: with a feed that is
// stopped, with one that nobody reads, and with somebody at its end who waits for each event.
func BenchmarkWritersAndFeed(b *testing.B) {
	config := quiet(b.TempDir())
	e := start(b, config)
	owner := register(b, e, "owner")
	projects := make([]id.ID, benchWriters)
	for i := range projects {
		projects[i] = createProject(b, e, owner, work.Public)
	}
	benchRound(b, e, projects, owner, "warm")
	rates := map[string][]rate{}
	rounds, events, polls := 0, 0, 0
	for b.Loop() {
		rounds++
		e.feed.filling.Lock()
		e.feed.queue.Lock()
		e.feed.queue.missed = true
		e.feed.queue.Unlock()
		rates["still"] = append(rates["still"],
			benchRound(b, e, projects, owner, fmt.Sprint("still", rounds)))
		e.feed.filling.Unlock()
		for !e.feed.reach() {
		}
		rates["unread"] = append(rates["unread"],
			benchRound(b, e, projects, owner, fmt.Sprint("unread", rounds)))
		reader := newTail(b, e)
		rates["read"] = append(rates["read"],
			benchRound(b, e, projects, owner, fmt.Sprint("read", rounds)))
		if reader.end(); reader.err != nil {
			b.Fatal(reader.err)
		}
		events, polls = events+reader.events, polls+reader.polls
	}
	for name, all := range rates {
		slices.SortFunc(all, func(x, y rate) int { return int(x.writes - y.writes) })
		b.ReportMetric(all[len(all)/2].writes, name+"-writes/s")
		slices.SortFunc(all, func(x, y rate) int { return int(1000 * (x.cost - y.cost)) })
		b.ReportMetric(all[len(all)/2].cost, name+"-cpu-µs/write")
	}
	b.ReportMetric(float64(events)/float64(rounds), "events/round")
	b.ReportMetric(float64(polls)/float64(rounds), "polls/round")
	b.ReportMetric(benchWriters*benchWrites, "writes/round")
}
