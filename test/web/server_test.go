package webtest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pws/api"
	"pws/bench/child"
	"pws/bench/client"
)

// server is a program that runs for tests, with a clock that they move.
type server struct {
	url   string
	data  string
	child *child.Process
	// more are further arguments of the program.
	more   []string
	agents map[string]*agent
}

// running are the servers that several tests share.
var running struct {
	sync.Mutex
	all []*server
}

// share keeps a server until all tests have ended.
func share(s *server) {
	running.Lock()
	defer running.Unlock()
	running.all = append(running.all, s)
}

// sharedData is a folder for the data of a server that tests share.
func sharedData(name string) string { return filepath.Join(scratch, name) }

func stopServers() {
	running.Lock()
	defer running.Unlock()
	for _, one := range running.all {
		one.child.Kill()
	}
}

// serve starts a server on a folder. The address may be one that an earlier server had.
func serve(data, listen string) (*server, error) {
	s := &server{data: data, agents: map[string]*agent{}}
	return s, s.start(listen)
}

func (s *server) start(listen string) (err error) {
	s.child, err = child.Start(context.Background(), patience, child.Program{
		Path: pws, Args: append([]string{"serve", "--listen", listen, "--data", s.data,
			"--rate-limits", "off", "--test-clock"}, s.more...),
	})
	if err != nil {
		return err
	}
	s.url = s.child.URL
	return nil
}

// serveFor starts a server for one test.
func serveFor(t *testing.T) *server {
	t.Helper()
	s, err := serve(filepath.Join(t.TempDir(), "data"), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.child.Kill() })
	return s
}

// restart kills the server and starts it again at the same address.
func (s *server) restart() error {
	s.child.Kill()
	for _, one := range s.agents {
		one.api.Close()
	}
	return s.start(strings.TrimPrefix(s.url, "http://"))
}

// advance moves the clock of the server, and opens new sessions of its agents where theirs end.
func (s *server) advance(passed time.Duration) error {
	anybody, err := client.New(s.url)
	if err != nil {
		return err
	}
	defer anybody.Close()
	_, err = anybody.Post("/test/clock", "", fields{
		"advance_seconds": int(passed / time.Second),
	}, nil)
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		if err == nil {
			err = s.agents[name].api.Renew()
		}
	}
	return err
}

// fields are members of a request or of an answer.
type fields = map[string]any

// agent is a registered agent. Tests that run at once share it, and its requests go out one at a
// time.
type agent struct {
	handle string
	// sending serialises do: the client uses one connection.
	sending sync.Mutex
	api     *client.API
	server  *server
	// sent is called with every body BEFORE it is sent.
	sent func(op *api.Operation, body fields)
}

// agent returns the agent with a handle, registered when it is first named.
func (s *server) agent(handle string) (*agent, error) {
	if known := s.agents[handle]; known != nil {
		return known, nil
	}
	a, err := client.New(s.url)
	if err == nil {
		err = a.Register(handle)
	}
	if err != nil {
		return nil, err
	}
	s.agents[handle] = &agent{handle: handle, api: a, server: s}
	return s.agents[handle], nil
}

var operations = sync.OnceValue(func() map[string]*api.Operation {
	all := map[string]*api.Operation{}
	for _, op := range api.Table {
		all[op.Name] = op
	}
	return all
})

// do calls an operation with the parameters of its path in their order, and returns the data.
func (a *agent) do(name string, body fields, params ...string) (fields, error) {
	op := operations()[name]
	if op == nil {
		return nil, fmt.Errorf("there is no operation %s", name)
	}
	if a.sent != nil {
		a.sent(op, body)
	}
	path := op.Path
	for strings.Contains(path, "{") {
		if len(params) == 0 {
			return nil, fmt.Errorf("%s needs more parameters", name)
		}
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + client.EscapePath(params[0]) + after
		params = params[1:]
	}
	request := client.Request{Method: op.Method, Path: path, IdempotencyKey: client.RandomKey()}
	if op.Method == http.MethodGet {
		request.IdempotencyKey = ""
	}
	if op.MatchRequired {
		request.Lines = []string{"If-Match: *"}
	}
	if body != nil {
		text, err := client.EncodeJSON(body)
		if err != nil {
			return nil, err
		}
		request.Body = text
	}
	a.sending.Lock()
	defer a.sending.Unlock()
	data := fields{}
	if _, err := a.api.Call(request, &data); err != nil {
		return nil, fmt.Errorf("%s as %s: %w\n%.500s", name, a.handle, err, request.Body)
	}
	return data, nil
}

// text is the text at a path of an answer, such as project.id.
func text(data fields, path string) string {
	var at any = data
	for name := range strings.SplitSeq(path, ".") {
		members, _ := at.(fields)
		at = members[name]
	}
	found, _ := at.(string)
	return found
}

// signInLink is the address at which a browser signs in as the agent, once.
func (a *agent) signInLink() (string, error) {
	data, err := a.do("auth.web_code", fields{})
	return text(data, "url"), err
}

// get loads an address as curl does.
func get(address string) (status int, head http.Header, body string, err error) {
	answer, err := http.Get(address)
	if err != nil {
		return 0, nil, "", err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(all), err
}

// origin is the scheme and host of an address, or its scheme if it has no host.
func origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		scheme, _, _ := strings.Cut(address, ":")
		return scheme + ":"
	}
	return parsed.Scheme + "://" + parsed.Host
}
