package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// declared are the operations that scripts can call.
var declared = append(slices.Clone(api.Table), api.TestClock(nil))

// operationOf finds the operation of a request, nil if there is none. Literal segments take
// precedence.
func operationOf(method, target string) *api.Operation {
	path, _, _ := strings.Cut(target, "?")
	if rest, absolute := strings.CutPrefix(path, "http://"); absolute {
		path = rest[strings.IndexByte(rest, '/'):]
	}
	if method == "HEAD" {
		method = "GET"
	}
	var found *api.Operation
	for _, op := range declared {
		if op.Method == method && fits(op.Path, path) &&
			(found == nil || strings.Count(op.Path, "{") < strings.Count(found.Path, "{")) {
			found = op
		}
	}
	return found
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	for i, segment := range want {
		if i == len(got) {
			return false
		}
		if strings.HasSuffix(segment, "*}") {
			return len(got) > i+1 || got[i] != ""
		}
		if segment != got[i] && (!strings.HasPrefix(segment, "{") || got[i] == "") {
			return false
		}
	}
	return len(want) == len(got)
}

func needsKey(op *api.Operation) bool { return op.Idempotency == api.KeyRequired }

// needsMatch reports whether an operation refuses requests without If-Match.
func needsMatch(op *api.Operation) bool { return op != nil && op.Name == "project.delete" }

// routeCodes are the error codes of requests that match no operation.
var routeCodes = []fault.Code{
	fault.RouteNotFound, fault.MethodNotAllowed, fault.ValidationFailed, fault.HeadersTooLarge,
	fault.RequestTimeout, fault.RateLimited, fault.BodyTooLarge, fault.ShuttingDown,
}

var requestIDPattern = regexp.MustCompile(`^req_[0-9a-hjkmnp-tv-z]{26}$`)

// check compares an answer with the declaration of its operation, and records what was covered. It
// returns the first problem, empty if there is none.
func (s *script) check(sent *request, got *reply) string {
	requestID := got.header.Get("X-Request-Id")
	if !requestIDPattern.MatchString(requestID) {
		return fmt.Sprintf("X-Request-Id is %q", requestID)
	}
	if s.server.limited {
		for _, name := range []string{"Limit", "Remaining", "Reset", "Policy"} {
			if got.header.Get("RateLimit-"+name) == "" {
				return "no header RateLimit-" + name
			}
		}
	}
	op := operationOf(sent.method, sent.target)
	if op != nil && op.Name == "test.clock" && !slices.Contains(s.flags, "--test-clock") {
		op = nil
	}
	switch {
	case sent.method == "HEAD" || got.status == http.StatusNotModified ||
		got.status == http.StatusNoContent:
		if len(got.body) > 0 {
			return "a body where none may be"
		}
		return ""
	case op != nil && len(op.Media) > 0 && got.status < 400:
		return s.checkDocument(op, got)
	case !strings.HasPrefix(got.header.Get("Content-Type"), "application/json"):
		return "Content-Type " + got.header.Get("Content-Type")
	}
	envelope, ok := got.json.(map[string]any)
	if !ok {
		return "the answer is not a JSON object"
	}
	if meta, _ := got.at("meta.request_id"); meta != requestID {
		return "meta.request_id is not X-Request-Id"
	}
	if got.status < 400 {
		return s.checkSuccess(op, sent, got, envelope)
	}
	return s.checkFailure(op, got, envelope)
}

func (s *script) checkSuccess(
	op *api.Operation, sent *request, got *reply, envelope map[string]any,
) string {
	if problem := hasKeys(envelope, "data", "meta", "ok"); problem != "" {
		return problem
	}
	if envelope["ok"] != true {
		return "ok is not true"
	}
	if op == nil {
		return "a success of no operation"
	}
	if !slices.Contains(op.Statuses, got.status) {
		return fmt.Sprintf("%s does not declare status %d", op.Name, got.status)
	}
	var problem string
	if applied := got.header.Get("Preference-Applied"); applied == "return=minimal" {
		problem = validateMinimal(op, envelope["data"])
	} else {
		problem = validate(op.Response, jsonschema.Response, envelope["data"])
	}
	if problem != "" {
		return "data: " + problem
	}
	if op.Request != nil && len(sent.body) > 0 && !s.repeating {
		body, err := validator.UnmarshalJSON(bytes.NewReader(sent.body))
		if err != nil {
			return "request: " + err.Error()
		}
		if problem := validate(op.Request, jsonschema.Request, body); problem != "" {
			return "the request succeeded against its schema: " + problem
		}
	}
	s.tried.success(op)
	return ""
}

