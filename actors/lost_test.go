package actors

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/blobs"
	"pws/internal/datadir"
	"pws/work"
)

// empty removes all files of a part of a data directory, as if its disk were not mounted.
func empty(t *testing.T, dir, part string) {
	t.Helper()
	part = filepath.Join(dir, part)
	remove(t, part)
	if err := os.Mkdir(part, 0o700); err != nil {
		t.Fatal(err)
	}
}

// wantNoStart expects a start to be refused with a text that has all parts.
func wantNoStart(t *testing.T, dir string, parts ...string) error {
	t.Helper()
	e, _, err := Open(Config{Dir: dir, ReserveBytes: -1, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		e.Close()
		t.Fatal("it starts")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	return err
}

// Packs that are lost are noticed by a start, which leaves the folder as it is.
func TestStartNoticesLostPacks(t *testing.T) {
	sound, _ := lived(t)
	for _, gone := range []bool{false, true} {
		dir := crashCopy(t, sound)
		empty(t, dir, datadir.BlobsName)
		if gone {
			remove(t, filepath.Join(dir, datadir.BlobsName))
		}
		for range 2 {
			err := wantNoStart(t, dir, "manifest is missing", "restore a backup")
			if !errors.Is(err, blobs.ErrCorrupt) {
				t.Errorf("not marked as damage: %v", err)
			}
		}
		wantFaults(t, dir, "manifest is missing", "restore a backup")
		if left, _ := filepath.Glob(filepath.Join(dir, datadir.BlobsName, "[mp]*")); len(left) > 0 {
			t.Errorf("a start made %v", left)
		}
	}
}

// A directory starts whose snapshot needed no packs, or that was killed BEFORE its first snapshot.
func TestStartWithoutPacks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := newService(t, dir)
	s.saver.running.Lock()
	s.saver.hook = func(step string) error {
		if step == "packs" {
			return errors.New("killed")
		}
		return nil
	}
	s.saver.running.Unlock()
	s.do(0, s.create(work.Public), putOf("a", "content"))
	// The position of the snapshot may follow the answer.
	waitFor(t, func() bool { return s.journal.Durable() == s.journal.Stats().Last })
	if err := s.Save(); err == nil {
		t.Fatal("the snapshot was written")
	}
	killed := crashCopy(t, dir)
	newest(t, killed, "blobs/pack-*")
	mustVerify(t, killed)
	openAt(t, killed)

	dir = filepath.Join(t.TempDir(), "data")
	newService(t, dir).save()
	saved := crashCopy(t, dir)
	if packs, _ := filepath.Glob(filepath.Join(saved, "blobs", "pack-*")); len(packs) > 0 {
		t.Fatalf("packs of no contents: %v", packs)
	}
	mustVerify(t, saved)
	openAt(t, saved)
}

// A log that lost its end is named as what is lost. What its advice asks for helps, and it never
// asks to remove the feed, which has events that are nowhere else.
func TestStartNoticesALostLog(t *testing.T) {
	sound, _ := lived(t)
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := Backup(sound, backup); err != nil {
		t.Fatal(err)
	}
	dir := crashCopy(t, sound)
	empty(t, dir, datadir.LogName)
	for range 2 {
		err := wantNoStart(t, dir, filepath.Join(dir, datadir.LogName), "the end of the log is lost",
			"restore a backup")
		if strings.Contains(err.Error(), "remove the folder") {
			t.Errorf("it asks to remove the feed: %v", err)
		}
		wantFaults(t, dir, filepath.Join(dir, datadir.LogName), "the end of the log is lost",
			"restore a backup")
	}
	if _, err := Verify(dir); strings.Contains(err.Error(), "remove the folder") {
		t.Errorf("it asks to remove the feed: %v", err)
	}
	remove(t, dir)
	if _, err := Restore(backup, dir); err != nil {
		t.Fatal(err)
	}
	openAt(t, dir)
}

// A log that lost its begin, or begins behind the snapshot, is named too.
func TestStartNoticesALostSnapshot(t *testing.T) {
	copied := withoutLogBegin(t)
	wantNoStart(t, copied, filepath.Join(copied, datadir.LogName), "the log begins with entry",
		"restore a backup")
}
