package replica

import (
	"sync"
	"time"
)

// holdTime is for how long entries are kept AFTER a copy was sent, for its receiver to check the
// copy, start, and get what has come since.
const holdTime = 15 * time.Minute

// hold keeps entries for a member that gets a copy of the data.
type hold struct {
	mu sync.Mutex
	// from is the first position that is kept, 0 for none. ends is zero while a copy is sent.
	from uint64
	ends time.Time
}

func (h *hold) begin(from uint64, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// A receiver of an earlier copy may not have all yet.
	if h.from == 0 || h.over(now) {
		h.from = from
	}
	h.ends = time.Time{}
}

func (h *hold) end(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends = now.Add(holdTime)
}

func (h *hold) over(now time.Time) bool { return !h.ends.IsZero() && !now.Before(h.ends) }

// limit is the position BEFORE which entries may be cut that are not wanted from pos on.
func (h *hold) limit(pos uint64, now time.Time) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.from == 0 || h.over(now) {
		return pos
	}
	return min(pos, h.from)
}

// Hold keeps all entries from now on, for a member that gets a copy of the data. end is called when
// the copy was sent; the entries stay for a while longer. There is one copy at a time.
func (j *Journal) Hold() (end func()) {
	j.hold.begin(j.Durable()+1, time.Now())
	return func() { j.hold.end(time.Now()) }
}
