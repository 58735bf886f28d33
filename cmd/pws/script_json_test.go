package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands in this file inspect the last answer. A PATH names a member of its body, such as
// data.changesets.0.operations.1.path; -1 is the last element.

func (r *reply) decode() {
	decoder := json.NewDecoder(bytes.NewReader(r.body))
	decoder.UseNumber()
	if decoder.Decode(&r.json) != nil {
		r.json = nil
	}
}

// at is the value at a path.
func (r *reply) at(path string) (any, bool) {
	value := r.json
	for _, name := range strings.Split(path, ".") {
		switch here := value.(type) {
		case map[string]any:
			next, ok := here[name]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			index, err := strconv.Atoi(name)
			if index < 0 {
				index += len(here)
			}
			if err != nil || index < 0 || index >= len(here) {
				return nil, false
			}
			value = here[index]
		default:
			return nil, false
		}
	}
	return value, true
}

// textOf is a string itself, empty for an absent value, and JSON for everything else.
func textOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *script) value(path string) (any, error) {
	if s.last == nil {
		return nil, errors.New("no answer yet")
	}
	value, ok := s.last.at(path)
	if !ok {
		return nil, fmt.Errorf("the answer has no %s", path)
	}
	return value, nil
}

// get stores a value in a variable.
//
//	get NAME PATH
func (s *script) get(ts *testscript.TestScript, args []string) error {
	value, err := s.value(args[1])
	if err == nil {
		s.set(ts, args[0], textOf(value))
	}
	return err
}

// text writes a value to a file.
//
//	text FILE PATH
func (s *script) text(ts *testscript.TestScript, args []string) error {
	value, err := s.value(args[1])
	if err != nil {
		return err
	}
	return os.WriteFile(ts.MkAbs(args[0]), []byte(textOf(value)), 0o600)
}

// match compares a value with a text. The text null matches only null.
//
//	match PATH VALUE
func (s *script) match(_ *testscript.TestScript, args []string) error {
	value, err := s.value(args[0])
	if err != nil {
		return err
	}
	got, want := textOf(value), s.expand(args[1])
	if value == nil {
		got = "null"
	}
	if got != want {
		return mismatchf("%s is %s, not %s", args[0], clip(got), clip(want))
	}
	return nil
}

