package wake

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pws/internal/id"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func named(n int) id.ID { return id.New(int64(n), [10]byte{byte(n), byte(n >> 8)}) }

// open makes a hub in which projects below 100 are public; each other project n has agent n as its
// only member.
func open(t testing.TB) *Hub {
	t.Helper()
	h := NewHub(func(project id.ID) (bool, []id.ID) {
		for n := range 100 {
			if project == named(n) {
				return true, nil
			}
		}
		return false, []id.ID{project}
	})
	t.Cleanup(h.Close)
	return h
}

// waiting registers a waiter that waits.
func waiting(h *Hub, project, agent id.ID) *Waiter {
	w := h.Wait(project, agent)
	w.Ready()
	return w
}

func (w *Waiter) isWoken(t *testing.T) {
	t.Helper()
	select {
	case <-w.Ready():
	case <-time.After(time.Minute):
		t.Fatal("not woken")
	}
}

// waitingIn counts the waiters that have not stopped, by the counters that writers read.
func waitingIn(h *Hub) int {
	count := int(h.forAll.Load())
	for i := range h.named {
		count += int(h.named[i].Load())
	}
	return count
}

// TestNotifyWakesConcerned checks all waiters AFTER the waiter notified last has been woken: the
// queue is in order.
func TestNotifyWakesConcerned(t *testing.T) {
	last := named(99)
	for _, c := range []struct {
		name           string
		changed        []id.ID
		project, agent id.ID
		woken          bool
	}{
		{"its project", []id.ID{named(1)}, named(1), id.ID{}, true},
		{"its private project", []id.ID{named(101)}, named(101), named(101), true},
		{"another project", []id.ID{named(2)}, named(1), id.ID{}, false},
		{"all, a public project", []id.ID{named(1)}, id.ID{}, named(7), true},
		{"everybody, a public project", []id.ID{named(1)}, id.ID{}, id.ID{}, true},
		{"everybody, a private project", []id.ID{named(101)}, id.ID{}, id.ID{}, false},
		{"a member, a private project", []id.ID{named(101)}, id.ID{}, named(101), true},
		{"an outsider, a private project", []id.ID{named(101)}, id.ID{}, named(102), false},
		{"several", []id.ID{named(101), named(102)}, id.ID{}, named(102), true},
	} {
		h := open(t)
		w, marker := waiting(h, c.project, c.agent), waiting(h, last, id.ID{})
		h.Notify(c.changed...)
		if c.woken {
			w.isWoken(t)
			w.Seen(false)
		}
		h.Notify(last)
		marker.isWoken(t)
		// The last project is public, so all waiters for all projects are woken.
		if !c.woken && !c.project.IsZero() && len(w.ready) > 0 {
			t.Errorf("%s: woken", c.name)
		}
		marker.Stop()
		w.Stop()
		if waitingIn(h) != 0 {
			t.Errorf("%s: %d wait", c.name, waitingIn(h))
		}
	}
}

// TestPrivateProjectsDoNotWakeOthers checks that a private project wakes only its members among the
// agents that wait for all projects.
func TestPrivateProjectsDoNotWakeOthers(t *testing.T) {
	h := open(t)
	outsider, nobody, member := waiting(h, id.ID{}, named(102)), waiting(h, id.ID{}, id.ID{}),
		waiting(h, id.ID{}, named(101))
	for range 10 {
		h.Notify(named(101))
		member.isWoken(t)
		member.Seen(false)
	}
	if len(outsider.ready)+len(nobody.ready) > 0 {
		t.Error("an agent that is not a member was woken")
	}
}

