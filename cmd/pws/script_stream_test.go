package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"pws/api"
	"pws/api/jsonschema"
)

// eventStream is an open stream of events.
type eventStream struct {
	answer *http.Response
	lines  *bufio.Reader
}

// pending is a request whose response has not been checked yet.
type pending struct {
	sent  *request
	reply chan *reply
	err   error
}

// openStream opens a stream of events as the current caller.
//
//	open-stream NAME [-h HEADER] TARGET
func (s *script) openStream(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: open-stream NAME [-h HEADER] TARGET")
	}
	sent, _, rest, err := s.options(args[1:])
	if err != nil || len(rest) != 1 {
		return fmt.Errorf("open-stream: %v", err)
	}
	sent.method, sent.target = "GET", s.target(rest[0])
	sent.headers = append(sent.headers, "Accept: text/event-stream", "Accept-Encoding: gzip")
	made, err := s.made(sent)
	if err != nil {
		return err
	}
	answer, err := s.client.http.Do(made)
	if err != nil {
		return err
	}
	stream := &eventStream{answer: answer, lines: bufio.NewReader(answer.Body)}
	h := answer.Header
	if answer.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" ||
		h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-store" ||
		!requestIDPattern.MatchString(h.Get("X-Request-Id")) {
		return mismatchf("%d with the headers %v", answer.StatusCode, h)
	}
	if first, err := stream.block(); err != nil || first["retry"] == "" {
		return mismatchf("the stream begins with %v: %v", first, err)
	}
	if s.streams == nil {
		s.streams = map[string]*eventStream{}
	}
	s.streams[args[0]] = stream
	return nil
}

// block reads to the next empty line and returns the fields by name. A comment has an empty name.
func (e *eventStream) block() (map[string]string, error) {
	fields := map[string]string{}
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return fields, err
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return fields, nil
		}
		name, value, _ := strings.Cut(line, ":")
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("duplicate field %q in %v", name, fields)
		}
		fields[name] = strings.TrimPrefix(value, " ")
	}
}

// expectEvent reads the next event of a stream and checks its type. The commands that inspect the
// last answer (match, get, …) then see its id and data.
//
//	expect-event NAME TYPE
func (s *script) expectEvent(_ *testscript.TestScript, args []string) error {
	stream := s.streams[args[0]]
	for {
		fields, err := stream.block()
		if err != nil {
			return fmt.Errorf("no further event: %w", err)
		}
		if comment, only := fields[""]; only && comment == "" && len(fields) == 1 {
			continue
		}
		if len(fields) != 3 || fields["id"] == "" || fields["event"] != args[1] {
			return mismatchf("the next event is %v", fields)
		}
		event, err := validator.UnmarshalJSON(bytes.NewReader([]byte(fields["data"])))
		if err != nil {
			return err
		}
		if problem := validate(reflect.TypeFor[api.Event](), jsonschema.Response, event); problem != "" {
			return errors.New("data: " + problem)
		}
		id, err := json.Marshal(fields["id"])
		if err != nil {
			return err
		}
		s.last = &reply{method: "GET", target: "the stream " + args[0], status: 200, body: fmt.Appendf(
			nil, `{"id":%s,"data":%s}`, id, fields["data"])}
		s.last.decode()
		if got, _ := s.last.at("data.type"); textOf(got) != args[1] {
			return mismatchf("the type in the data is %v", got)
		}
		return nil
	}
}

// expectStreamEnd checks that the stream ends, and that a comment before the end has the code.
//
//	expect-stream-end NAME CODE
func (s *script) expectStreamEnd(_ *testscript.TestScript, args []string) error {
	stream := s.streams[args[0]]
	for {
		fields, err := stream.block()
		if err != nil {
			return fmt.Errorf("no code before the end of the stream: %w", err)
		}
		if comment, only := fields[""]; only && comment == "" && len(fields) == 1 {
			continue
		}
		if len(fields) != 1 || fields[""] != args[1] {
			return mismatchf("the last comment is %v", fields)
		}
		if _, err := stream.lines.ReadByte(); err == nil || err.Error() != "EOF" {
			return mismatchf("data after the end of the stream: %v", err)
		}
		return s.closeStream(nil, args[:1])
	}
}

// closeStreams closes the open streams and waits for the pending requests.
func (s *script) closeStreams() {
	for _, stream := range s.streams {
		_ = stream.answer.Body.Close()
	}
	for _, one := range s.pending {
		<-one.reply
	}
}

// closeStream closes a stream from the client's side.
//
//	close-stream NAME
func (s *script) closeStream(_ *testscript.TestScript, args []string) error {
	stream := s.streams[args[0]]
	delete(s.streams, args[0])
	return stream.answer.Body.Close()
}

// startRequest sends a request as the current caller and does not wait; expectResponse does.
//
//	start-request NAME METHOD TARGET
//	expect-response NAME STATUS [CODE]
func (s *script) startRequest(_ *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: start-request NAME METHOD TARGET")
	}
	one := &pending{
		sent: &request{method: args[1], target: s.target(args[2])}, reply: make(chan *reply, 1),
	}
	if s.pending == nil {
		s.pending = map[string]*pending{}
	}
	s.pending[args[0]] = one
	made, err := s.made(one.sent)
	if err != nil {
		return err
	}
	go func() {
		defer close(one.reply)
		answer, err := s.client.http.Do(made)
		if err != nil {
			one.err = err
			return
		}
		defer answer.Body.Close()
		var got *reply
		got, one.err = s.read(one.sent, answer)
		one.reply <- got
	}()
	return nil
}

func (s *script) expectResponse(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: expect-response NAME STATUS [CODE]")
	}
	one := s.pending[args[0]]
	delete(s.pending, args[0])
	got := <-one.reply
	if one.err != nil {
		return one.err
	}
	s.last = got
	if problem := s.check(one.sent, got); problem != "" {
		return errors.New(problem)
	}
	if fmt.Sprint(got.status) != args[1] {
		return mismatchf("status %d, not %s", got.status, args[1])
	}
	code, _ := got.at("error.code")
	if len(args) > 2 && textOf(code) != args[2] {
		return mismatchf("code %s, not %s", textOf(code), args[2])
	}
	return nil
}
