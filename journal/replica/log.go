package replica

import (
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"pws/wal"
)

// Records are a write-ahead log: package wal, or a model of it. They may use the reserve of disk
// space: what a member has to note to take part is not refused where entries of the journal are.
type Records interface {
	AppendReserved(payload []byte, c wal.Committed) (pos uint64, err error)
	Replay(from uint64, fn func(pos uint64, payload []byte) error) error
	CutBefore(pos uint64) error
}

var _ Records = (*wal.Log)(nil)

// The errors of Open.
var (
	// ErrNoMember: the log is empty. Bootstrap makes it that of a member.
	ErrNoMember = errors.New("replica: the log is empty")
	// ErrInconsistent: what the log has is valid, and does not fit together.
	ErrInconsistent = errors.New("replica: the log is inconsistent")
)

// Log is raft's log, hard state and newest snapshot descriptor, in memory and, in front of that, in
// Records. Its methods are called by one goroutine. It implements raft.Storage.
type Log struct {
	records Records
	hard    *raftpb.HardState
	// base is what the first entry follows, and basePlace the position of its record.
	base      *raftpb.Snapshot
	basePlace uint64
	entries   []*raftpb.Entry
	// places are the positions of the records of entries.
	places []uint64
	bytes  int64
	// agreed is how far the records say that the members agree; hard may have more.
	agreed uint64
	// opening says that the records are read, whose first ones may be incomplete.
	opening bool
	// sealed says that the last record has nothing that anybody relies on.
	sealed bool
	failed error
}

var _ raft.Storage = (*Log)(nil)

// beginIndex is the index of raft that the members of a group begin with. No entry has it.
const beginIndex = 1

// Bootstrap makes empty records those of a member of a group that begins: it knows the first
// members, which are the same for all, and a snapshot descriptor of what all of them begin with.
func Bootstrap(records Records, voters []uint64, state []byte) (*Log, error) {
	voters = slices.Sorted(slices.Values(voters))
	return begin(records, &raftpb.HardState{}, &raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{
			Index: new(uint64(beginIndex)), Term: new(uint64(1)),
			ConfState: &raftpb.ConfState{Voters: voters},
		},
		Data: state,
	})
}

// begin makes empty records those of a member that goes on from a base. Before is what it has voted
// in earlier records; in a term that is newer than that it has voted for nobody.
func begin(records Records, before *raftpb.HardState, base *raftpb.Snapshot) (*Log, error) {
	l := &Log{records: records, hard: &raftpb.HardState{}}
	at := base.GetMetadata()
	hard := &raftpb.HardState{
		Term: new(at.GetTerm()), Vote: new(uint64(0)), Commit: new(at.GetIndex()),
	}
	if before.GetTerm() >= at.GetTerm() {
		hard.Term, hard.Vote = new(before.GetTerm()), new(before.GetVote())
	}
	return l, l.Append(hard, base, nil)
}

// Open reads records, and seals them: from now on others may rely on what they have. Errors:
// ErrNoMember, ErrInconsistent, and those of the records.
func Open(records Records) (*Log, error) {
	l, err := load(records)
	if err != nil {
		return nil, err
	}
	return l, l.Seal()
}

