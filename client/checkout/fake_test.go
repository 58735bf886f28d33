package checkout

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// fake is a server with one project. It has what a Tree asks for.
type fake struct {
	*httptest.Server
	t *testing.T

	mu struct {
		sync.Mutex
		// trees are the files after each changeset; the last is the head.
		trees []map[string]string
		// first is the number of the first changeset that is known.
		first int
		// keys are the changesets of Idempotency-Keys.
		keys map[string]int
		// agent is the one of all requests.
		workspaces []*fakeWorkspace
		agent      string
		// submitted counts submissions that had an effect, changed what was done in workspaces.
		submitted, changed int
		// status and accepted are those of the contribution.
		status, accepted string
		removed          map[string]bool
		// older has it refuse batches with removed contents without their paths, as older programs do.
		older     bool
		published int
		cut       bool
		// asked counts the requests to publish, refuse refuses all of them unless it is nil.
		asked  int
		refuse error
		// bend changes the data of an answer, nil for none.
		bend func(r *http.Request, data any) any
	}
}

const fakeProject = "prj_00000000000000000000000000"

func newFake(t *testing.T, files map[string]string) *fake {
	f := &fake{t: t}
	f.mu.trees = []map[string]string{files}
	f.mu.keys, f.mu.removed = map[string]int{}, map[string]bool{}
	at := "/api/v1/projects/" + fakeProject
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(*http.Request) (any, error){
		"GET " + at:                          f.readProject,
		"GET " + at + "/changesets/{c}/tree": f.readTree,
		"POST " + at + "/files/read-batch":   f.readBatch,
		"POST " + at + "/changesets":         f.publish,
		"POST " + at + "/workspaces":         f.openWorkspace,
		"GET /api/v1/workspaces/{w}":         f.readWorkspace,
		"DELETE /api/v1/workspaces/{w}":      f.readWorkspace,
		"POST /api/v1/workspaces/{w}/submit": f.submit,
		"GET /api/v1/contributions/{c}":      f.readContribution,

		"GET " + at + "/changesets/{c}/files/{path...}":   f.readFile,
		"PUT /api/v1/workspaces/{w}/files/{path...}":      f.writeWorkspaceFile,
		"DELETE /api/v1/workspaces/{w}/files/{path...}":   f.deleteWorkspaceFile,
		"POST /api/v1/workspaces/{w}/files/{renaming...}": f.renameWorkspaceFile,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f.answer(w, r, handle) })
	}
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) answer(
	w http.ResponseWriter, r *http.Request, handle func(*http.Request) (any, error),
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := handle(r)
	if err == nil && f.mu.bend != nil {
		data = f.mu.bend(r, data)
	}
	var failure *client.Failure
	var envelope any = map[string]any{"ok": true, "data": data}
	switch {
	case errors.As(err, &failure):
		w.WriteHeader(failure.Status)
		envelope = map[string]any{"ok": false, "error": map[string]any{
			"code": failure.Code, "message": "No.", "details": failure.Details, "retryable": false,
		}}
	case err != nil:
		panic(http.ErrAbortHandler)
	}
	if err := json.MarshalWrite(w, envelope); err != nil {
		f.t.Error(err)
	}
}

func refusal(status int, code string) error { return refusalFor(status, code, "") }

func refusalFor(status int, code, reason string) error {
	details := jsontext.Value(`{"reason":"` + reason + `"}`)
	return &client.Failure{Status: status, Code: code, Details: details}
}

func (f *fake) id(nth int) string { return fmt.Sprintf("chg_%d", nth) }

func (f *fake) at(id string) (map[string]string, error) {
	var nth int
	if _, err := fmt.Sscanf(id, "chg_%d", &nth); err != nil || nth >= len(f.mu.trees) {
		f.t.Errorf("no changeset %s", id)
		return nil, err
	}
	if nth < f.mu.first {
		return nil, refusal(http.StatusNotFound, changesetUnknown)
	}
	return f.mu.trees[nth], nil
}

func (f *fake) readProject(*http.Request) (any, error) {
	return map[string]any{"project": map[string]any{
		"head_changeset_id": f.id(len(f.mu.trees) - 1), "viewer": map[string]any{"role": "OWNER"},
	}}, nil
}

// readTree has pages of two files.
func (f *fake) readTree(r *http.Request) (any, error) {
	files, err := f.at(r.PathValue("c"))
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	page := []any{}
	for _, name := range names {
		if !strings.HasPrefix(name, r.FormValue("prefix")) || name <= r.FormValue("cursor") {
			continue
		}
		page = append(page, map[string]any{
			"path": name, "blob_hash": hashOf([]byte(files[name])), "size_bytes": len(files[name]),
			"content_type": fakeType(name),
		})
		if len(page) == 2 {
			return map[string]any{"files": page, "next_cursor": name}, nil
		}
	}
	return map[string]any{"files": page, "next_cursor": nil}, nil
}

