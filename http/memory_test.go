package http

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"pws/api"
	"pws/api/jsonschema"
)

// texts is data with large texts, as a batch of files has them.
type texts []string

func (d texts) TextBytes() (sum int) {
	for _, one := range d {
		sum += len(one)
	}
	return sum
}

func (d texts) WritePieces(w api.PieceWriter) error {
	piece := `{"none":null,"texts":[`
	for _, one := range d {
		if err := errors.Join(w.JSON([]byte(piece)), w.Text(one)); err != nil {
			return err
		}
		piece = ","
	}
	return w.JSON([]byte(`],"empty":null}`))
}

func (d texts) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"none":null,"texts":[`...)
	for i, one := range d {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonschema.AppendString(dst, one)
	}
	return append(dst, `],"empty":null}`...)
}

// control is a mebibyte of characters that take six bytes each in JSON.
var control = strings.Repeat("\x01", 1<<20)

// batchText is the content of the answer to a batch.
var batchText = texts{control, control, control, control, control, control, control, "é\"\\"}

// pieceText is a content that is sent in pieces, small enough to be compared.
var pieceText = texts{control[:100<<10], "é\"\\", control[:100<<10]}

// memoryTable has a batch of large texts, a large list, an upload and an endless stream.
func memoryTable(list []string) []*api.Operation { return tableWith(batchText, list) }

func tableWith(content texts, list []string) []*api.Operation {
	batch := op(read, "batch", "/v1/batch", api.Optional)
	batch.Tool, batch.ToolDoc = "batch.read", "Reads a batch."
	listed := op(read, "list", "/v1/list", api.Optional)
	put := op(write, "upload", "/v1/upload", api.Optional)
	put.Method = "PUT"
	made := op(write, "make", "/v1/make", api.Optional)
	made.BodyOptional = true
	large := func(*api.Call, *api.None) (api.Reply, error) {
		return api.Reply{Data: map[string]any{"list": list}}, nil
	}
	return []*api.Operation{
		api.Declare[api.None, api.Raw](batch, func(c *api.Call, _ *api.None) (api.Reply, error) {
			if err := c.Meter.HoldMemory(content.TextBytes()); err != nil {
				return api.Reply{}, err
			}
			return api.Reply{Data: content, ETag: `"b"`}, nil
		}),
		api.Declare[api.None, api.Raw](listed, large),
		api.Declare[api.None, api.Raw](made, large),
		api.Declare[echoRequest, api.Raw](put, func(*api.Call, *echoRequest) (api.Reply, error) {
			return api.Reply{Data: api.Raw(`{}`)}, nil
		}),
		api.Declare[api.None, api.Raw](op(read, "export", "/v1/export", api.Optional),
			func(*api.Call, *api.None) (api.Reply, error) {
				return api.Reply{Data: api.Stream(func(w io.Writer) error {
					for {
						if _, err := io.WriteString(w, control); err != nil {
							return err
						}
					}
				})}, nil
			}),
	}
}

// begin sends a request and reads the status of its answer and no more.
func (w *wire) begin(text string) (status string) {
	w.t.Helper()
	w.send(text)
	line, err := w.reader.ReadString('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Split(line, " ")[1]
}

// dialSmall is a connection whose client takes little before it reads.
func (f *fixture) dialSmall(t testing.TB) *wire {
	t.Helper()
	w := f.dial(t)
	if tcp, ok := w.Conn.(*net.TCPConn); !ok || tcp.SetReadBuffer(4<<10) != nil {
		t.Fatal("the connection has no buffer")
	}
	return w
}

const goodLine = "Authorization: Bearer good"

// wantService checks that an agent at the address of an attacker can write and read.
func (f *fixture) wantService(t *testing.T) {
	t.Helper()
	upload := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	if a := f.body(t, "PUT", "/v1/upload", upload, goodLine); a.status != 201 {
		t.Errorf("an upload: %d %.200s", a.status, a.body)
	}
	if a := f.ask(t, "GET", "/v1/batch", goodLine); a.status != 200 {
		t.Errorf("a read: %d %.200s", a.status, a.body)
	}
}

// wantRefusal checks the answer to a request for which there is no memory.
func (a answer) wantRefusal(t *testing.T, reason string) {
	t.Helper()
	e := a.envelope(t)
	if a.status != 429 || e.Error.Code != "RATE_LIMITED" || a.header.Get("Retry-After") != "1" ||
		a.header.Get("ETag") != "" || e.Error.Details["reason"] != reason || !e.Error.Retryable {
		t.Errorf("%d %v %.300s", a.status, a.header, a.body)
	}
}

// TestUnreadAnswersAreBounded requests large answers on 45 connections and reads none of them.
func TestUnreadAnswersAreBounded(t *testing.T) {
	for name, request := range map[string]string{
		"HTTP":    "GET /v1/batch HTTP/1.1\r\nHost: h\r\n\r\n",
		"old":     "GET /v1/batch HTTP/1.0\r\n\r\n",
		"coded":   "GET /v1/batch HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip;q=0, identity\r\n\r\n",
		"exports": "GET /v1/export HTTP/1.1\r\nHost: h\r\n\r\n",
		"MCP":     toolRequest("batch.read", "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			// No answer may end for its slow reader BEFORE the last request.
			f := start(t, Config{
				Table: memoryTable(nil), BodyMemory: 128 << 20, paceGrace: time.Hour,
				WriteTimeout: time.Hour,
			}, nil)
			before := memoryInUse()
			served := 0
			for range 45 {
				switch status := f.dialSmall(t).begin(request); status {
				case "200":
					served++
				case "429":
				default:
					t.Fatalf("status %s", status)
				}
				if used := f.memory.used(); used > f.memory.address*3/4 {
					t.Fatalf("%d bytes are held by one address", used)
				}
			}
			if served == 0 || served == 45 {
				t.Errorf("%d of 45 are served", served)
			}
			if grown := memoryInUse() - before; grown > 64<<20 {
				t.Errorf("the process has %d bytes more", grown)
			}
			f.wantService(t)
			if name != "MCP" {
				f.ask(t, "GET", "/v1/batch").wantRefusal(t, "BODY_MEMORY_IP")
			}
		})
	}
}

func toolRequest(tool, arguments string) string {
	body := rpcText("7", "tools/call", `"name":"`+tool+`","arguments":`+arguments)
	return "POST /mcp HTTP/1.1\r\nHost: h\r\n" + join([]string{
		typeLine, versionLine, "Accept: application/json, text/event-stream",
		"Mcp-Method: tools/call", "Mcp-Name: " + tool, "Content-Length: " + itoa(len(body)),
	}) + "\r\n" + body
}

// TestReadersHaveToKeepALeastRate does not read answers. The server ends them, and all memory is
// given back.
func TestReadersHaveToKeepALeastRate(t *testing.T) {
	f := start(t, Config{
		// The grace includes the time in which a busy machine gives the writer no turn.
		Table: memoryTable(nil), paceGrace: time.Second, leastRate: 10 << 20,
	}, nil)
	for _, target := range []string{"/v1/batch", "/v1/export"} {
		w := f.dialSmall(t)
		if status := w.begin("GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"); status != "200" {
			t.Fatalf("status %s", status)
		}
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
	f.memory.wantEmpty(t)
	if log := f.log.take(); strings.Contains(log, "aborted") {
		t.Errorf("the log says %s", log)
	}
}

// TestDeclaredBodiesTakeNoMemory declares large bodies and sends little of them.
func TestDeclaredBodiesTakeNoMemory(t *testing.T) {
	const head = "PUT /v1/upload HTTP/1.1\r\nHost: h\r\nContent-Length: 16777216\r\n" + goodLine +
		"\r\n\r\n"
	f := start(t, Config{
		Table: memoryTable(nil), BodyMemory: 64 << 20, paceGrace: time.Second,
	}, nil)
	var wires []*wire
	for range 100 {
		w := f.dial(t)
		w.send(head + strings.Repeat(" ", 8<<10))
		wires = append(wires, w)
	}
	f.wantService(t)
	for _, w := range wires {
		if a := w.receive("PUT"); a.status != 408 || a.code(t) != "REQUEST_TIMEOUT" || !a.close {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	f.memory.wantEmpty(t)
}

// TestLargeAnswers compares large answers with their small form.
func TestLargeAnswers(t *testing.T) {
	list := make([]string, 2000)
	for i := range list {
		list[i] = strings.Repeat("é\x02", 100)
	}
	f := start(t, Config{Table: tableWith(pieceText, list)}, nil)
	lists, err := json.Marshal(map[string]any{"list": list})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"/v1/batch": string(pieceText.AppendJSON(nil)), "/v1/list": string(lists),
	} {
		for _, protocol := range []string{"1.1", "1.0"} {
			for _, coding := range []string{"identity", "gzip"} {
				a := f.raw2(t, "GET", "GET "+target+" HTTP/"+protocol+"\r\nHost: h\r\n"+
					"Accept-Encoding: "+coding+"\r\n\r\n")
				if coding == "gzip" {
					a.body = gunzipped(t, a.body)
				}
				if e := a.envelope(t); a.status != 200 || string(e.Data) != want {
					t.Errorf("%s %s %s: %d, %d bytes", target, protocol, coding, a.status, len(e.Data))
				}
				if target == "/v1/batch" && a.header.Get("ETag") != `"b"` {
					t.Errorf("ETag %q", a.header.Get("ETag"))
				}
			}
		}
		if a := f.ask(t, "HEAD", target); a.status != 200 || a.body != "" {
			t.Errorf("HEAD: %d, %d bytes", a.status, len(a.body))
		}
	}
	if a := f.ask(t, "GET", "/v1/list"); a.header.Get("Content-Length") == "" {
		t.Error("a large list has no Content-Length")
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
	f.memory.wantEmpty(t)
}

func gunzipped(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// TestLargeResults compares the text and the structured content of a large result.
func TestLargeResults(t *testing.T) {
	f := start(t, Config{Table: tableWith(pieceText, nil)}, nil)
	a := f.raw2(t, "POST", toolRequest("batch.read", "{}"))
	var got struct {
		Result struct {
			Content    []struct{ Text string }
			Structured json.RawMessage `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	want := string(withoutNulls(pieceText.AppendJSON(nil), nil))
	if len(got.Result.Content) != 1 || got.Result.Content[0].Text != want ||
		string(got.Result.Structured) != want {
		t.Errorf("%d %.300s", a.status, a.body)
	}
}

