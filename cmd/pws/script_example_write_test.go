package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/id"
)

// exampleStart is the time in an example at which its request began.
var exampleStart = time.Date(2026, 11, 20, 9, 6, 0, 0, time.UTC)

// example is a request and its answer while they are written to a file. IDs, secrets and times
// differ between runs, so they are replaced by values that depend only on the file: IDs and secrets
// by order of appearance within their kind, times by their order.
type example struct {
	// starts are the times when the requests of the script began, this one last. end is the time
	// when it ended.
	starts []int64
	end    int64
	// names maps IDs and secrets to their replacements; serials counts the replacements of each
	// kind.
	names   map[string]string
	serials map[string]int
	// steps are the requests (indexes into starts) that set the times in the file, sorted AFTER the
	// first pass.
	steps []int
	seen  bool
	// ends are the future times that are a known period after another time.
	ends map[int64]span
}

// span is a future time: a period after the request with this index in starts.
type span struct {
	step   int
	length time.Duration
}

// lengths are the expiry periods of the service.
var lengths = []time.Duration{
	time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour,
}

// record returns the text of an example. A first pass collects the times BEFORE the second one
// writes.
func (e *example) record(sent *request, got *reply) ([]byte, error) {
	e.steps, e.ends = []int{len(e.starts) - 1}, map[int64]span{}
	if err := e.write(io.Discard, sent, got); err != nil {
		return nil, err
	}
	slices.Sort(e.steps)
	e.steps, e.seen = slices.Compact(e.steps), true
	var out bytes.Buffer
	err := e.write(&out, sent, got)
	return out.Bytes(), err
}

func (e *example) write(to io.Writer, sent *request, got *reply) error {
	enc := jsontext.NewEncoder(to, jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true))
	w := &exampleWriter{example: e, enc: enc}
	w.open("request")
	w.member("method", sent.method)
	w.member("target", e.text("", sent.target))
	w.headers(sent.headers)
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
	return w.err
}

// exampleWriter writes an example and keeps the order of the members.
type exampleWriter struct {
	example *example
	enc     *jsontext.Encoder
	err     error
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

// headers writes the conditions of a request. A tag differs between runs, so that a constant one
// stands for it.
func (w *exampleWriter) headers(sent []string) {
	for _, header := range sent {
		name, value, _ := strings.Cut(header, ": ")
		if name != "If-Match" {
			continue
		}
		if value != "*" {
			value = `"0123456789abcdef"`
		}
		w.name("headers")
		w.token(jsontext.BeginObject)
		w.member(name, value)
		w.close()
	}
}

func (w *exampleWriter) body(text []byte) {
	w.name("body")
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if w.err == nil {
		w.err = w.copy(dec, "")
	}
}

// copy copies one value, the value of the member with this name.
func (w *exampleWriter) copy(dec *jsontext.Decoder, name string) error {
	if dec.PeekKind() == '{' {
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		w.example.pair(value)
		dec = jsontext.NewDecoder(bytes.NewReader(value))
	}
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
				w.name(w.example.text("", inner))
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
		w.token(jsontext.String(w.example.text(name, token.String())))
	case kind == '0' && name == "uptime_seconds":
		w.token(jsontext.Int(20))
	case kind == '0' && name == "seconds_left":
		w.token(jsontext.Int(1790))
	case kind == '0' && name == "session_seconds_left":
		w.token(jsontext.Int(3540))
	case kind == '0' && name == "search_waiting":
		w.token(jsontext.Int(0))
	default:
		w.token(token)
	}
	return w.err
}

// fromBase64 are the members that contain random bytes, and how many.
var fromBase64 = map[string]int{
	"challenge": 32, "public_key": 32, "signature": 64, "fingerprint": 32, "credential": 32,
	"next_cursor": 42,
}

// text replaces what differs between runs. A secret that was replaced once is replaced everywhere.
func (e *example) text(name, text string) string {
	if size := fromBase64[name]; size > 0 && text != "" {
		head := ""
		for _, prefix := range []string{"pws_", "SHA256:"} {
			if strings.HasPrefix(text, prefix) {
				head = prefix
			}
		}
		return head + e.secret(name, text[len(head):], size)
	}
	if name == "last_used_at" || name == "last_seen_at" {
		// The service updates these only once in a while.
		return exampleTime(0)
	}
	if name == "date" {
		return e.date(text)
	}
	if name == "sections" {
		return e.named(name, text, func(_ int, sum []byte) string { return fmt.Sprintf("%x", sum) })
	}
	if _, code, is := strings.Cut(text, "/ui/login#"); is && name == "url" {
		public, mac, _ := strings.Cut(code, ".")
		return "https://work.example/ui/login#" + e.id(public) + "." + e.secret("code", mac, 32)
	}
	if signed, _, is := strings.Cut(text, "|http://"); is && name == "signing_payload" {
		text = signed + "|https://work.example"
	}
	text = longPart.ReplaceAllStringFunc(text, func(part string) string {
		if instead, known := e.names[part]; known {
			return instead
		}
		if isSecret(part) {
			return e.secret("", part, base64.RawURLEncoding.DecodedLen(len(part)))
		}
		return anyID.ReplaceAllStringFunc(part, e.id)
	})
	return anyTime.ReplaceAllStringFunc(text, e.time)
}

