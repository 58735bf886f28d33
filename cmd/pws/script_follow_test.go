package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func followCommands() map[string]command {
	return map[string]command{
		"follow":   wrap((*script).follow),
		"followed": wrap((*script).followed),
	}
}

// follow makes the complete call that the last refusal names, as it is, and expects success. NAME
// is the operation, or over MCP the tool, that it must be. MORE are texts that the call must have.
//
//	follow [-get NAME=PATH] NAME [MORE...]
func (s *script) follow(ts *testscript.TestScript, args []string) error {
	_, keep, args, err := s.options(args)
	if err != nil {
		return err
	}
	if len(args) == 0 || s.last == nil {
		return errors.New("usage: follow [-get NAME=PATH] NAME [MORE...]")
	}
	code, _ := s.last.at("error.code")
	tool, overMCP := s.last.at("error.next_call.tool")
	at := "error.next_call"
	if !overMCP {
		at = "error.details.next_call"
	}
	call, named := s.last.at(at)
	if !named {
		return mismatchf("%v names no call: %s", code, s.last.body)
	}
	text, err := json.Marshal(call)
	if err != nil {
		return err
	}
	for _, more := range args[1:] {
		if more = s.expand(more); !strings.Contains(string(text), more) {
			return mismatchf("the call has no %s: %s", more, text)
		}
	}
	var got *reply
	if overMCP {
		got, err = s.followTool(textOf(tool), args[0], call)
	} else {
		got, err = s.followRequest(args[0], text)
	}
	if err != nil {
		return err
	}
	for name, path := range keep {
		value, ok := got.at(path)
		if !ok {
			return fmt.Errorf("the answer has no %s: %s", path, got.body)
		}
		s.set(ts, name, textOf(value))
	}
	s.follows++
	return nil
}

func (s *script) followTool(tool, want string, call any) (*reply, error) {
	if tool != want {
		return nil, mismatchf("the call is one of %s", tool)
	}
	members, _ := call.(map[string]any)
	arguments, err := json.Marshal(members["arguments"])
	if err != nil {
		return nil, err
	}
	got, err := s.send(toolCall(tool, arguments, nil))
	if err != nil {
		return nil, err
	}
	code, data, err := toolAnswer(got)
	if err != nil || code != "" {
		return nil, mismatchf("%s %s: %v %s", tool, arguments, err, got.body)
	}
	got.json = map[string]any{"data": data}
	return got, nil
}

func (s *script) followRequest(want string, text []byte) (*reply, error) {
	var call struct {
		Operation, Method, Path string
		Headers                 map[string]string
		Body                    json.RawMessage
		Anonymous               bool
	}
	if err := json.Unmarshal(text, &call); err != nil {
		return nil, err
	}
	if call.Operation != want {
		return nil, mismatchf("the call is one of %s: %s", call.Operation, text)
	}
	sent := &request{method: call.Method, target: call.Path, body: call.Body}
	for name, value := range call.Headers {
		sent.headers = append(sent.headers, name+": "+value)
	}
	if call.Headers["Idempotency-Key"] == "" {
		sent.headers = append(sent.headers, "Idempotency-Key: none")
	}
	if call.Anonymous {
		caller := s.caller
		s.caller = ""
		defer func() { s.caller = caller }()
	}
	got, err := s.send(sent)
	if err != nil {
		return nil, err
	}
	if problem := s.check(sent, got); problem != "" {
		return nil, errors.New(problem)
	}
	if got.status >= http.StatusBadRequest {
		return nil, mismatchf("%s: %s", text, got.body)
	}
	return got, nil
}

// followed expects that the script has followed at least so many calls.
//
//	followed N
func (s *script) followed(_ *testscript.TestScript, args []string) error {
	var least int
	if len(args) != 1 {
		return errors.New("usage: followed N")
	}
	if _, err := fmt.Sscan(args[0], &least); err != nil {
		return err
	}
	if s.follows < least {
		return mismatchf("only %d calls were followed", s.follows)
	}
	return nil
}
