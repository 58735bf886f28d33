package checkout

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// fakeWorkspace is a workspace on the tree of a changeset.
type fakeWorkspace struct {
	agent string
	base  int
	files map[string]fakeFile
	// shown are the files that were submitted last.
	shown map[string]fakeFile
}

type fakeFile struct {
	content, contentType string
	// origin is the path at the base, empty for a new file.
	origin string
}

// fakeType is the content type of a file of a changeset: none that a file gets by its path.
func fakeType(name string) string { return "text/x-" + name }

const fakeTypeByPath = "text/plain"

func (f *fake) baseOf(w *fakeWorkspace) map[string]fakeFile {
	all := map[string]fakeFile{}
	for name, content := range f.mu.trees[w.base] {
		all[name] = fakeFile{content, fakeType(name), name}
	}
	return all
}

// openWorkspace opens one of the agent that the test has set.
func (f *fake) openWorkspace(*http.Request) (any, error) {
	w := &fakeWorkspace{agent: f.mu.agent, base: len(f.mu.trees) - 1}
	w.files = f.baseOf(w)
	f.mu.workspaces = append(f.mu.workspaces, w)
	return f.workspace(len(f.mu.workspaces) - 1), nil
}

func (f *fake) workspaceOf(r *http.Request) (nth int, w *fakeWorkspace, err error) {
	if _, err := fmt.Sscanf(r.PathValue("w"), "wsp_%d", &nth); err != nil {
		return 0, nil, err
	}
	return nth, f.mu.workspaces[nth], nil
}

func (f *fake) readWorkspace(r *http.Request) (any, error) {
	nth, _, err := f.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	return f.workspace(nth), nil
}

// submit has an effect where something was changed.
func (f *fake) submit(r *http.Request) (any, error) {
	_, w, err := f.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	if w.shown != nil && maps.Equal(w.shown, w.files) {
		return nil, refusal(http.StatusConflict, "APPROVAL_PENDING")
	}
	w.shown = maps.Clone(w.files)
	if f.mu.submitted++; f.mu.cut {
		return nil, errors.New("cut")
	}
	return map[string]any{"contribution": map[string]any{"id": "ctr_0"}}, nil
}

func (f *fake) readContribution(*http.Request) (any, error) {
	accepted := any(nil)
	if f.mu.accepted != "" {
		accepted = f.mu.accepted
	}
	return map[string]any{"contribution": map[string]any{
		"status": cmp.Or(f.mu.status, "SUBMITTED"), "accepted_changeset_id": accepted,
	}}, nil
}

// decide publishes the files of a contribution that is accepted, or has it end without that.
func (f *fake) decide(status string, accepted map[string]string) {
	if accepted != nil {
		f.set(accepted)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.status = status
	if accepted != nil {
		f.mu.accepted = f.id(len(f.mu.trees) - 1)
	}
}

func (f *fake) workspace(nth int) any {
	w := f.mu.workspaces[nth]
	contribution := ""
	if w.shown != nil {
		contribution = "ctr_0"
	}
	return map[string]any{"workspace": map[string]any{
		"id": fmt.Sprintf("wsp_%d", nth), "agent_id": w.agent, "status": "OPEN",
		"base_changeset_id": f.id(w.base), "contribution_id": contribution,
		"changes": f.workspaceChanges(w),
	}}
}

// workspaceChanges are the differences from the base.
func (f *fake) workspaceChanges(w *fakeWorkspace) []any {
	base, all, moved := f.baseOf(w), []any{}, map[string]bool{}
	add := func(action, name, previous string) {
		one := map[string]any{"action": action, "path": name, "previous_path": previous}
		if here, exists := w.files[name]; exists {
			one["blob_hash"], one["content_type"] = hashOf([]byte(here.content)), here.contentType
		}
		all = append(all, one)
	}
	stays := func(name string) bool { return w.files[name].origin == name }
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		here := w.files[name]
		before, existed := base[name]
		switch {
		case here.origin != "" && here.origin != name && !existed && !stays(here.origin):
			moved[here.origin] = true
			add(actionRename, name, here.origin)
		case !existed:
			add(actionCreate, name, "")
		case here.content != before.content || here.contentType != before.contentType:
			add(actionModify, name, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if _, exists := w.files[name]; !exists && !moved[name] {
			add(actionDelete, name, "")
		}
	}
	return all
}

func (f *fake) readFile(r *http.Request) (any, error) {
	files, err := f.at(r.PathValue("c"))
	if err != nil {
		return nil, err
	}
	name := r.PathValue("path")
	return map[string]any{"file": map[string]any{
		"path": name, "content": files[name], "content_type": fakeType(name),
	}}, nil
}

// room returns PATH_CONFLICT where a path would be a file and a folder.
func (w *fakeWorkspace) room(name string) error {
	for other := range w.files {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return refusal(http.StatusConflict, "PATH_CONFLICT")
		}
	}
	return nil
}

func (f *fake) writeWorkspaceFile(r *http.Request) (any, error) {
	_, w, err := f.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	var body writtenFile
	if err := json.UnmarshalRead(r.Body, &body); err != nil {
		return nil, err
	}
	name := r.PathValue("path")
	here, exists := w.files[name]
	if !exists {
		if err := w.room(name); err != nil {
			return nil, err
		}
		moved := false
		for _, other := range w.files {
			moved = moved || other.origin == name
		}
		if _, existed := f.mu.trees[w.base][name]; existed && !moved {
			here.origin = name
		}
	}
	f.mu.changed++
	w.files[name] = fakeFile{body.Content, cmp.Or(body.Type, fakeTypeByPath), here.origin}
	return nil, nil
}

func (f *fake) deleteWorkspaceFile(r *http.Request) (any, error) {
	_, w, err := f.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("path")
	if _, exists := w.files[name]; !exists {
		return nil, refusal(http.StatusNotFound, "FILE_NOT_FOUND")
	}
	f.mu.changed++
	delete(w.files, name)
	return nil, nil
}

func (f *fake) renameWorkspaceFile(r *http.Request) (any, error) {
	_, w, err := f.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	var body struct {
		NewPath string `json:"new_path"`
	}
	if err := json.UnmarshalRead(r.Body, &body); err != nil {
		return nil, err
	}
	name, _ := strings.CutSuffix(r.PathValue("renaming"), "/rename")
	here, exists := w.files[name]
	if _, taken := w.files[body.NewPath]; taken {
		return nil, refusal(http.StatusConflict, "FILE_EXISTS")
	}
	if !exists {
		return nil, refusal(http.StatusNotFound, "FILE_NOT_FOUND")
	}
	f.mu.changed++
	delete(w.files, name)
	if err := w.room(body.NewPath); err != nil {
		return nil, err
	}
	w.files[body.NewPath] = here
	return nil, nil
}

// changes is how many requests have changed files of workspaces.
func (f *fake) changes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.changed
}

func contribute(t *testing.T, tree *Tree) (done Pushed, err error) {
	t.Helper()
	err = tree.Locked(t.Context(), func() (err error) {
		done, err = tree.Contribute(t.Context(), PushOptions{Message: "m"})
		return err
	})
	return done, err
}
