package checkout

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrdersOfOthersHaveNoEffect has another user leave a push and a pull that were not completed,
// as a repository can bring them. They are neither carried out nor kept.
func TestOrdersOfOthersHaveNoEffect(t *testing.T) {
	server := newFake(t, files{"a": "a\n"})
	dir := t.TempDir()
	other := server.copyOf(t, dir)
	other.secret = func() ([]byte, error) { return []byte("of another user"), nil }
	_, err := pull(t, other)
	must(t, err)

	killedAt := func(begin string) {
		other.before = func(effect string) error {
			if strings.HasPrefix(effect, begin) {
				return errKilled
			}
			return nil
		}
	}
	left := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	killedAt("send")
	write(t, dir, files{"a": "by another\n"})
	if _, err := push(t, other, PushOptions{}); !errors.Is(err, errKilled) || !left(pushFile) {
		t.Fatalf("push: %v", err)
	}
	mine := server.copyOf(t, dir)
	done, err := pull(t, mine)
	must(t, err)
	if len(done.Published) > 0 || !maps.Equal(server.head(), files{"a": "a\n"}) || left(pushFile) {
		t.Errorf("published %q, the server has %q", done.Published, server.head())
	}

	killedAt("replace a")
	write(t, dir, files{"a": "a\n"})
	server.set(files{"a": "theirs\n"})
	if _, err := pull(t, other); !errors.Is(err, errKilled) || !left(journalFile) {
		t.Fatalf("pull: %v", err)
	}
	must(t, mine.Locked(t.Context(), func() error { return nil }))
	if got := filesIn(t, dir); !maps.Equal(got, files{"a": "a\n"}) || left(journalFile) {
		t.Errorf("the directory has %q", got)
	}
	if _, err := pull(t, mine); err != nil {
		t.Error(err)
	}
	if got := filesIn(t, dir); !maps.Equal(got, files{"a": "theirs\n"}) {
		t.Errorf("the directory has %q", got)
	}
}
