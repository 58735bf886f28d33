package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
)

// invalidCredential calls every operation and every MCP method with an invalid credential. Each
// must refuse it, including those that need no credential.
//
//	invalid CREDENTIAL CODE
func (s *script) invalidCredential(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: invalid CREDENTIAL CODE")
	}
	header := "Authorization: Bearer " + s.expand(args[0])
	as := s.caller
	s.caller = ""
	defer func() { s.caller = as }()
	var wrong []string
	note := func(what string, err error) {
		if err != nil {
			wrong = append(wrong, what+": "+err.Error())
		}
	}
	for _, op := range api.Table {
		sent := &request{
			method: op.Method, target: filledPath(op.Path),
			headers: []string{header, "Idempotency-Key: k"},
		}
		if op.Method != "GET" {
			sent.body = []byte("{}")
		}
		note(op.Name, s.expect(sent, 401, args[1]))
		if op.Method == "GET" {
			sent.method = "HEAD"
			note(op.Name+" by HEAD", s.expect(sent, 401, ""))
		}
	}
	messages := []*request{
		message("tools/list", "", []string{header}),
		message("server/discover", "", []string{header}),
		message("no/such", "", []string{header}),
	}
	for _, tool := range api.Tools(api.Table) {
		messages = append(messages, toolCall(tool.Name, []byte("{}"), []string{header}))
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`nonsense`,
	} {
		messages = append(messages, &request{
			method: "POST", target: "/mcp", headers: []string{header}, body: []byte(body),
		})
	}
	for _, sent := range messages {
		got, err := s.send(sent)
		if err == nil && (got.status != 401 || !strings.Contains(string(got.body), args[1])) {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		note("MCP "+string(sent.body), err)
	}
	if len(wrong) > 0 {
		return mismatchf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// filledPath is a path of the table with sample values for its parameters.
func filledPath(path string) string {
	var out []string
	for _, segment := range strings.Split(path, "/") {
		if strings.HasPrefix(segment, "{") {
			segment = "x"
		}
		out = append(out, segment)
	}
	return strings.Join(out, "/")
}
