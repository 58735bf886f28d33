package http

import (
	"strings"
	"testing"
)

// TestArgumentsThatAreNotStrictJSON: the agent reads why they are refused, with the id of its call.
func TestArgumentsThatAreNotStrictJSON(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	const depth = 5000
	for arguments, want := range map[string]string{
		`{"title":"cut \ud83d"}`:     "invalid surrogate pair",
		`{"title":"\udc00 behind"}`:  "invalid surrogate pair",
		`{"title":"a","title":"b"}`:  "duplicate object key",
		`{"title":"a","no\ud83d":1}`: "invalid surrogate pair",
		`{"title":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`: "deeper than",
	} {
		for _, earlier := range []bool{false, true} {
			message := rpcText("7", "tools/call", `"name":"note.create","arguments":`+arguments)
			lines := []string{
				typeLine, versionLine, asMethod("tools/call"), "Mcp-Name: note.create",
				"Authorization: Bearer good",
			}
			if earlier {
				message = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":` +
					`"note.create","arguments":` + arguments + `}}`
				lines = []string{typeLine, "Authorization: Bearer good"}
			}
			got := f.post(t, "/mcp", message, lines...)
			said := got.problem(t)
			if got.status != 200 || string(got.rpc(t).ID) != "7" || said.Code != "INVALID_JSON" ||
				!strings.Contains(said.Message, want) {
				t.Errorf("%.60s, earlier %v: %d %.300s", arguments, earlier, got.status, got.body)
			}
		}
	}
}

// TestProtocolErrorsSayWhyABodyIsNoJSON checks the text of the error.
func TestProtocolErrorsSayWhyABodyIsNoJSON(t *testing.T) {
	f := startMCP(t, Config{}, nil)
	for body, want := range map[string]string{
		"":  "the text ends too early",
		"{": "the text ends too early",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}`: "invalid surrogate pair",
		`{"id":1,"id":1}`: "duplicate object key",
		toolsList + "x":   "data follows the value",
	} {
		if got := f.post(t, "/mcp", body, typeLine); !strings.Contains(got.body, want) {
			t.Errorf("%.60q: %s, want %s", body, got.body, want)
		}
	}
}
