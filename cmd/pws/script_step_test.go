package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
	"pws/internal/fault"
)

// The next step that a refusal names is tested: its operations must exist in the caller's protocol,
// and reads are carried out at once, as the same caller. Writes must be carried out by some script,
// with the command step; the coverage lists those that are not.

// followStep carries out the next step of a refusal over REST.
func (s *script) followStep(got *reply) error {
	value, _ := got.at("error.details.next_calls")
	list, _ := value.([]any)
	code, _ := got.at("error.code")
	text, _ := got.at("error.details.next_step")
	if (len(list) == 0) != (text == nil) {
		return fmt.Errorf("an incomplete next step: %s", got.body)
	}
	for _, one := range list {
		call, _ := one.(map[string]any)
		name, method, path := textOf(call["operation"]), textOf(call["method"]), textOf(call["path"])
		op := operationOf(method, path)
		if op == nil || op.Name != name || !strings.Contains(textOf(text), method+" "+path) {
			return fmt.Errorf("the next step names %s %s %s, which is none: %s", name, method, path,
				got.body)
		}
		if method != http.MethodGet {
			s.tried.advise(fmt.Sprintf("REST %s %s", textOf(code), name))
			continue
		}
		if s.server.limited || strings.Contains(path, "{path}") {
			continue
		}
		if name == "search.query" {
			path += "?q=a"
		}
		answer, err := s.send(&request{method: method, target: path})
		if err != nil {
			return err
		}
		if answer.status >= http.StatusBadRequest {
			return fmt.Errorf("the next step of %s, %s %s, ends with %d %s", got.body, method, path,
				answer.status, answer.body)
		}
	}
	return nil
}

// toolStep is the next step in the refusal of a tool.
type toolStep struct {
	Code  string `json:"code"`
	Text  string `json:"next_step"`
	Calls []struct {
		Tool      string         `json:"tool"`
		Arguments map[string]any `json:"arguments"`
	} `json:"next_calls"`
}

func toolStepOf(refusal any) (*toolStep, error) {
	text, err := json.Marshal(refusal)
	if err != nil {
		return nil, err
	}
	step := &toolStep{}
	return step, json.Unmarshal(text, step)
}

// followTools carries out the next step in the refusal of a tool, and checks the next step of the
// same refusal in the profile core.
func (s *script) followTools(called *request, refusal any) error {
	step, err := toolStepOf(refusal)
	if err != nil {
		return err
	}
	if err := step.check(false); err != nil {
		return err
	}
	for _, call := range step.Calls {
		tool := toolOf(call.Tool)
		if tool.Operation.Method != http.MethodGet {
			s.tried.advise(fmt.Sprintf("MCP %s %s", step.Code, tool.Operation.Name))
			continue
		}
		if tool.Name == "search" {
			call.Arguments["q"] = "a"
		}
		if tool.Name == "file.read" && call.Arguments["path"] == nil {
			continue
		}
		arguments, err := json.Marshal(call.Arguments)
		if err != nil {
			return err
		}
		answer, err := s.send(toolCall(call.Tool, arguments, nil))
		if err != nil {
			return err
		}
		if code, _, err := toolAnswer(answer); err != nil || code != "" {
			return fmt.Errorf("the next step of %s, %s, ends with %s %v", step.Code, call.Tool, code, err)
		}
	}
	core := *called
	core.target = "/mcp?profile=core"
	got, err := s.send(&core)
	if err != nil {
		return err
	}
	code, data, err := toolAnswer(got)
	if err != nil || code != step.Code {
		return fmt.Errorf("the same call in the profile core ends with %q %v", code, err)
	}
	if step, err = toolStepOf(data); err != nil {
		return err
	}
	return step.check(true)
}

// toolOf finds a tool by either form of its name, nil if there is none.
func toolOf(name string) *api.Tool {
	for _, one := range api.Tools(api.Table) {
		if one.Name == name || one.Plain == name {
			return one
		}
	}
	return nil
}

// takesPath reports whether a tool has a file path as an argument.
func takesPath(name string) bool {
	return slices.ContainsFunc(toolOf(name).Arguments, func(one api.Argument) bool {
		return one.Place == api.InPath && one.Tail
	})
}