// checkDocument checks an answer without the JSON envelope.
func (s *script) checkDocument(op *api.Operation, got *reply) string {
	media := got.header.Get("Content-Type")
	if !slices.Contains(op.Media, media) {
		return fmt.Sprintf("%s does not declare the content type %s", op.Name, media)
	}
	if got.status == http.StatusSeeOther {
		return ""
	}
	if !slices.Contains(op.Statuses, got.status) || len(got.body) == 0 {
		return fmt.Sprintf("%s answers %d with %d bytes", op.Name, got.status, len(got.body))
	}
	if op.Conditional && got.header.Get("ETag") == "" {
		return "no header ETag"
	}
	if name, _, _ := strings.Cut(media, ";"); strings.HasSuffix(name, "json") {
		if problem := validate(op.Response, jsonschema.Response, got.json); problem != "" {
			return problem
		}
	}
	s.tried.success(op)
	return ""
}

func (s *script) checkFailure(op *api.Operation, got *reply, envelope map[string]any) string {
	if problem := hasKeys(envelope, "error", "meta", "ok"); problem != "" {
		return problem
	}
	body, ok := envelope["error"].(map[string]any)
	if !ok || envelope["ok"] != false {
		return "not the envelope of an error"
	}
	if problem := hasKeys(body, "code", "details", "message", "retryable"); problem != "" {
		return problem
	}
	code := fault.Code(textOf(body["code"]))
	at := slices.IndexFunc(fault.Catalog, func(e fault.Entry) bool { return e.Code == code })
	if at < 0 {
		return "code " + string(code) + " is not in the catalog"
	}
	entry := fault.Catalog[at]
	if got.status != entry.Status || body["retryable"] != entry.Retryable {
		return "status or retryable is not what the catalog says of " + string(code)
	}
	details, ok := body["details"].(map[string]any)
	if !ok || textOf(body["message"]) == "" {
		return "no details or no message"
	}
	if action := textOf(details["recommended_action"]); action != entry.Action {
		return fmt.Sprintf("recommended_action %q, not %q", action, entry.Action)
	}
	for key := range details {
		if !slices.Contains(slices.Concat(entry.Details, stepKeys), key) {
			return "details." + key + " is not in the catalog's entry of " + string(code)
		}
	}
	allowed := routeCodes
	if op != nil {
		allowed = op.Codes()
	}
	if !slices.Contains(allowed, code) {
		return fmt.Sprintf("%s does not declare %s", nameOf(op), code)
	}
	s.tried.failure(op, code)
	return ""
}

// stepKeys are the members of details that describe the next step.
var stepKeys = []string{"recommended_action", "next_step", "next_calls", "next_call"}

func nameOf(op *api.Operation) string {
	if op == nil {
		return "no operation"
	}
	return op.Name
}

func hasKeys(object map[string]any, names ...string) string {
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, names) {
		return fmt.Sprintf("keys %v, not %v", got, names)
	}
	return ""
}

// schemas are compiled once per type and mode.
var schemas struct {
	sync.Mutex
	compiled map[string]*validator.Schema
}

// validate checks a decoded JSON value against the published schema of a type.
func validate(t reflect.Type, mode jsonschema.Mode, value any) string {
	return validateAs(fmt.Sprintf("mem:///%s-%d.json", t, mode), value, func() jsonschema.Object {
		return jsonschema.SchemaOf(t, mode, "")
	})
}

// validateMinimal checks the minimal data of a write against its published schema.
func validateMinimal(op *api.Operation, data any) string {
	if op.Minimal() == nil {
		return op.Name + " has no minimal answer"
	}
	name := op.MinimalName()
	return validateAs("mem:///"+name+".json", data, func() jsonschema.Object {
		all := jsonschema.NewSchemas("#/$defs/")
		all.AddFiltered(name, op.Minimal())
		return all.Document("mem:///"+name+".json", name)
	})
}

// validateAs checks a value against the schema of a name, which is compiled once.
func validateAs(name string, value any, schemaOf func() jsonschema.Object) string {
	schemas.Lock()
	schema, known := schemas.compiled[name]
	if !known {
		text, err := json.Marshal(schemaOf())
		if err != nil {
			panic(err)
		}
		document, err := validator.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(err)
		}
		compiler := validator.NewCompiler()
		compiler.AssertFormat()
		if err := compiler.AddResource(name, document); err != nil {
			panic(err)
		}
		schema = compiler.MustCompile(name)
		if schemas.compiled == nil {
			schemas.compiled = map[string]*validator.Schema{}
		}
		schemas.compiled[name] = schema
	}
	schemas.Unlock()
	if err := schema.Validate(value); err != nil {
		return err.Error()
	}
	return ""
}
