package actors

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pws/internal/datadir"
	"pws/internal/id"
)

// hashesIn returns the hash of each file in a directory by its path.
func hashesIn(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	all := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		all[name] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMemberIsNotWrittenAlone refuses all that would append to the log of a member which does not
// run: the other members would not have it.
func TestMemberIsNotWrittenAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	log := slog.New(slog.DiscardHandler)
	e, _, err := Open(Config{Dir: dir, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := datadir.WriteMember(dir, []byte("a member\n")); err != nil {
		t.Fatal(err)
	}
	before := hashesIn(t, dir)
	if err := HandleReports(dir, []id.ID{{1}}, log); !errors.Is(err, datadir.ErrMember) {
		t.Errorf("reports: %v", err)
	}
	if _, err := Reindex(dir, log); !errors.Is(err, datadir.ErrMember) {
		t.Errorf("reindex: %v", err)
	}
	if !maps.Equal(before, hashesIn(t, dir)) {
		t.Error("files have changed")
	}
}
