package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
	"pws/internal/id"
)

// examplesDir has the examples of the published documents, a file for each operation.
const examplesDir = "../../api/examples"

// recorder makes examples of what a script asks. What differs from run to run is given a form that
// does not and that is as good: IDs by the order in which they show, secrets likewise, and times by
// the request in which they came to be, for the clock moves on before each.
type recorder struct {
	names  map[string]string
	serial int
	// starts are the times of the service at which the recorded requests began, in milliseconds.
	starts []int64
	files  map[string][]byte
}

const (
	// stepSeconds is how far the clock moves before each request.
	stepSeconds = 20
	stepMillis  = stepSeconds * 1000
)

// exampleStart is when the first recorded request began, as the examples have it.
var exampleStart = time.Date(2026, 11, 20, 9, 6, 0, 0, time.UTC)

// example is api, and keeps the request with its answer as the example of its operation.
//
//	example api ARG...
func (s *script) example(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 || args[0] != "api" {
		return errors.New("usage: example api ARG...")
	}
	if s.examples == nil {
		s.examples = &recorder{names: map[string]string{}, files: map[string][]byte{}}
	}
	r := s.examples
	if err := s.advance(ts, []string{fmt.Sprint(stepSeconds)}); err != nil {
		return err
	}
	now, _ := s.last.at("data.now")
	start, err := time.Parse(time.RFC3339Nano, textOf(now))
	if err != nil {
		return err
	}
	r.starts = append(r.starts, start.UnixMilli())
	if err := s.api(ts, args[1:]); err != nil {
		return err
	}
	op := operationOf(s.sent.method, s.sent.target)
	if _, twice := r.files[op.Name]; twice {
		return fmt.Errorf("%s has an example already", op.Name)
	}
	text, err := r.record(s.sent, s.last)
	r.files[op.Name] = text
	return err
}

// recorded compares the examples with those that are published, and writes them with -update. Every
// operation has one, but for those that answer with a document.
//
//	recorded
func (s *script) recorded(*testscript.TestScript, []string) error {
	var wrong []error
	for _, op := range api.Table {
		if len(op.Media) == 0 && s.examples.files[op.Name] == nil {
			wrong = append(wrong, fmt.Errorf("no example of %s", op.Name))
		}
	}
	kept, err := filepath.Glob(examplesDir + "/*.json")
	if err != nil {
		return err
	}
	for _, name := range kept {
		if s.examples.files[strings.TrimSuffix(filepath.Base(name), ".json")] != nil {
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s is of no operation", name))
		if *update {
			wrong[len(wrong)-1] = os.Remove(name)
		}
	}
	for operation, text := range s.examples.files {
		name := filepath.Join(examplesDir, operation+".json")
		old, err := os.ReadFile(name)
		if err == nil && bytes.Equal(old, text) {
			continue
		}
		if *update {
			wrong = append(wrong, os.WriteFile(name, text, 0o644))
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s differs from what was recorded; make golden writes:\n%s",
			name, clip(string(text))))
	}
	return errors.Join(wrong...)
}

// record is the text of an example.
func (r *recorder) record(sent *request, got *reply) ([]byte, error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true))
	w := &exampleWriter{recorder: r, enc: enc}
	w.open("request")
	w.member("method", sent.method)
	w.member("target", r.text("", sent.target))
	if len(sent.body) > 0 {
		w.body(sent.body)
	}
	w.close()
	w.name("response")
	w.token(jsontext.BeginObject)
	w.name("status")
	w.token(jsontext.Int(int64(got.status)))
	w.body(got.body)
	w.close()
	w.close()
	return out.Bytes(), w.err
}

// exampleWriter writes an example, its members in the order in which they were sent.
type exampleWriter struct {
	recorder *recorder
	enc      *jsontext.Encoder
	err      error
}

func (w *exampleWriter) token(token jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(token)
	}
}

func (w *exampleWriter) name(name string) { w.token(jsontext.String(name)) }

func (w *exampleWriter) open(name string) {
	w.token(jsontext.BeginObject)
	w.name(name)
	w.token(jsontext.BeginObject)
}

func (w *exampleWriter) close() { w.token(jsontext.EndObject) }

func (w *exampleWriter) member(name, value string) {
	w.name(name)
	w.token(jsontext.String(value))
}

func (w *exampleWriter) body(text []byte) {
	w.name("body")
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if w.err == nil {
		w.err = w.copy(dec, "")
	}
}

