package client

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers serves one connection: it reads one request for each text and writes the text in pieces
// of the given size.
func answers(t *testing.T, pieceBytes int, texts ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for _, text := range texts {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			for i := 0; i < len(text); i += pieceBytes {
				if _, err := conn.Write([]byte(text[i:min(len(text), i+pieceBytes)])); err != nil {
					return
				}
			}
		}
	}()
	return listener.Addr().String()
}

func TestExchangeFramesResponses(t *testing.T) {
	large := strings.Repeat("x", 3*bufferBytes)
	for _, pieceBytes := range []int{1, 7, 1 << 20} {
		address := answers(t, pieceBytes,
			"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A:  b \r\n\r\nhello",
			"HTTP/1.1 304 Not Modified\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+
				"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: r\r\n\r\n",
			"HTTP/1.1 409 Conflict\r\ncontent-length: 49152\r\nConnection: close\r\n\r\n"+large)
		conn, err := Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Deadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		request := (&Request{Method: "GET", Path: "/", Host: address}).Append(nil)
		for _, want := range []struct {
			status int
			body   string
			close  bool
		}{{200, "hello", false}, {304, "", false}, {200, "abcde", false}, {409, large, true}} {
			got, err := conn.Exchange(request)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want.status || string(got.Body) != want.body || got.Close != want.close {
				t.Errorf("pieces of %d: status %d, %d bytes, close %t",
					pieceBytes, got.Status, len(got.Body), got.Close)
			}
			if want.body == "hello" && got.Header("x-a") != "b" {
				t.Errorf("header %q", got.Header("x-a"))
			}
		}
		if _, err := conn.Exchange(request); err == nil {
			t.Error("a closed connection answered")
		}
	}
}

// TestIdleConnectionIsNotUsedAgain checks that a call after a long pause, in which the server has
// closed the connection, opens another one instead of failing.
func TestIdleConnectionIsNotUsedAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	a, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Get("/", nil); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	a.used = a.used.Add(-2 * idleMax)
	if err := a.Get("/", nil); err != nil {
		t.Fatal(err)
	}
}

func TestMalformedResponses(t *testing.T) {
	for _, text := range []string{
		"SSH-2.0\r\n\r\n", "HTTP/1.1 2xx OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		address := answers(t, 1<<20, text)
		conn, err := Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		request := (&Request{Method: "GET", Path: "/", Host: address}).Append(nil)
		if _, err := conn.Exchange(request); !errors.Is(err, errMalformed) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOutcomeNamesTheCode(t *testing.T) {
	body := []byte(`{"ok":false,"error":{"code":"PROJECT_MOVED","message":"m"}}`)
	if got := Outcome(Response{Status: 409, Body: body}); got != "409 PROJECT_MOVED" {
		t.Errorf("got %q", got)
	}
	if got := Outcome(Response{Status: 201}); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestEscapePath(t *testing.T) {
	if got := EscapePath("a b/ü%?#.go"); got != "a%20b/%C3%BC%25%3F%23.go" {
		t.Errorf("got %q", got)
	}
}

func TestHostOf(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:80/": "127.0.0.1:80", "http://h": "h:80", "https://h": "", "h:1": "",
		"http://h/x": "",
	} {
		if got, err := HostOf(base); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
}
