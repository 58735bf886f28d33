package checkout

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMachineCrashInPull stops the machine before each effect of a pull: of the files that the pull
// has made until then, what was not made durable is lost. The next pull completes the work.
func TestMachineCrashInPull(t *testing.T) {
	whole := newSession(t, false)
	_, err := pull(t, whole.open(t))
	must(t, err)
	want := filesIn(t, whole.dir)
	for kill := 1; kill <= whole.effects; kill++ {
		s := newSession(t, false)
		s.kill = kill
		m := newMachine(t, s.dir)
		tree := s.open(t)
		tree.before = func(effect string) error { return errors.Join(m.note(effect), s.before(effect)) }
		if _, err := pull(t, tree); !errors.Is(err, errKilled) {
			t.Fatalf("crash %d: %v", kill, err)
		}
		m.crash()
		s.kill = 0
		_, err := pull(t, s.open(t))
		must(t, err)
		if got := filesIn(t, s.dir); !maps.Equal(got, want) {
			t.Errorf("crash %d: the directory has %q, want %q", kill, got, want)
		}
	}
}

func (s *session) open(t *testing.T) *Tree {
	tree := s.server.copyOf(t, s.dir)
	tree.before = s.before
	return tree
}

// machine knows which files of a directory are durable.
type machine struct {
	t       *testing.T
	dir     string
	durable []fs.FileInfo
}

func newMachine(t *testing.T, dir string) *machine {
	m := &machine{t: t, dir: dir}
	m.each(func(_ string, info fs.FileInfo) { m.durable = append(m.durable, info) })
	return m
}

func (m *machine) each(visit func(name string, info fs.FileInfo)) {
	m.t.Helper()
	must(m.t, filepath.WalkDir(m.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			visit(name, info)
		}
		return err
	}))
}

// note notes an effect that follows.
func (m *machine) note(effect string) error {
	if name, ok := strings.CutPrefix(effect, "sync "); ok {
		info, err := os.Stat(filepath.Join(m.dir, name))
		m.durable = append(m.durable, info)
		return err
	}
	return nil
}

// crash empties the files that are not durable. The records of .pws/local are made so in one
// effect.
func (m *machine) crash() {
	m.each(func(name string, info fs.FileInfo) {
		record := filepath.Dir(name) == filepath.Join(m.dir, localFolder)
		known := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
		if !record && !slices.ContainsFunc(m.durable, known) {
			must(m.t, os.Truncate(name, 0))
		}
	})
}

// TestPulledNamesAreSynced: the names of the files that a pull has written and deleted are durable
// BEFORE the base has them, in new folders too.
func TestPulledNamesAreSynced(t *testing.T) {
	server := newFake(t, files{"old/a": "a\n", "b": "b\n"})
	dir := t.TempDir()
	_, err := pull(t, server.copyOf(t, dir))
	must(t, err)
	server.set(files{"new/folder/c": "c\n", "b": "B\n"})
	tree := server.copyOf(t, dir)
	open := map[string]bool{}
	replaced := 0
	tree.before = func(effect string) error {
		kind, name, _ := strings.Cut(effect, " ")
		switch {
		case kind == "replace":
			replaced++
			for folder := path.Dir(name); !open[folder]; folder = path.Dir(folder) {
				open[folder] = true
			}
		case kind == "sync":
			delete(open, name)
		case effect == "write "+baseFile:
			// The folder old is gone with its last file.
			delete(open, "old")
			if len(open) > 0 || replaced != 3 {
				t.Errorf("%d files are replaced, the folders %q are not synced", replaced,
					slices.Sorted(maps.Keys(open)))
			}
		}
		return nil
	}
	_, err = pull(t, tree)
	must(t, err)
}
