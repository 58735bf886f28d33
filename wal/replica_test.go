package wal_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
	"pws/journal/replica"
	"pws/wal"
)

// member is a group of one on a real log: it votes for itself, and entries are agreed on when they
// are durable.
type member struct {
	t      *testing.T
	dir    string
	values []string
	// saved is a state that is durable, acked are the values that were reported, tried those that
	// were appended.
	saved        []string
	acked, tried []string
	reign        journal.Reign
	err          error
}

// Follow implements replica.Machine.
func (m *member) Follow(pos uint64, payload []byte) error {
	return m.add(pos, string(payload))
}

// Lead implements replica.Machine.
func (m *member) Lead(reign journal.Reign) { m.reign = reign }

// Yield implements replica.Machine.
func (m *member) Yield() { m.reign = 0 }

// Install implements replica.Machine.
func (m *member) Install(uint64, []byte) error { return errors.New("nobody else has a state") }

// Has implements replica.Machine.
func (m *member) Has(pos uint64, payload []byte) (bool, error) {
	return m.values[pos-1] == string(payload), nil
}

func (m *member) add(pos uint64, value string) error {
	if pos != uint64(len(m.values))+1 {
		return fmt.Errorf("%d follows %d", pos, len(m.values))
	}
	m.values = append(m.values, value)
	return nil
}

// value is one that was appended.
type value struct {
	m    *member
	text string
}

// Committed implements journal.Committed.
func (v *value) Committed(pos uint64, err error) {
	if err == nil {
		err = v.m.add(pos, v.text)
	}
	if err == nil {
		v.m.acked = append(v.m.acked, v.text)
	}
}

// run opens the log, waits for a reign, appends values and compacts now and then.
func (m *member) run(options wal.Options, count int) {
	w, _, err := wal.Open(options)
	if err != nil {
		m.err = err
		return
	}
	m.err = m.work(w, count)
	if err := w.Close(); m.err == nil {
		m.err = err
	}
}

var quiet = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

func (m *member) work(w *wal.Log, count int) error {
	l, err := replica.Open(w)
	if errors.Is(err, replica.ErrNoMember) {
		if len(m.acked) > 0 {
			m.t.Fatalf("%v, AFTER %d values", err, len(m.acked))
		}
		l, err = replica.Bootstrap(w, []uint64{1}, replica.First(0, nil))
	}
	if err != nil {
		return err
	}
	m.values, m.reign = slices.Clone(m.saved), 0
	n, err := replica.NewNode(replica.Config{
		Member: 1, Log: l, Machine: m, Position: uint64(len(m.saved)), ElectionTicks: 3,
		HeartbeatTicks: 1, QueueBytesMax: 1 << 20, Logger: quiet,
	})
	nobody := func(sent *raftpb.Message) { m.t.Fatalf("%v is sent", sent) }
	for err == nil && m.reign == 0 {
		n.Tick()
		err = n.Work(nobody)
	}
	for i := 0; err == nil && i < count; i++ {
		text := fmt.Sprintf("%d %s", len(m.tried), strings.Repeat("x", 40))
		m.tried = append(m.tried, text)
		if err = n.Append(m.reign, []byte(text), &value{m, text}); err == nil {
			err = n.Work(nobody)
		}
		if err == nil && i%4 == 3 {
			m.saved = slices.Clone(m.values)
			err = n.Compact(uint64(len(m.saved)), nil)
		}
	}
	return err
}

// check expects that all that was reported is there once, in its order.
func (m *member) check(what string) {
	m.t.Helper()
	m.run(wal.NewFaultDisk(0, 0).Options(m.dir), 2)
	if m.err != nil {
		m.t.Fatalf("%s: %v", what, m.err)
	}
	at := 0
	for _, text := range m.values {
		if at < len(m.acked) && text == m.acked[at] {
			at++
		} else if !slices.Contains(m.tried, text) {
			m.t.Fatalf("%s: %q was never appended", what, text)
		}
	}
	once := slices.Compact(slices.Sorted(slices.Values(m.values)))
	if at < len(m.acked) || len(once) != len(m.values) {
		m.t.Fatalf("%s: %d values, %d different ones, %d of %d that were reported", what,
			len(m.values), len(once), at, len(m.acked))
	}
}

// TestReplicaOnFailingDisk fails every call of the file system once below raft, in a log that is
// new and in one that is opened again.
func TestReplicaOnFailingDisk(t *testing.T) {
	const count = 18
	seen := map[string]bool{}
	for _, before := range []int{0, 7} {
		for failAt, done := 1, false; !done; failAt++ {
			for mode := range wal.FaultModes {
				m := &member{t: t, dir: filepath.Join(t.TempDir(), "log")}
				if before > 0 {
					m.run(wal.NewFaultDisk(0, 0).Options(m.dir), before)
				}
				disk := wal.NewFaultDisk(failAt, mode)
				m.run(disk.Options(m.dir), count)
				failed := disk.Failed()
				if done = failed == ""; done {
					break
				}
				what := fmt.Sprintf("%d before, call %d (%s), mode %d", before, failAt, failed, mode)
				full := failed == "Free" && errors.Is(m.err, wal.ErrNoSpace)
				if m.err == nil && len(m.acked) < before+count ||
					m.err != nil && !full && !errors.Is(m.err, wal.ErrFault) {
					t.Fatalf("%s: %d acknowledged, %v", what, len(m.acked), m.err)
				}
				seen[failed] = true
				m.check(what)
				if failed != "WriteAt" && failed != "Sync" {
					// It fails in one way only.
					break
				}
			}
		}
	}
	for _, name := range []string{"MakeDir", "ReadDir", "Check", "OpenSegment", "CreateSegment",
		"Rename", "SyncDir", "Fill", "WriteAt", "Sync", "SyncFile", "TruncateSegment", "Close",
		"Remove", "Free"} {
		if !seen[name] {
			t.Errorf("%s never failed", name)
		}
	}
}
