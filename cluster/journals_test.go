package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pws/journal"
	"pws/journal/replica"
)

// counting is the machine of a member.
type counting struct {
	mu   sync.Mutex
	sum  uint64
	last uint64
	// leads, unless nil, gets the reigns of the member.
	leads  chan journal.Reign
	yields int
}

// Follow implements journal.Machine.
func (c *counting) Follow(pos uint64, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pos != c.last+1 {
		return fmt.Errorf("%d AFTER %d", pos, c.last)
	}
	c.last, c.sum = pos, c.sum+binary.LittleEndian.Uint64(payload)
	return nil
}

// Lead implements journal.Machine.
func (c *counting) Lead(reign journal.Reign) {
	if c.leads != nil {
		c.leads <- reign
	}
}

// Yield implements journal.Machine.
func (c *counting) Yield() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.yields++
}

// appended is an entry on its way.
type appended struct {
	c       *counting
	payload []byte
	done    chan error
}

// Committed implements journal.Committed.
func (a *appended) Committed(pos uint64, err error) {
	if err == nil {
		err = a.c.Follow(pos, a.payload)
	}
	a.done <- err
}

// agreeing are three journals and their machines.
type agreeing struct {
	t        *testing.T
	journals []*replica.Journal
	machines []*counting
	// patience ends the wait for a leader and for reads.
	patience <-chan time.Time
}

// leader waits for a member that leads, in the newest reign.
func (a *agreeing) leader() (at int, reign journal.Reign) {
	a.t.Helper()
	a.until("a leader", func() bool {
		for which, j := range a.journals {
			if its := journal.Reign(j.Reign()); its > reign {
				at, reign = which, its
			}
		}
		return reign != 0
	})
	return at, reign
}

func (a *agreeing) until(what string, done func() bool) {
	a.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-a.patience:
			a.t.Fatalf("%s: not in time", what)
		case <-tick.C:
		}
	}
}

// put has the leader append a value, and reports whether it is known to be there. On a busy machine
// another member may lead meanwhile.
func (a *agreeing) put(value uint64) (known bool) {
	a.t.Helper()
	var err error
	a.until("an entry", func() bool {
		leader, reign := a.leader()
		one := &appended{
			a.machines[leader], binary.LittleEndian.AppendUint64(nil, value), make(chan error, 1),
		}
		err = a.journals[leader].Append(reign, journal.Entry{Payload: one.payload}, one)
		if err == nil {
			err = <-one.done
		}
		return !errors.Is(err, journal.ErrNotLeading)
	})
	if err != nil && !errors.Is(err, journal.ErrOutcomeUnknown) {
		a.t.Fatal(err)
	}
	return err == nil
}

// read is the sum that a member shows.
func (a *agreeing) read(at int) (sum uint64) {
	a.t.Helper()
	j, m := a.journals[at], a.machines[at]
	a.until("a read", func() bool {
		begun, err := j.BeginRead()
		if err == nil {
			m.mu.Lock()
			sum = m.sum
			m.mu.Unlock()
			err = j.EndRead(begun)
		}
		if err != nil && !errors.Is(err, journal.ErrNotLeading) {
			a.t.Fatal(err)
		}
		return err == nil
	})
	return sum
}

// TestJournalsOverNetwork has three journals agree over TLS.
func TestJournalsOverNetwork(t *testing.T) {
	f := newFixture(t, false)
	a := &agreeing{t: t, patience: time.After(2 * time.Minute)}
	for i, n := range f.networks {
		dir := t.TempDir()
		if err := replica.Begin(filepath.Join(dir, "raft"), f.members, 0); err != nil {
			t.Fatal(err)
		}
		j, _, err := replica.OpenJournal(
			journal.Options{Dir: filepath.Join(dir, "log"), ReserveBytes: -1},
			replica.Options{Member: f.members[i].Number, Dir: filepath.Join(dir, "raft"), Transport: n})
		if err != nil {
			t.Fatal(err)
		}
		m := &counting{}
		n.Serve(j)
		j.Start(m)
		a.journals, a.machines = append(a.journals, j), append(a.machines, m)
	}
	defer func() {
		for _, j := range a.journals {
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	least, most := uint64(0), uint64(0)
	for value := range uint64(200) {
		most += value
		if a.put(value) {
			least += value
		}
	}
	if least == 0 {
		t.Error("no entry was acknowledged")
	}
	for i := range a.journals {
		if sum := a.read(i); sum < least || sum > most {
			t.Errorf("%d has %d, want %d to %d", i+1, sum, least, most)
		}
	}
}
