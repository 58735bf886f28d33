package actors

import "pws/internal/id"

// recents are the contents that are not in packs, which are in memory. It is divided between the
// agents that wrote them.
type recents struct {
	*evenShares
	// since are those of each agent since the last snapshot began. The lock of the shares is held.
	since map[id.ID]int64
}

func newRecents(max int64) *recents {
	return &recents{evenShares: newEvenShares(max), since: map[id.ID]int64{}}
}

// requireRecent takes memory for the contents of an entry, or refuses the agent: RATE_LIMITED. An
// entry counts for at most half of the memory.
func (e *Engine) requireRecent(agent id.ID, bytes int64) (taken int64, err error) {
	r := e.recents
	if bytes == 0 || r.max == 0 {
		return 0, nil
	}
	bytes = min(bytes, r.max/2)
	if agent.IsZero() {
		r.add(agent, bytes)
		return bytes, nil
	}
	if r.take(agent, bytes) {
		return bytes, nil
	}
	e.saver.hurry()
	r.await(agent, bytes)
	e.residents.refusals.Add(1)
	return 0, errMemoryFull()
}

// settle notes that contents are durable: the next snapshot packs them.
func (r *recents) settle(agent id.ID, taken int64) {
	if taken == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since[agent] += taken
}

// count counts a content that a start finds in the log.
func (r *recents) count(agent id.ID, bytes int64) {
	if r.max > 0 {
		r.add(agent, bytes)
		r.settle(agent, bytes)
	}
}

// begin returns what the snapshot that begins packs.
func (r *recents) begin() map[id.ID]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	packing := r.since
	r.since = map[id.ID]int64{}
	return packing
}

// packed gives back what the snapshot has packed.
func (r *recents) packed(packing map[id.ID]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for agent, bytes := range packing {
		r.addLocked(agent, -bytes)
	}
	clear(packing)
}

// requeue leaves what a snapshot has not packed to the next one.
func (r *recents) requeue(packing map[id.ID]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for agent, bytes := range packing {
		r.since[agent] += bytes
	}
}
