package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pws/actors"
	"pws/api"
	"pws/http"
	"pws/internal/fault"
	"pws/journal"
)

// adminFixture is an admin listener on an engine without an HTTP server for clients.
type adminFixture struct {
	engine  *actors.Engine
	url     string
	observe func(http.Observation)
}

func startTestAdmin(t *testing.T, reserve int64) *adminFixture {
	t.Helper()
	return startTestAdminOn(t, actors.Config{ReserveBytes: reserve})
}

func startTestAdminOn(t *testing.T, settings actors.Config) *adminFixture {
	t.Helper()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	settings.Dir, settings.NoSearch = t.TempDir(), true
	settings.Log = slog.New(slog.DiscardHandler)
	engine, _, err := actors.Open(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	var config http.Config
	started, err := startAdmin("127.0.0.1:0", engine, &config, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.stop)
	service := api.NewService(engine, api.Config{Version: version})
	server, err := http.New(service, config, log)
	if err != nil {
		t.Fatal(err)
	}
	started.watch(server, nil)
	_, address, found := strings.Cut(out.String(), "address=")
	if !found {
		t.Fatalf("no address in %q", out.String())
	}
	return &adminFixture{
		engine: engine, url: "http://" + strings.TrimSpace(address), observe: config.Observe,
	}
}

// get reads one path of the admin listener.
func (f *adminFixture) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	answer, text := askAdminPage(t, "GET", f.url+path, "")
	return answer.StatusCode, text
}

// scrape reads the metrics as Prometheus does.
func (f *adminFixture) scrape(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	_, text := f.get(t, "/metrics")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// seriesOf counts the series of a family as a Prometheus server stores them.
func seriesOf(family *dto.MetricFamily) int {
	count := 0
	for _, one := range family.GetMetric() {
		switch {
		case one.Histogram != nil:
			count += len(one.Histogram.Bucket) + 2
		case one.Summary != nil:
			count += len(one.Summary.Quantile) + 2
		default:
			count++
		}
	}
	return count
}

// TestMetricsFollowTheConventions checks names, types and help texts AFTER every operation has
// succeeded and failed, and every error code and limit has been reported.
func TestMetricsFollowTheConventions(t *testing.T) {
	f := startTestAdmin(t, -1)
	see := func(op *api.Operation, status int, code, reason string) {
		f.observe(http.Observation{
			Operation: op, Status: status, Code: code, Reason: reason, Elapsed: time.Millisecond,
		})
	}
	for _, op := range api.Table {
		see(op, op.Statuses[0], "", "")
		see(op, 404, string(fault.ProjectNotFound), "")
	}
	message := &api.Operation{Tag: "mcp", Category: api.CategoryRead}
	see(message, 202, "", "")
	see(message, 400, "", "")
	for _, entry := range fault.Catalog {
		see(nil, entry.Status, string(entry.Code), "")
	}
	for _, limit := range http.DefaultLimits() {
		see(nil, 429, string(fault.RateLimited), strings.ToUpper(limit.Name))
	}
	for _, queue := range []string{
		"CONNECTIONS", "CONNECTIONS_IP", "BODY_MEMORY", "BODY_MEMORY_IP", "BODY_MEMORY_AGENT",
		"LOG_QUEUE_FULL", "PROJECT_QUEUE_FULL",
		"IDENTITY_QUEUE_FULL", "OVERLOADED", "DISK_RESERVE", "LOG_FAILED",
		"WAITING", "WAITING_AGENT", "WAITING_IP",
		"EXPENSIVE", "EXPENSIVE_AGENT", "EXPENSIVE_IP", "WRITES",
	} {
		see(nil, 429, string(fault.RateLimited), queue)
	}
	families := f.scrape(t)
	total := 0
	for name, family := range families {
		total += seriesOf(family)
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		counter := family.GetType() == dto.MetricType_COUNTER
		if strings.HasPrefix(name, "pws_") && counter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s has type %s", name, family.GetType())
		}
		if strings.Contains(family.GetHelp(), "these") {
			t.Errorf("the help of %s refers to another metric: %q", name, family.GetHelp())
		}
	}
	if total > seriesMax {
		t.Errorf("%d series, more than %d", total, seriesMax)
	}
	for _, name := range []string{
		"pws_build_info", "pws_requests_total", "pws_request_duration_seconds",
		"pws_refused_total", "pws_limited_total", "pws_log_batches_total",
		"pws_log_sync_seconds_total", "pws_waiting_dropped_total", "pws_request_memory_bytes",
		"pws_disk_free_bytes",
		"pws_disk_reserve_bytes", "pws_writable",
	} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestMetricsCountRefusals checks that a refusal is counted by its code and its limit.
func TestMetricsCountRefusals(t *testing.T) {
	registry := prometheus.NewRegistry()
	observe := countRequests(registry)
	op := api.Table[0]
	for range 3 {
		observe(http.Observation{
			Operation: op, Status: 429, Code: "RATE_LIMITED", Reason: "AGENT_WRITE",
		})
	}
	observe(http.Observation{Status: 404, Code: "ROUTE_NOT_FOUND"})
	observe(http.Observation{
		Operation: &api.Operation{Page: true, Category: api.CategoryPage}, Status: 200,
	})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			key := family.GetName()
			for _, label := range one.GetLabel() {
				key += " " + label.GetValue()
			}
			got[key] = one.GetCounter().GetValue()
			if one.Histogram != nil {
				got[key] = float64(one.Histogram.GetSampleCount())
			}
		}
	}
	for key, want := range map[string]float64{
		"pws_requests_total 4xx " + op.Tag:                    3,
		"pws_requests_total 4xx none":                         1,
		"pws_requests_total 2xx page":                         1,
		"pws_refused_total RATE_LIMITED":                      3,
		"pws_refused_total ROUTE_NOT_FOUND":                   1,
		"pws_limited_total agent-write":                       3,
		"pws_request_duration_seconds " + string(op.Category): 3,
		"pws_request_duration_seconds none":                   1,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, not %v; all: %v", key, got[key], want, got)
		}
	}
}

