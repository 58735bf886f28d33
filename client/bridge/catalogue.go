package bridge

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// A server of another version, or one that names another address, describes itself otherwise than
// this program does. So after each answer that was made here the server is asked too, and what it
// says otherwise is kept for the next process.

// describedMax bounds the requests whose results a server is asked for.
const describedMax = 32

// Catalogue keeps what servers say of themselves, beyond the process.
type Catalogue interface {
	// Read returns what was written last for a server, nil for nothing.
	Read(server string) []byte
	Write(server string, content []byte) error
}

// catalogue has the results of one server that differ from those of this program.
type catalogue struct {
	server  string
	results map[string]string
	// asked are the requests whose results the server was asked for.
	asked map[string]bool
}

// open reads the catalogue of a server, unless it is that of before.
func (c *catalogue) open(server string, from Catalogue) {
	if c.results != nil && c.server == server {
		return
	}
	*c = catalogue{server: server, results: map[string]string{}, asked: map[string]bool{}}
	if json.Unmarshal(from.Read(server), &c.results) != nil {
		c.results = map[string]string{}
	}
	maps.DeleteFunc(c.results, func(_, result string) bool {
		return !jsontext.Value(result).IsValid(lenient)
	})
}

// described is what a request asks for, equal for requests with the same result.
func (m *message) described(query string) string {
	text := m.method + " " + query + " " + m.protocol + m.initial
	if m.modern {
		text += " modern"
	}
	return text
}

// resultOf is the result in an answer, nil for errors.
func (m *message) resultOf(answer []byte) []byte {
	rest, _ := bytes.CutPrefix(answer, []byte(`{"jsonrpc":"2.0","id":`))
	rest, _ = bytes.CutPrefix(rest, m.id)
	rest, found := bytes.CutPrefix(rest, []byte(`,"result":`))
	if !found {
		return nil
	}
	return bytes.TrimSuffix(rest, []byte("}"))
}

// asServer returns what the server last answered instead of the answer of this program, and asks it
// behind. Pings and errors are not asked for.
func (s *session) asServer(m *message, server string, answer []byte) []byte {
	own := m.resultOf(answer)
	if s.cfg.Catalogue == nil || own == nil || m.method == "ping" {
		return answer
	}
	what := m.described(s.cfg.Query)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.catalogue
	known.open(server, s.cfg.Catalogue)
	if !known.asked[what] && len(known.asked) < describedMax {
		known.asked[what] = true
		s.helpers.Go(func() { s.learn(m, server, what, own) })
	}
	if said, found := known.results[what]; found {
		return bytes.Join([][]byte{
			[]byte(`{"jsonrpc":"2.0","id":`), m.id, []byte(`,"result":`), []byte(said), []byte(`}`),
		}, nil)
	}
	return answer
}

// learn asks the server for a result, and keeps it if it is not the one of this program.
func (s *session) learn(m *message, server, what string, own []byte) {
	said, err := s.result(s.behind, m)
	if err != nil || said == nil {
		s.cfg.Log.Debug("the server did not describe itself", slog.String("method", m.method),
			slog.Any("error", err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.catalogue
	if known.server != server {
		return
	}
	before := maps.Clone(known.results)
	if bytes.Equal(said, own) {
		delete(known.results, what)
	} else {
		known.results[what] = string(said)
	}
	if maps.Equal(before, known.results) {
		return
	}
	if err := s.cfg.Catalogue.Write(server, marshal(known.results)); err != nil {
		s.cfg.Log.Debug("the catalogue was not kept", slog.String("error", err.Error()))
	}
}

// result is that of the server, nil if it answers with an error.
func (b *Bridge) result(ctx context.Context, m *message) ([]byte, error) {
	said, err := b.once(ctx, m, b.requestOf(m))
	if err != nil {
		return nil, err
	}
	return m.resultOf(said), nil
}

// requestOf is a message as a request to the endpoint.
func (b *Bridge) requestOf(m *message) *client.Request {
	request := &client.Request{
		Method: http.MethodPost, Path: "/mcp?" + b.cfg.Query, Body: m.line,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
	for name, value := range m.headers() {
		request.Header.Set(name, value)
	}
	return request
}
