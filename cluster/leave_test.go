package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
)

// fillLog makes a log of entries.
func fillLog(t *testing.T, o journal.Options, entries int) {
	t.Helper()
	log, _, err := journal.OpenLocal(o)
	if err != nil {
		t.Fatal(err)
	}
	machine := &counting{leads: make(chan journal.Reign, 1)}
	log.Start(machine)
	reign := <-machine.leads
	for value := range entries {
		one := &appended{machine, []byte{byte(value), 0, 0, 0, 0, 0, 0, 0}, make(chan error, 1)}
		err := log.Append(reign, journal.Entry{Payload: one.payload}, one)
		if err == nil {
			err = <-one.done
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// leaving makes the data directory of a member with two entries, of which raft's log says nothing.
func leaving(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if err := datadir.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	fillLog(t, journal.Options{Dir: filepath.Join(dir, datadir.LogName), ReserveBytes: -1}, 2)
	members := []replica.Member{{Number: 2, Address: "127.0.0.1:1", Voter: true}}
	err := replica.Begin(filepath.Join(dir, datadir.RaftName), members, 2)
	if err == nil {
		err = (&note{number: 2}).write(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMembersBecomeSingleServers makes single servers of members, also of those that have lost a
// part, and goes on where it was stopped.
func TestMembersBecomeSingleServers(t *testing.T) {
	remove := func(name string) func(dir string) error {
		return func(dir string) error { return os.RemoveAll(filepath.Join(dir, name)) }
	}
	damage := func(dir string) error {
		names, err := filepath.Glob(filepath.Join(dir, datadir.RaftName, "0*"))
		if err != nil {
			return err
		}
		content, err := os.ReadFile(names[0])
		if err == nil {
			content[50] ^= 1
			err = os.WriteFile(names[0], content, 0o600)
		}
		return err
	}
	for name, c := range map[string]struct {
		before func(dir string) error
		want   Left
		fault  string
	}{
		"a member":           {remove("none"), Left{}, ""},
		"stopped in between": {remove(datadir.MemberName), Left{}, ""},
		"no raft":            {remove(datadir.RaftName), Left{NoRaft: true}, ""},
		"damaged raft":       {damage, Left{}, "remove"},
	} {
		dir := leaving(t)
		if err := c.before(dir); err != nil {
			t.Fatal(err)
		}
		got, err := Leave(dir)
		number, _ := NumberOf(dir)
		_, raftErr := os.Stat(filepath.Join(dir, datadir.RaftName))
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) || number != 2 || raftErr != nil {
				t.Errorf("%s: %v, member %d", name, err, number)
			}
		case err != nil || got != c.want || number != 0 || !errors.Is(raftErr, fs.ErrNotExist):
			t.Errorf("%s: %+v, %v, member %d, %v", name, got, err, number, raftErr)
		}
	}
	if _, err := Leave(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not the data") {
		t.Error(err)
	}
}

// TestLeaveWhileServing leaves with the directory of a server that runs.
func TestLeaveWhileServing(t *testing.T) {
	dir := leaving(t)
	log, _, err := journal.OpenLocal(journal.Options{
		Dir: filepath.Join(dir, datadir.LogName), ReserveBytes: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Leave(dir); !errors.Is(err, datadir.ErrInUse) {
		t.Error(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
