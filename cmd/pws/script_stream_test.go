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

// following is an open stream of events.
type following struct {
	answer *http.Response
	lines  *bufio.Reader
}

// pending is a request whose answer has not been asked for yet.
type pending struct {
	sent  *request
	reply chan *reply
	err   error
}

// follow opens a stream of events as the current caller, which heard and over then read.
//
//	follow NAME [-h HEADER] TARGET
func (s *script) follow(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: follow NAME [-h HEADER] TARGET")
	}
	sent, _, rest, err := s.options(args[1:])
	if err != nil || len(rest) != 1 {
		return fmt.Errorf("follow: %v", err)
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
	stream := &following{answer: answer, lines: bufio.NewReader(answer.Body)}
	h := answer.Header
	if answer.StatusCode != 200 || h.Get("Content-Type") != "text/event-stream" ||
		h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-store" ||
		!requestIDPattern.MatchString(h.Get("X-Request-Id")) {
		return mismatchf("%d with the headers %v", answer.StatusCode, h)
	}
	if first, err := stream.block(); err != nil || first["retry"] == "" {
		return mismatchf("the stream begins with %v: %v", first, err)
	}
	if s.following == nil {
		s.following = map[string]*following{}
	}
	s.following[args[0]] = stream
	return nil
}

// block is what precedes the next empty line: the fields by their names, comments under none.
func (f *following) block() (map[string]string, error) {
	fields := map[string]string{}
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return fields, err
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return fields, nil
		}
		name, value, _ := strings.Cut(line, ":")
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%q is twice in %v", name, fields)
		}
		fields[name] = strings.TrimPrefix(value, " ")
	}
}

// heard reads the next event of a stream and expects its type. The event is then the answer that
// match, get and so on look at: id and data.
//
//	heard NAME TYPE
func (s *script) heard(_ *testscript.TestScript, args []string) error {
	stream := s.following[args[0]]
	for {
		fields, err := stream.block()
		if err != nil {
			return fmt.Errorf("nothing else is received: %w", err)
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

// over expects a stream to be at its end, which a comment announces.
//
//	over NAME CODE
func (s *script) over(_ *testscript.TestScript, args []string) error {
	stream := s.following[args[0]]
	for {
		fields, err := stream.block()
		if err != nil {
			return fmt.Errorf("the end is not announced: %w", err)
		}
		if comment, only := fields[""]; only && comment == "" && len(fields) == 1 {
			continue
		}
		if len(fields) != 1 || fields[""] != args[1] {
			return mismatchf("the stream says %v", fields)
		}
		if _, err := stream.lines.ReadByte(); err == nil || err.Error() != "EOF" {
			return mismatchf("behind its end: %v", err)
		}
		return s.leave(nil, args[:1])
	}
}

// endFollowing ends what a script has left open.
func (s *script) endFollowing() {
	for _, stream := range s.following {
		_ = stream.answer.Body.Close()
	}
	for _, one := range s.pending {
		<-one.reply
	}
}

// leave goes away from a stream.
//
//	leave NAME
func (s *script) leave(_ *testscript.TestScript, args []string) error {
	stream := s.following[args[0]]
	delete(s.following, args[0])
	return stream.answer.Body.Close()
}

// later sends a request as the current caller and does not wait for its answer; then does.
//
//	later NAME METHOD TARGET
//	then NAME STATUS [CODE]
func (s *script) later(_ *testscript.TestScript, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: later NAME METHOD TARGET")
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

func (s *script) then(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: then NAME STATUS [CODE]")
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
