package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/internal/datadir"
	"pws/journal/replica"
)

// serveUseless has the first member send copies whose descriptor is none.
func (f *fixture) serveUseless() {
	f.networks[0].config.Copy = func(to io.Writer) error {
		_, err := to.Write([]byte{4, 0, 0, 0, 'n', 'o', 'n', 'e', 'x'})
		return err
	}
	f.networks[0].Serve(&inbox{})
}

// TestJoinRefusesBeforeTheCopy has a server not receive the files behind a descriptor that it
// refuses.
func TestJoinRefusesBeforeTheCopy(t *testing.T) {
	f := newFixture(t, false)
	f.serveUseless()
	received := errors.New("received")
	err := Join(t.Context(), Settings{
		Data: filepath.Join(t.TempDir(), "data"), Number: 2, Keys: filepath.Join(f.keys, "member-2"),
	}, Source{
		Number: 1, Address: f.members[0].Address,
		Receive: func(io.Reader, string) error { return received },
	})
	if !errors.Is(err, replica.ErrDescriptor) {
		t.Errorf("%v, want %v", err, replica.ErrDescriptor)
	}
}

// TestRenewRefuses asks for copies that are of no use. The data of the member stays as it was.
func TestRenewRefuses(t *testing.T) {
	f := newFixture(t, false)
	f.serveUseless()
	source := Source{
		Number: 1, Address: f.members[0].Address,
		Receive: func(from io.Reader, dir string) error {
			_, err := io.ReadAll(from)
			return errors.Join(err, os.MkdirAll(filepath.Join(dir, datadir.LogName), 0o700))
		},
	}
	settings := Settings{
		Data: filepath.Join(t.TempDir(), "data"), Number: 2,
		Keys: filepath.Join(f.keys, "member-2"), Members: []replica.Member{{
			Number: 2, Address: "127.0.0.1:0",
		}},
	}
	if err := datadir.Prepare(settings.Data); err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		err := Renew(t.Context(), settings, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		names, err := filepath.Glob(filepath.Join(settings.Data, "renewal*"))
		if err != nil || len(names) > 0 {
			t.Errorf("left behind: %v, %v", names, err)
		}
	}
	refused("is not the data directory of a member")
	own := &note{number: 2, group: testGroup}
	own.group[0] ^= 1
	if err := own.write(settings.Data); err != nil {
		t.Fatal(err)
	}
	refused("is of another group")
	own.group = testGroup
	if err := own.write(settings.Data); err != nil {
		t.Fatal(err)
	}
	refused(replica.ErrDescriptor.Error())
}
