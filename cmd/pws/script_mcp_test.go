package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"pws/api"
)

// mcp calls a tool:
//
//	mcp [-h 'Name: value'] [-get NAME=PATH] TOOL ARGUMENTS ok|CODE
//
// What a tool returned is under data, as in the answer of its operation; a refusal is under error.
// note is the text that marks a replay, replay its value in _meta. Every result is checked against
// the schema from tools/list, and so are the arguments of every successful call.

// toolSchemas are the compiled schemas of one tool in tools/list.
type toolSchemas struct{ input, output *validator.Schema }

const protocolMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + api.MCPVersion +
	`","io.modelcontextprotocol/clientCapabilities":{}}`

// message is a JSON-RPC request.
func message(method, params string, headers []string) *request {
	if params != "" {
		params = "," + params
	}
	return &request{
		method: "POST", target: "/mcp",
		headers: append([]string{
			"MCP-Protocol-Version: " + api.MCPVersion, "Mcp-Method: " + method,
		}, headers...),
		body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"1","method":%q,"params":{%s%s}}`, method,
			protocolMeta, params),
	}
}

func toolCall(name string, arguments []byte, headers []string) *request {
	return message("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments),
		append([]string{"Mcp-Name: " + name}, headers...))
}

// toolMessage is a call of a tool with the message that answers it.
type toolMessage struct {
	name              string
	arguments, answer []byte
}

// mcp calls one tool.
func (s *script) mcp(ts *testscript.TestScript, args []string) error {
	sent, keep, rest, err := s.options(args)
	if err != nil {
		return err
	}
	if len(rest) != 3 {
		return errors.New("usage: mcp [-h HEADER] [-z CODING] [-get NAME=PATH] TOOL ARGUMENTS ok|CODE")
	}
	arguments, err := s.bodyOf(rest[1])
	if err != nil {
		return err
	}
	name := rest[0]
	called := toolCall(name, arguments, sent.headers)
	called.coding = sent.coding
	got, err := s.send(called)
	if err != nil {
		return err
	}
	code, data, err := toolAnswer(got)
	if err != nil {
		return err
	}
	s.called = toolMessage{name: name, arguments: arguments, answer: got.body}
	if s.schemas == nil {
		if s.schemas, err = s.listTools(); err != nil {
			return err
		}
	}
	if err := s.schemas[name].validate(arguments, data, code); err != nil {
		return fmt.Errorf("%s: %w in %s", name, err, got.body)
	}
	if want := rest[2]; code != want && (want != "ok" || code != "") {
		return mismatchf("%s: %s", name, got.body)
	}
	if refusal, refused := data.(map[string]any); refused && code != "" {
		if err := s.followTools(called, refusal); err != nil {
			return err
		}
	}
	said, err := toolSaid(got)
	if err != nil {
		return err
	}
	said["data"], said["error"] = data, data
	got.json = said
	s.last = got
	for variable, path := range keep {
		value, ok := got.at(path)
		if !ok {
			return fmt.Errorf("the answer has no %s", path)
		}
		s.set(ts, variable, textOf(value))
	}
	return nil
}

// toolAnswer returns the code of a refusal, and the data or the refusal.
func toolAnswer(got *reply) (code string, data any, err error) {
	var answer struct {
		Result *struct {
			Content []struct{ Text string } `json:"content"`
			Data    any                     `json:"structuredContent"`
			IsError bool                    `json:"isError"`
		} `json:"result"`
		Error *struct {
			Code int `json:"code"`
			Data any `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		return "", nil, err
	}
	if answer.Error != nil {
		code := fmt.Sprint(answer.Error.Code)
		if said, ok := answer.Error.Data.(map[string]any); ok {
			code = fmt.Sprint(said["code"])
		}
		return code, answer.Error.Data, nil
	}
	result := answer.Result
	texts := 1
	if got.header.Get("Idempotency-Replayed") == "true" {
		// The second text marks a replay.
		texts = 2
	}
	if result == nil || len(result.Content) != texts || got.status != http.StatusOK {
		return "", nil, fmt.Errorf("status %d: %s", got.status, got.body)
	}
	if want, _ := json.Marshal(result.Data); !sameJSON(want, []byte(result.Content[0].Text)) {
		return "", nil, errors.New("the text is not the structured content")
	}
	if result.IsError {
		said, _ := result.Data.(map[string]any)
		if said["next_step"] == nil || said["message"] == nil {
			return "", nil, fmt.Errorf("an incomplete refusal: %s", got.body)
		}
		return fmt.Sprint(said["code"]), result.Data, nil
	}
	if hasNull(result.Data) {
		return "", nil, fmt.Errorf("a null: %s", got.body)
	}
	return "", result.Data, nil
}

