package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
)

// comparedMessages are what hosts send, but for the id, which is added. METHOD with its parameters
// is sent in both eras.
var comparedMessages = []struct{ method, params string }{
	{"server/discover", ""},
	{"tools/list", ""},
	{"tools/list", `"cursor":"x"`},
	{"ping", ""},
	{"initialize", `"protocolVersion":"2025-11-25","capabilities":{}`},
	{"initialize", `"protocolVersion":"2025-06-18","capabilities":{}`},
	{"initialize", `"protocolVersion":"2020-01-01"`},
	{"initialize", ""},
	{"resources/list", ""},
	{"prompts/get", `"name":"x"`},
	{"é", ""},
	{"", ""},
	{"tools/call", ""},
	{"tools/call", `"name":"no such tool ü"`},
	{"tools/call", `"name":"search","arguments":[]`},
	{"tools/call", `"name":"search","arguments":{}`},
	{"tools/call", `"name":"search","arguments":{"q":"roof"}`},
	{"tools/call", `"name":"project.manifest","arguments":{"project":"$project"}`},
	{"tools/call", `"name":"project_manifest","arguments":{"project":"$project","x":1}`},
	{"tools/call", `"name":"file_read","arguments":{"project":"$project","path":"a.md"}`},
	{"tools/call", `"name":"file_read","arguments":{"project":"prj_0","path":"a.md"}`},
	{"tools/call", `"name":"agent_me"`},
	{"tools/call", `"name":"project_create","arguments":{"idempotency_key":"1"}`},
	{"tools/call", `"name":"project_create","arguments":{"idempotency_key":1,"name":"x"}`},
	{"tools/call", `"name":"project_create","arguments":{"name":"Once","visibility":"PRIVATE",` +
		`"idempotency_key":"once"}`},
	{"tools/call", `"name":"search","name":"search"`},
}

// bridgeCompare sends all kinds of messages over a bridge and to the endpoint, as the agent of the
// default profile, and compares the bytes of the answers. Only the instructions have a line instead
// of the paragraph about sessions.
//
//	bridge-compare NAME LINE
func (s *script) bridgeCompare(ts *testscript.TestScript, args []string) error {
	if len(args) != 2 || s.bridges[args[0]] == nil {
		return errors.New("usage, with a bridge that runs: bridge-compare NAME LINE")
	}
	credential, err := savedCredential(ts)
	if err != nil {
		return err
	}
	added, err := json.Marshal("\n" + s.expand(args[1]))
	if err != nil {
		return err
	}
	added = added[1 : len(added)-1]
	lines := 0
	for _, one := range comparedMessages {
		for _, modern := range []bool{true, false} {
			if one.method == "server/discover" && !modern {
				continue
			}
			same, hasLine, err := s.compareOne(args[0], one.method, one.params, modern, credential, added)
			if err != nil {
				return fmt.Errorf("%s %s: %w", one.method, one.params, err)
			}
			if hasLine {
				lines++
			}
			if same != "" {
				return mismatchf("%s", same)
			}
		}
	}
	if lines != 4 {
		return mismatchf("%d answers have instructions", lines)
	}
	return nil
}

// aboutSessions is the paragraph that the instructions of a bridge do not have.
var aboutSessions = regexp.MustCompile(`\\nPublic work can be read without .* with the same key\.`)

// savedCredential is the credential of the session of the profile default.
func savedCredential(ts *testscript.TestScript) (string, error) {
	text, err := os.ReadFile(filepath.Join(
		ts.Getenv("HOME"), ".local", "state", "pws", "sessions", "default.json"))
	if err != nil {
		return "", err
	}
	var saved struct{ Credential string }
	err = json.Unmarshal(text, &saved)
	return saved.Credential, err
}

// compareOne returns how the answers to one message differ, empty if they do not, and whether that
// of the bridge has the line.
func (s *script) compareOne(
	name, method, params string, modern bool, credential string, added []byte,
) (difference string, hasLine bool, err error) {
	b := s.bridges[name]
	b.serial++
	id := fmt.Sprintf(`"é%d"`, b.serial)
	headers := []string{"Authorization: Bearer " + credential}
	if modern {
		headers = append(headers, "MCP-Protocol-Version: "+api.MCPVersion, "Mcp-Method: "+
			headerText(method))
		if _, after, named := strings.Cut(params, `"name":"`); named && method == "tools/call" {
			tool, _, _ := strings.Cut(after, `"`)
			headers = append(headers, "Mcp-Name: "+headerText(tool))
		}
		if params != "" {
			params = "," + params
		}
		params = protocolMeta + params
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method,
		s.expand(params))
	if err := b.send(line); err != nil {
		return "", false, err
	}
	got, err := b.answer(id)
	if err != nil {
		return "", false, err
	}
	want, err := s.send(&request{
		method: http.MethodPost, target: "/mcp?profile=core&names=underscore",
		headers: headers, body: []byte(line),
	})
	if err != nil {
		return "", false, err
	}
	body := []byte(got)
	if hasLine = bytes.Contains(body, added); hasLine {
		body = bytes.Replace(body, added, nil, 1)
	}
	wanted := want.body
	if hasLine {
		wanted = aboutSessions.ReplaceAll(wanted, nil)
	}
	if rest, found := bytes.CutPrefix(wanted, []byte(`{"jsonrpc":"2.0","error":`)); found {
		// The endpoint does not know the id of what it cannot read.
		wanted = append([]byte(`{"jsonrpc":"2.0","id":`+id+`,"error":`), rest...)
	}
	if !bytes.Equal(body, wanted) {
		return fmt.Sprintf("%s\nbridge %s\nendpoint %s", line, clip(got), clip(string(wanted))), hasLine,
			nil
	}
	return "", hasLine, nil
}

// headerText is a text as the value of a header of the protocol.
func headerText(text string) string {
	for _, r := range text {
		if r <= ' ' || r > '~' {
			return base64Header(text)
		}
	}
	return text
}

func base64Header(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
