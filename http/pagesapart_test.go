package http

import (
	"context"
	"net"
	"testing"
	"time"

	"pws/api"
)

// TestPagesApart serves pages at an address of their own: each address has its operations, both
// count against the same bounds, and both end with the server.
func TestPagesApart(t *testing.T) {
	none := func(_ *api.Call, _ *api.None) (api.Reply, error) {
		return api.Reply{Data: api.WebPage{Body: []byte("a page")}}, nil
	}
	page := api.Operation{
		Name: "page.one", Method: "GET", Path: "/ui/", Auth: api.Optional, Page: true,
		Category: api.CategoryPage, Statuses: []int{200},
	}
	own := page
	own.Name, own.Path, own.Page = "task.list", "/api/v1/own", false
	both := own
	both.Name, both.Path = "auth.challenge", "/api/v1/auth/challenge"
	f := start(t, Config{PagesApart: true, ConnectionsPerIP: 2, Table: []*api.Operation{
		api.Declare[api.None, api.WebPage](page, none), api.Declare[api.None, api.WebPage](own, none),
		api.Declare[api.None, api.WebPage](both, none),
	}}, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.ServePages(ln) }()
	main := f.dial(t)
	main.ask(map[string]int{
		"GET /ui/": 404, "POST /ui/": 404, "OPTIONS /ui/": 404,
		"GET /api/v1/own": 200, "GET /api/v1/auth/challenge": 200, "OPTIONS /mcp": 204,
	})
	address := f.address
	f.address = ln.Addr().String()
	pages := f.dial(t)
	pages.ask(map[string]int{
		"GET /ui/": 200, "GET /api/v1/own": 404, "OPTIONS /api/v1/own": 404,
		"GET /api/v1/auth/challenge": 200, "OPTIONS /mcp": 404, "GET /mcp": 404,
	})
	for _, f.address = range []string{address, ln.Addr().String()} {
		if a := f.dial(t).receive("GET"); a.status != 429 {
			t.Errorf("a third connection to %s: %d %s", f.address, a.status, a.body)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil || !pages.closed() {
		t.Errorf("ServePages: %v", err)
	}
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the listener of the pages is open")
	}
}

// ask sends requests over one connection, and checks the status of their answers.
func (w *wire) ask(wanted map[string]int) {
	w.t.Helper()
	for line, want := range wanted {
		w.send(line + " HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
		if a := w.receive("GET"); a.status != want {
			w.t.Errorf("%s: %d, not %d: %s", line, a.status, want, a.body)
		}
	}
}
