package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
	"pws/journal"
	"pws/wal"
)

// stoppedMember makes the two logs of a member that does not run, with entries of the journal,
// whose first two the group has begun with, and commands of raft, as if all but the first was not
// known to be agreed on.
func stoppedMember(
	t *testing.T, entries []string, commands ...[]byte,
) (o journal.Options, dir string) {
	t.Helper()
	o = journal.Options{Dir: filepath.Join(t.TempDir(), "log"), ReserveBytes: -1}
	dir = filepath.Join(t.TempDir(), "raft")
	log, _, err := wal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range entries {
		done := make(outcome, 1)
		if _, err := log.AppendReserved([]byte(one), done); err != nil {
			t.Fatal(err)
		}
		if result := <-done; result.err != nil {
			t.Fatal(result.err)
		}
	}
	if err := errors.Join(log.Close(), Begin(dir, membersOf(3), 2)); err != nil {
		t.Fatal(err)
	}
	records, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(records)
	for i, data := range commands {
		if err == nil {
			index, term := uint64(beginIndex+1+i), uint64(4)
			err = l.Append(&raftpb.HardState{Term: &term, Vote: new(uint64(1)), Commit: new(uint64(2))},
				nil, []*raftpb.Entry{{
					Index: &index, Term: &term, Type: raftpb.EntryNormal.Enum(), Data: data,
				}})
		}
	}
	if err = errors.Join(err, records.Close()); err != nil {
		t.Fatal(err)
	}
	return o, dir
}

func batchOf(reign, first uint64, payloads ...string) []byte {
	b := &batch{reign: journal.Reign(reign), first: first}
	for _, one := range payloads {
		b.payloads = append(b.payloads, []byte(one))
	}
	return b.encode()
}

// textsIn are all entries of a journal.
func textsIn(t *testing.T, o journal.Options) (all []string) {
	t.Helper()
	err := wal.Read(o.Dir, 0, func(_ uint64, payload []byte) error {
		all = append(all, string(payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var errStopped = errors.New("the process has ended")

// TestLeaveKeepsWhatWasAccepted compares what is in the journal of a member that leaves with what
// it has accepted.
func TestLeaveKeepsWhatWasAccepted(t *testing.T) {
	commands := [][]byte{
		encodeReign(1), batchOf(2, 3, "c", "d"), batchOf(1, 5, "of an earlier reign"), nil,
		batchOf(2, 4, "at another position"), encodeFormat(logformat.Newest), batchOf(2, 5, "e"),
	}
	for _, c := range []struct {
		has  []string
		kept uint64
		want string
	}{
		{[]string{"a", "b"}, 3, "[a b c d e]"},
		{[]string{"a", "b", "c"}, 2, "[a b c d e]"},
		{[]string{"a", "b", "c", "d", "e", "f"}, 0, "[a b c d e f]"},
		// The member has pulled entries with which another leader has replaced those in raft's log.
		{[]string{"a", "b", "c", "other"}, 0, "[a b c other]"},
	} {
		o, dir := stoppedMember(t, c.has, commands...)
		found, err := ReadAccepted(dir, o.Dir, uint64(len(c.has)))
		if err != nil || found.Entries() != c.kept || found.Term != 4 || found.Index != 8 {
			t.Errorf("%v: %+v, %v", c.has, found, err)
		}
		// It is stopped AFTER entries are kept, and again.
		kept, err := Leave(o, dir, func() error { return errStopped })
		if !errors.Is(err, errStopped) || kept != c.kept {
			t.Errorf("%v: kept %d, %v", c.has, kept, err)
		}
		if got := fmt.Sprint(textsIn(t, o)); got != c.want {
			t.Errorf("%v: %s, want %s", c.has, got, c.want)
		}
		kept, err = Leave(o, dir, func() error {
			if _, _, err := wal.Open(o); !errors.Is(err, journal.ErrLocked) {
				t.Errorf("a server could start: %v", err)
			}
			return nil
		})
		if err != nil || kept != 0 || fmt.Sprint(textsIn(t, o)) != c.want {
			t.Errorf("%v: again %d, %v", c.has, kept, err)
		}
	}
}

// TestLeaveKeepsMuch keeps more than the queue of the journal takes.
func TestLeaveKeepsMuch(t *testing.T) {
	large := string(make([]byte, 1<<20))
	commands := [][]byte{encodeReign(1)}
	for i := range uint64(10) {
		commands = append(commands, batchOf(2, 3+2*i, large, large))
	}
	o, dir := stoppedMember(t, []string{"a", "b"}, commands...)
	o.QueueBytesMax = 3 << 20
	kept, err := Leave(o, dir, func() error { return nil })
	if err != nil || kept != 20 || len(textsIn(t, o)) != 22 {
		t.Errorf("kept %d of 20, %v", kept, err)
	}
}

// TestLeaveRefuses leaves with logs that do not fit together, or are of a newer program.
func TestLeaveRefuses(t *testing.T) {
	for _, c := range []struct {
		has      []string
		commands [][]byte
		want     error
	}{
		{[]string{"a"}, nil, ErrInconsistent},
		{[]string{"a", "b"}, [][]byte{encodeFormat(logformat.Newest + 1)}, ErrNewerFormat},
		{[]string{"a", "b"}, [][]byte{{99}}, errCommand},
	} {
		o, dir := stoppedMember(t, c.has, c.commands...)
		_, err := Leave(o, dir, func() error { return errStopped })
		if !errors.Is(err, c.want) || !slices.Equal(textsIn(t, o), c.has) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}
