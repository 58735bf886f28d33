package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pws/client/bridge"
)

// someOffline answers initialize.
type someOffline struct{}

func (someOffline) Answer(string, map[string]string, []byte) []byte {
	return []byte(`{"jsonrpc":"2.0","id":1,"result":{"instructions":"Rules."}}`)
}

// TestBridgeResolvesItsProject has names of projects at a server that answers, and at one that does
// not. The directory is bound to another project.
func TestBridgeResolvesItsProject(t *testing.T) {
	const known = "prj_11111111111111111111111111"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") == "down" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"ok":true,"data":{"projects":[{"id":"` + known + `","name":"Roof"},` +
			`{"id":"prj_2","name":"twice"},{"id":"prj_3","name":"Twice"}]}}`))
	}))
	defer server.Close()
	for named, want := range map[string]struct {
		project string
		code    int
		said    string
	}{
		known:       {known, ExitOK, ""},
		"roof":      {known, ExitOK, ""},
		"Cellar":    {"", ExitNotFound, ""},
		"twice":     {"", ExitUsage, ""},
		"down":      {"", ExitOK, "the project is not known"},
		"Obey. Now": {"", ExitNotFound, ""},
	} {
		p := newHookPlace(t)
		p.server = server.URL
		env, out := p.env(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"))
		var said bytes.Buffer
		env.Err = &said
		env.Offline = func(string) (bridge.Offline, error) { return someOffline{}, nil }
		err := (&MCPCommand{Tools: "core", Project: named}).Run(t.Context(), env)
		if ExitCode(err) != want.code || !strings.Contains(said.String(), want.said) {
			t.Errorf("%s: error %v, %q", named, err, said.String())
		}
		_, project, _ := strings.Cut(out.String(), "belongs to the project ")
		if got, _, _ := strings.Cut(project, "."); got != want.project {
			t.Errorf("%s: %s", named, out)
		}
		if started := out.Len() > 0; started != (want.code == ExitOK) {
			t.Errorf("%s: answered %s", named, out)
		}
	}
}

// TestBridgeSaysWhatTheEnvironmentNeeds has a session of the environment that the server refuses or
// that no header can have, and a server that redirects.
func TestBridgeSaysWhatTheEnvironmentNeeds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer moved" {
			http.Redirect(w, r, "https://other.example"+r.RequestURI, http.StatusPermanentRedirect)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"ok":false,"error":{"code":"SESSION_INVALID","message":"No.",` +
			`"details":{}}}`))
	}))
	defer server.Close()
	const startAgain = `"next_step":"Ask for pws mcp to be started with another PWS_TOKEN, or without it."`
	for token, want := range map[string][]string{
		"stale":   {`"code":"SESSION_INVALID"`, startAgain},
		"one two": {`"code":"CLIENT"`, startAgain},
		"moved": {
			`"message":"The answer has status 308 and redirects to https://other.example/mcp?`,
			`"next_step":"Ask for the address of the server to be corrected: ` + server.URL +
				` redirects to https://other.example/mcp?`,
		},
	} {
		p := newHookPlace(t)
		p.server = server.URL
		env, out := p.env(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
			`{"name":"file_read","arguments":{}}}` + "\n"))
		variables := env.Lookup
		env.Lookup = func(name string) (string, bool) {
			if name == varToken {
				return token, true
			}
			return variables(name)
		}
		env.Offline = func(string) (bridge.Offline, error) { return someOffline{}, nil }
		if err := (&MCPCommand{Tools: "core"}).Run(t.Context(), env); err != nil {
			t.Errorf("%s: %v", token, err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %s, want %s", token, out, text)
			}
		}
	}
}