// copy copies one value, which is that of the member of this name.
func (w *exampleWriter) copy(dec *jsontext.Decoder, name string) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch kind := token.Kind(); {
	case kind == '{' || kind == '[':
		w.token(token)
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			inner := name
			if kind == '{' {
				member, err := dec.ReadToken()
				if err != nil {
					return err
				}
				inner = member.String()
				w.name(w.recorder.text("", inner))
				if name == "sections" {
					inner = name
				}
			}
			if err := w.copy(dec, inner); err != nil {
				return err
			}
		}
		if token, err = dec.ReadToken(); err != nil {
			return err
		}
		w.token(token)
	case kind == '"':
		w.token(jsontext.String(w.recorder.text(name, token.String())))
	case kind == '0' && name == "uptime_seconds":
		w.token(jsontext.Int(stepSeconds))
	case kind == '0' && name == "search_waiting":
		w.token(jsontext.Int(0))
	default:
		w.token(token)
	}
	return w.err
}

// fromBase64 are the members that hold bytes nobody can foresee.
var fromBase64 = map[string]bool{
	"challenge": true, "public_key": true, "signature": true, "fingerprint": true,
	"credential": true, "next_cursor": true,
}

// text is a text without what differs from run to run. Once seen, a secret is known everywhere.
func (r *recorder) text(name, text string) string {
	if fromBase64[name] && text != "" {
		head := ""
		for _, prefix := range []string{"pws_", "SHA256:"} {
			if strings.HasPrefix(text, prefix) {
				head = prefix
			}
		}
		return head + r.named(text[len(head):], func(sum []byte) string {
			size := base64.RawURLEncoding.DecodedLen(len(text) - len(head))
			return base64.RawURLEncoding.EncodeToString(stretch(sum, size))
		})
	}
	if name == "last_used_at" || name == "last_seen_at" {
		// These are noted once in a while only.
		return exampleTime(len(r.starts) - 1)
	}
	if name == "sections" {
		return r.named(text, func(sum []byte) string { return fmt.Sprintf("%x", sum) })
	}
	for _, part := range longPart.FindAllString(text, -1) {
		if instead, known := r.names[part]; known {
			text = strings.ReplaceAll(text, part, instead)
		}
	}
	text = anyTime.ReplaceAllStringFunc(text, r.time)
	return anyID.ReplaceAllStringFunc(text, func(public string) string {
		prefix, _, _ := strings.Cut(public, "_")
		return r.named(public, func(sum []byte) string {
			made := id.New(exampleStart.UnixMilli()+int64(r.serial), [10]byte(sum))
			return made.Format(id.Prefix(prefix + "_"))
		})
	})
}

// longPart is what a secret may be inside of another text.
var longPart = regexp.MustCompile(`[A-Za-z0-9_-]{22,}`)

// named is the text that stands for another one, made when it is first seen.
func (r *recorder) named(text string, made func(sum []byte) string) string {
	instead, known := r.names[text]
	if !known {
		r.serial++
		sum := sha256.Sum256(fmt.Appendf(nil, "example %d", r.serial))
		instead = made(sum[:])
		r.names[text] = instead
	}
	return instead
}

// stretch is as many bytes as are asked for, made of a few.
func stretch(sum []byte, size int) []byte {
	var out []byte
	for len(out) < size {
		next := sha256.Sum256(append(sum[:len(sum):len(sum)], byte(len(out))))
		out = append(out, next[:]...)
	}
	return out[:size]
}

// time is a moment counted from the recorded request before it. What lies ahead keeps its distance,
// in whole steps.
func (r *recorder) time(text string) string {
	if instead, known := r.names[text]; known {
		return instead
	}
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	at := moment.UnixMilli()
	step := len(r.starts) - 1
	for step > 0 && r.starts[step] > at {
		step--
	}
	if ahead := at - r.starts[step]; ahead > 0 {
		// The clock runs on between the requests, by less than half a step.
		step += int((ahead + stepMillis/2) / stepMillis)
	}
	instead := exampleTime(step)
	r.names[text] = instead
	return instead
}

// exampleTime is so many steps behind the start.
func exampleTime(steps int) string {
	return exampleStart.Add(time.Duration(steps) * stepSeconds * time.Second).
		Format("2006-01-02T15:04:05.000Z")
}
