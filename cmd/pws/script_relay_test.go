package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// relay is a hostile server that passes what it is asked on to the server of its script, to get
// sessions there.
type relay struct {
	*httptest.Server

	mu struct {
		sync.Mutex
		to, mode string
		// opened counts the sessions that it has got.
		opened int
	}
}

// openRelay starts the relay of a script, and sets the variable relay to its URL.
//
//	relay           passes requests on
//	relay host      passes them on with the name of its own host
//	relay swapped   answers a registration with the challenge of a session
//	relay got N     fails unless it has got N sessions
func (s *script) openRelay(ts *testscript.TestScript, args []string) error {
	if s.server == nil {
		return errors.New("no server runs")
	}
	if s.relay == nil {
		s.relay = new(relay)
		s.relay.Server = httptest.NewServer(s.relay)
		ts.Defer(s.relay.Close)
		s.set(ts, "relay", s.relay.URL)
	}
	mode := strings.Join(args, " ")
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	if count, asked := strings.CutPrefix(mode, "got "); asked {
		if got := fmt.Sprint(s.relay.mu.opened); got != count {
			return fmt.Errorf("the relay has got %s sessions", got)
		}
		return nil
	}
	s.relay.mu.to, s.relay.mu.mode = "http://"+s.server.address, mode
	return nil
}

// ServeHTTP implements http.Handler.
func (r *relay) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(asked.Body)
	if err != nil {
		return
	}
	host := ""
	if r.mu.mode == "host" {
		host = asked.Host
	}
	status, answer := r.pass(asked, host, asked.URL.Path, body)
	if r.mu.mode == "swapped" && strings.HasSuffix(asked.URL.Path, "/register/start") {
		var known struct {
			Error struct {
				Details struct {
					AgentID string `json:"agent_id"`
					KeyID   string `json:"key_id"`
				} `json:"details"`
			} `json:"error"`
		}
		of := &known.Error.Details
		if json.Unmarshal(answer, &known) == nil && of.KeyID != "" {
			status, answer = r.pass(asked, host, "/api/v1/auth/challenge",
				[]byte(`{"agent_id":"`+of.AgentID+`","key_id":"`+of.KeyID+`"}`))
		}
	}
	if status == http.StatusCreated && strings.HasSuffix(asked.URL.Path, "/auth/session") {
		r.mu.opened++
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// pass asks the server, with the name of a host unless that is empty.
func (r *relay) pass(
	asked *http.Request, host, path string, body []byte,
) (status int, answer []byte) {
	out, err := http.NewRequestWithContext(asked.Context(), asked.Method, r.mu.to+path,
		bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway, nil
	}
	out.Header, out.Host = asked.Header.Clone(), host
	out.Header.Del("Accept-Encoding")
	got, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return http.StatusBadGateway, nil
	}
	defer func() { _ = got.Body.Close() }()
	answer, err = io.ReadAll(got.Body)
	if err != nil {
		return http.StatusBadGateway, nil
	}
	return got.StatusCode, answer
}
