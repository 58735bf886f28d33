package main

import (
	"bufio"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of what pages follow:
//
//	listen NAME [-h 'Name: value'] [ADDRESS] STATUS
//	hear NAME REGEXP
//	deaf NAME
//
// Listen opens the stream that the last page names, with the cookies of the browser. Hear waits for
// the next event and sets the variable last to its ID. Deaf checks that the stream ends.

var streamPattern = regexp.MustCompile(`data-stream="([^"]+)"`)

func (s *script) listen(_ *testscript.TestScript, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: listen NAME [-h 'Name: value'] [ADDRESS] STATUS")
	}
	b, err := s.browser()
	if err != nil {
		return err
	}
	name, rest := args[0], args[1:]
	header := ""
	if len(rest) > 2 && rest[0] == "-h" {
		header, rest = s.expand(rest[1]), rest[2:]
	}
	address := rest[0]
	if len(rest) == 1 {
		found := streamPattern.FindStringSubmatch(b.page)
		if found == nil {
			return errors.New("the page follows nothing")
		}
		address = html.UnescapeString(found[1])
	}
	asked, err := http.NewRequest(http.MethodGet,
		"http://"+s.server.address+s.expand(address), nil)
	if err != nil {
		return err
	}
	asked.Header.Set("Accept", "text/event-stream")
	if key, value, given := strings.Cut(header, ": "); given {
		asked.Header.Set(key, value)
	}
	client := &http.Client{Jar: b.http.Jar}
	answer, err := client.Do(asked)
	if err != nil {
		return err
	}
	if fmt.Sprint(answer.StatusCode) != rest[len(rest)-1] {
		_ = answer.Body.Close()
		return fmt.Errorf("status %d, not %s", answer.StatusCode, rest[len(rest)-1])
	}
	if answer.StatusCode != http.StatusOK {
		return answer.Body.Close()
	}
	h := answer.Header
	if h.Get("Content-Type") != "text/event-stream" || h.Get("Access-Control-Allow-Origin") != "" ||
		h.Get("Cache-Control") != "no-store" {
		return fmt.Errorf("headers %v", h)
	}
	if s.streams == nil {
		s.streams = map[string]*eventStream{}
	}
	if old := s.streams[name]; old != nil {
		_ = old.answer.Body.Close()
	}
	s.streams[name] = &eventStream{answer: answer, lines: bufio.NewReader(answer.Body)}
	return nil
}

// within ends a stream that gives nothing for too long, so that reading it fails.
func within(stream *eventStream) (stop func() bool) {
	return time.AfterFunc(patience, func() { _ = stream.answer.Body.Close() }).Stop
}

func (s *script) hear(ts *testscript.TestScript, args []string) error {
	if len(args) != 2 || s.streams[args[0]] == nil {
		return errors.New("usage: hear NAME REGEXP, after listen")
	}
	pattern, err := regexp.Compile(s.expand(args[1]))
	if err != nil {
		return err
	}
	defer within(s.streams[args[0]])()
	for {
		line, err := s.streams[args[0]].lines.ReadString('\n')
		if err != nil {
			return err
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			s.set(ts, "last", strings.TrimSpace(id))
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if !pattern.MatchString(data) {
				return fmt.Errorf("not %s: %s", strconv.Quote(args[1]), data)
			}
			return nil
		}
	}
}

func (s *script) deaf(_ *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.streams[args[0]] == nil {
		return errors.New("usage: deaf NAME, after listen")
	}
	stream := s.streams[args[0]]
	delete(s.streams, args[0])
	stop := within(stream)
	for {
		line, err := stream.lines.ReadString('\n')
		if err != nil {
			if !stop() {
				return errors.New("the stream did not end")
			}
			return stream.answer.Body.Close()
		}
		if strings.HasPrefix(line, "data: ") {
			return errors.New("an event: " + line)
		}
	}
}
