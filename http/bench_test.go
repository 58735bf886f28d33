package http

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
)

func contextOf(method, path string) *fasthttp.RequestCtx {
	ctx := &fasthttp.RequestCtx{}
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(path)
	ctx.Request.Header.SetHost("h")
	return ctx
}

type benchFile struct{ content string }

func (f *benchFile) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"file":{"path":"src/main.go","size_bytes":1024,"content":`...)
	dst = jsonschema.AppendString(dst, f.content)
	return append(dst, `}}`...)
}

const benchRequest = "GET /api/v1/projects/prj_01jd2v8zq0m4c5t6r7w8x9yzab/files/src/main.go " +
	"HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: bench\r\nAccept: */*\r\n" +
	"Authorization: Bearer good\r\n\r\n"

// serveBench answers keep-alive requests over the loopback, on 64 connections with two processors.
func serveBench(b *testing.B, text string, serve func(net.Listener) error, stop func()) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve(ln) }()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		reader := bufio.NewReaderSize(c, 16<<10)
		request := []byte(text)
		for pb.Next() {
			if _, err := c.Write(request); err != nil {
				b.Error(err)
				return
			}
			if err := skipAnswer(reader); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	stop()
	<-done
}

// skipAnswer reads one answer as cheaply as a load generator does: the status, the length, the end.
func skipAnswer(reader *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := reader.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			return fmt.Errorf("answer %q", line)
		case len(line) == 2:
			_, err = reader.Discard(length)
			return err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			length, err = strconv.Atoi(string(line[16 : len(line)-2]))
			if err != nil {
				return err
			}
		}
	}
}

func BenchmarkBareHandler(b *testing.B) {
	content := strings.Repeat("func main() { return nil }\n", 40)[:1024]
	body := (&benchFile{content}).AppendJSON(nil)
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentTypeBytes(jsonTypeBytes)
		ctx.SetBody(body)
	}}
	serveBench(b, benchRequest, server.Serve, func() { _ = server.Shutdown() })
}

func BenchmarkFileRead(b *testing.B) { benchRead(b, benchRequest) }

// BenchmarkToolRead is the same read by a client of MCP.
func BenchmarkToolRead(b *testing.B) {
	body := rpcText("7", "tools/call", `"name":"file.read","arguments":{"project":`+
		`"prj_01jd2v8zq0m4c5t6r7w8x9yzab","path":"src/main.go"}`)
	benchRead(b, "POST /mcp HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: bench\r\n"+
		"Accept: application/json, text/event-stream\r\nAuthorization: Bearer good\r\n"+
		join([]string{
			typeLine, versionLine, "Mcp-Method: tools/call", "Mcp-Name: file.read",
			"Content-Length: " + itoa(len(body)),
		})+"\r\n"+body)
}

func benchRead(b *testing.B, text string) {
	f := &fixture{log: &logBuffer{}}
	f.clock.Store(1_763_600_000_000)
	file := &benchFile{strings.Repeat("func main() { return nil }\n", 40)[:1024]}
	read := api.Declare[api.None, benchFile](api.Operation{
		Name: "file.read", Method: "GET", Path: "/api/v1/projects/{project}/files/{path*}",
		Auth: api.Optional, Category: api.CategoryRead, Statuses: []int{200}, Conditional: true,
		Tool: "file.read", Params: []api.Param{{Name: "project"}, {Name: "path"}},
	}, func(*api.Call, *api.None) (api.Reply, error) {
		return api.Reply{Data: file, ETag: `"0123456789abcdef0123456789abcdef"`}, nil
	})
	limits := DefaultLimits()
	for i := range limits {
		limits[i].Quota = 1 << 30
	}
	server, err := newServer(&api.Service{}, Config{Table: []*api.Operation{read}}, limits,
		slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	server.now = f.clock.Load
	server.resolve = resolveForTest
	serveBench(b, text, server.Serve, func() { _ = server.Shutdown(context.Background()) })
}
