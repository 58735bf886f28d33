package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pws/client"
)

// hostile is what an agent may write to seize the terminal of another: a title, a colour, the C1
// form of an escape, a reversed direction.
const hostile = "\x1b]0;owned\x07 \x1b[31m \u009b2J \u202egnp.exe \x7f\r"

// hostileServer has a hostile text in each answer.
func hostileServer(t *testing.T) *httptest.Server {
	quoted := `"\u001b]0;owned\u0007 \u001b[31m ` + "\u009b2J \u202egnp.exe \x7f" + `\r"`
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := `{"ok":true,"data":{"file":{"content":` + quoted + `},"task":{"title":` + quoted +
			`,"description":` + quoted + `},"diff":{"text":` + quoted + `},"tasks":[{"title":` + quoted +
			`}],"next_cursor":null,"project":{"head_changeset_id":"chg_1"}}}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/raw"):
			w.Header().Set("Content-Type", "text/plain")
			text = hostile
		case strings.HasSuffix(r.URL.Path, "/refused"):
			w.WriteHeader(http.StatusForbidden)
			text = `{"error":{"code":"FORBIDDEN","message":` + quoted + `,"details":{}}}`
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}))
}

// TestHostileTexts has each way of printing a text of others print it at a terminal.
func TestHostileTexts(t *testing.T) {
	server := hostileServer(t)
	defer server.Close()
	in := InProject{Project: "prj_00000000000000000000000000"}
	in.Server = server.URL
	asJSON, asJQ := in, in
	asJSON.JSON, asJQ.JQ = true, ".file.content"
	for name, run := range map[string]func(env *Env) error{
		"file": func(env *Env) error {
			return (&FileReadCommand{InProject: in, Path: "a"}).Run(t.Context(), env)
		},
		"diff": func(env *Env) error { return (&DiffCommand{InProject: in}).Run(t.Context(), env) },
		"task": func(env *Env) error {
			return (&TaskViewCommand{aTask{Common: in.Common, Task: "tsk_1"}}).Run(t.Context(), env)
		},
		"list": func(env *Env) error {
			return (&TaskListCommand{InProject: in, Paged: Paged{1}}).Run(t.Context(), env)
		},
		"JSON": func(env *Env) error {
			return (&FileReadCommand{InProject: asJSON, Path: "a"}).Run(t.Context(), env)
		},
		"jq": func(env *Env) error {
			return (&FileReadCommand{InProject: asJQ, Path: "a"}).Run(t.Context(), env)
		},
		"raw": func(env *Env) error {
			return (&APICommand{Common: in.Common, Method: "GET", Path: "raw"}).Run(t.Context(), env)
		},
		"error": func(env *Env) error {
			call := &APICommand{Common: in.Common, Method: "GET", Path: "refused"}
			Report(call.Run(t.Context(), env), false, env)
			return nil
		},
		"error as JSON": func(env *Env) error {
			call := &APICommand{Common: in.Common, Method: "GET", Path: "refused"}
			Report(call.Run(t.Context(), env), true, env)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(&Env{
				Lookup: func(string) (string, bool) { return "", false }, Dir: t.TempDir(),
				Folders: client.Folders{Config: t.TempDir(), State: t.TempDir(), Cache: t.TempDir()},
				Out:     &out, Err: &out, TerminalOut: true, TerminalErr: true, Now: time.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(out.String(), "\x1b\x07\u009b\u202e\x7f\r") {
				t.Errorf("the terminal gets %q", out.String())
			}
			if !strings.Contains(out.String(), "owned") {
				t.Errorf("the text is missing in %q", out.String())
			}
		})
	}
}

// TestProgress shows nothing for a short transfer, and nothing where nobody sees it.
func TestProgress(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		terminal bool
		took     time.Duration
		shown    bool
	}{
		"long": {true, 2 * time.Second, true}, "short": {true, time.Second / 2, false},
		"unseen": {false, time.Minute, false},
	} {
		var out strings.Builder
		env := &Env{Err: &out, TerminalErr: c.terminal, Now: func() time.Time { return now }}
		show := env.progress()
		show(0, 100)
		now = now.Add(c.took)
		show(60, 100)
		show(100, 100)
		if (out.String() != "") != c.shown {
			t.Errorf("%s: %q", name, out.String())
		}
	}
}