// leaderless is the journal of a member of a group that hears of no leader.
type leaderless struct{ journal.Journal }

func (j leaderless) Start(m journal.Machine) { j.Journal.Start(follower{m}) }

func (leaderless) BeginRead() (journal.Reign, error) { return 0, journal.ErrNotLeading }

// follower is a machine that does not lead.
type follower struct{ journal.Machine }

func (follower) Lead(journal.Reign) {}

func openLeaderless(o journal.Options) (journal.Journal, *journal.Recovery, error) {
	log, found, err := journal.OpenLocal(o)
	return leaderless{log}, found, err
}

// TestAdminProbes checks the probes with enough disk space and without, and on a member of a group
// without a leader.
func TestAdminProbes(t *testing.T) {
	for _, c := range []struct {
		config actors.Config
		status int
		body   string
		metric float64
	}{
		{actors.Config{ReserveBytes: -1}, 200, `{"reads":true,"writes":true}`, 1},
		{
			actors.Config{ReserveBytes: 1 << 60}, 503,
			`{"reads":true,"writes":false,"reason":"DISK_RESERVE"}`, 0,
		},
		{
			actors.Config{ReserveBytes: -1, OpenJournal: openLeaderless}, 503,
			`{"reads":false,"writes":false,"reason":"NOT_LEADING"}`, 0,
		},
	} {
		f := startTestAdminOn(t, c.config)
		if status, body := f.get(t, "/livez"); status != 200 || body != `{"status":"ok"}`+"\n" {
			t.Errorf("livez: %d %s", status, body)
		}
		if status, body := f.get(t, "/readyz"); status != c.status || body != c.body+"\n" {
			t.Errorf("readyz: %d %s", status, body)
		}
		writable := f.scrape(t)["pws_writable"].GetMetric()[0].GetGauge().GetValue()
		if writable != c.metric {
			t.Errorf("pws_writable is %v", writable)
		}
	}
}