// check reports an error if the step names a tool outside the profile.
func (t *toolStep) check(core bool) error {
	if t.Text == "" {
		return fmt.Errorf("%s says nothing of the next step", t.Code)
	}
	for _, call := range t.Calls {
		tool := toolOf(call.Tool)
		if tool == nil || core && !tool.Operation.Core || !strings.Contains(t.Text, call.Tool) {
			return fmt.Errorf("%s: %s is no tool of the profile: %s", t.Code, call.Tool, t.Text)
		}
	}
	entry := fault.Lookup(fault.Code(t.Code))
	if entry.Status != http.StatusUnauthorized && strings.Contains(t.Text, "/api/") {
		return fmt.Errorf("%s: a route over MCP: %s", t.Code, t.Text)
	}
	return nil
}

// step carries out the Nth call of the next step in the last answer and expects success. BODY is
// the body, or for a tool the arguments that the next step does not contain. PATH is the file path
// where the caller chooses one.
//
//	step [-get NAME=PATH] N BODY [PATH]
func (s *script) step(ts *testscript.TestScript, args []string) error {
	_, keep, args, err := s.options(args)
	if err != nil {
		return err
	}
	if len(args) < 2 || len(args) > 3 || s.last == nil {
		return errors.New("usage: step [-get NAME=PATH] N BODY [PATH]")
	}
	nth, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	body, err := s.bodyOf(args[1])
	if err != nil {
		return err
	}
	path := "step.txt"
	if len(args) == 3 {
		path = args[2]
	}
	got, err := s.takeStep(nth, body, path)
	if err != nil {
		return err
	}
	for name, at := range keep {
		value, ok := got.at(at)
		if !ok {
			return fmt.Errorf("the answer has no %s: %s", at, got.body)
		}
		s.set(ts, name, textOf(value))
	}
	return nil
}

// takeStep carries out one call of the last answer, and leaves the last answer unchanged.
func (s *script) takeStep(nth int, body []byte, file string) (*reply, error) {
	code, _ := s.last.at("error.code")
	if tool, err := s.value(fmt.Sprintf("error.next_calls.%d.tool", nth)); err == nil {
		return s.stepTool(textOf(code), textOf(tool), nth, body, file)
	}
	call := fmt.Sprintf("error.details.next_calls.%d.", nth)
	name, err := s.value(call + "operation")
	if err != nil {
		return nil, mismatchf("%v", err)
	}
	method, _ := s.value(call + "method")
	path, _ := s.value(call + "path")
	sent := &request{
		method: textOf(method), body: body,
		target: strings.Replace(textOf(path), "{path}", file, 1),
	}
	got, err := s.send(sent)
	if err != nil {
		return nil, err
	}
	if problem := s.check(sent, got); problem != "" {
		return nil, errors.New(problem)
	}
	if got.status >= http.StatusBadRequest {
		return nil, mismatchf("%s %s: %s", sent.method, sent.target, got.body)
	}
	s.tried.carry(fmt.Sprintf("REST %s %s", textOf(code), textOf(name)))
	return got, nil
}

func (s *script) stepTool(
	code, name string, nth int, more []byte, file string,
) (*reply, error) {
	known, err := s.value(fmt.Sprintf("error.next_calls.%d.arguments", nth))
	if err != nil {
		return nil, err
	}
	arguments, ok := known.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not an object")
	}
	if err := json.Unmarshal(more, &arguments); err != nil {
		return nil, err
	}
	if takesPath(name) && arguments["path"] == nil {
		arguments["path"] = file
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	got, err := s.send(toolCall(name, text, nil))
	if err != nil {
		return nil, err
	}
	ended, data, err := toolAnswer(got)
	if err != nil || ended != "" {
		return nil, mismatchf("%s: %v %s", name, err, got.body)
	}
	got.json = map[string]any{"data": data}
	s.tried.carry(fmt.Sprintf("MCP %s %s", code, toolOf(name).Operation.Name))
	return got, nil
}

// checkStep checks that the writes a refusal names as the next step are permitted to its caller by
// the rules of the matrix.
func (w *world) checkStep(column int, got *reply) error {
	value, _ := got.at("error.details.next_calls")
	list, _ := value.([]any)
	for _, one := range list {
		call, _ := one.(map[string]any)
		for _, asked := range w.matrix.requests {
			if asked.operation != textOf(call["operation"]) {
				continue
			}
			rules := w.matrix.rules[asked.permission]
			outcomes := rules[w.project]
			if outcomes == nil {
				outcomes = rules[onceProject]
			}
			if column < len(outcomes) && outcomes[column] != allowed {
				return fmt.Errorf("the next step is not permitted: %s: %s", outcomes[column], got.body)
			}
		}
	}
	return w.script.followStep(got)
}