// TestAnswersToWritesAreNotRefused leaves no memory. A read is refused; a write, which has been
// carried out, is answered.
func TestAnswersToWritesAreNotRefused(t *testing.T) {
	f := start(t, Config{
		Table: memoryTable([]string{strings.Repeat("x", 1<<20)}), BodyMemory: 1 << 20,
	}, nil)
	f.ask(t, "GET", "/v1/list").wantRefusal(t, "BODY_MEMORY")
	f.ask(t, "GET", "/v1/batch").wantRefusal(t, "BODY_MEMORY")
	a := f.ask(t, "POST", "/v1/make", "Content-Length: 0")
	if e := a.envelope(t); a.status != 201 || len(e.Data) < 1<<20 {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
}

func TestPatienceFollowsWhatWasMoved(t *testing.T) {
	p := pace{rate: 1000, grace: 10 * time.Second, longest: 15 * time.Second}
	for i, c := range []struct {
		moved int
		took  time.Duration
		next  int
		want  time.Duration
	}{
		{0, 0, 0, 10 * time.Second},
		{0, 0, 2000, 12 * time.Second},
		{1000, 5 * time.Second, 0, 6 * time.Second},
		{4000, 4 * time.Second, 0, 6 * time.Second},
		{0, 5 * time.Second, 0, time.Second},
		{1_000_000, time.Second, 0, 15 * time.Second},
		{0, time.Hour, 0, time.Millisecond},
	} {
		p.note(c.moved, c.took)
		if got := p.patience(c.next); got != c.want {
			t.Errorf("step %d: %v, not %v", i, got, c.want)
		}
	}
}

// TestUploadsAreBounded has an agent that sends most of many bodies, and another agent.
func TestUploadsAreBounded(t *testing.T) {
	f := start(t, Config{Table: memoryTable(nil), BodyMemory: 128 << 20}, nil)
	part := strings.Repeat(" ", 5<<20)
	var wires []*wire
	for range 5 {
		w := f.dial(t)
		w.send("PUT /v1/upload HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n" +
			"Authorization: Bearer other\r\n\r\n" + part)
		wires = append(wires, w)
	}
	// Two bodies of 8 MB are in the share of an agent.
	waitFor(t, func() bool { return f.memory.used() >= 16_000_000 })
	if used := f.memory.used(); used > f.memory.agent {
		t.Errorf("%d bytes are held by one agent", used)
	}
	f.wantService(t)
	for _, w := range wires {
		_ = w.Close()
	}
	waitFor(t, func() bool { return f.memory.used() == 0 })
	f.memory.wantEmpty(t)
}

// sizedData is an answer that says how large it will be.
type sizedData struct{ appended *atomic.Int32 }

func (d sizedData) JSONBytes() int { return 4 << 20 }

func (d sizedData) AppendJSON(dst []byte) []byte {
	d.appended.Add(1)
	return append(dst, `{"text":""}`...)
}

// TestAnswersAreReservedBeforeTheyAreMade has an answer that does not fit into the memory.
func TestAnswersAreReservedBeforeTheyAreMade(t *testing.T) {
	var appended atomic.Int32
	for memory, want := range map[int64]int{1 << 20: 429, 64 << 20: 200} {
		f := start(t, Config{BodyMax: 64 << 10, BodyMemory: memory, Table: []*api.Operation{
			api.Declare[api.None, echoed](op(read, "sized", "/v1/sized", api.Anonymous),
				func(*api.Call, *api.None) (api.Reply, error) {
					return api.Reply{Status: 200, Data: sizedData{&appended}}, nil
				}),
		}}, nil)
		if a := f.ask(t, "GET", "/v1/sized"); a.status != want {
			t.Errorf("with %d bytes: %d %s", memory, a.status, a.body)
		}
		if held := f.RequestMemory(); held != 0 {
			t.Errorf("%d bytes are held AFTER the answer", held)
		}
	}
	if made := appended.Load(); made != 1 {
		t.Errorf("%d answers were made", made)
	}
}
