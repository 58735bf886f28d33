package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	rest "pws/bench/client"
)

const (
	nemesisWorkers = 8
	// nemesisWorldTime is for how long clients use the same objects, and nemesisWorldUnknown how many
	// operations on them may have an unknown outcome. Both bound the time of the check.
	nemesisWorldTime    = 20 * time.Second
	nemesisWorldUnknown = 20
	// nemesisHungMax is what no request takes.
	nemesisHungMax = 15 * time.Second
	// nemesisRegainMax is AFTER how long writes are acknowledged again when a leader is gone, and
	// nemesisRegainBusy that on a machine that runs other tests too.
	nemesisRegainMax  = 5 * time.Second
	nemesisRegainBusy = 20 * time.Second
)

// nemesisLoad is the clients of a group.
type nemesisLoad struct {
	t       *testing.T
	group   *nemesisGroup
	history *nemesisHistory
	workers []*nemesisWorker
	// owner makes worlds; handles are those of all agents.
	owner   *nemesisClient
	handles []string
	world   atomic.Pointer[nemesisWorld]
	worlds  []*nemesisWorld
	madeAt  time.Time
	// unknown counts the operations of unknown outcome on earlier worlds.
	unknown int
	longest atomic.Int64
	starved nemesisStarved
	// damaged says that a member may have damaged data, and may say so.
	damaged atomic.Bool
	running sync.WaitGroup
	end     context.CancelFunc
	mu      struct {
		sync.Mutex
		// awaited is the moment AFTER which a write is to be sent that is acknowledged.
		awaited  time.Time
		regained chan time.Duration
	}
	// regained are the times from the loss of a leader until a write was acknowledged.
	regained []time.Duration
}

// startLoad registers agents and lets them work.
func startLoad(t *testing.T, g *nemesisGroup, seed uint64) *nemesisLoad {
	t.Helper()
	l := &nemesisLoad{t: t, group: g, history: newNemesisHistory()}
	for number := range nemesisWorkers {
		api := &rest.API{Host: g.host(number)}
		// A test may start loads of several seeds on one group.
		handle := fmt.Sprintf("nemesis-%x-%d", seed, number)
		if err := api.Register(handle); err != nil {
			t.Fatal(err)
		}
		w := &nemesisWorker{
			nemesisClient: newNemesisClient(&l.longest), load: l, number: number,
			random: rand.New(rand.NewPCG(seed, uint64(number))),
		}
		w.credential = api.Credential
		api.Close()
		var me struct {
			Agent struct {
				ID string `json:"id"`
			} `json:"agent"`
		}
		l.must(w.nemesisClient, nemesisCall{method: "GET", path: "agents/me"}, &me)
		w.agent = me.Agent.ID
		w.hurry = func() bool { return w.random.IntN(8) > 0 }
		l.workers, l.handles = append(l.workers, w), append(l.handles, handle)
	}
	l.owner = newNemesisClient(new(atomic.Int64))
	l.owner.credential = l.workers[0].credential
	l.nextWorld()
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	t.Cleanup(l.stop)
	l.running.Go(func() { l.starved.watch(ctx) })
	for _, w := range l.workers {
		l.running.Go(func() { w.run(ctx) })
	}
	return l
}

// stop ends the load. A second call does nothing.
func (l *nemesisLoad) stop() {
	l.end()
	l.running.Wait()
	l.owner.http.CloseIdleConnections()
	for _, w := range l.workers {
		w.http.CloseIdleConnections()
	}
}

// must repeats a request until it is done.
func (l *nemesisLoad) must(client *nemesisClient, call nemesisCall, into any) {
	l.t.Helper()
	if call.method == "POST" {
		call.key = rest.RandomKey()
	}
	until := time.Now().Add(patience)
	for which := 0; ; which++ {
		answer := client.send(l.group.host(which), call)
		switch {
		case answer.outcome == nemesisDone:
			if into == nil {
				return
			}
			if err := answer.into(into); err != nil {
				l.t.Fatal(err)
			}
			return
		case answer.outcome == nemesisRefused || time.Now().After(until):
			l.t.Fatalf("%s %s: %d %s", call.method, call.path, answer.status, answer.text)
		}
		nemesisPause(50 * time.Millisecond)
	}
}

// nextWorld makes other objects, and has all clients use them.
func (l *nemesisLoad) nextWorld() {
	l.t.Helper()
	post := func(path string, body map[string]any, into any) {
		l.t.Helper()
		l.must(l.owner, nemesisCall{method: "POST", path: path, body: body}, into)
	}
	var project struct {
		Project struct {
			ID string `json:"id"`
		} `json:"project"`
	}
	post("projects", map[string]any{
		"name": "world", "visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE",
	}, &project)
	world := &nemesisWorld{project: project.Project.ID, files: []string{"a.txt", "b/c.txt"}}
	below := "projects/" + world.project
	for _, handle := range l.handles[1:] {
		post(below+"/members", map[string]any{"agent": handle, "role": "MAINTAINER"}, nil)
	}
	for range 2 {
		var task struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
		}
		post(below+"/tasks", map[string]any{"title": "task"}, &task)
		world.tasks = append(world.tasks, task.Task.ID)
	}
	var discussion struct {
		Discussion struct {
			ID string `json:"id"`
		} `json:"discussion"`
	}
	post(below+"/discussions", map[string]any{"title": "all", "body": "all"}, &discussion)
	world.discussion = discussion.Discussion.ID
	l.worlds, l.madeAt = append(l.worlds, world), time.Now()
	l.history.mu.Lock()
	l.unknown = l.history.mu.counts[nemesisUnknown]
	l.history.mu.Unlock()
	l.world.Store(world)
}