// load is Open of records that are only read.
func load(records Records) (*Log, error) {
	l := &Log{records: records, hard: &raftpb.HardState{}, opening: true}
	err := records.Replay(0, func(pos uint64, payload []byte) error {
		rec, err := decodeRecord(payload)
		if err == nil {
			err = l.apply(pos, &rec)
		}
		if err != nil {
			err = fmt.Errorf("record %d: %w", pos, err)
		}
		l.sealed = rec.empty()
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case l.base == nil && len(l.entries) == 0 && raft.IsEmptyHardState(l.hard):
		return nil, ErrNoMember
	case l.base == nil:
		return nil, fmt.Errorf("%w: it does not say what it follows", ErrInconsistent)
	case l.hard.GetCommit() < l.base.GetMetadata().GetIndex() || l.hard.GetCommit() > l.last():
		return nil, fmt.Errorf("%w: it has entries %d to %d and says that %d is agreed on",
			ErrInconsistent, l.base.GetMetadata().GetIndex()+1, l.last(), l.hard.GetCommit())
	}
	l.opening = false
	return l, nil
}

// apply changes what is in memory by a record that is durable.
func (l *Log) apply(pos uint64, rec *record) error {
	if rec.hard != nil {
		if rec.hard.GetTerm() < l.hard.GetTerm() || rec.hard.GetCommit() < l.hard.GetCommit() {
			return fmt.Errorf("%w: term %d, agreed on %d, after %d and %d", ErrInconsistent,
				rec.hard.GetTerm(), rec.hard.GetCommit(), l.hard.GetTerm(), l.hard.GetCommit())
		}
		l.hard, l.agreed = rec.hard, rec.hard.GetCommit()
	}
	if rec.base != nil {
		if err := l.rebase(pos, rec.base); err != nil {
			return err
		}
	}
	if len(rec.entries) == 0 {
		return nil
	}
	first := rec.entries[0].GetIndex()
	switch {
	case l.base != nil && first <= l.base.GetMetadata().GetIndex():
		return fmt.Errorf("%w: entry %d replaces one that was agreed on", ErrInconsistent, first)
	case first > l.last()+1 && !l.opening:
		return fmt.Errorf("%w: entry %d follows %d", ErrInconsistent, first, l.last())
	case first > l.last()+1:
		// The wal was cut between what is in front and these. A later descriptor says what they
		// follow.
		l.base = nil
		l.keep(0, 0)
	}
	// Entries replace all from the first of them on.
	keep := 0
	if len(l.entries) > 0 && first > l.entries[0].GetIndex() {
		keep = int(first - l.entries[0].GetIndex())
	}
	if keep < len(l.entries) {
		l.keep(0, keep)
	}
	for _, e := range rec.entries {
		l.entries, l.places = append(l.entries, e), append(l.places, pos)
		l.bytes += int64(len(e.GetData()))
	}
	return nil
}

// rebase forgets entries up to a base. Entries behind it stay if they follow it.
func (l *Log) rebase(pos uint64, base *raftpb.Snapshot) error {
	index, term := base.GetMetadata().GetIndex(), base.GetMetadata().GetTerm()
	if l.base != nil && index < l.base.GetMetadata().GetIndex() {
		return fmt.Errorf("%w: it follows %d, and followed %d", ErrInconsistent, index,
			l.base.GetMetadata().GetIndex())
	}
	drop := len(l.entries)
	if drop > 0 && index < l.last() {
		switch first := l.entries[0].GetIndex(); {
		case index+1 < first && l.opening:
			// What is between them was cut, so a later descriptor contains it.
			l.base = nil
			return nil
		case index+1 < first:
			return fmt.Errorf("%w: entry %d follows %d", ErrInconsistent, first, index)
		case index+1 == first:
			drop = 0
		default:
			if at := int(index - first); l.entries[at].GetTerm() == term {
				drop = at + 1
			}
		}
	}
	l.base, l.basePlace = base, pos
	l.keep(drop, len(l.entries))
	return nil
}

// keep forgets all entries but some.
func (l *Log) keep(from, to int) {
	for i, e := range l.entries {
		if i < from || i >= to {
			l.bytes -= int64(len(e.GetData()))
		}
	}
	// The arrays are not shared with what Entries has returned.
	l.entries, l.places = slices.Clone(l.entries[from:to]), slices.Clone(l.places[from:to])
}

// Append makes a hard state, a snapshot descriptor and entries durable together. Each of them may
// be missing. It returns AFTER that; nothing may be sent or applied BEFORE. Entries replace all
// that were there from the first of them on, a descriptor all up to its index. AFTER an error the
// log takes nothing any more, and only a new Open knows what it has.
func (l *Log) Append(
	hard *raftpb.HardState, base *raftpb.Snapshot, entries []*raftpb.Entry,
) error {
	if l.failed != nil {
		return l.failed
	}
	rec := record{entries: entries}
	if !raft.IsEmptyHardState(hard) {
		rec.hard = &raftpb.HardState{
			Term: new(hard.GetTerm()), Vote: new(hard.GetVote()), Commit: new(hard.GetCommit()),
		}
	}
	if !raft.IsEmptySnap(base) {
		rec.base = base
		// A base is agreed on. The record says so, because it may be the first that is kept.
		if rec.hard == nil {
			rec.hard = &raftpb.HardState{
				Term: new(l.hard.GetTerm()), Vote: new(l.hard.GetVote()),
				Commit: new(l.hard.GetCommit()),
			}
		}
		*rec.hard.Commit = max(rec.hard.GetCommit(), base.GetMetadata().GetIndex())
	}
	if rec.empty() {
		return nil
	}
	promise := rec.base != nil || rec.hard != nil && (rec.hard.GetTerm() != l.hard.GetTerm() ||
		rec.hard.GetVote() != l.hard.GetVote())
	pos, err := l.write(rec.encode())
	if err == nil {
		err = l.apply(pos, &rec)
	}
	l.sealed, l.failed = false, err
	if promise {
		return l.Seal()
	}
	return err
}

// Seal writes a record behind the last one, unless that is a seal. AFTER it a bit that flips in
// what was there BEFORE is damage, not a torn write.
func (l *Log) Seal() error {
	if l.failed != nil || l.sealed {
		return l.failed
	}
	_, l.failed = l.write((&record{}).encode())
	l.sealed = l.failed == nil
	return l.failed
}

// Agree notes how far the members agree, which need not be durable.
func (l *Log) Agree(hard *raftpb.HardState) {
	if hard.GetCommit() > l.hard.GetCommit() {
		l.hard = &raftpb.HardState{
			Term: new(l.hard.GetTerm()), Vote: new(l.hard.GetVote()), Commit: new(hard.GetCommit()),
		}
	}
}

// KeepAgreed makes durable that the members agree up to an index, which Agree has noted, and seals
// it. It returns AFTER that.
func (l *Log) KeepAgreed(index uint64) error {
	if l.failed == nil && l.agreed < index {
		_ = l.Append(l.hard, nil, nil)
		return l.Seal()
	}
	return l.failed
}

// outcome receives the result of a record.
type outcome chan durable

type durable struct {
	pos uint64
	err error
}

// Committed implements wal.Committed.
func (o outcome) Committed(pos uint64, err error) { o <- durable{pos, err} }

func (l *Log) write(payload []byte) (pos uint64, err error) {
	done := make(outcome, 1)
	if _, err := l.records.AppendReserved(payload, done); err != nil {
		return 0, err
	}
	result := <-done
	return result.pos, result.err
}

// Compact replaces entries up to the one of a descriptor, which were applied, by the descriptor,
// and then lets the records forget them. The hard state is written again with it.
func (l *Log) Compact(base *raftpb.Snapshot) error {
	index := base.GetMetadata().GetIndex()
	if index < l.base.GetMetadata().GetIndex() || index > l.hard.GetCommit() {
		return fmt.Errorf("replica: descriptor of %d, the log follows %d and has agreed on %d", index,
			l.base.GetMetadata().GetIndex(), l.hard.GetCommit())
	}
	if err := l.Append(nil, base, nil); err != nil {
		return err
	}
	l.failed = l.records.CutBefore(l.oldest())
	return l.failed
}

// oldest is the position of the oldest record that is needed.
func (l *Log) oldest() uint64 {
	needed := l.basePlace
	for _, place := range l.places {
		needed = min(needed, place)
	}
	return needed
}

// Bytes is the size of the entries.
func (l *Log) Bytes() int64 { return l.bytes }

func (l *Log) last() uint64 {
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].GetIndex()
	}
	return l.base.GetMetadata().GetIndex()
}

