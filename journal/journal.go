// Package journal is the seam between the engine and the log of its entries. The engine appends to
// a Journal and is its Machine; the log may be that of one server (Local), or one that several
// servers hold together. Only this package and its implementations know how entries are stored.
//
// # Reigns
//
// A server may append while it leads, and each time that it begins to lead has a number, its reign.
// Whoever appends names the reign in which it has seen the state that the entry rests on. A Gate
// decides, on every server alike, which entries take effect.
//
// A Machine learns of everything from one goroutine, in the order of positions:
//
//   - Lead: this server leads. All entries in front are applied.
//   - Committed with a position, for an entry that this server has appended.
//   - Follow, for any other entry.
//   - Yield: this server does not lead any more. AFTER it every entry that was appended and not
//     reported is reported with ErrOutcomeUnknown. Such an entry may take effect later; then it
//     comes through Follow.
//
// # Reads
//
// A view says what was true when it was published. Whether it is still true is known to the
// journal: who reads asks BeginRead, loads views, and THEN asks EndRead.
package journal

import (
	"errors"

	"pws/internal/logformat"
	"pws/wal"
)

// Reign numbers the times that servers have led, in order; 0 is none.
type Reign uint64

// Entry is what Append takes.
type Entry struct {
	// Payload belongs to the journal from then on.
	Payload []byte
	// Key, unless zero, says that the entry keeps its order with those of its key, and with those
	// without a key. Small entries of other keys may overtake a large one.
	Key Key
	// Reserved entries are small ones of high importance, which may use the reserve of disk space.
	Reserved bool
	// Format is that of a group's log whose members all understand the entry; 0 where all programs do.
	// A single server understands what it appends.
	Format uint64
}

// Journal is a log of entries that are durable when they are reported. All methods are safe for
// concurrent use.
type Journal interface {
	// Replay calls fn with every entry from a position on that is durable, in order. It comes BEFORE
	// Start, from one goroutine. payload is valid only during the call. From 0 means from the first
	// entry. Errors: ErrOutOfRange, and those of fn.
	Replay(from uint64, fn func(pos uint64, payload []byte) error) error
	// Start has the journal report to a machine. A Local journal lets it lead BEFORE Start returns.
	Start(m Machine)
	// Append queues an entry that rests on what was seen in a reign. c is called once if there is no
	// error: with a position AFTER the entry is durable, or with an error that wraps ErrLatched or is
	// ErrOutcomeUnknown. Errors: ErrNotLeading, ErrNotUnderstood, ErrBusy, ErrNoSpace, ErrTooLarge,
	// ErrClosed, and those that wrap ErrLatched; then the entry has no effect.
	Append(reign Reign, e Entry, c Committed) error
	// AgreedOn reports whether all programs that may use the data next understand a format. A single
	// server has no other programs.
	AgreedOn(format uint64) bool
	// BeginRead is called BEFORE views are loaded, EndRead with its result AFTER that, BEFORE
	// anything is answered. Without errors the views were the newest ones at a moment in between.
	// Errors: ErrNotLeading.
	BeginRead() (Reign, error)
	EndRead(Reign) error
	// Durable returns a position: every entry up to it is durable and was reported.
	Durable() uint64
	// Read calls fn with every entry from a position on, in order, at least up to the newest one that
	// was reported when it was called. payload is valid only during the call. Errors: ErrOutOfRange,
	// and those of fn.
	Read(from uint64, fn func(pos uint64, payload []byte) error) error
	// CutBefore lets the journal forget entries before a position. Many of them may remain.
	CutBefore(pos uint64) error
	// Roll makes CutBefore able to remove all entries in front of the next one.
	Roll()
	// Healthy returns nil while the journal accepts entries, or after Close without a failure.
	Healthy() error
	Stats() Stats
	Space() Space
	// Close reports all that was appended, and stops.
	Close() error
}

// Machine is what entries are applied to; see the package doc for who calls it when.
type Machine interface {
	// Follow applies an entry that this server has not appended. payload is valid only during the
	// call. AFTER an error nothing more is applied.
	Follow(pos uint64, payload []byte) error
	// Lead begins a reign of this server.
	Lead(reign Reign)
	// Yield ends it. It must not wait for anything that is appended.
	Yield()
}

// What the log of one server and a journal have in common.
type (
	// Committed receives the outcome of an entry; see wal.Committed.
	Committed = wal.Committed
	// Key names entries that keep their order.
	Key = wal.Key
	// Options are those of the log.
	Options = wal.Options
	// Recovery is the result of opening a log.
	Recovery = wal.Recovery
	// Stats are the current numbers of a log.
	Stats = wal.Stats
	// Space is the current space for entries.
	Space = wal.Space
	// Report is the result of Verify.
	Report = wal.Report
	// CorruptError contains the place of damage.
	CorruptError = wal.CorruptError
)

// EntryBytesMax is the maximum length of an entry, the same in every journal: a group takes what
// one server takes. A log may have longer ones from earlier programs.
const EntryBytesMax = logformat.EntryBytesMax

// The errors that callers distinguish with errors.Is.
var (
	// ErrNotLeading: the reign is over, or this server does not lead. The entry has no effect.
	ErrNotLeading = errors.New("journal: this server does not lead")
	// ErrNotUnderstood: some members of the group may not understand the entry, because they run an
	// older program. It has no effect.
	ErrNotUnderstood = errors.New("journal: members that run an older program do not understand it")
	// ErrOutcomeUnknown: the reign ended before the entry was reported. It may take effect.
	ErrOutcomeUnknown = errors.New("journal: the reign ended, and the outcome is unknown")

	ErrBusy       = wal.ErrBusy
	ErrNoSpace    = wal.ErrNoSpace
	ErrTooLarge   = wal.ErrTooLarge
	ErrLatched    = wal.ErrLatched
	ErrClosed     = wal.ErrClosed
	ErrCorrupt    = wal.ErrCorrupt
	ErrLocked     = wal.ErrLocked
	ErrOutOfRange = wal.ErrOutOfRange
)
