// Package feed keeps what happened, in the order in which it happened, for those who were away.
package feed

import (
	"cmp"
	"fmt"
	"sort"
	"sync"

	"pws/internal/id"
	"pws/work"
)

// Position is the place of an activity: the position of its entry in the log, and its number in the
// entry. The zero position is in front of everything.
type Position struct {
	Entry uint64
	Nth   uint16
}

// Start is in front of everything too, and is not zero.
var Start = Position{Nth: 1}

// At is the position of the nth activity of an event, which is itself the nth of its entry.
func At(entry uint64, event, activity int) Position {
	return Position{Entry: entry, Nth: uint16(event*work.ActivitiesMax + activity)}
}

// Compare orders positions.
func (p Position) Compare(other Position) int {
	if p.Entry != other.Entry {
		return cmp.Compare(p.Entry, other.Entry)
	}
	return cmp.Compare(p.Nth, other.Nth)
}

// IsZero reports whether it is the zero position.
func (p Position) IsZero() bool { return p == Position{} }

// Record is an activity with its place, its project and the time of its entry in Unix milliseconds.
type Record struct {
	Position
	Project  id.ID
	At       int64
	Activity work.Activity
}

// Expired says that records behind a position are not kept any more.
type Expired struct {
	// Oldest is the position to go on from without missing what is kept.
	Oldest Position
}

// Error implements error.
func (e Expired) Error() string {
	return fmt.Sprintf("what follows is not kept any more up to entry %d", e.Oldest.Entry)
}

// Query asks for records, oldest first.
type Query struct {
	// After is the position of the last record that the caller has seen.
	After Position
	// Project takes those of one project, zero those of all.
	Project id.ID
	// Limit is how many records there are at most.
	Limit int
	// Backward asks for those in front of After, newest first; from the end where After is zero.
	Backward bool
}

// Page is the answer to a Query.
type Page struct {
	Records []Record
	// Next is where to go on from; forward it is never zero.
	Next Position
	// More says that there are further records now.
	More bool
}

// Log keeps records. It is safe for concurrent use.
type Log struct {
	mu struct {
		sync.RWMutex
		records []Record
		chains  map[id.ID][]uint32
	}
}

// New makes an empty log.
func New() *Log {
	l := new(Log)
	l.mu.chains = map[id.ID][]uint32{}
	return l
}

// Append puts records at the end. They are in order, and behind all that are there.
func (l *Log) Append(records []Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := range records {
		project := records[at].Project
		l.mu.chains[project] = append(l.mu.chains[project], uint32(len(l.mu.records)+at))
	}
	l.mu.records = append(l.mu.records, records...)
}

// Last is the position of the newest record, zero where there is none.
func (l *Log) Last() Position {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last()
}

func (l *Log) last() Position {
	if n := len(l.mu.records); n > 0 {
		return l.mu.records[n-1].Position
	}
	return Position{}
}

// Read answers a query. The error is Expired.
func (l *Log) Read(q Query) (Page, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	count, at := len(l.mu.records), func(nth int) *Record { return &l.mu.records[nth] }
	if !q.Project.IsZero() {
		chain := l.mu.chains[q.Project]
		count, at = len(chain), func(nth int) *Record { return &l.mu.records[chain[nth]] }
	}
	if q.Backward {
		return backward(q, count, at), nil
	}
	page := Page{Next: q.After}
	first := sort.Search(count, func(nth int) bool {
		return at(nth).Position.Compare(q.After) > 0
	})
	for nth := first; nth < count && len(page.Records) < q.Limit; nth++ {
		page.Records = append(page.Records, *at(nth))
		page.Next = at(nth).Position
	}
	if page.More = first+len(page.Records) < count; !page.More {
		// All up to the end was looked at.
		page.Next = latest(latest(page.Next, l.last()), Start)
	}
	return page, nil
}

func latest(a, b Position) Position {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

func backward(q Query, count int, at func(int) *Record) Page {
	page := Page{Next: q.After}
	end := count
	if !q.After.IsZero() {
		end = sort.Search(count, func(nth int) bool {
			return at(nth).Position.Compare(q.After) >= 0
		})
	}
	for end > 0 && len(page.Records) < q.Limit {
		end--
		page.Records = append(page.Records, *at(end))
		page.Next = at(end).Position
	}
	page.More = end > 0
	return page
}
