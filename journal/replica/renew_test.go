package replica

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/disk"
	"pws/wal"
)

// describedAt is what Descriptor of a member returns that has applied an index.
func describedAt(t *testing.T, index, term uint64) []byte {
	t.Helper()
	first, err := beginning(membersOf(3))
	if err != nil {
		t.Fatal(err)
	}
	b := (&record{base: &raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{Index: &index, Term: &term, ConfState: first.conf()},
		Data:     First(7, nil, first.members...),
	}}).encode()
	return binary.LittleEndian.AppendUint32(b, disk.Checksum(b))
}

// votedLog makes the log of a member that has voted for member 2 in term 5, and returns its
// directory.
func votedLog(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "raft")
	if err := Begin(dir, membersOf(3), 0); err != nil {
		t.Fatal(err)
	}
	records, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(records)
	if err == nil {
		err = l.Append(&raftpb.HardState{
			Term: new(uint64(5)), Vote: new(uint64(2)), Commit: new(uint64(1)),
		}, nil, nil)
	}
	if err = errors.Join(err, records.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestVotesCountInALogMadeAnew makes a new log, in which what was voted still counts.
func TestVotesCountInALogMadeAnew(t *testing.T) {
	for _, one := range []struct{ index, term, wantTerm, wantVote uint64 }{
		{40, 4, 5, 2}, {40, 5, 5, 2}, {40, 7, 7, 0},
	} {
		old, dir := votedLog(t), filepath.Join(t.TempDir(), "raft")
		if err := Renew(dir, old, 3, describedAt(t, one.index, one.term)); err != nil {
			t.Fatal(err)
		}
		l, err := readLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		if l.hard.GetTerm() != one.wantTerm || l.hard.GetVote() != one.wantVote ||
			l.hard.GetCommit() != one.index || l.base.GetMetadata().GetIndex() != one.index ||
			len(l.entries) > 0 {
			t.Errorf("%+v: %v, base %v", one, l.hard, l.base.GetMetadata())
		}
		if err := Renew(dir, old, 3, describedAt(t, one.index, one.term)); err == nil {
			t.Error("a log takes the place of another one")
		}
	}
}

func TestRenewRefuses(t *testing.T) {
	old := votedLog(t)
	damaged := describedAt(t, 40, 4)
	damaged[3] ^= 1
	for _, one := range []struct {
		name       string
		member     uint64
		descriptor []byte
		want       error
	}{
		{"a damaged descriptor", 3, damaged, ErrDescriptor},
		{"one that does not name the member", 9, describedAt(t, 40, 4), ErrUnknownMember},
		{"one of entries that the log has", 3, describedAt(t, 1, 1), nil},
		{"one of less than the log has", 3, describedAt(t, 0, 1), nil},
	} {
		dir := filepath.Join(t.TempDir(), "raft")
		err := Renew(dir, old, one.member, one.descriptor)
		if err == nil || one.want != nil && !errors.Is(err, one.want) {
			t.Errorf("%s: %v", one.name, err)
		}
	}
	if l, err := readLog(old); err != nil || l.hard.GetVote() != 2 {
		t.Errorf("the old log has changed: %+v, %v", l, err)
	}
}
