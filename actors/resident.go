package actors

import (
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
// memory until it is below evictTo. The distance keeps a project from being evicted and loaded
// again for each request.
const (
	evictAboveNum, evictToNum, evictDen = 5, 4, 8
	// projectPart is the part of the memory that one project may take. A larger one is read, and what
	// only ends something is accepted.
	projectPart = 2
	// loadMemoryMin is the least that a load reserves.
	loadMemoryMin = 8 << 10
	// loadMemoryFactor is how many times its sections a project takes in memory that has not been
	// loaded since the start.
	loadMemoryFactor = 6
)

// residents are the projects in memory, and what they take by the estimate of the rules
// (work.Project.MemoryBytes). It is divided between the creators of projects, not between their
// owners: nobody is asked before becoming the owner of a project.
type residents struct {
	// shares are of loaded projects, as their actors have them, and of loads under way.
	shares            *evenShares
	evicted, refusals atomic.Int64
	// woken starts an eviction. evicting is held by the one at a time.
	woken    wakeup
	evicting sync.Mutex

	mu struct {
		sync.Mutex
		// handles lead to the time since when they are in memory, in Unix milliseconds.
		handles map[*handle]int64
		// notBefore is when an eviction may be repeated that freed too little for one that would hold
		// failedFor bytes.
		notBefore time.Time
		failedFor int64
	}
}

func newResidents(max int64) *residents {
	r := &residents{shares: newEvenShares(max), woken: newWakeup()}
	r.mu.handles = map[*handle]int64{}
	return r
}

// party is whose memory a project takes that is in memory: that of its creator.
func (h *handle) party() id.ID {
	if creator := h.creator.Load(); creator != nil {
		return *creator
	}
	return h.id
}

// note updates what a project takes; p is nil if it does not exist. Only who loads the project, and
// its actor, may call it.
func (r *residents) note(h *handle, p *work.Project) {
	size := int64(0)
	if p != nil {
		h.noteCreator(p)
		size = p.MemoryBytes()
	}
	r.shares.add(h.party(), size-h.memory.Swap(size))
	r.hurryIfFull()
}

func (h *handle) noteCreator(p *work.Project) {
	if h.creator.Load() == nil {
		creator := p.Creator()
		h.creator.Store(&creator)
	}
}

// hurryIfFull starts an eviction if there is too much in memory.
func (r *residents) hurryIfFull() {
	if r.shares.max > 0 && r.shares.total() > r.evictAbove() {
		r.hurry()
	}
}

// hurry starts an eviction.
func (r *residents) hurry() {
	r.woken.wake()
}

// keep takes in a project that is in memory from now on, in Unix milliseconds.
func (r *residents) keep(h *handle, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.handles[h] = now
}

// drop forgets a project that leaves memory.
func (r *residents) drop(h *handle) {
	r.shares.add(h.party(), -h.memory.Swap(0))
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.handles, h)
}

func (r *residents) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.handles)
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

func errProjectTooLarge(limit int64) error {
	return fault.New(fault.RateLimited, "The project takes too much of the memory of the server.").
		With("reason", "MEMORY_FULL").With("limit_bytes", limit).With("retry_after_seconds", 30)
}

// refuse refuses a party for which there is no memory: RATE_LIMITED.
func (r *residents) refuse(party id.ID, more int64) error {
	r.refusals.Add(1)
	r.shares.await(party, more)
	return errMemoryFull()
}

// needsMemory reports whether a request is refused while there is no memory for it. Those that only
// end something, and those of the service itself, are accepted.
func needsMemory(o *api.Order) bool { return !o.Agent.IsZero() && !work.EndsOnly(o.Command) }

// requireMemory refuses a write to a project whose creator holds as much memory as it may:
// RATE_LIMITED. See grow for the write itself.
func (e *Engine) requireMemory(o *api.Order, h *handle) error {
	r := e.residents
	if r.shares.max == 0 || !needsMemory(o) || h.view.Load() == nil {
		return nil
	}
	party := h.party()
	if r.shares.fits(party, 0) || e.makeRoom(party, 0) {
		return nil
	}
	return r.refuse(party, 0)
}

// grow notes what a project takes with the state that a write has made, or refuses the write:
// RATE_LIMITED. The project's actor calls it, BEFORE the log has the entry.
func (e *Engine) grow(o *api.Order, h *handle, next *work.Project) error {
	r := e.residents
	if r.shares.max == 0 || !needsMemory(o) {
		r.note(h, next)
		return nil
	}
	h.noteCreator(next)
	party, size := h.party(), next.MemoryBytes()
	more := size - h.memory.Load()
	if limit := r.shares.max / projectPart; more >= 0 && size > limit {
		r.refusals.Add(1)
		return errProjectTooLarge(limit)
	}
	if !r.shares.take(party, more) && !(e.makeRoom(party, more) && r.shares.take(party, more)) {
		return r.refuse(party, more)
	}
	h.memory.Add(more)
	r.hurryIfFull()
	return nil
}

// partyOf is whose memory a passive project will take. Of one that was not loaded since the start
// it is the owner, which stands in the saved record. The handle's lock is held.
func (e *Engine) partyOf(h *handle) id.ID {
	if h.creator.Load() == nil && !h.stored.Load() && len(h.waiting()) > 0 {
		if first, err := h.waiting()[0].decode(); err == nil {
			return first.entry.Agent
		}
	}
	if h.creator.Load() == nil && h.stored.Load() {
		if saved, _, err := e.summaries.read(e.snapshot, h.id); err == nil {
			return saved.Owner
		}
	}
	return h.party()
}

// reserveLoad reserves memory to load a passive project, BEFORE anything of it is read, and returns
// what gives it back: RATE_LIMITED if there is no room. No load reserves more than one project may
// take, so that a larger one is still read. The handle's lock is held.
func (e *Engine) reserveLoad(h *handle) (giveBack func(), err error) {
	r := e.residents
	if r.shares.max == 0 {
		return func() {}, nil
	}
	need := h.mu.lastMemory
	if need == 0 && h.stored.Load() {
		need = e.sectionBytes(h.id) * loadMemoryFactor
	}
	for i := range h.waiting() {
		need += h.waiting()[i].stored
	}
	need = min(max(need, loadMemoryMin), r.shares.max/projectPart)
	party := e.partyOf(h)
	if r.shares.take(party, need) || e.makeRoom(party, need) && r.shares.take(party, need) {
		return func() { r.shares.add(party, -need) }, nil
	}
	return nil, r.refuse(party, need)
}
