package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
)

// The command that most lines of a script use:
//
//	api [-h 'Name: value'] [-k KEY] [-z CODING] [-get NAME=PATH] METHOD TARGET [BODY] STATUS [CODE]
//
// It sends a request as the current caller and expects a status and, for an error, a code. A target
// without a leading slash is below /api/v1/. A body is JSON in single quotes, @FILE, or =FILE.
// Variables ($name, ${name}) are replaced in the target and the body, except in the contents of
// @FILE. Where an operation needs an Idempotency-Key, or takes one and is sent to a group, and -k
// gives none, a new one is sent; -k none sends none. -z codes the body with gzip or zstd. -get
// stores a value of the answer in a variable.
//
// Every answer is also checked against the declaration of its operation, in script_check_test.go.

// request is an HTTP request of a script.
type request struct {
	method, target string
	headers        []string
	body           []byte
	// coding is the content coding with which the body is sent, empty for none.
	coding string
}

// reply is an answer with its decoded body.
type reply struct {
	method, target string
	status         int
	header         http.Header
	body           []byte
	json           any
}

type client struct {
	http *http.Client
	zstd *zstd.Decoder
}

func newClient() *client {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return &client{
		zstd: decoder,
		http: &http.Client{
			Timeout: patience,
			Transport: &http.Transport{
				DisableCompression: true, MaxIdleConnsPerHost: 16, ExpectContinueTimeout: patience,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
}

func (c *client) idle() { c.http.CloseIdleConnections() }

func (c *client) close() {
	c.idle()
	c.zstd.Close()
}

// api sends one request.
func (s *script) api(ts *testscript.TestScript, args []string) error {
	sent, keep, rest, err := s.options(args)
	if err != nil {
		return err
	}
	if len(rest) < 3 {
		return errors.New("usage: api [-h HEADER] [-k KEY] METHOD TARGET [BODY] STATUS [CODE]")
	}
	sent.method, sent.target = rest[0], s.target(rest[1])
	rest = rest[2:]
	if !statusPattern.MatchString(rest[0]) {
		if sent.body, err = s.bodyOf(rest[0]); err != nil {
			return err
		}
		rest = rest[1:]
	}
	status, err := strconv.Atoi(rest[0])
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	code := ""
	if len(rest) > 1 {
		code = rest[1]
	}
	if err := s.tick(ts); err != nil {
		return err
	}
	s.sent = sent
	if err := s.expect(sent, status, code); err != nil {
		return err
	}
	for name, path := range keep {
		value, ok := s.last.at(path)
		if !ok {
			return fmt.Errorf("the answer has no %s", path)
		}
		s.set(ts, name, textOf(value))
	}
	return nil
}

// set sets a variable, also for the commands of testscript if it is small enough for them.
func (s *script) set(ts *testscript.TestScript, name, value string) {
	const environmentMax = 4 << 10
	s.vars[name] = value
	if len(value) <= environmentMax && !strings.Contains(value, "\x00") {
		ts.Setenv(name, value)
	}
}

var statusPattern = regexp.MustCompile(`^[1-5][0-9][0-9]$`)

// options parses the options of the command api.
func (s *script) options(args []string) (*request, map[string]string, []string, error) {
	sent, keep := &request{}, map[string]string{}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch value := s.expand(args[1]); args[0] {
		case "-h":
			sent.headers = append(sent.headers, value)
		case "-k":
			sent.headers = append(sent.headers, "Idempotency-Key: "+value)
		case "-z":
			sent.coding = value
		case "-get":
			name, path, _ := strings.Cut(value, "=")
			keep[name] = path
		default:
			return nil, nil, nil, fmt.Errorf("unknown option %s", args[0])
		}
		args = args[2:]
	}
	return sent, keep, args, nil
}

func (s *script) target(text string) string {
	text = s.expand(text)
	if strings.HasPrefix(text, "/") || text == "*" {
		return text
	}
	return "/api/v1/" + text
}

func (s *script) bodyOf(text string) ([]byte, error) {
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		return os.ReadFile(s.work + "/" + name)
	}
	if name, isTemplate := strings.CutPrefix(text, "="); isTemplate {
		template, err := os.ReadFile(s.work + "/" + name)
		return []byte(s.expand(string(template))), err
	}
	return []byte(s.expand(text)), nil
}

var variablePattern = regexp.MustCompile(`\$(\{[A-Za-z0-9_]+\}|[A-Za-z][A-Za-z0-9_]*)`)

// expand replaces variables. A variable's value may contain other variables.
func (s *script) expand(text string) string {
	return variablePattern.ReplaceAllStringFunc(text, func(name string) string {
		value, known := s.vars[strings.Trim(name, "${}")]
		if !known {
			return name
		}
		if strings.Contains(value, "$") {
			return s.expand(value)
		}
		return value
	})
}

// expect sends a request and checks the answer.
func (s *script) expect(sent *request, status int, code string) error {
	got, err := s.send(sent)
	if err != nil {
		return err
	}
	s.last = got
	if problem := s.check(sent, got); problem != "" {
		return errors.New(problem)
	}
	if err := got.is(status, code); err != nil || status < http.StatusBadRequest {
		return err
	}
	return s.followStep(got)
}

func (r *reply) is(status int, code string) error {
	if r.status != status {
		return mismatchf("status %d, not %d", r.status, status)
	}
	if code == "" && status >= 400 && r.method != "HEAD" {
		return errors.New("say which error code is expected")
	}
	if got, _ := r.at("error.code"); code != "" && textOf(got) != code {
		return mismatchf("code %s, not %s", textOf(got), code)
	}
	return nil
}

// send sends one request as the current caller.
func (s *script) send(sent *request) (*reply, error) {
	made, err := s.made(sent)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.http.Do(made)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return s.read(sent, answer)
}

// made returns the HTTP request with the headers of the current caller.
func (s *script) made(sent *request) (*http.Request, error) {
	if s.server == nil {
		return nil, errors.New("no server runs")
	}
	target, err := url.Parse("http://" + s.server.address)
	if err != nil {
		return nil, err
	}
	target.Opaque = sent.target
	made := &http.Request{
		Method: sent.method, URL: target, Host: s.server.address, Header: http.Header{},
		ProtoMajor: 1, ProtoMinor: 1,
	}
	if sent.body != nil {
		body, err := coded(sent.body, sent.coding)
		if err != nil {
			return nil, err
		}
		made.Body = nopCloser{bytes.NewReader(body)}
		made.ContentLength = int64(len(body))
		made.Header["Content-Type"] = []string{"application/json"}
		if sent.coding != "" {
			made.Header["Content-Encoding"] = []string{sent.coding}
		}
	}
	s.fillHeaders(made, sent)
	return made, nil
}

// coded returns a body with a content coding.
func coded(body []byte, coding string) ([]byte, error) {
	var out bytes.Buffer
	var packer io.WriteCloser
	switch coding {
	case "":
		return body, nil
	case "gzip":
		packer = gzip.NewWriter(&out)
	case "zstd":
		var err error
		if packer, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown coding %s", coding)
	}
	_, err := packer.Write(body)
	err = errors.Join(err, packer.Close())
	return out.Bytes(), err
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// fillHeaders sets the credential, the key if one is needed, and the headers of the script. An
// empty value removes a header.
func (s *script) fillHeaders(made *http.Request, sent *request) {
	if s.caller != "" {
		made.Header.Set("Authorization", "Bearer "+s.agents[s.caller].credential)
	}
	named := slices.ContainsFunc(sent.headers, func(header string) bool {
		return strings.HasPrefix(header, "Idempotency-Key:")
	})
	if !named && s.addsKey(operationOf(sent.method, sent.target)) {
		s.serial++
		made.Header.Set("Idempotency-Key", fmt.Sprintf("script-%d", s.serial))
	}
	seen := map[string]bool{}
	for _, header := range sent.headers {
		name, value, _ := strings.Cut(header, ":")
		value = strings.TrimSpace(value)
		name = http.CanonicalHeaderKey(name)
		if !seen[name] {
			made.Header.Del(name)
		}
		seen[name] = true
		if value != "" && (name != "Idempotency-Key" || value != "none") {
			made.Header.Add(name, value)
		}
	}
}

// addsKey reports whether a request for an operation is sent with a new key: one that needs a key,
// and each write to a group, which without a key may be answered OUTCOME_UNKNOWN whenever an
// election comes between.
func (s *script) addsKey(op *api.Operation) bool {
	if op == nil || op.Idempotency == api.NoKey {
		return false
	}
	return needsKey(op) || s.members != nil
}

func (s *script) read(sent *request, answer *http.Response) (*reply, error) {
	body, err := copyOf(answer.Body)
	if err != nil {
		return nil, err
	}
	got := &reply{
		method: sent.method, target: sent.target, status: answer.StatusCode,
		header: answer.Header,
	}
	switch answer.Header.Get("Content-Encoding") {
	case "":
	case "zstd":
		if body, err = s.client.zstd.DecodeAll(body, nil); err != nil {
			return nil, err
		}
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body, err = copyOf(unpacked); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("Content-Encoding %s", answer.Header.Get("Content-Encoding"))
	}
	got.body = body
	got.decode()
	return got, nil
}

// raw sends bytes unchanged and checks the first answer. The text may contain Go escape sequences.
// With -closed, the server must close the connection after the answer; with -end, the client closes
// its sending side after the text.
//
//	raw [-closed] [-end] TEXT|@FILE STATUS [CODE]
func (s *script) raw(_ *testscript.TestScript, args []string) error {
	closed, end := false, false
	for len(args) > 0 && (args[0] == "-closed" || args[0] == "-end") {
		closed, end = closed || args[0] == "-closed", end || args[0] == "-end"
		args = args[1:]
	}
	if len(args) < 2 {
		return errors.New("usage: raw [-closed] [-end] TEXT|@FILE STATUS [CODE]")
	}
	text := s.expand(args[0])
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		data, err := os.ReadFile(s.work + "/" + name)
		if err != nil {
			return err
		}
		text = string(data)
	} else {
		unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(text, `"`, `\"`) + `"`)
		if err != nil {
			return err
		}
		text = unquoted
	}
	status, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	code := ""
	if len(args) > 2 {
		code = args[2]
	}
	return s.exchange(text, closed, end, status, code)
}

