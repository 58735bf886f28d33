package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/wal"
)

func entriesOf(first, term uint64, texts ...string) (all []*raftpb.Entry) {
	for i, text := range texts {
		all = append(all, &raftpb.Entry{
			Index: new(first + uint64(i)), Term: &term, Type: raftpb.EntryNormal.Enum(),
			Data: []byte(text),
		})
	}
	return all
}

func hardOf(term, vote, commit uint64) *raftpb.HardState {
	return &raftpb.HardState{Term: &term, Vote: &vote, Commit: &commit}
}

// text is all that a log has.
func (l *Log) text() string {
	s := fmt.Sprint(l.hard.GetTerm(), l.hard.GetVote(), l.hard.GetCommit(), " AFTER ",
		l.base.GetMetadata().GetIndex(), string(l.base.GetData()))
	for _, e := range l.entries {
		s += fmt.Sprintf(" %d/%d%s", e.GetIndex(), e.GetTerm(), e.GetData())
	}
	return s
}

func openWAL(t *testing.T, dir string) (*wal.Log, error) {
	t.Helper()
	w, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	return w, err
}

// sealBytes is the length of the record of a seal: the length of the frame, its header, and an
// entry of two bytes with its length.
const sealBytes = 1 + 48 + 1 + 2

// TestAppendCopiesNothing appends to a log with many entries, one at a time: what that takes in
// memory does not grow with them.
func TestAppendCopiesNothing(t *testing.T) {
	w, err := openWAL(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l, err := Bootstrap(w, []uint64{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const many, appends = 1 << 14, 64
	appendTo := func(texts ...string) {
		t.Helper()
		if err := l.Append(nil, nil, entriesOf(l.last()+1, 1, texts...)); err != nil {
			t.Fatal(err)
		}
	}
	appendTo(slices.Repeat([]string{"text"}, many)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range appends {
		appendTo("text")
	}
	runtime.ReadMemStats(&after)
	// An entry has a pointer and a place. The arrays may grow once.
	const copied = 16 * many
	if took := after.TotalAlloc - before.TotalAlloc; took > appends*copied/4 {
		t.Errorf("%d bytes for %d appends, a copy of what is there has %d", took, appends, copied)
	}
}

// filled makes a log in a directory with entries, votes, a suffix that others have replaced, and a
// descriptor, and returns what it had AFTER each record, with the end of that record in the file.
func filled(t *testing.T, dir string) (texts []string, ends []int64) {
	t.Helper()
	w, err := openWAL(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Bootstrap(w, []uint64{3, 1, 2}, []byte("a"))
	note := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		end := w.Stats().Bytes
		if l.sealed {
			end -= sealBytes
		}
		texts, ends = append(texts, l.text()), append(ends, end)
	}
	note(err)
	note(l.Append(hardOf(2, 1, 1), nil, entriesOf(2, 2, "b", "c", "d")))
	note(l.Append(hardOf(3, 2, 2), nil, nil))
	note(l.Append(nil, nil, entriesOf(4, 3, "e")))
	note(l.Append(hardOf(4, 0, 2), nil, entriesOf(3, 4, "f", "g", "h")))
	l.Agree(hardOf(4, 0, 4))
	note(l.Compact(&raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{
			Index: new(uint64(3)), Term: new(uint64(4)),
			ConfState: l.base.GetMetadata().GetConfState(),
		},
		Data: []byte("state"),
	}))
	note(l.Append(hardOf(5, 3, 5), nil, entriesOf(6, 5, "i")))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return texts, ends
}

// TestReopenedLogContinues opens a log again.
func TestReopenedLogContinues(t *testing.T) {
	dir := t.TempDir()
	texts, _ := filled(t, dir)
	want := "5 3 5 AFTER 3state 4/4g 5/4h 6/5i"
	w, err := openWAL(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(w)
	if err != nil || l.text() != want || texts[len(texts)-1] != want {
		t.Errorf("%s, %v; it was %s", l.text(), err, texts[len(texts)-1])
	}
	if _, conf, _ := l.InitialState(); !slices.Equal(conf.GetVoters(), []uint64{1, 2, 3}) {
		t.Errorf("members are %v", conf)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLogIsCutAnywhere truncates the file at every byte: what is left is what the log had AFTER the
// last whole record.
func TestLogIsCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	texts, ends := filled(t, dir)
	whole := readSegment(t, dir)
	for size := range len(whole) + 1 {
		text, err := openChanged(t, whole[:size])
		have := 0
		for have < len(ends) && ends[have] <= int64(size) {
			have++
		}
		switch {
		case have == 0 && !errors.Is(err, ErrNoMember):
			t.Errorf("%d bytes: %s, %v", size, text, err)
		case have > 0 && (err != nil || text != texts[have-1]):
			t.Errorf("%d bytes: %s, %v, want %s", size, text, err, texts[have-1])
		}
	}
}

// TestFlippedBitsAreFound changes every byte of a log that ends with a vote. All but those of the
// seal behind it stop the start, so nothing that was promised is forgotten.
func TestFlippedBitsAreFound(t *testing.T) {
	dir := t.TempDir()
	texts, ends := filled(t, dir)
	whole := readSegment(t, dir)
	last := int(ends[len(ends)-1])
	if len(whole) < last+sealBytes || strings.Trim(string(whole[last+sealBytes:]), "\x00") != "" {
		t.Fatalf("%d bytes; the last record ends at %d", len(whole), last)
	}
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 0x10
		text, err := openChanged(t, changed)
		if i < last && !errors.Is(err, wal.ErrCorrupt) {
			t.Errorf("byte %d: %s, %v", i, text, err)
		}
		if i >= last && (err != nil || text != texts[len(texts)-1]) {
			t.Errorf("byte %d of the seal: %s, %v", i, text, err)
		}
	}
}

func readSegment(t *testing.T, dir string) []byte {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(dir, "00000000000000000001"))
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// openChanged opens a log whose one segment has some content.
func openChanged(t *testing.T, content []byte) (text string, err error) {
	t.Helper()
	dir := t.TempDir()
	err = os.WriteFile(filepath.Join(dir, "00000000000000000001"), content, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w, err := openWAL(t, dir)
	if err != nil {
		return "", err
	}
	defer w.Close()
	l, err := Open(w)
	if err != nil {
		return "", err
	}
	return l.text(), nil
}

// TestOnlyWholeRecordsAreRead reads what was written, and refuses everything shorter and longer.
func TestOnlyWholeRecordsAreRead(t *testing.T) {
	for _, want := range []record{
		{hard: hardOf(1, 2, 3)}, {entries: entriesOf(7, 8, "", "text")},
		{hard: hardOf(1, 0, 1<<63), entries: entriesOf(1<<40, 9, "x"), base: &raftpb.Snapshot{
			Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(5)), Term: new(uint64(6)),
				ConfState: &raftpb.ConfState{
					Voters: []uint64{1, 300}, Learners: []uint64{2}, VotersOutgoing: []uint64{4},
					LearnersNext: []uint64{5, 6}, AutoLeave: new(true),
				}},
			Data: []byte("descriptor"),
		}},
	} {
		data := want.encode()
		got, err := decodeRecord(data)
		if err != nil || !sameRecord(&got, &want) {
			t.Errorf("%v comes back as %v, %v", want, got, err)
		}
		for size := range data {
			if _, err := decodeRecord(data[:size]); !errors.Is(err, errRecord) {
				t.Errorf("%d of %d bytes: %v", size, len(data), err)
			}
		}
		if _, err := decodeRecord(append(data, 0)); !errors.Is(err, errRecord) {
			t.Errorf("a longer record: %v", err)
		}
	}
}

func sameRecord(a, b *record) bool {
	if len(a.entries) != len(b.entries) || (a.hard == nil) != (b.hard == nil) ||
		(a.base == nil) != (b.base == nil) {
		return false
	}
	for i := range a.entries {
		if a.entries[i].GetIndex() != b.entries[i].GetIndex() ||
			a.entries[i].GetTerm() != b.entries[i].GetTerm() ||
			string(a.entries[i].GetData()) != string(b.entries[i].GetData()) {
			return false
		}
	}
	return (a.hard == nil || proto.Equal(a.hard, b.hard)) &&
		(a.base == nil || proto.Equal(a.base, b.base))
}

func FuzzRecord(f *testing.F) {
	one := record{hard: hardOf(1, 2, 3), entries: entriesOf(7, 8, "", "text")}
	f.Add(one.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decodeRecord(data)
		if err != nil || rec.empty() {
			return
		}
		again, err := decodeRecord(rec.encode())
		if err != nil || !sameRecord(&again, &rec) {
			t.Fatalf("%v comes back as %v, %v", rec, again, err)
		}
	})
}
