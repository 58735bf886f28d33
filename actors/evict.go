package actors

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"time"

	"pws/internal/id"
)

const (
	// usedMillis is how long a project counts as in use after a request. The most recently used
	// project stays while it is in use, at least turnMillis after it was loaded, so that two projects
	// that do not fit together take turns.
	usedMillis = 1000
	turnMillis = 5000
	// evictAgainAfter is how long an eviction that freed too little is not repeated.
	evictAgainAfter = 50 * time.Millisecond
)

func (r *residents) evictAbove() int64 { return r.shares.max / evictDen * evictAboveNum }

func (r *residents) evictTo() int64 { return r.shares.max / evictDen * evictToNum }

// evictLoop evicts while the memory of projects is above its threshold.
func (e *Engine) evictLoop() {
	defer e.stopped.Done()
	r := e.residents
	for {
		select {
		case <-e.stop:
			return
		case <-r.woken:
			if r.shares.total() > r.evictAbove() {
				e.evict(math.MaxInt64, func() bool { return true })
			}
		}
	}
}

// makeRoom evicts projects so that a party may hold more, and reports whether it may.
func (e *Engine) makeRoom(party id.ID, more int64) bool {
	shares := e.residents.shares
	return e.evict(shares.of(party)+more, func() bool { return shares.fits(party, more) })
}

// evict makes projects passive until their memory is at most what evictions aim at, and enough. It
// reports whether it is enough. First go those of the party that holds the most, of these the least
// recently used. Projects that changed since the last snapshot stay; one is asked for where they
// are in the way. held is what the party would hold that needs the memory.
func (e *Engine) evict(held int64, enough func() bool) bool {
	r := e.residents
	done := func() bool { return r.shares.total() <= r.evictTo() && enough() }
	if done() {
		return true
	}
	// Two at the same time would find each other's projects in use.
	r.evicting.Lock()
	defer r.evicting.Unlock()
	if r.evictedInVain(held) {
		return enough()
	}
	dirty := false
	for holders := r.holders(e.clock.floor.Load(), held); len(holders) > 0; {
		if done() {
			return true
		}
		most := holders[0]
		h := most.handles[0]
		most.handles = most.handles[1:]
		size := h.memory.Load()
		// Who holds the lock uses the project, or waits for another eviction.
		if h.mu.TryLock() {
			switch e.passivate(h) {
			case passivated:
				r.evicted.Add(1)
				most.bytes -= size
			case isDirty:
				dirty = true
			case isUsed:
			}
			h.mu.Unlock()
		}
		if len(most.handles) == 0 {
			heap.Pop(&holders)
		} else {
			heap.Fix(&holders, 0)
		}
	}
	r.noteVain(held)
	if dirty {
		e.saver.hurry()
	}
	return enough()
}

// evictedInVain reports whether a moment ago an eviction freed too little for one that would hold
// not much more.
func (r *residents) evictedInVain(held int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return held > r.mu.failedFor/2 && time.Now().Before(r.mu.notBefore)
}

func (r *residents) noteVain(held int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Before(r.mu.notBefore) {
		held = min(held, r.mu.failedFor)
	}
	r.mu.failedFor, r.mu.notBefore = held, now.Add(evictAgainAfter)
}

// holder is what a party has in memory.
type holder struct {
	bytes int64
	// handles are in the order in which they leave memory.
	handles []*handle
}

// holders is a heap. Its first element holds the most.
type holders []*holder

func (a holders) Len() int           { return len(a) }
func (a holders) Less(i, j int) bool { return a[i].bytes > a[j].bytes }
func (a holders) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *holders) Push(one any) { *a = append(*a, one.(*holder)) }

// Pop implements heap.Interface.
func (a *holders) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// holders returns the projects in memory. The most recently used one is left out while it is in
// use, for some seconds, unless its party holds more than the one that needs the memory would.
func (r *residents) holders(now, held int64) holders {
	type used struct {
		*handle
		at int64
	}
	r.mu.Lock()
	all := make([]used, 0, len(r.mu.handles))
	for h := range r.mu.handles {
		all = append(all, used{h, h.touched.Load()})
	}
	slices.SortFunc(all, func(a, b used) int { return cmp.Compare(a.at, b.at) })
	if last := len(all) - 1; last >= 0 && now-all[last].at < usedMillis &&
		now-r.mu.handles[all[last].handle] < turnMillis &&
		r.shares.of(all[last].party()) <= held {
		all = all[:last]
	}
	r.mu.Unlock()
	of := map[id.ID]*holder{}
	var found holders
	for _, one := range all {
		party := one.party()
		if of[party] == nil {
			of[party] = &holder{bytes: r.shares.of(party)}
			found = append(found, of[party])
		}
		of[party].handles = append(of[party].handles, one.handle)
	}
	heap.Init(&found)
	return found
}