// exchange writes a text to a new connection and reads one answer.
func (s *script) exchange(text string, closed, end bool, status int, code string) error {
	conn, err := net.Dial("tcp", s.server.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	// A server that refuses early may close the connection BEFORE it has read everything. Its
	// answer still counts.
	_, writeErr := conn.Write([]byte(text))
	if half, ok := conn.(*net.TCPConn); ok && end {
		writeErr = errors.Join(writeErr, half.CloseWrite())
	}
	sent := &request{}
	line, _, _ := strings.Cut(text, "\r\n")
	if words := strings.Fields(line); len(words) > 1 {
		sent.method, sent.target = words[0], words[1]
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, &http.Request{Method: sent.method})
	if err != nil {
		return errors.Join(err, writeErr)
	}
	defer answer.Body.Close()
	if s.last, err = s.read(sent, answer); err != nil {
		return err
	}
	if problem := s.check(sent, s.last); problem != "" {
		return errors.New(problem)
	}
	if closed {
		if _, err := reader.ReadByte(); err == nil {
			return mismatchf("the connection stays open")
		}
	}
	return s.last.is(status, code)
}

// times repeats a command; $i counts from 1. Only the last request body is checked against its
// schema, because the bodies differ only in the number.
//
//	times N COMMAND ARG...
func (s *script) times(ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: times N COMMAND ARG...")
	}
	count, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	do, known := commands()[args[1]]
	if !known {
		return fmt.Errorf("unknown command %s", args[1])
	}
	for i := range count {
		s.vars["i"] = strconv.Itoa(i + 1)
		s.repeating = i+1 < count
		do(ts, false, args[2:])
	}
	return nil
}

