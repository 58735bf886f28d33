package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pws/bench/client"
)

func TestMain(m *testing.M) {
	// The test binary is its own child for the baselines.
	if len(os.Args) == 4 && os.Args[1] == "bench-baseline" {
		if err := ServeBaseline(context.Background(), os.Args[3], os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func testConfig(t *testing.T) *Config {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Config{
		Program: program, Duration: 200 * time.Millisecond, Connections: 4, Rounds: 2,
		Dir: t.TempDir(), Projects: 8, RestartProjects: 5, RestartChangesets: 50,
		MemoryProjects: 20, MemoryOperations: 1600,
	}
}

func TestValidate(t *testing.T) {
	config := testConfig(t)
	if err := config.validate(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Only = []string{"none"} }, func(c *Config) { c.Duration = 0 },
		func(c *Config) { c.Connections = 0 }, func(c *Config) { c.Rounds = roundsMax + 1 },
	} {
		spoilt := *config
		spoil(&spoilt)
		if err := spoilt.validate(); err == nil {
			t.Errorf("%+v was accepted", spoilt)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, one := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 9}, 3.5}} {
		if got := median(one.values); got != one.want {
			t.Errorf("%v: %v, want %v", one.values, got, one.want)
		}
	}
}

// scripted answers steps from a function and never touches a network.
type scripted struct{ do func() (string, error) }

func (s *scripted) step() (string, error)    { return s.do() }
func (s *scripted) deadline(time.Time) error { return nil }
func (s *scripted) close()                   {}

func TestDriveCountsSuccessesAndFailures(t *testing.T) {
	turn := 0
	sample, err := drive(t.Context(), []worker{&scripted{func() (string, error) {
		turn++
		switch turn {
		case 4:
			return "", errFinished
		case 2:
			return "409 PROJECT_MOVED", nil
		}
		return "", nil
	}}, &scripted{func() (string, error) { return "", io.ErrUnexpectedEOF }}},
		load{duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count != 2 || sample.Errors["409 PROJECT_MOVED"] != 1 ||
		sample.Errors["CONNECTION unexpected EOF"] != 1 {
		t.Errorf("count %d, errors %v", sample.Count, sample.Errors)
	}
}

func TestDriveEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	one := &scripted{func() (string, error) {
		cancel()
		return "", nil
	}}
	if _, err := drive(ctx, []worker{one}, load{duration: time.Hour}); err == nil {
		t.Error("no error")
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	_, err := drive(ctx, []worker{one}, load{duration: time.Hour, perSecond: 0.001})
	if err == nil {
		t.Error("no error of a paced run")
	}
}

func TestPacedKeepsTheRate(t *testing.T) {
	config := testConfig(t)
	count := make([]int, 4)
	workers := make([]worker, len(count))
	for at := range workers {
		workers[at] = &scripted{func() (string, error) { count[at]++; return "", nil }}
	}
	sample, err := drive(t.Context(), workers, load{duration: config.Duration, perSecond: 500})
	if err != nil {
		t.Fatal(err)
	}
	// 100 are due; a slow machine may do fewer, none may do many more.
	if sample.Count < 4 || sample.Count > 104 {
		t.Errorf("%d steps", sample.Count)
	}
}

func TestFillerNeverRepeats(t *testing.T) {
	seen := map[string]bool{}
	for seed := range 4 {
		f := newFiller(seed, contentBytes)
		for range 100 {
			text := f.next()
			if len(text) != contentBytes || seen[string(text)] || bytes.IndexByte(text, 0) >= 0 {
				t.Fatalf("bad content %q", text)
			}
			seen[string(text)] = true
		}
	}
}

func TestWriterPathsAreDisjoint(t *testing.T) {
	projects := []string{"prj_a", "prj_b", "prj_c"}
	for _, writers := range []int{1, 2, 7} {
		seen := map[string]bool{}
		for at := range writers {
			paths := writerPaths(projects, at, writers)
			if len(paths) == 0 {
				t.Fatalf("writer %d of %d has nothing to do", at, writers)
			}
			for _, path := range paths {
				if seen[path] {
					t.Fatalf("%s is written by two", path)
				}
				seen[path] = true
			}
		}
	}
}

const recordedResponse = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
	"X-Request-Id: req_1\r\nContent-Length: 5\r\n\r\nhello"

func TestBareHTTPSendsTheRecordedBytes(t *testing.T) {
	b, err := startBareHTTP(t.Context(), testConfig(t), []byte(recordedResponse))
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	host, err := client.HostOf(b.process.URL)
	if err != nil {
		t.Fatal(err)
	}
	got, err := record(host, "", "/any")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"X-Request-Id: req_1\r\n", "\r\n\r\nhello"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if _, err := replayHandler([]byte("nonsense")); err == nil {
		t.Error("nonsense was accepted")
	}
}

// driveBriefly drives workers for a moment and wants successes only.
func driveBriefly(t *testing.T, workers []worker) {
	t.Helper()
	defer closeWorkers(workers)
	sample, err := drive(t.Context(), workers, load{duration: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count == 0 || len(sample.Errors) > 0 {
		t.Errorf("count %d, errors %v", sample.Count, sample.Errors)
	}
}

func TestBareLog(t *testing.T) {
	log, err := startBareLog(testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	driveBriefly(t, log.workers(t.Context(), 4))
}

func TestRedis(t *testing.T) {
	own, err := startRedis(t.Context(), testConfig(t))
	if errors.Is(err, errAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	workers, err := own.workers(4)
	if err != nil {
		t.Fatal(err)
	}
	driveBriefly(t, workers)
	rate, err := own.redisBenchmark(t.Context(), 4, 1000, 100*time.Millisecond)
	if err != nil && !errors.Is(err, errAbsent) {
		t.Error(err)
	}
	if err == nil && rate <= 0 {
		t.Errorf("rate %v", rate)
	}
}

func TestEtcd(t *testing.T) {
	member, err := startEtcd(t.Context(), testConfig(t))
	if errors.Is(err, errAbsent) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer member.close()
	workers, err := member.workers(4)
	if err != nil {
		t.Fatal(err)
	}
	driveBriefly(t, workers)
}

func TestReport(t *testing.T) {
	sample := newSample()
	sample.Seconds = 2
	for at := range 1000 {
		sample.add(time.Duration(at+1) * time.Millisecond)
	}
	other := newSample()
	other.Seconds = 2
	other.add(time.Millisecond)
	other.fail("500 INTERNAL")
	report := &Report{
		Absent: []string{"etcd is absent"}, Restart: &RestartResult{Lost: 3}, Memory: &MemoryResult{},
	}
	a := &subject{name: "a", what: "first", rounds: []*Sample{sample, sample}}
	b := &subject{name: "b", what: "second", rounds: []*Sample{other, sample}}
	report.add(a)
	report.add(b)
	report.compareRates(a, b, 2)
	report.addRatio(Ratio{Name: "c", Rounds: []float64{7}, Target: 5, AtMost: true})
	if got := report.Measurements[0].Latency.P50; got < 499_000 || got > 501_000 {
		t.Errorf("p50 %d", got)
	}
	if !report.Ratios[0].Met || report.Ratios[1].Met {
		t.Errorf("ratios %+v", report.Ratios)
	}
	if got := strings.Join(report.Failed(), "; "); got !=
		"b: 1 times 500 INTERNAL; restart: 3 changesets are lost" {
		t.Errorf("failed: %s", got)
	}
	for _, show := range []func(io.Writer) error{report.Text, report.Markdown} {
		var out bytes.Buffer
		if err := show(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a / b", "etcd is absent", "500 INTERNAL", "≤ 5", "first"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
	if got := number(1234567); got != "1,234,567" {
		t.Errorf("number: %s", got)
	}
}
