package http

import (
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pws/api"
)

// counted is a server with one operation that counts its calls.
func counted(t *testing.T) (f *fixture, carriedOut *atomic.Int64) {
	carriedOut = new(atomic.Int64)
	note := op(write, "note", "/v1/note", api.Anonymous)
	note.BodyOptional = true
	optional := api.Declare[echoRequestOptional, echoed](note,
		func(c *api.Call, body *echoRequestOptional) (api.Reply, error) {
			carriedOut.Add(1)
			return echo(c, body.Text)
		})
	return start(t, Config{Table: []*api.Operation{optional}}, nil), carriedOut
}

// echoRequestOptional has no required member, so a body truncated between chunks may be valid.
type echoRequestOptional struct {
	Text string `json:"text" check:"content"`
}

// endSide closes the client's side of the connection.
func (w *wire) endSide() {
	w.t.Helper()
	half, ok := w.Conn.(*net.TCPConn)
	if !ok || half.CloseWrite() != nil {
		w.t.Fatal("the connection has no two sides")
	}
}

// TestTruncatedRequestsChangeNothing sends every prefix of a request and closes its side of the
// connection. Only the complete request is carried out.
func TestTruncatedRequestsChangeNothing(t *testing.T) {
	f, carriedOut := counted(t)
	const head = "POST /v1/note HTTP/1.1\r\nHost: h\r\n"
	const coded = head + "Transfer-Encoding: chunked\r\n"
	large := strings.Repeat(" ", 9000)
	for name, c := range map[string]struct {
		text string
		// from is the length of the first prefix, and step the difference to the next.
		from, step int
	}{
		"length":  {text: head + "Content-Length: 12\r\n\r\n{\"text\":\"a\"}", step: 1},
		"chunked": {text: coded + "\r\nc\r\n{\"text\":\"a\"}\r\n0\r\n\r\n", step: 1},
		"chunks that are whole bodies": {
			text: coded + "\r\n2\r\n{}\r\n1\r\n \r\n1;x=y\r\n \r\n0\r\n\r\n", step: 1,
		},
		"trailers": {
			text: coded + "Trailer: A, B\r\n\r\n2\r\n{}\r\n0\r\nA: 1\r\nB: 2\r\n\r\n", step: 1,
		},
		"expected": {
			text: head + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"2\r\n{}\r\n0\r\n\r\n",
			step: 1,
		},
		"long": {
			text: head + "Content-Length: 9002\r\n\r\n{}" + large, from: 60, step: 997,
		},
		"long chunks": {
			text: coded + "\r\n" + strings.Repeat("2328\r\n"+large+"\r\n", 3) +
				"2\r\n{}\r\n0\r\n\r\n",
			from: 27000, step: 1,
		},
	} {
		for end := c.from; end < len(c.text); end += c.step {
			w := f.dial(t)
			w.send(c.text[:end])
			w.endSide()
			if status := w.lastStatus(); status != 0 && status != 400 || carriedOut.Load() != 0 {
				t.Fatalf("%s, %d of %d bytes: %d, carried out %d times",
					name, end, len(c.text), status, carriedOut.Load())
			}
		}
		w := f.dial(t)
		w.send(c.text)
		w.endSide()
		if status := w.lastStatus(); status != 201 || carriedOut.Swap(0) != 1 {
			t.Errorf("%s: the whole request is answered with %d", name, status)
		}
	}
}

// lastStatus reads all answers and returns the status of the last, zero where there is none.
func (w *wire) lastStatus() int {
	w.t.Helper()
	status := 0
	for {
		resp, err := nethttp.ReadResponse(w.reader, nil)
		if err != nil {
			return status
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		status = resp.StatusCode
	}
}

// TestFramingOfBodies has requests whose framing and body contradict each other.
func TestFramingOfBodies(t *testing.T) {
	f, carriedOut := counted(t)
	const first, second = "POST /v1/note HTTP/1.1\r\nHost: h\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, c := range map[string]struct {
		text     string
		statuses string
		times    int64
	}{
		"too short a length": {first + "Content-Length: 2\r\n\r\n{}{}", "201 400", 1},
		"a length and a next request": {
			first + "Content-Length: 2\r\n\r\n{}" + second, "201 404", 1,
		},
		"chunks and a next request": {
			first + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + second, "201 404", 1,
		},
		"chunks and a part of a request": {
			first + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HT", "201 400", 1,
		},
		"too long a chunk": {
			first + "Transfer-Encoding: chunked\r\n\r\n2\r\n{} \r\n0\r\n\r\n" + second, "400", 0,
		},
		"too short a chunk": {
			first + "Transfer-Encoding: chunked\r\n\r\n3\r\n{}\r\n0\r\n\r\n" + second, "400", 0,
		},
		"both headers": {
			first + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}" + second, "400", 0,
		},
		"a coding in HTTP/1.0": {
			"POST /v1/note HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" +
				"Connection: keep-alive\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + second, "400", 0,
		},
		"both headers in HTTP/1.0": {
			"POST /v1/note HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n" +
				"Connection: keep-alive\r\n\r\n{}" + second, "400", 0,
		},
		"a broken trailer": {
			first + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nnonsense\r\n\r\n" + second,
			"400", 0,
		},
	} {
		w := f.dial(t)
		w.send(c.text)
		w.endSide()
		var statuses []string
		for {
			resp, err := nethttp.ReadResponse(w.reader, nil)
			if err != nil {
				break
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			statuses = append(statuses, itoa(resp.StatusCode))
		}
		if got := strings.Join(statuses, " "); got != c.statuses || carriedOut.Swap(0) != c.times {
			t.Errorf("%s: %s, not %s", name, got, c.statuses)
		}
	}
}

// TestChunkedBodiesAtTheLimit sends chunked bodies of the limit and of one byte more, in chunks of
// many sizes.
func TestChunkedBodiesAtTheLimit(t *testing.T) {
	const most = 1 << 17
	f := start(t, Config{BodyMax: most}, nil)
	for _, c := range []struct {
		target string
		limit  int
	}{{"/v1/small", kibibyte}, {"/v1/echo", most}} {
		for _, more := range []int{0, 1} {
			for _, chunk := range []int{1 << 20, c.limit + more, c.limit, c.limit - 1, 100, 4096} {
				body := `{"text":"` + strings.Repeat("x", c.limit+more-11) + `"}`
				var out strings.Builder
				for rest := body; rest != ""; {
					n := min(chunk, len(rest))
					fmt.Fprintf(&out, "%x\r\n%s\r\n", n, rest[:n])
					rest = rest[n:]
				}
				a := f.raw2(t, "POST", "POST "+c.target+" HTTP/1.1\r\nHost: h\r\n"+
					"Transfer-Encoding: chunked\r\n\r\n"+out.String()+"0\r\n\r\n")
				if want := 201 + more*212; a.status != want {
					t.Errorf("%s, %d bytes in chunks of %d: %d, not %d",
						c.target, len(body), chunk, a.status, want)
				}
			}
		}
	}
}
