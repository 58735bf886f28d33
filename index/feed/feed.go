package feed

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// ErrCorrupt marks damage on disk; the error that carries it names file and offset.
var ErrCorrupt = disk.ErrCorrupt

// ErrLocked says that another process has the directory open.
var ErrLocked = disk.ErrLocked

// ErrUncertain says that a sync has failed, so that only reopening the directory shows what is on
// disk. The log can be read, but it takes no more records, and the log of the service must not be
// cut.
var ErrUncertain = errors.New("feed: it is unknown what is on disk")

var errBehind = errors.New("feed: too many records wait for the disk")

// Position is the place of an activity: the position of its entry in the log, and its number in the
// entry. The zero position is before all others.
type Position struct {
	Entry uint64
	Nth   uint16
}

// Start is before all records too, but is not zero.
var Start = Position{Nth: 1}

// At returns the position of the nth activity of an event, which is itself the nth of its entry.
func At(entry uint64, event, activity int) Position {
	return Position{Entry: entry, Nth: uint16(event*work.ActivitiesMax + activity)}
}

// EndOf returns a position after all activities of an entry.
func EndOf(entry uint64) Position { return Position{Entry: entry, Nth: math.MaxUint16} }

// Compare orders positions.
func (p Position) Compare(other Position) int {
	if p.Entry != other.Entry {
		return cmp.Compare(p.Entry, other.Entry)
	}
	return cmp.Compare(p.Nth, other.Nth)
}

// IsZero reports whether it is the zero position.
func (p Position) IsZero() bool { return p == Position{} }

func (p Position) before() Position {
	if p.Nth > 0 {
		return Position{Entry: p.Entry, Nth: p.Nth - 1}
	}
	return EndOf(p.Entry - 1)
}

func latest(a, b Position) Position {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

// Record is an activity with its position, its project and the time of its entry in Unix
// milliseconds.
type Record struct {
	Position
	Project  id.ID
	At       int64
	Activity work.Activity
}

// Expired reports that records after a position were removed.
type Expired struct {
	// Oldest is the position from which to continue without missing a stored record.
	Oldest Position
}

// Error implements error.
func (e Expired) Error() string {
	return fmt.Sprintf("what follows is not kept any more up to entry %d", e.Oldest.Entry)
}

// Query selects records, oldest first.
type Query struct {
	// After is the position of the last record that the caller has seen.
	After Position
	// Since leaves out records that happened before a time, in Unix milliseconds; some of the last
	// SinceSlackMillis before it may be returned.
	Since int64
	// Project selects the records of one project, zero those of all.
	Project id.ID
	// Limit is the maximum number of records.
	Limit int
}

// SinceSlackMillis is by how much the times of records may differ from the order of the log: an
// event has a time before its entry has a place.
const SinceSlackMillis = 10_000

// Page is the result of a Query.
type Page struct {
	Records []Record
	// Next is the position from which to continue; it is never zero.
	Next Position
	// More is set if there are further records now.
	More bool
}
