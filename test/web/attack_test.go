package webtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pws/api"
)

// attack is a world whose texts are the corpus. The bodies of its requests are made from the
// schemas that the interface publishes, so a new member that takes text gets it too.
type attack struct {
	world
	schemas map[string]schema
	bodies  map[string]schema
	// nth counts the texts of each member that were sent, by operation and member.
	nth map[string]int
}

// schema is the part of a JSON Schema that matters here.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Pattern    string            `json:"pattern"`
	Format     string            `json:"format"`
	MaxLength  int               `json:"maxLength"`
	MaxBytes   int               `json:"x-max-bytes"`
	MaxItems   int               `json:"maxItems"`
	Items      *schema           `json:"items"`
	Properties map[string]schema `json:"properties"`
	AnyOf      []schema          `json:"anyOf"`
}

// publishedSchemas reads what bodies the operations of a server take.
func publishedSchemas(text []byte) (schemas, bodies map[string]schema, err error) {
	type content map[string]struct {
		Schema schema `json:"schema"`
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody struct {
				Content content `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, nil, err
	}
	bodies = map[string]schema{}
	for _, path := range document.Paths {
		for _, op := range path {
			if body, found := op.RequestBody.Content["application/json"]; found {
				bodies[op.OperationID] = body.Schema
			}
		}
	}
	return document.Components.Schemas, bodies, nil
}

func (a *attack) resolve(s schema) schema {
	for s.Ref != "" {
		s = a.schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	return s
}

// is reports whether a schema permits a type.
func (s schema) is(name string) bool {
	types, _ := s.Type.([]any)
	return s.Type == name || slices.Contains(types, any(name))
}

// isText reports whether a member takes any text.
func (s schema) isText() bool {
	return s.is("string") && len(s.Enum) == 0 && s.Pattern == "" && s.Format == ""
}

// formal are members whose texts have a form that the interface checks, so that none of the corpus
// is one. Their names are equal in all bodies.
var formal = []string{
	"algorithm", "public_key", "challenge", "signature", "invite", "handle", "api_version", "lines",
	"license_spdx", "content_type", "expected_blob_hash", "target_prefix", "agent", "path", "paths",
	"new_path", "old_text", "id", "required", "optional",
}

func isFormal(name string) bool {
	return strings.HasSuffix(name, "_id") || slices.Contains(formal, name)
}

// texts are all members of all bodies that take any text, as operation and member.
func (a *attack) texts() map[string]bool {
	all := map[string]bool{}
	for _, op := range api.Table {
		if body, found := a.bodies[op.Name]; found {
			a.walk(op.Name, "", body, all)
		}
	}
	return all
}

func (a *attack) walk(at, name string, s schema, all map[string]bool) {
	s = a.resolve(s)
	if s.isText() && !isFormal(name) {
		all[at] = true
	}
	for _, one := range s.AnyOf {
		a.walk(at, name, one, all)
	}
	if s.Items != nil {
		a.walk(at, name, *s.Items, all)
	}
	for member, one := range s.Properties {
		a.walk(at+"."+member, member, one, all)
	}
}

// absent leaves a member out of a body.
const absent = "\x00absent"

// send calls an operation with a body of hostile texts, but for the members that are given.
func (a *attack) send(handle, op string, given fields, params ...string) fields {
	if a.err != nil {
		return nil
	}
	body, found := a.bodies[op]
	if !found {
		a.err = fmt.Errorf("%s takes no body", op)
		return nil
	}
	made, _ := a.value(op, "", body, given).(fields)
	return a.as(handle)(op, made, params...)
}

// value makes a value of a schema. Members that are given have their values, and their own members
// are filled up.
func (a *attack) value(at, name string, s schema, given any) any {
	s = a.resolve(s)
	if members, ok := given.(fields); ok || given == nil && s.Properties != nil {
		return a.object(at, s, members)
	}
	if items, ok := given.([]fields); ok {
		var all []any
		for _, item := range items {
			all = append(all, a.value(at, name, *s.Items, item))
		}
		return all
	}
	if given != nil {
		if sent, ok := given.(string); ok && strings.Contains(sent, "alert(") {
			a.nth[at]++
		}
		return given
	}
	for _, one := range s.AnyOf {
		if made := a.value(at, name, one, nil); made != nil {
			return made
		}
	}
	if isFormal(name) {
		return nil
	}
	if s.isText() {
		return a.text(at, s)
	}
	if s.is("array") && s.Items != nil {
		item := a.resolve(*s.Items)
		if len(item.AnyOf) > 0 {
			item = a.resolve(item.AnyOf[0])
		}
		if !item.isText() {
			return nil
		}
		var all []any
		for range min(cmp.Or(s.MaxItems, len(corpus)), len(corpus)) {
			all = append(all, a.text(at, item))
		}
		return all
	}
	return nil
}

func (a *attack) object(at string, s schema, given fields) any {
	made := fields{}
	for _, one := range append(s.AnyOf, s) {
		one = a.resolve(one)
		for _, member := range slices.Sorted(maps.Keys(one.Properties)) {
			if _, ok := given[member]; !ok && a.isObject(one.Properties[member]) {
				continue
			}
			value := a.value(at+"."+member, member, one.Properties[member], given[member])
			if value != nil && value != absent {
				made[member] = value
			}
		}
	}
	for member, value := range given {
		if _, ok := made[member]; !ok && value != absent {
			made[member] = value
		}
	}
	return made
}

// isObject reports whether a value has members of its own. Such a value is only made where it is
// given, because not all go together.
func (a *attack) isObject(s schema) bool {
	s = a.resolve(s)
	return s.Properties != nil || len(s.AnyOf) > 0 && a.isObject(s.AnyOf[0])
}

// text is the next text for a member.
func (a *attack) text(at string, s schema) string {
	most, separator := cmp.Or(s.MaxLength, 4000), "\n\n"
	if s.MaxBytes > 0 {
		// Characters of the corpus have fewer than two bytes on average.
		most = s.MaxBytes / 2
	}
	if most <= 512 || strings.HasSuffix(at, ".attestation_reference") {
		// These are of one line.
		separator = " "
	}
	nth := a.nth[at]
	a.nth[at]++
	return bin(nth, most, separator)
}
