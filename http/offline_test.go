package http

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pws/api"
)

// TestOfflineAnswersAsTheEndpoint compares with a server. It knows no calls of tools.
func TestOfflineAnswersAsTheEndpoint(t *testing.T) {
	f := start(t, Config{Table: api.Table}, nil)
	offline, err := NewOffline(api.Config{PublicURL: "http://h"})
	if err != nil {
		t.Fatal(err)
	}
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":`
	modern := func(method string) map[string]string {
		return map[string]string{"Mcp-Protocol-Version": api.MCPVersion, "Mcp-Method": method}
	}
	for name, c := range map[string]struct {
		query, message string
		header         map[string]string
	}{
		"discover": {"", rpcText(`"a"`, "server/discover", ""), modern("server/discover")},
		"discover with plain names": {
			"names=underscore", rpcText("1", "server/discover", ""), modern("server/discover"),
		},
		"list": {"", rpcText("1", "tools/list", ""), modern("tools/list")},
		"list of the core": {
			"profile=core&names=underscore", rpcText("1", "tools/list", ""), modern("tools/list"),
		},
		"cursor":            {"", rpcText("1", "tools/list", `"cursor":"x"`), modern("tools/list")},
		"no version":        {"", rpcText("1", "tools/list", ""), nil},
		"no method":         {"", rpcText("1", "no", ""), modern("no")},
		"initialize":        {"", initialize + `"2025-06-18"}}`, nil},
		"initialize with 1": {"", initialize + `1}}`, nil},
		"ping":              {"", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil},
		"earlier list":      {"", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil},
		"not JSON":          {"", `{"jsonrpc":"2.0","id":1,"method":"ping"`, nil},
		"a batch":           {"", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil},
		"a notification":    {"", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil},
		"an empty message":  {"", "", nil},
	} {
		lines := []string{typeLine}
		for header, value := range c.header {
			lines = append(lines, header+": "+value)
		}
		want := f.post(t, "/mcp?"+c.query, c.message, lines...).body
		if got := string(offline.Answer(c.query, c.header, []byte(c.message))); got != want {
			t.Errorf("%s: %.200s\nwant %.200s", name, got, want)
		}
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}`
	if got := offline.Answer("", nil, []byte(call)); !strings.Contains(string(got), "-32602") {
		t.Errorf("a call of a tool: %s", got)
	}
}

// TestInstructionsNameListedTools: every tool that the instructions name is in the list that the
// same client gets, under that name.
func TestInstructionsNameListedTools(t *testing.T) {
	offline, err := NewOffline(api.Config{PublicURL: "http://h"})
	if err != nil {
		t.Fatal(err)
	}
	words, tools := regexp.MustCompile(`[a-z]+([._][a-z]+)*`), api.Tools(api.Table)
	for _, query := range []string{
		"", "names=underscore", "profile=core", "profile=core&names=underscore",
	} {
		listed := map[string]bool{}
		list := offline.Answer(query, nil, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		for _, found := range regexp.MustCompile(`"name":"([^"]+)"`).FindAllSubmatch(list, -1) {
			listed[string(found[1])] = true
		}
		var answer struct{ Result struct{ Instructions string } }
		initialize := offline.Answer(query, nil, []byte(`{"jsonrpc":"2.0","id":0,`+
			`"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`))
		if err := json.Unmarshal(initialize, &answer); err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, word := range words.FindAllString(answer.Result.Instructions, -1) {
			isTool := slices.ContainsFunc(tools, func(one *api.Tool) bool {
				return word == one.Name || word == one.Plain
			})
			switch {
			case listed[word]:
				named++
			case isTool:
				t.Errorf("?%s does not list %s", query, word)
			}
		}
		if named < 8 {
			t.Errorf("?%s: %d tools are named", query, named)
		}
	}
}

func BenchmarkNewOffline(b *testing.B) {
	for b.Loop() {
		if _, err := NewOffline(api.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