// TestAwaits adds and stops waiters: Awaits is true while there is a waiter for a project or for
// all, and false for most other projects.
func TestAwaits(t *testing.T) {
	h := open(t)
	random := rand.New(rand.NewPCG(3, 4))
	fresh := func() id.ID {
		var entropy [10]byte
		for i := range entropy {
			entropy[i] = byte(random.Uint32())
		}
		return id.New(int64(random.IntN(1000)), entropy)
	}
	waiters := map[id.ID]*Waiter{}
	for range 100 {
		project := fresh()
		waiters[project] = h.Wait(project, named(1))
	}
	taken := 0
	for range 10_000 {
		if h.Awaits(fresh()) {
			taken++
		}
	}
	if taken > 1000 {
		t.Errorf("%d of 10000 projects without waiters have Awaits true", taken)
	}
	all := h.Wait(id.ID{}, named(1))
	if !h.Awaits(fresh()) {
		t.Error("Awaits is false with a waiter for all projects")
	}
	all.Stop()
	for project, w := range waiters {
		if !h.Awaits(project) {
			t.Fatal("Awaits is false with a waiter for the project")
		}
		w.Stop()
	}
	for project := range waiters {
		if h.Awaits(project) {
			t.Fatal("Awaits is true without waiters")
		}
	}
}

func TestNotifyDuringACheck(t *testing.T) {
	h := open(t)
	w := h.Wait(named(1), id.ID{})
	h.Notify(named(1))
	w.isWoken(t)
	h.Notify(named(1))
	other := h.Wait(named(2), id.ID{})
	h.Notify(named(2))
	other.isWoken(t)
	w.Seen(false)
	w.isWoken(t)
	w.Seen(true)
	w.isWoken(t)
	w.Seen(false)
	if w.Ready(); len(w.ready) > 0 {
		t.Error("woken without activity")
	}
}

// TestWaitersThatDoNotWaitHoldNothing has waiters that have checked and then do something slow, as
// a stream does whose reader stalls. Activity wakes the others at once, and those waiters later.
func TestWaitersThatDoNotWaitHoldNothing(t *testing.T) {
	h := open(t)
	busy := make([]*Waiter, 2*checksMax)
	for i := range busy {
		busy[i] = h.Wait(named(1), id.ID{})
	}
	h.Notify(named(1))
	for _, w := range busy {
		w.isWoken(t)
		w.Seen(false)
	}
	reader := h.Wait(named(1), id.ID{})
	for range 100 {
		h.Notify(named(1))
		reader.isWoken(t)
		reader.Seen(false)
	}
	for _, w := range busy {
		w.isWoken(t)
		w.Seen(false)
	}
}

// TestSeenUnasked has waiters that check although nobody has asked them to, while they are woken or
// queued. They keep nobody from checking, and are woken by later activity.
func TestSeenUnasked(t *testing.T) {
	h := open(t)
	waiters := make([]*Waiter, 2*checksMax)
	for i := range waiters {
		waiters[i] = waiting(h, named(1), id.ID{})
	}
	h.Notify(named(1))
	for _, w := range waiters {
		w.Seen(false)
		if len(w.ready) > 0 {
			t.Error("signaled although it does not wait")
		}
	}
	other := h.Wait(named(1), id.ID{})
	h.Notify(named(1))
	other.isWoken(t)
	other.Seen(false)
	for _, w := range waiters {
		w.isWoken(t)
		w.Seen(false)
		if w.Ready(); len(w.ready) > 0 {
			t.Error("woken without activity")
		}
		w.Stop()
	}
	if h.mu.checking != 0 || h.mu.queue.first != nil {
		t.Errorf("%d check", h.mu.checking)
	}
}

func TestNotifyOfManyProjects(t *testing.T) {
	h := open(t)
	waiters := make([]*Waiter, projectsMax+10)
	projects := make([]id.ID, len(waiters))
	for n := range waiters {
		projects[n] = named(200 + n)
		waiters[n] = h.Wait(projects[n], id.ID{})
	}
	waiters = append(waiters, h.Wait(id.ID{}, id.ID{}))
	var all sync.WaitGroup
	for _, w := range waiters {
		all.Go(func() {
			<-w.Ready()
			w.Seen(false)
		})
	}
	h.Notify(projects...)
	all.Wait()
}