func clip(text string) string {
	const most = 300
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// like matches a value against a regular expression.
//
//	like PATH PATTERN
func (s *script) like(_ *testscript.TestScript, args []string) error {
	value, err := s.value(args[0])
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile(s.expand(args[1]))
	if err != nil {
		return err
	}
	if !pattern.MatchString(textOf(value)) {
		return mismatchf("%s is %s", args[0], clip(textOf(value)))
	}
	return nil
}

// count counts the elements of a list, the members of an object, or the bytes of a string.
//
//	count PATH N
func (s *script) count(_ *testscript.TestScript, args []string) error {
	value, err := s.value(args[0])
	if err != nil {
		return err
	}
	got := 0
	switch value := value.(type) {
	case []any:
		got = len(value)
	case map[string]any:
		got = len(value)
	case string:
		got = len(value)
	default:
		return fmt.Errorf("%s cannot be counted", args[0])
	}
	if strconv.Itoa(got) != args[1] {
		return mismatchf("%s counts %d, not %s", args[0], got, args[1])
	}
	return nil
}

// has checks that a path exists.
//
//	has PATH
func (s *script) has(_ *testscript.TestScript, args []string) error {
	if _, err := s.value(args[0]); err != nil {
		return mismatch(err.Error())
	}
	return nil
}

// header matches a header of the answer against a regular expression; without one, the header must
// be present.
//
//	header NAME [PATTERN]
func (s *script) header(_ *testscript.TestScript, args []string) error {
	values := s.last.header.Values(args[0])
	if len(values) == 0 {
		return mismatchf("no header %s", args[0])
	}
	if len(args) == 1 {
		return nil
	}
	pattern, err := regexp.Compile(s.expand(args[1]))
	if err != nil {
		return err
	}
	if got := strings.Join(values, ", "); !pattern.MatchString(got) {
		return mismatchf("%s: %s", args[0], got)
	}
	return nil
}

// body matches the body of an answer that is a document against a regular expression.
//
//	body PATTERN
func (s *script) body(_ *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile(s.expand(args[0]))
	if err != nil {
		return err
	}
	if !pattern.Match(s.last.body) {
		return mismatchf("the body is %q", s.last.body)
	}
	return nil
}

// tag stores the entity tag of the answer in a variable.
//
//	tag NAME
func (s *script) tag(ts *testscript.TestScript, args []string) error {
	etag := s.last.header.Get("ETag")
	if etag == "" {
		return mismatchf("no header ETag")
	}
	s.set(ts, args[0], etag)
	return nil
}

// keep stores an answer under a name; same compares the last answer with it, headers and body,
// except for the request ID, the date and the remaining rate limits.
//
//	keep NAME
//	same NAME
func (s *script) keep(_ *testscript.TestScript, args []string) error {
	if s.kept == nil {
		s.kept = map[string]string{}
	}
	s.kept[args[0]] = s.last.plain()
	return nil
}

func (s *script) same(_ *testscript.TestScript, args []string) error {
	want, known := s.kept[args[0]]
	if !known {
		return fmt.Errorf("no answer is stored as %s", args[0])
	}
	if got := s.last.plain(); got != want {
		return mismatchf("differs:\n%s\nfrom %s:\n%s", clip(got), args[0], clip(want))
	}
	return nil
}

var (
	anyRequestID   = regexp.MustCompile(`req_[0-9a-z]{26}`)
	anySecondsLeft = regexp.MustCompile(`seconds_left":[0-9]+`)
)

// plain returns an answer without what each request changes: its ID, quotas, the time that is left.
func (r *reply) plain() string {
	var out strings.Builder
	fmt.Fprintln(&out, r.status)
	for _, name := range slices.Sorted(maps.Keys(map[string][]string(r.header))) {
		if name != "Date" && name != "X-Request-Id" && !strings.HasPrefix(name, "Ratelimit-") &&
			name != "Content-Length" {
			fmt.Fprintln(&out, http.CanonicalHeaderKey(name), r.header[name])
		}
	}
	text := anyRequestID.ReplaceAllString(out.String()+string(r.body), "req_")
	return anySecondsLeft.ReplaceAllString(text, `seconds_left":0`)
}

// normalizer replaces what differs between runs.
type normalizer struct {
	names  map[string]string
	counts map[string]int
}

var (
	anyID   = regexp.MustCompile(`\b([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}\b`)
	anyTime = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ`)
)

// secretMembers differ in every run and are replaced by a constant.
var secretMembers = map[string]bool{
	"credential": true, "challenge": true, "signing_payload": true, "public_key": true,
	"fingerprint": true, "next_cursor": true, "request_id": true, "uptime_seconds": true,
	"seconds_left": true, "session_seconds_left": true,
}

// id is prj_1 for the first project that appears in the script, and so on.
func (n *normalizer) id(public string) string {
	if name, known := n.names[public]; known {
		return name
	}
	if n.names == nil {
		n.names, n.counts = map[string]string{}, map[string]int{}
	}
	prefix := public[:3]
	n.counts[prefix]++
	n.names[public] = fmt.Sprintf("%s_%d", prefix, n.counts[prefix])
	return n.names[public]
}

func (n *normalizer) value(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, member := range slices.Sorted(maps.Keys(value)) {
			out[member] = n.value(member, value[member])
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, one := range value {
			out[i] = n.value("", one)
		}
		return out
	case nil:
		return nil
	}
	if secretMembers[name] {
		return "<" + name + ">"
	}
	if text, isText := value.(string); isText {
		text = anyTime.ReplaceAllString(text, "<time>")
		return anyID.ReplaceAllStringFunc(text, n.id)
	}
	return value
}

// normal writes the body of the answer for cmp, indented and normalized.
//
//	normal FILE
func (s *script) normal(ts *testscript.TestScript, args []string) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s.names.value("", s.last.json)); err != nil {
		return err
	}
	return os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600)
}
