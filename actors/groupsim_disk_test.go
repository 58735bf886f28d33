package actors

import (
	"errors"
	"slices"
	"sync"

	"pws/journal"
	"pws/journal/replica"
)

var errSimDisk = errors.New("the disk has failed")

// simRecords are the records of raft on a disk that may fail: a record is durable as a whole when
// it is reported, and a crash keeps the one that is being written or loses it.
type simRecords struct {
	sim   *groupSim
	first uint64
	kept  [][]byte
	// dead says that the disk has failed, torn that the last record is lost.
	dead, torn bool
	// wait lets a step of the simulation pass, while the server is at work. It reports false where
	// the server crashes. It is nil where nothing may wait.
	wait func(struct{}) bool
}

var _ replica.Records = (*simRecords)(nil)

// AppendReserved implements replica.Records.
func (r *simRecords) AppendReserved(payload []byte, c journal.Committed) (uint64, error) {
	if r.dead {
		return 0, errSimDisk
	}
	pos := r.first + uint64(len(r.kept))
	if r.torn = false; r.sim.fails() || r.slow() {
		r.dead, r.torn = true, r.sim.pick(2) == 0
	}
	if !r.torn {
		r.kept = append(r.kept, slices.Clone(payload))
	}
	if r.dead {
		c.Committed(pos, errSimDisk)
	} else {
		c.Committed(pos, nil)
	}
	return pos, nil
}

// slow takes its time now and then. It reports whether the server has crashed meanwhile.
func (r *simRecords) slow() bool {
	if r.wait == nil || r.sim.calm || r.sim.pick(40) > 0 {
		return false
	}
	r.sim.counts.slows++
	for range 1 + r.sim.pick(30) {
		if !r.wait(struct{}{}) {
			return true
		}
	}
	return false
}

// forget is a crash of a disk that has lied: it has reported records that were not durable.
func (r *simRecords) forget() {
	r.kept = r.kept[:max(1, len(r.kept)-r.sim.pick(4))]
}

// Replay implements replica.Records.
func (r *simRecords) Replay(from uint64, fn func(uint64, []byte) error) error {
	for i, payload := range r.kept {
		if pos := r.first + uint64(i); pos >= from {
			if err := fn(pos, slices.Clone(payload)); err != nil {
				return err
			}
		}
	}
	return nil
}

// CutBefore implements replica.Records: whole segments go, and the newest record stays.
func (r *simRecords) CutBefore(pos uint64) error {
	if r.dead = r.dead || r.sim.fails(); r.dead {
		return errSimDisk
	}
	last := r.first + uint64(len(r.kept)) - 1
	if pos = min(pos, last); pos > r.first {
		gone := r.sim.pick(int(pos-r.first) + 1)
		r.kept, r.first = r.kept[gone:], r.first+uint64(gone)
	}
	return nil
}

// simEntries is the log of the entries of a member. What was appended is durable some time later,
// and a crash keeps some of the rest. The feed reads it from a goroutine of its own.
type simEntries struct {
	mu    sync.Mutex
	first uint64
	kept  [][]byte
	// synced is the position of the newest entry that is durable.
	synced uint64
}

func (l *simEntries) append(payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, payload)
}

func (l *simEntries) sync(pos uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.synced = pos
}

// read calls fn with all entries from a position on, those included that are not durable.
func (l *simEntries) read(from uint64, fn func(pos uint64, payload []byte) error) error {
	l.mu.Lock()
	first, kept := l.first, l.kept
	l.mu.Unlock()
	if from != 0 && from < first || from > first+uint64(len(kept)) {
		return journal.ErrOutOfRange
	}
	for i, payload := range kept {
		if pos := first + uint64(i); pos >= from {
			if err := fn(pos, slices.Clone(payload)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut forgets entries in front. The newest one that is durable stays.
func (l *simEntries) cut(gone uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.first = slices.Clone(l.kept[gone:]), l.first+gone
}

// afterCrash is what a start finds, with some of the entries that were not durable.
func (l *simEntries) afterCrash(pick func(int) int) *simEntries {
	last := l.first + uint64(len(l.kept)) - 1
	end := l.synced + uint64(pick(int(last-l.synced)+1))
	kept := l.kept[: end+1-l.first : end+1-l.first]
	return &simEntries{first: l.first, kept: kept, synced: end}
}