// worldIsOld says that clients are to use other objects.
func (l *nemesisLoad) worldIsOld() bool {
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	return time.Since(l.madeAt) > nemesisWorldTime ||
		l.history.mu.counts[nemesisUnknown]-l.unknown > nemesisWorldUnknown
}

// acknowledged notes that a write which was sent at a time was acknowledged.
func (l *nemesisLoad) acknowledged(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.awaited.IsZero() && sent.After(l.mu.awaited) {
		l.mu.regained <- time.Since(l.mu.awaited)
		l.mu.awaited = time.Time{}
	}
}

// regain waits until a write is acknowledged that was sent AFTER now, and returns how long it took,
// which has a limit.
func (l *nemesisLoad) regain(what string) time.Duration {
	l.t.Helper()
	limit := nemesisRegainBusy
	if os.Getenv(nemesisTimeEnv) != "" {
		limit = nemesisRegainMax
	}
	regained, starved := make(chan time.Duration, 1), l.starved.sum.Load()
	l.mu.Lock()
	l.mu.awaited, l.mu.regained = time.Now(), regained
	l.mu.Unlock()
	select {
	case took := <-regained:
		late := time.Duration(l.starved.sum.Load() - starved)
		l.t.Logf("%s: a write was acknowledged AFTER %v", what, took.Round(time.Millisecond))
		if took > limit+late {
			l.t.Errorf("%s: no write was acknowledged for %v; this process had to wait %v of it for a "+
				"processor", what, took, late)
		}
		return took
	case <-time.After(patience):
		l.t.Fatalf("%s: no write was acknowledged for %v", what, patience)
	}
	return 0
}

// nemesisStarved sums up for how long this process was ready to run and did not, because the
// machine had too much to do. Limits of time grow by that.
type nemesisStarved struct{ sum atomic.Int64 }

func (s *nemesisStarved) watch(ctx context.Context) {
	const every, usual = 20 * time.Millisecond, 20 * time.Millisecond
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for before := time.Now(); ; before = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if late := time.Since(before) - every; late > usual {
				s.sum.Add(int64(late))
			}
		}
	}
}

// examine compares what all members answer, AFTER the load was stopped. The history learns of it.
func (l *nemesisLoad) examine() {
	l.t.Helper()
	for _, world := range l.worlds {
		counts := map[string]int{}
		var first, names []string
		for i := range l.group.members {
			host := l.group.host(i)
			if err := l.workers[i].readAll(host, world); err != nil {
				l.t.Fatal(err)
			}
			var traces []string
			all := l.everything(host, world, func(name string) { traces = append(traces, name) })
			for _, name := range traces {
				counts[name]++
			}
			if i == 0 {
				first, names = all, traces
			}
			if difference := cmp.Diff(first, all); difference != "" {
				l.t.Errorf("%s differs from the first member: %s", host, difference)
			}
		}
		l.checkEffects(world, counts)
		l.history.settle(world, names)
	}
}

// checkEffects checks that what was acknowledged is on all members once, and what was refused on
// none.
func (l *nemesisLoad) checkEffects(world *nemesisWorld, counts map[string]int) {
	l.t.Helper()
	members, done := len(l.group.members), 0
	l.history.mu.Lock()
	defer l.history.mu.Unlock()
	for name, effect := range l.history.mu.effects {
		if effect.world != world {
			continue
		}
		got, right := counts[name], false
		switch effect.outcome {
		case nemesisDone:
			right = got == members
			done++
		case nemesisUnknown:
			right = got == 0 || got == members
		default:
			right = got == 0
		}
		if !right {
			l.t.Errorf("%+v with outcome %d is there %d times on %d members", effect.input,
				effect.outcome, got, members)
		}
	}
	l.t.Logf("%s: %d acknowledged writes are on all members once", world.project, done)
}

// everything is what a member answers about a world. trace gets the names of all changesets in it,
// newest first, and of all comments. A cursor is valid on all members, but no two are equal.
func (l *nemesisLoad) everything(
	host string, world *nemesisWorld, trace func(name string),
) (all []string) {
	l.t.Helper()
	below := "projects/" + world.project
	paths := []string{
		below, below + "/state", below + "/members", below + "/files?limit=200",
		below + "/tasks?limit=200", "discussions/" + world.discussion + "?limit=200",
		below + "/changesets?limit=200",
	}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		answer := l.owner.send(host, nemesisCall{method: "GET", path: path})
		if answer.outcome != nemesisDone {
			l.t.Fatalf("%s %s: %d %s", host, path, answer.status, answer.text)
		}
		var page struct {
			Comments   []struct{ Body string }    `json:"comments"`
			Changesets []struct{ Message string } `json:"changesets"`
			Next       string                     `json:"next_cursor"`
		}
		if err := json.Unmarshal(answer.data, &page); err != nil {
			l.t.Fatal(err)
		}
		for _, one := range page.Comments {
			trace(one.Body)
		}
		for _, one := range page.Changesets {
			trace(one.Message)
		}
		path, _, _ = strings.Cut(path, "&cursor=")
		all = append(all, path+" "+strings.Replace(string(answer.data), page.Next, "", 1))
		if page.Next != "" {
			paths = append(paths, path+"&cursor="+url.QueryEscape(page.Next))
		}
	}
	return all
}
