package checkout

import (
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// with returns data with a member replaced, or as it is if it has none of the name.
func with(data any, member string, value any) any {
	members, ok := data.(map[string]any)
	if _, has := members[member]; !ok || !has {
		return data
	}
	members = maps.Clone(members)
	members[member] = value
	return members
}

// TestIncompleteAnswers has servers that leave out what was asked for. The pull ends with an error:
// nothing is written, and nothing is recorded that a push would take for a deletion.
func TestIncompleteAnswers(t *testing.T) {
	tree := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/tree") }
	for name, test := range map[string]struct {
		bend func(r *http.Request, data any) any
		want string
	}{
		"fewer files than were asked for": {
			func(_ *http.Request, data any) any {
				batch, _ := data.(map[string]any)
				if all, ok := batch["files"].([]any); ok && batch["truncated"] != nil {
					return with(data, "files", all[:1])
				}
				return data
			}, "the answer of the server lacks ",
		},
		"a file twice, and another one not": {
			func(_ *http.Request, data any) any {
				batch, _ := data.(map[string]any)
				if all, ok := batch["files"].([]any); ok && batch["truncated"] != nil {
					return with(data, "files", []any{all[0], all[0], all[1]})
				}
				return data
			}, "which was not asked for",
		},
		"a tree without an end": {
			func(r *http.Request, data any) any {
				if tree(r) {
					return with(data, "next_cursor", "same")
				}
				return data
			}, "the list does not go on",
		},
		"a tree without files": {
			func(r *http.Request, data any) any {
				if tree(r) {
					return nil
				}
				return data
			}, "no list of files",
		},
		"no project": {
			func(_ *http.Request, data any) any { return with(data, "project", nil) }, "names no changeset",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := files{"a": "a\n", "old": "old\n"}
			server := newFake(t, before)
			dir := t.TempDir()
			copied := server.copyOf(t, dir)
			if _, err := pull(t, copied); err != nil {
				t.Fatal(err)
			}
			server.set(files{"a": "A\n", "b": "b\n", "c": "c\n"})
			server.mu.bend = test.bend
			if _, err := pull(t, copied); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
			wantFiles(t, dir, before)
			if _, err := copied.root.Lstat(journalFile); err == nil {
				t.Error(filepath.Join(dir, journalFile) + " is there")
			}
			server.mu.bend = nil
			if _, err := push(t, copied, PushOptions{}); err != nil || server.published() > 0 {
				t.Errorf("the push: %v, %d changesets", err, server.published())
			}
		})
	}
}