// longPart matches parts of a text that may be secrets or IDs.
var longPart = regexp.MustCompile(`[A-Za-z0-9_-]{22,}`)

// isSecret reports whether a part of a text is 32 or 64 bytes in base64, such as a key, a
// fingerprint or a challenge. Hashes of contents are lower case.
func isSecret(part string) bool {
	return (len(part) == 43 || len(part) == 86) && part != strings.ToLower(part) &&
		part != strings.ToUpper(part)
}

func (e *example) secret(kind, text string, size int) string {
	return e.named(kind, text, func(_ int, sum []byte) string {
		return base64.RawURLEncoding.EncodeToString(stretch(sum, size))
	})
}

func (e *example) id(public string) string {
	prefix, _, _ := strings.Cut(public, "_")
	return e.named(prefix, public, func(serial int, sum []byte) string {
		made := id.New(exampleStart.UnixMilli()+int64(serial), [10]byte(sum))
		return made.Format(id.Prefix(prefix + "_"))
	})
}

// named returns the replacement of a text, which is made on first use.
func (e *example) named(kind, text string, made func(serial int, sum []byte) string) string {
	instead, known := e.names[text]
	if !known {
		e.serials[kind]++
		sum := sha256.Sum256(fmt.Appendf(nil, "example %s %d", kind, e.serials[kind]))
		instead = made(e.serials[kind], sum[:])
		e.names[text] = instead
	}
	return instead
}

// stretch expands a hash to the given number of bytes.
func stretch(sum []byte, size int) []byte {
	var out []byte
	for len(out) < size {
		next := sha256.Sum256(append(sum[:len(sum):len(sum)], byte(len(out))))
		out = append(out, next[:]...)
	}
	return out[:size]
}

// ahead reports whether a time is in the future. The margin covers the times at which rate limits
// have refilled, which are less than a second ahead.
func (e *example) ahead(at int64) bool {
	const margin = 5000
	return at > e.end+margin
}

// step is the request that set a time.
func (e *example) step(at int64) int {
	after, _ := slices.BinarySearch(e.starts, at+1)
	return max(after-1, 0)
}

// pair finds times in an object that are a known period after another one.
func (e *example) pair(object jsontext.Value) {
	var times []int64
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	for _, _ = dec.ReadToken(); dec.PeekKind() == '"'; {
		_, _ = dec.ReadToken()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		moment, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(value))
		if err == nil {
			times = append(times, moment.UnixMilli())
		}
	}
	for _, from := range times {
		for _, to := range times {
			length := time.Duration(to-from) * time.Millisecond
			if !e.ahead(from) && e.ahead(to) && slices.Contains(lengths, length) {
				e.ends[to] = span{e.step(from), length}
			}
		}
	}
}

// time replaces a time. Past times become one minute apart, in their order. A future time keeps its
// distance from the time that it was computed from, or gets the shortest known period that fits.
func (e *example) time(text string) string {
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	at := moment.UnixMilli()
	last := len(e.starts) - 1
	if !e.ahead(at) {
		step := e.step(at)
		if !e.seen {
			e.steps = append(e.steps, step)
		}
		return exampleTime(e.place(step))
	}
	end, known := e.ends[at]
	if !known {
		end.step = last
		for _, end.length = range lengths {
			if at-e.end <= end.length.Milliseconds() {
				break
			}
		}
	}
	return exampleTime(e.place(end.step), end.length)
}

// place is minus the number of later times in the file.
func (e *example) place(step int) int {
	at, _ := slices.BinarySearch(e.steps, step)
	return at + 1 - len(e.steps)
}

// date is a day as far from the start as it was from the request.
func (e *example) date(text string) string {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	const hours = 24 * time.Hour
	asked := time.UnixMilli(e.starts[len(e.starts)-1]).Truncate(hours)
	return exampleStart.Truncate(hours).Add(day.Sub(asked)).Format(time.DateOnly)
}

// exampleTime is the start plus so many minutes and the given durations.
func exampleTime(minutes int, more ...time.Duration) string {
	moment := exampleStart.Add(time.Duration(minutes) * time.Minute)
	for _, one := range more {
		moment = moment.Add(one)
	}
	return moment.Format("2006-01-02T15:04:05.000Z")
}
