package cluster

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
)

// alone is the settings of a member that names nobody but itself.
func (f *fixture) alone(number uint64, data string) Settings {
	return Settings{
		Data: data, Number: number, Keys: filepath.Join(f.keys, "member-"+string('0'+rune(number))),
		Members: []replica.Member{{Number: number, Address: "127.0.0.1:0", Voter: true}},
		Log:     slog.New(slog.DiscardHandler),
	}
}

// TestGroupOfOneNeedsData starts members whose data is not there: a disk that is not mounted, or a
// server that was to join a group first. They begin no group of their own, and make nothing.
func TestGroupOfOneNeedsData(t *testing.T) {
	f := newFixture(t, false)
	data := filepath.Join(t.TempDir(), "data")
	refused := func(number uint64) {
		t.Helper()
		m, err := Open(f.alone(number, data))
		if err == nil {
			err = m.Close()
			t.Errorf("member %d begins: %v", number, err)
		} else if !strings.Contains(err.Error(), "pws cluster join") ||
			!strings.Contains(err.Error(), "mount") {
			t.Error(err)
		}
	}
	refused(2)
	refused(1)
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	refused(2)
	refused(1)
	if names, err := os.ReadDir(data); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestGroupOfOneBegins begins a group of one with the data of a single server, be it as good as
// none; a member that has joined does not name only itself with less.
func TestGroupOfOneBegins(t *testing.T) {
	f := newFixture(t, false)
	for _, c := range []struct {
		number  uint64
		entries int
		begins  bool
	}{{1, 0, true}, {2, 0, false}, {2, 1, true}} {
		data := filepath.Join(t.TempDir(), "data")
		if err := datadir.Prepare(data); err != nil {
			t.Fatal(err)
		}
		o := journal.Options{Dir: filepath.Join(data, datadir.LogName), ReserveBytes: -1}
		fillLog(t, o, c.entries)
		m, err := Open(f.alone(c.number, data))
		if err != nil {
			t.Fatal(err)
		}
		opened, _, err := m.OpenJournal(o)
		if err == nil {
			err = opened.Close()
		}
		if (err == nil) != c.begins || err != nil && !strings.Contains(err.Error(), "cluster join") {
			t.Errorf("%+v: %v", c, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
