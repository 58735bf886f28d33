package index

import (
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// Position is a place in an order by time, the newest first.
type Position struct {
	// Millis is Unix milliseconds.
	Millis int64
	ID     id.ID
}

func (p Position) newer(other Position) bool {
	if p.Millis != other.Millis {
		return p.Millis > other.Millis
	}
	return p.ID.Compare(other.ID) > 0
}

// Before reports whether a position is before another in the order of times, the oldest first. The
// zero position is before all others.
func (p Position) Before(other Position) bool { return other.newer(p) }

// Listing is the order of the public projects. It is safe for concurrent use.
type Listing struct {
	mu struct {
		sync.RWMutex
		order sorted.Set[Position]
	}
}

// NewListing makes an empty listing.
func NewListing() *Listing {
	l := new(Listing)
	l.mu.order = sorted.By(Position.newer, sorted.Degree).New()
	return l
}

// Set adds or removes a project.
func (l *Listing) Set(at Position, listed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if listed {
		l.mu.order.Set(at)
	} else {
		l.mu.order.Delete(at)
	}
}

// After returns up to limit places after a given one; the zero position is the start.
func (l *Listing) After(from Position, limit int) []Position {
	l.mu.RLock()
	defer l.mu.RUnlock()
	found := make([]Position, 0, min(limit, l.mu.order.Len()))
	take := func(at Position) bool {
		if at != from {
			found = append(found, at)
		}
		return len(found) < limit
	}
	if limit <= 0 {
		return found
	}
	if from == (Position{}) {
		l.mu.order.Scan(take)
	} else {
		l.mu.order.Ascend(from, take)
	}
	return found
}

// Len returns the number of listed projects.
func (l *Listing) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.order.Len()
}

// Kinds implements Projection.
func (l *Listing) Kinds() []work.Kind {
	return kindsOf(
		new(work.ProjectCreated), new(work.ProjectUpdated), new(work.ProjectImported),
		new(work.ProjectDeleted), new(work.ProjectRestored),
	)
}

// Update implements Projection.
func (l *Listing) Update(before, next *work.Project, _ []work.Event) {
	if before == nil || before.Visibility != next.Visibility {
		l.Set(Position{Millis: next.CreatedAt, ID: next.ID}, next.Visibility == work.Public)
	}
}

// Append implements Projection. The listing needs no part: the card itself has all its data.
func (l *Listing) Append(out []byte, _ *work.Project) []byte { return out }

// Restore implements Projection. No card has a part of the listing.
func (l *Listing) Restore(*Card, *disk.Reader) error { return errPart }

// restore adds a project from its card.
func (l *Listing) restore(c *Card) {
	l.Set(Position{Millis: c.Created, ID: c.Project}, c.Visibility == work.Public)
}
