package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"strings"
	"testing"

	"pws/actors"
	"pws/api"
	"pws/http"
	"pws/identity"
	"pws/internal/id"
)

// adminPageAt serves the page of the operator at an address.
func adminPageAt(t *testing.T, address string) (url string) {
	t.Helper()
	engine, _, err := actors.Open(actors.Config{
		Dir: t.TempDir(), ReserveBytes: -1, NoSearch: true, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	if _, err := engine.OperatorAsk(&identity.MakeReport{
		Type: identity.ReportedProject, Entity: id.ID{1}, Reason: identity.ReasonSpam,
		Details: "words of the reporter",
	}); err != nil {
		t.Fatal(err)
	}
	_, err = engine.OperatorAsk(&identity.SetQuota{
		Quota: identity.QuotaServer, Bytes: 123_456, Reason: "more",
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var config http.Config
	started, err := startAdmin(address, engine, &config, slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.stop)
	started.show(api.NewService(engine, api.Config{
		Version: version, Limits: http.DefaultLimits(),
	}), engine)
	_, listening, _ := strings.Cut(out.String(), "address=")
	_, port, err := net.SplitHostPort(strings.Trim(strings.TrimSpace(listening), `"`))
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + port
}

// askAdminPage asks the admin listener under the name of a host, that of the address if it is
// empty.
func askAdminPage(t *testing.T, method, url, host string) (*nethttp.Response, string) {
	t.Helper()
	request, err := nethttp.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	client := nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestAdminPage reads the page as a browser on the same machine does.
func TestAdminPage(t *testing.T) {
	url := adminPageAt(t, "127.0.0.1:0")
	for _, host := range []string{"localhost:9090", "127.0.0.1", "[::1]:9090"} {
		answer, page := askAdminPage(t, "GET", url+"/ui/admin", host)
		if answer.StatusCode != 200 || len(page) > pageBytesMax ||
			!strings.HasPrefix(answer.Header.Get("Content-Security-Policy"), "default-src 'none'; ") {
			t.Fatalf("%s: %d, %d bytes, %v", host, answer.StatusCode, len(page), answer.Header)
		}
		for _, part := range []string{
			"Reads and writes are accepted", "1 wait, 0 were handled", "rpt_", "spam", "project",
			"processor seconds", "bytes free on the disk", `href="/ui/admin/style.css"`, "<dt>All</dt><dd>123456",
		} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page has no %q", host, part)
			}
		}
		if strings.Contains(page, "words of the reporter") || strings.Contains(page, "<script") {
			t.Errorf("%s: the page shows too much", host)
		}
	}
	answer, style := askAdminPage(t, "GET", url+"/ui/admin/style.css", "localhost")
	if answer.StatusCode != 200 || !strings.Contains(style, "color-scheme") {
		t.Errorf("style: %d", answer.StatusCode)
	}
	if answer, _ := askAdminPage(t, "POST", url+"/ui/admin", "localhost"); answer.StatusCode != 405 {
		t.Errorf("POST: %d", answer.StatusCode)
	}
}

// TestAdminPageIsLocal asks as the page of another site does, and at a listener that others reach.
func TestAdminPageIsLocal(t *testing.T) {
	url := adminPageAt(t, "127.0.0.1:0")
	for _, host := range []string{"evil.example", "evil.example:9090", "10.0.0.1", "localhost.evil"} {
		answer, page := askAdminPage(t, "GET", url+"/ui/admin", host)
		if answer.StatusCode != 421 || strings.Contains(page, "rpt_") {
			t.Errorf("%s: %d %s", host, answer.StatusCode, page)
		}
	}
	url = adminPageAt(t, "0.0.0.0:0")
	if answer, _ := askAdminPage(t, "GET", url+"/ui/admin", "localhost"); answer.StatusCode != 404 {
		t.Errorf("at all addresses: %d", answer.StatusCode)
	}
	if answer, _ := askAdminPage(t, "GET", url+"/livez", "localhost"); answer.StatusCode != 200 {
		t.Errorf("probe at all addresses: %d", answer.StatusCode)
	}
}

// TestAdminPageByItsNames asks by every name of this machine.
func TestAdminPageByItsNames(t *testing.T) {
	url := adminPageAt(t, "127.0.0.1:0")
	for _, host := range []string{"LOCALHOST:9090", "localhost.", "[::1]:9090", "127.0.0.2"} {
		if answer, _ := askAdminPage(t, "GET", url+"/ui/admin", host); answer.StatusCode != 200 {
			t.Errorf("%s: %d", host, answer.StatusCode)
		}
	}
}

// TestMetricsAndProfilesAreLocal asks for them by the name of another host. Where the listener is
// for others too, a scraper may use its name.
func TestMetricsAndProfilesAreLocal(t *testing.T) {
	for address, status := range map[string]int{"127.0.0.1:0": 421, "0.0.0.0:0": 200} {
		url := adminPageAt(t, address)
		for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/symbol"} {
			for host, want := range map[string]int{
				"localhost:9090": 200, "": 200, "evil.example:9090": status,
			} {
				if answer, _ := askAdminPage(t, "GET", url+path, host); answer.StatusCode != want {
					t.Errorf("%s at %s as %q: %d, want %d", path, address, host, answer.StatusCode, want)
				}
			}
		}
	}
}
