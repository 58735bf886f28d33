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
