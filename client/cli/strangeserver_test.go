package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStrangeServers has servers that answer what the service never does: the commands end with an
// error.
func TestStrangeServers(t *testing.T) {
	p := newHookPlace(t)
	bundle := filepath.Join(t.TempDir(), "bundle.json")
	if err := os.WriteFile(bundle, []byte(`{"bundle":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := InProject{Project: "prj_00000000000000000000000000"}
	for name, test := range map[string]struct {
		answer, want string
		run          func(env *Env) error
	}{
		"a list without an end": {
			`{"tasks":[],"next_cursor":"same"}`, "tasks: the list does not go on",
			func(env *Env) error {
				return (&TaskListCommand{InProject: in, Paged: Paged{1}}).Run(t.Context(), env)
			},
		},
		"a list that begins again": {
			`{"tasks":[{"id":"tsk_1"}],"next_cursor":"same"}`, "tasks: the list does not go on",
			func(env *Env) error {
				return (&TaskListCommand{InProject: in, Paged: Paged{9}}).Run(t.Context(), env)
			},
		},
		"a project without a changeset": {
			`{"project":null}`, "names no changeset",
			func(env *Env) error {
				return (&DiffCommand{InProject: in}).Run(t.Context(), env)
			},
		},
		"an upload without parts": {
			`{"upload":{"id":"upl_1","limits":{"part_bytes":100,"parts":0}}}`,
			"takes uploads of 0 parts",
			func(env *Env) error {
				return (&ProjectImportCommand{File: bundle, PartBytes: 1}).Run(t.Context(), env)
			},
		},
		"an upload of parts without bytes": {
			`{"upload":{"id":"upl_1","limits":{"part_bytes":0,"parts":5}}}`,
			"parts of 0 bytes",
			func(env *Env) error {
				return (&ProjectImportCommand{File: bundle, PartBytes: 1}).Run(t.Context(), env)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) {
					if _, err := w.Write([]byte(`{"ok":true,"data":` + test.answer + `}`)); err != nil {
						t.Error(err)
					}
				}))
			defer server.Close()
			p.server = server.URL
			env, _ := p.env(nil)
			if err := test.run(env); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}
