package replica

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
	"pws/journal"
	"pws/wal"
)

// ErrNotAccepted: the log of raft of a member does not say what the member has accepted.
var ErrNotAccepted = errors.New("replica: what the member has accepted is not known")

// Accepted is what the log of raft of a member that does not run has. Of members that are left
// without a majority, the one whose newest entry has the highest term, and of those the highest
// index, has all that the group has agreed on and one of them has, unless the log of entries of
// another ends behind what it would have: one that was catching up gets entries without raft.
type Accepted struct {
	// Term and Index are those of the newest entry.
	Term, Index uint64
	// payloads are the entries of the journal that follow its end.
	payloads [][]byte
}

// Entries is how many entries of the journal follow its end.
func (a *Accepted) Entries() uint64 { return uint64(len(a.payloads)) }

// ReadAccepted reads the log of raft in a directory, and compares it with the log of entries in
// another one, which ends with a position. It changes nothing. Errors: ErrNoMember,
// ErrInconsistent, ErrNewerFormat, and those of package wal.
func ReadAccepted(dir, entries string, last uint64) (*Accepted, error) {
	l, err := load(stored(dir))
	if err != nil {
		return nil, err
	}
	base, err := decodeState(l.base)
	if err == nil {
		err = understood(base.format, logformat.Newest)
	}
	if err == nil && base.position > last {
		err = fmt.Errorf("%w: it begins after entry %d of the journal, which ends with %d",
			ErrInconsistent, base.position, last)
	}
	if err != nil {
		return nil, err
	}
	term, err := l.Term(l.last())
	if err != nil {
		return nil, err
	}
	w := &walk{gate: base.gate, last: last, entries: entries}
	for _, e := range l.entries {
		if err := w.step(e); err != nil {
			return nil, fmt.Errorf("entry %d of raft: %w", e.GetIndex(), err)
		}
	}
	return &Accepted{Term: term, Index: l.last(), payloads: w.behind}, nil
}

// walk goes through the entries of raft as Node.apply does, also through those that are not known
// to be agreed on.
type walk struct {
	gate journal.Gate
	// last is the position that the log in the directory entries ends with. behind are the entries
	// that follow.
	last    uint64
	entries string
	behind  [][]byte
	// recalled is of the log of entries, which is read once.
	recalled recalled
	read     bool
	// other says that the log of entries has another one somewhere: the member has got it from a
	// leader that has replaced what raft's log still has. What follows there has no effect.
	other bool
}

func (w *walk) step(e *raftpb.Entry) error {
	if e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 || w.other {
		return nil
	}
	c, err := decodeCommand(e.GetData())
	switch {
	case err != nil:
		return err
	case c.format != 0:
		return understood(c.format, logformat.Newest)
	case c.batch == nil:
		w.gate.Begin(journal.Reign(e.GetIndex()))
		return nil
	case !w.gate.Admit(c.batch.reign, c.batch.first, uint64(len(c.batch.payloads))):
		return nil
	}
	for i, payload := range c.batch.payloads {
		pos := c.batch.first + uint64(i)
		if pos > w.last {
			w.behind = append(w.behind, payload)
			continue
		}
		same, err := w.has(pos, payload)
		if err != nil || !same {
			w.other = !same
			return err
		}
	}
	return nil
}

// has is recalled.has for the log of entries.
func (w *walk) has(pos uint64, payload []byte) (bool, error) {
	if !w.read {
		w.read = true
		read := func(at uint64, payload []byte) error {
			if at >= pos {
				w.recalled.add(at, payload)
			}
			return nil
		}
		err := wal.Read(w.entries, pos, read)
		if errors.Is(err, journal.ErrOutOfRange) {
			err = wal.Read(w.entries, 0, read)
		}
		if err != nil {
			return true, err
		}
	}
	return w.recalled.has(pos, payload), nil
}

// Leave ends the part of a member that does not run. It appends to the journal what the log of raft
// in a directory has behind it, also what is not known to be agreed on: nobody else will ever say.
// An entry that was not agreed on does no harm, because nobody has got an answer for it; one that
// was must not be lost. AFTER that it calls then, while no server can start. If it ends in between,
// it may be called again. It returns how many entries it has appended. Errors: journal.ErrLocked;
// ErrNotAccepted, with those of ReadAccepted; and those of package wal.
func Leave(o journal.Options, dir string, then func() error) (kept uint64, err error) {
	log, found, err := wal.Open(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	a, err := ReadAccepted(dir, o.Dir, found.Last)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotAccepted, err)
	}
	if err := appendAll(log, a.payloads); err != nil {
		return 0, err
	}
	return a.Entries(), then()
}

// appendAll returns AFTER all entries are durable.
func appendAll(log *wal.Log, payloads [][]byte) error {
	done, waiting := make(outcome, len(payloads)), 0
	wait := func() error {
		waiting--
		return (<-done).err
	}
	for _, payload := range payloads {
		_, err := log.AppendReserved(payload, done)
		for errors.Is(err, journal.ErrBusy) && waiting > 0 {
			if err = wait(); err == nil {
				_, err = log.AppendReserved(payload, done)
			}
		}
		if err != nil {
			return err
		}
		waiting++
	}
	for waiting > 0 {
		if err := wait(); err != nil {
			return err
		}
	}
	return nil
}

// stored are the records in a directory, which are only read.
type stored string

// Replay implements Records.
func (s stored) Replay(from uint64, fn func(pos uint64, payload []byte) error) error {
	return wal.Read(string(s), from, fn)
}

// AppendReserved implements Records.
func (s stored) AppendReserved([]byte, wal.Committed) (uint64, error) { return 0, errStored }

// CutBefore implements Records.
func (s stored) CutBefore(uint64) error { return errStored }

var errStored = errors.New("replica: the log is only read")
