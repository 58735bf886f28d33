package replica

import (
	"errors"
	"slices"

	"pws/wal"
)

var errDisk = errors.New("the disk has failed")

// modelRecords is what package wal promises: a record is durable as a whole when it is reported,
// and a crash keeps the last one or loses it. Each operation may fail or take long by the
// simulation's choice.
type modelRecords struct {
	sim   *simulation
	first uint64
	kept  [][]byte
	dead  bool
	// torn says that a crash has lost the last record.
	torn   bool
	shadow *Log
	// promise is the position of the newest record with a new term or vote.
	promise uint64
	// wait lets a step of the simulation pass, while the server is at work. It reports false where
	// the server crashes.
	wait func(struct{}) bool
}

// AppendReserved implements Records.
func (r *modelRecords) AppendReserved(payload []byte, c wal.Committed) (uint64, error) {
	if r.dead {
		return 0, errDisk
	}
	keeps := true
	if r.sim.fails() || r.slow() {
		r.dead, keeps = true, r.sim.pick(2) == 0
	}
	pos := r.first + uint64(len(r.kept))
	if r.torn = !keeps; keeps {
		r.kept = append(r.kept, slices.Clone(payload))
		r.note(pos, payload)
	}
	if r.dead {
		c.Committed(pos, errDisk)
	} else {
		c.Committed(pos, nil)
	}
	return pos, nil
}

// slow takes its time now and then. It reports whether the server has crashed since.
func (r *modelRecords) slow() bool {
	if r.wait == nil || r.sim.calm || r.sim.pick(40) > 0 {
		return false
	}
	r.sim.slows++
	for range 1 + r.sim.pick(60) {
		if !r.wait(struct{}{}) {
			return true
		}
	}
	return false
}

// forget is a crash of a disk that has lied: it has reported records that were not durable.
func (r *modelRecords) forget() {
	r.kept = r.kept[:max(1, len(r.kept)-r.sim.pick(4))]
}

// flip damages a bit of the last record while the server is down, where package wal takes that for
// a torn write. The others it reports, and the member does not start. Entries without a seal are
// left alone: sealTicks is how long they may be lost in that way.
func (r *modelRecords) flip() {
	last := len(r.kept) - 1
	if rec, err := decodeRecord(r.kept[last]); err == nil && rec.empty() && last > 0 {
		r.kept, r.torn = r.kept[:last], true
	}
}

// note keeps the shadow: what a member that opens the records would find.
func (r *modelRecords) note(pos uint64, payload []byte) {
	rec, err := decodeRecord(payload)
	before := r.shadow.hard
	if err == nil {
		err = r.shadow.apply(pos, &rec)
	}
	if now := r.shadow.hard; now.GetTerm() != before.GetTerm() ||
		now.GetVote() != before.GetVote() {
		r.promise = pos
	}
	if err != nil {
		r.sim.t.Fatalf("%s: %v", r.sim, err)
	}
}

// Replay implements Records.
func (r *modelRecords) Replay(from uint64, fn func(uint64, []byte) error) error {
	for i, payload := range r.kept {
		if pos := r.first + uint64(i); pos >= from {
			if err := fn(pos, slices.Clone(payload)); err != nil {
				return err
			}
		}
	}
	return nil
}

// CutBefore implements Records: whole segments go, and the newest record stays.
func (r *modelRecords) CutBefore(pos uint64) error {
	if r.dead || r.sim.fails() {
		r.dead = true
	}
	if last := r.first + uint64(len(r.kept)) - 1; pos > last {
		pos = last
	}
	if pos > r.first {
		gone := r.sim.pick(int(pos-r.first) + 1)
		r.kept, r.first = r.kept[gone:], r.first+uint64(gone)
	}
	if r.dead {
		return errDisk
	}
	return nil
}