// readBatch fits three files into an answer.
func (f *fake) readBatch(r *http.Request) (any, error) {
	var body struct {
		Paths     []string `json:"paths"`
		Changeset string   `json:"changeset_id"`
	}
	if err := json.UnmarshalRead(r.Body, &body); err != nil {
		return nil, err
	}
	all, err := f.at(body.Changeset)
	if err != nil {
		return nil, err
	}
	files, left, removed := []any{}, []string{}, []string{}
	for _, name := range body.Paths {
		content, exists := all[name]
		switch {
		case !exists:
			f.t.Errorf("%s was asked for, which is not there", name)
		case f.mu.removed[hashOf([]byte(content))] && f.mu.older:
			return nil, refusal(http.StatusGone, contentRemoved)
		case f.mu.removed[hashOf([]byte(content))]:
			removed = append(removed, name)
		case len(files) == 3:
			left = append(left, name)
		default:
			files = append(files, map[string]any{"path": name, "content": content})
		}
	}
	if len(removed) > 0 {
		paths, err := json.Marshal(map[string][]string{"paths": removed})
		if err != nil {
			return nil, err
		}
		return nil, &client.Failure{Status: http.StatusGone, Code: contentRemoved, Details: paths}
	}
	return map[string]any{"files": files, "missing": []string{}, "truncated": left}, nil
}

// publish is strict: what the real server refuses, it refuses.
func (f *fake) publish(r *http.Request) (any, error) {
	f.mu.asked++
	if f.mu.refuse != nil {
		return nil, f.mu.refuse
	}
	key := r.Header.Get("Idempotency-Key")
	nth, known := f.mu.keys[key]
	if !known {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var body struct {
			Base       string      `json:"base_changeset_id"`
			Operations []operation `json:"operations"`
		}
		if err := json.Unmarshal(text, &body); err != nil {
			return nil, err
		}
		before, err := f.at(body.Base)
		if err != nil {
			return nil, err
		}
		if body.Base != f.id(len(f.mu.trees)-1) {
			return nil, refusal(http.StatusConflict, "PROJECT_MOVED")
		}
		next := maps.Clone(before)
		for _, one := range body.Operations {
			if err := one.run(next); err != nil {
				f.t.Error(err)
				return nil, refusal(http.StatusConflict, "FILE_EXISTS")
			}
		}
		if len(body.Operations) == 0 || len(body.Operations) > operationsMax || len(text) > requestMax {
			f.t.Errorf("%d operations in %d bytes", len(body.Operations), len(text))
		}
		nth = len(f.mu.trees)
		f.mu.trees = append(f.mu.trees, next)
		f.mu.keys[key] = nth
		f.mu.published++
	}
	if f.mu.cut {
		return nil, errors.New("the answer is lost")
	}
	return map[string]any{"changeset": map[string]any{"id": f.id(nth)}}, nil
}

// run makes an operation in a tree.
func (o operation) run(files map[string]string) error {
	from, exists := files[o.Path]
	switch o.Action {
	case actionCreate:
		if exists {
			return errors.New("CREATE of a file that exists: " + o.Path)
		}
		files[o.Path] = *o.Content
		return nil
	case actionModify:
		files[o.Path] = *o.Content
	case actionRename:
		if _, taken := files[o.NewPath]; taken {
			return errors.New("RENAME to a file that exists: " + o.NewPath)
		}
		delete(files, o.Path)
		files[o.NewPath] = from
	case actionDelete:
		delete(files, o.Path)
	}
	if !exists {
		return errors.New(o.Action + " of no file: " + o.Path)
	}
	return nil
}

// cut has the answers of publications dropped, or not.
func (f *fake) cut(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.cut = on
}

// refuse has all publications refused with an error, none if it is nil. One that is no failure
// drops the connection.
func (f *fake) refuse(with error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.refuse = with
}

// asked is how many requests to publish have come.
func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.asked
}

// published is how many changesets were published.
func (f *fake) published() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.published
}

// removeContent removes a content, as operators do.
func (f *fake) removeContent(content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.removed[hashOf([]byte(content))] = true
}

// set publishes a changeset of another agent.
func (f *fake) set(files map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.trees = append(f.mu.trees, files)
}

// restore makes the server one that knows a single changeset, and no request of before.
func (f *fake) restore(files map[string]string) {
	f.set(files)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.first = len(f.mu.trees) - 1
	clear(f.mu.keys)
}

func (f *fake) head() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.trees[len(f.mu.trees)-1]
}

// copyOf opens a working copy of the fake in a directory. A request is sent once.
func (f *fake) copyOf(t *testing.T, dir string) *Tree {
	t.Helper()
	c := client.New(f.URL, nil)
	c.RetryFor = 0
	tree, err := Open(Options{Dir: dir, Folder: ".", Remote: Remote{c, fakeProject}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func pull(t *testing.T, tree *Tree) (Pulled, error) {
	t.Helper()
	var done Pulled
	err := tree.Locked(t.Context(), func() (err error) {
		done, err = tree.Pull(t.Context())
		return err
	})
	return done, err
}

func push(t *testing.T, tree *Tree, o PushOptions) (Pushed, error) {
	t.Helper()
	var done Pushed
	err := tree.Locked(t.Context(), func() (err error) {
		done, err = tree.Push(t.Context(), o)
		return err
	})
	return done, err
}

// write makes the files of a directory, and removes all others.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name := range filesIn(t, dir) {
		if _, stays := files[name]; !stays {
			must(t, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			must(t, os.RemoveAll(at))
		}
		if info, err := os.Stat(filepath.Dir(at)); err == nil && !info.IsDir() {
			must(t, os.RemoveAll(filepath.Dir(at)))
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		must(t, os.WriteFile(at, []byte(files[name]), 0o600))
	}
}

// filesIn are the files of a directory, without those of pws and git.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".pws" || entry.Name() == ".git"):
			return filepath.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		all[filepath.ToSlash(relative)] = string(content)
		return err
	}))
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if got := filesIn(t, dir); !maps.Equal(got, want) {
		t.Errorf("the directory has\n%q\nwant\n%q", got, want)
	}
}
