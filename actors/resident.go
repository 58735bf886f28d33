package actors

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// The thresholds of the memory of projects, as parts of its bound. Above evictAbove projects leave
// memory until it is below evictTo; above the bound nothing is loaded and nothing is written. The
// distance keeps a project from being evicted and loaded again for each request.
const (
	evictAboveNum, evictToNum, evictDen = 6, 4, 8
	// loadMemoryMin is the least that a load reserves.
	loadMemoryMin = 16 << 10
	// loadMemoryFactor is how many times its sections a project takes in memory that has not been
	// loaded since the start.
	loadMemoryFactor = 6
	// usedMillis is how long a project counts as in use after a request. The most recently used
	// project stays while it is in use, at least turnMillis after it was loaded, so that two projects
	// that do not fit together take turns.
	usedMillis = 1000
	turnMillis = 5000
	// evictAgainAfter is how long an eviction that freed too little is not repeated.
	evictAgainAfter = 50 * time.Millisecond
)

// residents are the projects in memory, and what they take by the estimate of the rules
// (work.Project.MemoryBytes).
type residents struct {
	// max bounds the memory of projects in bytes; 0 means no bound.
	max int64
	// bytes are those of loaded projects and of loads under way.
	bytes             atomic.Int64
	evicted, refusals atomic.Int64
	// wake starts an eviction.
	wake chan struct{}

	mu struct {
		sync.Mutex
		// handles lead to the time since when they are in memory, in Unix milliseconds.
		handles map[*handle]int64
		// notBefore is when an eviction that freed too little may be repeated.
		notBefore time.Time
	}
}

func newResidents(max int64) *residents {
	r := &residents{max: max, wake: make(chan struct{}, 1)}
	r.mu.handles = map[*handle]int64{}
	return r
}

func (r *residents) evictAbove() int64 { return r.max / evictDen * evictAboveNum }

func (r *residents) evictTo() int64 { return r.max / evictDen * evictToNum }

// note updates what a project takes.
func (r *residents) note(h *handle, p *work.Project) {
	size := p.MemoryBytes()
	total := r.bytes.Add(size - h.memory.Swap(size))
	if r.max > 0 && total > r.evictAbove() {
		r.hurry()
	}
}

// hurry starts an eviction.
func (r *residents) hurry() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// add takes in a project that is in memory from now on, in Unix milliseconds.
func (r *residents) add(h *handle, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.handles[h] = now
}

// drop forgets a project that leaves memory.
func (r *residents) drop(h *handle) {
	r.bytes.Add(-h.memory.Swap(0))
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.handles, h)
}

func (r *residents) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.handles)
}

// oldest returns the projects in memory, the least recently used first. The most recently used one
// is left out while it is in use, for some seconds.
func (r *residents) oldest(now int64) []*handle {
	type used struct {
		*handle
		at int64
	}
	r.mu.Lock()
	all := make([]used, 0, len(r.mu.handles))
	for h := range r.mu.handles {
		all = append(all, used{h, h.touched.Load()})
	}
	defer r.mu.Unlock()
	slices.SortFunc(all, func(a, b used) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	if last := len(all) - 1; last >= 0 && now-all[last].at < usedMillis &&
		now-r.mu.handles[all[last].handle] < turnMillis {
		all = all[:last]
	}
	handles := make([]*handle, len(all))
	for at := range handles {
		handles[at] = all[at].handle
	}
	return handles
}

// sectionBytes is the size of the sections of a project on disk.
func (e *Engine) sectionBytes(project id.ID) int64 {
	size := e.snapshot.SectionBytes(datadir.ProjectKey(project))
	for _, kind := range work.ChunkKinds {
		size += e.snapshot.SectionBytes(datadir.ChunkPrefix(project, kind))
	}
	return size
}

func errMemoryFull() error {
	return fault.New(fault.RateLimited, "The memory of the server is full.").
		With("reason", "MEMORY_FULL").With("retry_after_seconds", 1)
}

// evict makes the least recently used projects passive until their memory is at most a number of
// bytes. It reports whether it is. Projects that changed since the last snapshot stay; one is asked
// for where they are in the way.
func (e *Engine) evict(to int64) bool {
	r := e.residents
	if r.bytes.Load() <= to {
		return true
	}
	r.mu.Lock()
	soon := time.Now().Before(r.mu.notBefore)
	r.mu.Unlock()
	if soon {
		return false
	}
	dirty := false
	for _, h := range r.oldest(e.clock.floor.Load()) {
		if r.bytes.Load() <= to {
			return true
		}
		// Who holds the lock uses the project, or waits for another eviction.
		if !h.mu.TryLock() {
			continue
		}
		switch e.passivate(h) {
		case passivated:
			r.evicted.Add(1)
		case isDirty:
			dirty = true
		case isUsed:
		}
		h.mu.Unlock()
	}
	if r.bytes.Load() <= to {
		return true
	}
	r.mu.Lock()
	r.mu.notBefore = time.Now().Add(evictAgainAfter)
	r.mu.Unlock()
	if dirty {
		e.saver.hurry()
	}
	return false
}

// evictLoop evicts while the memory of projects is above its threshold.
func (e *Engine) evictLoop() {
	defer e.stopped.Done()
	for {
		select {
		case <-e.stop:
			return
		case <-e.residents.wake:
			if e.residents.bytes.Load() > e.residents.evictAbove() {
				e.evict(e.residents.evictTo())
			}
		}
	}
}

// requireMemory refuses a write while projects take more than their bound: RATE_LIMITED. Requests
// that only end something, and those of the service itself, are accepted.
func (e *Engine) requireMemory(o *api.Order) error {
	r := e.residents
	if r.max == 0 || r.bytes.Load() <= r.max || o.Agent.IsZero() || work.EndsOnly(o.Command) ||
		e.evict(r.max) {
		return nil
	}
	r.refusals.Add(1)
	return errMemoryFull()
}

// requireContentMemory refuses contents while too many are in memory, because they are not in packs
// yet: RATE_LIMITED.
func (e *Engine) requireContentMemory(contents []work.Blob) error {
	most := e.config.RecentBytesMax
	if most == 0 || len(contents) == 0 || e.blobs.RecentBytes() <= most {
		return nil
	}
	e.saver.hurry()
	e.residents.refusals.Add(1)
	return errMemoryFull()
}

// reserveLoad reserves memory to load a passive project, BEFORE anything of it is read, and returns
// what it has reserved: RATE_LIMITED if there is no room. A project that is larger than the bound
// is loaded while nearly nothing else is in memory. The handle's lock is held.
func (e *Engine) reserveLoad(h *handle) (reserved int64, err error) {
	r := e.residents
	if r.max == 0 {
		return 0, nil
	}
	need := h.mu.lastMemory
	if need == 0 && h.stored.Load() {
		need = e.sectionBytes(h.id) * loadMemoryFactor
	}
	for at := range h.mu.tail {
		need += h.mu.tail[at].stored
	}
	need = min(max(need, loadMemoryMin), r.max-r.max/evictDen)
	if r.bytes.Add(need) <= r.max || e.evict(r.evictTo()) || r.bytes.Load() <= r.max {
		return need, nil
	}
	r.bytes.Add(-need)
	r.refusals.Add(1)
	return 0, errMemoryFull()
}