func TestConcurrentChecksAreBounded(t *testing.T) {
	h := open(t)
	const count, rounds = 1000, 5
	var checking, most, checks atomic.Int64
	var all sync.WaitGroup
	for range count {
		w := h.Wait(id.ID{}, id.ID{})
		all.Go(func() {
			defer w.Stop()
			for range rounds {
				<-w.Ready()
				now := checking.Add(1)
				for {
					have := most.Load()
					if now <= have || most.CompareAndSwap(have, now) {
						break
					}
				}
				runtime.Gosched()
				checks.Add(1)
				checking.Add(-1)
				w.Seen(true)
			}
		})
	}
	h.Notify(named(1))
	all.Wait()
	if most.Load() > checksMax || checks.Load() != count*rounds {
		t.Errorf("%d checked at one time, %d checks", most.Load(), checks.Load())
	}
	if waitingIn(h) != 0 || h.mu.checking != 0 || h.mu.queue.first != nil ||
		len(h.mu.byAgent)+len(h.mu.byProject) != 0 {
		t.Errorf("the queue is not empty: %+v", &h.mu.queue)
	}
}

// TestEveryChangeIsSeen has writers that increment counters, and waiters that register and stop:
// each waiter reads the last value of its counter, although it is notified only once.
func TestEveryChangeIsSeen(t *testing.T) {
	h := open(t)
	const projects, changes = 8, 2000
	var counters [projects]atomic.Int64
	var all sync.WaitGroup
	for n := range projects {
		all.Go(func() {
			for range changes {
				counters[n].Add(1)
				h.Notify(named(n))
			}
		})
		for reader := range 20 {
			all.Go(func() {
				dice := rand.New(rand.NewPCG(uint64(n), uint64(reader)))
				project := named(n)
				if reader%2 == 0 {
					project = id.ID{}
				}
				w := h.Wait(project, named(reader))
				for counters[n].Load() < changes {
					<-w.Ready()
					w.Seen(dice.IntN(10) == 0)
					if dice.IntN(4) == 0 {
						w.Stop()
						w = h.Wait(project, named(reader))
					}
				}
				w.Stop()
			})
		}
	}
	all.Wait()
	if waitingIn(h) != 0 {
		t.Errorf("%d wait", waitingIn(h))
	}
}

// TestChecksAreRateLimited has a waiter that always requests another check: the checks may not use
// more than their share of the time.
func TestChecksAreRateLimited(t *testing.T) {
	h := open(t)
	h.mu.Lock()
	h.mu.credit = 0
	h.mu.Unlock()
	w := h.Wait(named(1), id.ID{})
	defer w.Stop()
	h.Notify(named(1))
	begun, busy := time.Now(), time.Duration(0)
	for busy < 20*time.Millisecond {
		w.isWoken(t)
		woken := time.Now()
		for time.Since(woken) < checkMax {
			runtime.Gosched()
		}
		busy += checkMax
		w.Seen(true)
	}
	if took := time.Since(begun); took < time.Duration(float64(busy-2*checkMax)/processorShare) {
		t.Errorf("checks of %v were done in %v", busy, took)
	}
}

func BenchmarkNotify(b *testing.B) {
	for _, c := range []struct {
		name    string
		waiters int
	}{{"nobody waits", 0}, {"1000 wait for other projects", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			h := open(b)
			for n := range c.waiters {
				defer h.Wait(named(1000+n), id.ID{}).Stop()
			}
			project := named(1)
			b.ReportAllocs()
			for b.Loop() {
				h.Notify(project)
			}
		})
	}
}

// BenchmarkWave measures a write that wakes a thousand waiters.
func BenchmarkWave(b *testing.B) {
	h := open(b)
	const count = 1000
	var group, seen sync.WaitGroup
	waiters := make([]*Waiter, count)
	end := make(chan struct{})
	for n := range waiters {
		w := h.Wait(id.ID{}, id.ID{})
		waiters[n] = w
		group.Go(func() {
			defer w.Stop()
			for {
				select {
				case <-w.Ready():
					w.Seen(false)
					seen.Done()
				case <-end:
					return
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		seen.Add(count)
		h.Notify(named(1))
		seen.Wait()
	}
	close(end)
	group.Wait()
}

// BenchmarkWaiter reports the memory of one waiter in B/op.
func BenchmarkWaiter(b *testing.B) {
	h := open(b)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		h.Wait(named(n), id.ID{})
	}
}
