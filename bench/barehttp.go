package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/bench/child"
	"pws/bench/client"
)

// ServeBaseline answers every request with the response in a file, whose head and body were
// recorded from the service, by a fasthttp handler that does nothing else. It announces its address
// like the service does, and ends with the context.
func ServeBaseline(ctx context.Context, responseFile string, out io.Writer) error {
	recorded, err := os.ReadFile(responseFile)
	if err != nil {
		return err
	}
	handler, err := replayHandler(recorded)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler: handler, NoDefaultServerHeader: true, ReadBufferSize: 16 << 10,
	}
	stopped := make(chan error, 1)
	release := context.AfterFunc(ctx, func() { stopped <- server.Shutdown() })
	defer release()
	fmt.Fprintf(out, "%shttp://%s\n", child.Announcement, listener.Addr())
	if err := server.Serve(listener); err != nil {
		return err
	}
	return <-stopped
}

// replayHandler returns the handler that answers with a recorded response.
func replayHandler(recorded []byte) (fasthttp.RequestHandler, error) {
	head, body, found := bytes.Cut(recorded, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	fields := strings.Fields(lines[0])
	if !found || len(fields) < 2 {
		return nil, errors.New("the file holds no response")
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		return nil, fmt.Errorf("status %q: %w", fields[1], err)
	}
	type header struct{ name, value string }
	var headers []header
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-length", "date", "connection", "transfer-encoding":
			// The server writes these itself.
		default:
			headers = append(headers, header{name, strings.TrimSpace(value)})
		}
	}
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(status)
		for _, one := range headers {
			ctx.Response.Header.Set(one.name, one.value)
		}
		ctx.SetBody(body)
	}, nil
}

// BaselineArgs are the arguments that make Config.Program run ServeBaseline on a file.
func BaselineArgs(responseFile string) []string {
	return []string{"bench-baseline", "http", responseFile}
}

// startBareHTTP starts a child that runs ServeBaseline.
func startBareHTTP(ctx context.Context, config *Config, recorded []byte) (*baseline, error) {
	dir, err := os.MkdirTemp(config.Dir, "baseline-bench-")
	if err != nil {
		return nil, err
	}
	b := &baseline{dir: dir}
	file := filepath.Join(dir, "response")
	if err = os.WriteFile(file, recorded, 0o600); err == nil {
		b.process, err = child.Start(ctx, servePatience, child.Program{
			Path: config.Program, Args: BaselineArgs(file),
		})
	}
	if err == nil {
		b.address, err = client.HostOf(b.process.URL)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}