// until repeats a command until a file matches a pattern; $i counts from 1.
//
//	until PATTERN COMMAND ARG...
func (s *script) until(ts *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: until PATTERN COMMAND ARG...")
	}
	do, known := commands()[args[1]]
	if !known {
		return fmt.Errorf("unknown command %s", args[1])
	}
	end := time.Now().Add(patience)
	for i := 1; time.Now().Before(end); i++ {
		s.vars["i"] = strconv.Itoa(i)
		do(ts, false, args[2:])
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) > 0 {
			return err
		}
	}
	return fmt.Errorf("no file matches %s", args[0])
}

// repeat sets a variable to N copies of a text; list separates them by commas. A # in the text is
// replaced by the number of the copy, from 1.
//
//	repeat NAME N TEXT
//	list NAME N TEXT
func (s *script) repeat(_ *testscript.TestScript, args []string) error { return s.copies(args, "") }

func (s *script) list(_ *testscript.TestScript, args []string) error { return s.copies(args, ",") }

func (s *script) copies(args []string, between string) error {
	if len(args) != 3 {
		return errors.New("usage: repeat|list NAME N TEXT")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if between == "" && !strings.Contains(args[2], "#") {
		s.vars[args[0]] = strings.Repeat(args[2], count)
		return nil
	}
	parts := make([]string, count)
	for i := range parts {
		parts[i] = strings.ReplaceAll(args[2], "#", strconv.Itoa(i+1))
	}
	s.vars[args[0]] = strings.Join(parts, between)
	return nil
}
