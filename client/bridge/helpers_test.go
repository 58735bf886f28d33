package bridge

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"pws/api"
	"pws/client"
	"pws/http"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const server = "http://h"

// offline are the answers of a real endpoint.
var offline = sync.OnceValues(func() (*http.Offline, error) {
	return http.NewOffline(api.Config{Version: "1", PublicURL: server})
})

// fake is a service that answers as the test says.
type fake struct {
	caller    Caller
	catalogue Catalogue
	readOnly  bool
	// deaf hosts do not read what the bridge says.
	deaf bool
	do   func(ctx context.Context, request *client.Request) (*client.Answer, error)
}

func (f *fake) Caller() Caller { return f.caller }

func (f *fake) Do(ctx context.Context, request *client.Request) (*client.Answer, error) {
	return f.do(ctx, request)
}

// host is the other side of a bridge.
type host struct {
	t   *testing.T
	in  *io.PipeWriter
	end context.CancelFunc
	// ended is closed AFTER the bridge has returned err.
	ended chan struct{}
	err   error

	mu struct {
		sync.Mutex
		lines []string
	}
}

// connect starts a bridge. It is called in a bubble of synctest, where time passes only while all
// wait.
func connect(t *testing.T, service *fake, query string) *host {
	t.Helper()
	answers, err := offline()
	if err != nil {
		t.Fatal(err)
	}
	if service.caller == (Caller{}) {
		service.caller = Caller{Server: server, SignedIn: true, Handle: "ada"}
	}
	b := New(Config{
		Service: service, Query: query, Project: "prj_1", Version: "1",
		Offline: func(string) (Offline, error) { return answers, nil }, Catalogue: service.catalogue,
		ReadOnly: service.readOnly,
		NextStep: func(err error) string {
			if client.IsCode(err, "UNKNOWN", "RATE_LIMITED", "BODY_TOO_LARGE", client.CodeNoAnswer) {
				return ""
			}
			return "think"
		}, Log: slog.New(slog.DiscardHandler),
	})
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	ctx, end := context.WithCancel(t.Context())
	h := &host{t: t, in: toBridge, end: end, ended: make(chan struct{})}
	go func() {
		h.err = b.Serve(ctx, in, out)
		_ = out.Close()
		close(h.ended)
	}()
	if !service.deaf {
		go h.collect(fromBridge)
	}
	t.Cleanup(func() {
		_ = toBridge.Close()
		_ = fromBridge.Close()
		end()
		_ = h.wait()
	})
	return h
}

// wait waits for the end of the bridge.
func (h *host) wait() error {
	<-h.ended
	return h.err
}

func (h *host) collect(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		h.mu.Lock()
		h.mu.lines = append(h.mu.lines, strings.TrimSuffix(line, "\n"))
		h.mu.Unlock()
	}
}

// send sends lines.
func (h *host) send(lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.in, line+"\n"); err != nil {
			h.t.Error(err)
		}
	}
}

// said are the lines since the last time, once all wait.
func (h *host) said() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.mu.lines
	h.mu.lines = nil
	return lines
}

// one is the only line since the last time.
func (h *host) one() string {
	h.t.Helper()
	lines := h.said()
	if len(lines) != 1 {
		h.t.Fatalf("%d lines: %q", len(lines), lines)
	}
	return lines[0]
}

// toolCall is a call in an earlier version of the protocol. The id is JSON.
func toolCall(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,`+
		`"arguments":%s}}`, id, tool, arguments)
}

// answerTo is the answer of a server to a request, with this result.
func answerTo(request *client.Request, result string) *client.Answer {
	id := parse(request.Body).id
	return &client.Answer{Status: 200, Body: bytes.Join([][]byte{
		[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), []byte(result), []byte(`}`),
	}, nil)}
}

const fine = `{"content":[{"type":"text","text":"{}"}],"structuredContent":{},"isError":false}`

// refusal is the result of a refused call.
func refusal(code string) string {
	return `{"content":[{"type":"text","text":"{}"}],"structuredContent":{"code":"` + code +
		`","message":"No."},"isError":true}`
}

// pass lets time pass, in a bubble of synctest at once.
func pass(d time.Duration) { <-time.After(d) }

// parseID is the id of an answer.
func parseID(line string) jsontext.Value {
	var answer struct {
		ID jsontext.Value `json:"id"`
	}
	_ = json.Unmarshal([]byte(line), &answer, lenient)
	return answer.ID
}