// InitialState implements raft.Storage.
func (l *Log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	return l.hard, l.base.GetMetadata().GetConfState(), nil
}

// Entries implements raft.Storage.
func (l *Log) Entries(from, to, maxBytes uint64) ([]*raftpb.Entry, error) {
	first, _ := l.FirstIndex()
	switch {
	case from < first:
		return nil, raft.ErrCompacted
	case to > l.last()+1:
		return nil, raft.ErrUnavailable
	}
	found := l.entries[from-first : to-first]
	size := uint64(0)
	for i, e := range found {
		// Term and index count, too.
		if size += uint64(len(e.GetData())) + 24; size > maxBytes && i > 0 {
			found = found[:i]
			break
		}
	}
	return slices.Clone(found), nil
}

// Term implements raft.Storage.
func (l *Log) Term(index uint64) (uint64, error) {
	meta := l.base.GetMetadata()
	switch {
	case index < meta.GetIndex():
		return 0, raft.ErrCompacted
	case index == meta.GetIndex():
		return meta.GetTerm(), nil
	case index > l.last():
		return 0, raft.ErrUnavailable
	}
	return l.entries[index-meta.GetIndex()-1].GetTerm(), nil
}

// LastIndex implements raft.Storage.
func (l *Log) LastIndex() (uint64, error) { return l.last(), nil }

// FirstIndex implements raft.Storage.
func (l *Log) FirstIndex() (uint64, error) { return l.base.GetMetadata().GetIndex() + 1, nil }

// Snapshot implements raft.Storage.
func (l *Log) Snapshot() (*raftpb.Snapshot, error) { return l.base, nil }
