package checkout

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// errKilled is the end of a process.
var errKilled = errors.New("killed")

// session is a pull with merges, and a push, whose process is killed before one of its effects.
type session struct {
	server *fake
	dir    string
	// effects counts the effects; the one of the number kill, from 1, does not happen.
	effects, kill int
}

func (s *session) before(string) error {
	if s.effects++; s.effects == s.kill {
		return errKilled
	}
	return nil
}

// run pulls, resolves the conflict and pushes. It stops where it is killed.
func (s *session) run(t *testing.T) error {
	tree := s.server.copyOf(t, s.dir)
	tree.before = s.before
	if _, err := pull(t, tree); err != nil {
		return err
	}
	now := filesIn(t, s.dir)
	for name, text := range now {
		now[name] = withoutMarkers(text)
	}
	now["clash"] = "resolved\n"
	write(t, s.dir, now)
	_, err := push(t, tree, PushOptions{Split: true})
	return err
}

// withoutMarkers keeps the lines of both sides of a conflict.
func withoutMarkers(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "<<<<<<<") && !strings.HasPrefix(line, "=======") &&
			!strings.HasPrefix(line, ">>>>>>>") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// newSession makes a session; with many its push takes two changesets.
func newSession(t *testing.T, many bool) *session {
	t.Helper()
	const lines = "1\n2\n3\n4\n5\n"
	begin := files{"a": lines, "both": lines, "clash": lines, "gone": lines, "turned": lines}
	s := &session{server: newFake(t, begin), dir: t.TempDir()}
	if _, err := pull(t, s.server.copyOf(t, s.dir)); err != nil {
		t.Fatal(err)
	}
	s.server.set(files{
		"a": "A\n" + lines, "both": lines + "theirs\n", "clash": "theirs\n", "new": "n\n",
		"turned/x": "x\n",
	})
	local := files{
		"a": lines, "both": "ours\n" + lines, "clash": "ours\n", "gone": lines, "own": "o\n",
		"turned": lines,
	}
	for i := range operationsMax {
		if many {
			local["many/"+strings.Repeat("m", i+1)] = strings.Repeat("x", i)
		}
	}
	write(t, s.dir, local)
	return s
}

// TestKilledAnywhere kills a process before each of its effects in turn. The next one completes
// the work: directory and server are as without the kill. What is written between the two is not
// lost.
func TestKilledAnywhere(t *testing.T) {
	for _, edited := range []string{"", "a", "both", "gone", "new"} {
		whole := newSession(t, edited == "")
		must(t, whole.run(t))
		want := filesIn(t, whole.dir)
		if !maps.Equal(want, whole.server.head()) || whole.effects < 15 {
			t.Fatalf("%d effects; the directory has %q", whole.effects, want)
		}
		for kill := 1; kill <= whole.effects; kill++ {
			s := newSession(t, edited == "")
			s.kill = kill
			s.killed(t, edited, want)
		}
	}
}

// killed runs a session that is killed, writes into a file, and has another process go on.
func (s *session) killed(t *testing.T, edited string, want files) {
	t.Helper()
	kill := s.kill
	if err := s.run(t); !errors.Is(err, errKilled) {
		t.Fatalf("kill %d: %v", kill, err)
	}
	if edited != "" {
		appendTo(t, filepath.Join(s.dir, edited))
	}
	s.kill = 0
	if err := s.run(t); err != nil {
		t.Fatalf("kill %d, edited %q: %v", kill, edited, err)
	}
	got := filesIn(t, s.dir)
	if !maps.Equal(got, s.server.head()) {
		t.Errorf("kill %d, edited %q: the directory has %q, the server %q", kill, edited, got,
			s.server.head())
	}
	if edited != "" {
		if !strings.Contains(got[edited], "edited\n") {
			t.Errorf("kill %d: the edit of %s is lost: %q", kill, edited, got[edited])
		}
		want = maps.Clone(want)
		want[edited] = got[edited]
	}
	if !maps.Equal(got, want) {
		t.Errorf("kill %d, edited %q: the directory has %q, want %q", kill, edited, got, want)
	}
	for _, left := range []string{journalFile, pushFile, stagedName} {
		if _, err := os.Lstat(filepath.Join(s.dir, left)); err == nil {
			t.Errorf("kill %d: %s is left", kill, left)
		}
	}
}

// TestNamesAreSynced: what was written of the state of a directory is durable BEFORE anything else
// happens, its name too.
func TestNamesAreSynced(t *testing.T) {
	s := newSession(t, false)
	var effects []string
	tree := s.server.copyOf(t, s.dir)
	tree.before = func(effect string) error {
		effects = append(effects, effect)
		return nil
	}
	_, err := pull(t, tree)
	must(t, err)
	written := 0
	for i, effect := range effects {
		name, ok := strings.CutPrefix(effect, "write ")
		if !ok || name != baseFile && name != journalFile {
			continue
		}
		written++
		if i+1 == len(effects) || effects[i+1] != "sync "+localFolder {
			t.Errorf("%q: %s is not synced", effects, name)
		}
	}
	if written < 2 {
		t.Errorf("%q", effects)
	}
}

// appendTo adds a line to a file, or makes it.
func appendTo(t *testing.T, name string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(t, err)
	_, err = file.WriteString("edited\n")
	must(t, errors.Join(err, file.Close()))
}

// TestOneProcessAtATime: the lock of a directory is held while it is changed.
func TestOneProcessAtATime(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	first, second := server.copyOf(t, dir), server.copyOf(t, dir)
	second.turn = time.Millisecond
	must(t, first.Locked(t.Context(), func() error {
		err := second.Locked(t.Context(), func() error { return nil })
		if !errors.Is(err, ErrBusy) {
			t.Errorf("two processes have the lock: %v", err)
		}
		return nil
	}))
	if _, err := pull(t, second); err != nil {
		t.Error(err)
	}
}