// toolSaid returns the parts of a result other than its data.
func toolSaid(got *reply) (map[string]any, error) {
	var answer struct {
		Result struct {
			Content []struct{ Text string } `json:"content"`
			Meta    map[string]any          `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		return nil, err
	}
	said := map[string]any{}
	if replay, replayed := answer.Result.Meta["pws/replay"]; replayed {
		said["replay"] = replay
	}
	if len(answer.Result.Content) > 1 {
		said["note"] = answer.Result.Content[1].Text
	}
	return said, nil
}

func sameJSON(a, b []byte) bool {
	var one, other any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return false
	}
	a, _ = json.Marshal(one)
	b, _ = json.Marshal(other)
	return bytes.Equal(a, b)
}

// hasNull reports whether a member is null, except in custom, whose contents belong to agents.
func hasNull(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, one := range value {
			if one == nil || name != "custom" && hasNull(one) {
				return true
			}
		}
	case []any:
		for _, one := range value {
			if hasNull(one) {
				return true
			}
		}
	}
	return false
}

// validate checks a call against the schemas of its tool.
func (t *toolSchemas) validate(arguments []byte, data any, code string) error {
	if t == nil {
		if code == "" {
			return errors.New("a success of no tool")
		}
		return nil
	}
	if err := t.output.Validate(data); err != nil {
		return err
	}
	if code != "" {
		return nil
	}
	value, err := validator.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return err
	}
	return t.input.Validate(value)
}

// listTools fetches the schemas of all tools.
func (s *script) listTools() (map[string]*toolSchemas, error) {
	got, err := s.send(message("tools/list", "", nil))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result struct {
			Tools []struct {
				Name   string          `json:"name"`
				Input  json.RawMessage `json:"inputSchema"`
				Output json.RawMessage `json:"outputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(got.body, &answer); err != nil {
		return nil, err
	}
	schemas := map[string]*toolSchemas{}
	for _, one := range answer.Result.Tools {
		input, err := compileSchema(one.Name+"/input", one.Input)
		if err != nil {
			return nil, err
		}
		output, err := compileSchema(one.Name+"/output", one.Output)
		if err != nil {
			return nil, err
		}
		schemas[one.Name] = &toolSchemas{input, output}
	}
	if len(schemas) == 0 {
		return nil, fmt.Errorf("no tools: %s", got.body)
	}
	return schemas, nil
}

func compileSchema(name string, text []byte) (*validator.Schema, error) {
	value, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("tool:"+name, value); err != nil {
		return nil, err
	}
	return compiler.Compile("tool:" + name)
}

// mcphidden calls every tool whose path names a record, once with records hidden from the caller
// and once with records that never existed. The answers must be equal, byte for byte. The answers
// of all other tools must not contain the hidden IDs.
//
//	mcphidden NAME=ID ...
func (s *script) mcphidden(_ *testscript.TestScript, args []string) error {
	known, never := map[string]any{}, map[string]any{}
	var pairs []string
	for _, one := range args {
		name, id, _ := strings.Cut(s.expand(one), "=")
		other := "0"
		if strings.HasSuffix(id, other) {
			other = "1"
		}
		known[name], never[name] = id, id[:len(id)-1]+other
		pairs = append(pairs, id[:len(id)-1]+other, id)
	}
	toKnown, missing := strings.NewReplacer(pairs...), 0
	for _, tool := range api.Tools(api.Table) {
		about := strings.Contains(tool.Operation.Path, "{")
		one, err := s.send(toolCall(tool.Name, filled(tool.Name, known, about), nil))
		if err != nil {
			return err
		}
		other, err := s.send(toolCall(tool.Name, filled(tool.Name, never, about), nil))
		if err != nil {
			return err
		}
		if !about {
			for name, id := range known {
				if strings.Contains(string(one.body), fmt.Sprint(id)) {
					return mismatchf("%s shows the %s: %s", tool.Name, name, one.body)
				}
			}
			continue
		}
		if string(one.body) != toKnown.Replace(string(other.body)) || one.status != other.status {
			return mismatchf("%s distinguishes one from the other:\n%s\n%s", tool.Name, one.body, other.body)
		}
		code, _, err := toolAnswer(one)
		if err != nil {
			return err
		}
		if strings.HasSuffix(code, "_NOT_FOUND") {
			missing++
		}
	}
	const found = 15
	if s.caller != "" && missing < found {
		return fmt.Errorf("only %d tools looked up the record", missing)
	}
	return nil
}

// filled returns arguments for a tool: the records, and the other arguments it needs to look them
// up.
func filled(name string, records map[string]any, about bool) []byte {
	arguments := map[string]any{}
	for _, tool := range api.Tools(api.Table) {
		if tool.Name != name || !about {
			continue
		}
		for _, one := range tool.Arguments {
			if one.Place == api.InPath {
				arguments[one.Name] = records[one.Name]
			}
		}
		if tool.Operation.Idempotency != api.NoKey {
			arguments[api.KeyArgument] = "hidden-" + name
		}
	}
	for member, value := range sampleBodies[name] {
		arguments[member] = value
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return text
}

// sampleBodies are valid bodies by tool.
var sampleBodies = map[string]map[string]any{
	"project.checkpoint": {"summary": "x"},
	"project.fork":       {"name": "x"},
	"file.write":         {"content": "x"},
	"file.edit":          {"edits": []any{map[string]any{"old_text": "x", "new_text": "y"}}},
	"workspace.file.edit": {
		"edits": []any{map[string]any{"old_text": "x", "new_text": "y"}},
	},
	"file.read_batch": {"paths": []string{"a"}},
	"changeset.commit": {
		"base_changeset_id": "chg_x",
		"operations":        []any{map[string]any{"action": "CREATE", "path": "a", "content": "x"}},
	},
	"handoff.create":       {"summary": "x"},
	"workspace.file.write": {"content": "x"},
	"discussion.create":    {"title": "x", "body": "x"},
	"discussion.comment":   {"body": "x"},
	"search":               {"q": "x"},
	"task.create":          {"title": "x"},
	"task.update":          {"description": "x"},
	"project.update":       {"description": "x"},
}
