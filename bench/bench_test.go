package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pws/bench/client"
)

func TestMain(m *testing.M) {
	// The test binary runs itself as the child process of the baselines.
	if len(os.Args) == 4 && os.Args[1] == "bench-baseline" {
		if err := ServeBaseline(context.Background(), os.Args[3], os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(serviceDir)
		os.Exit(code)
	}))
}

func testConfig(t *testing.T) *Config {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Config{
		Program: program, Duration: 200 * time.Millisecond, Connections: 4, Rounds: 2,
		Dir: t.TempDir(), Projects: 8, ClaimTasks: 150, ResumeChangesets: 60, ResumeTasks: 40,
		ResumeHandoffs: 7, RestartProjects: 5, RestartChangesets: 50,
		MemoryProjects: 20, MemoryOperations: 1600, Watchers: 20, SearchDocuments: 100,
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

func TestSearchNeedsDocuments(t *testing.T) {
	config := testConfig(t)
	config.Only, config.SearchDocuments = []string{RunSearch}, 50
	if _, err := Run(t.Context(), *config); err == nil ||
		!strings.Contains(err.Error(), "at least 100") {
		t.Errorf("50 documents: %v", err)
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

// scripted is a caller that returns the given results.
type scripted func() error

func (s scripted) call() error { return s() }

func TestCallers(t *testing.T) {
	turn := 0
	sample, err := callers{scripted(func() error {
		if turn++; turn == 4 {
			return errFinished
		}
		return nil
	}), scripted(func() error { return io.ErrUnexpectedEOF })}.drive(t.Context(),
		load{duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count != 3 || sample.Errors["unexpected EOF"] != 1 {
		t.Errorf("count %d, errors %v", sample.Count, sample.Errors)
	}
	ctx, cancel := context.WithCancel(t.Context())
	again := callers{scripted(func() error { cancel(); return nil })}
	if _, err := again.drive(ctx, load{duration: time.Hour}); err == nil {
		t.Error("no error AFTER the end of the context")
	}
}

// echo serves lines on the loopback interface: it answers each line with the line that the function
// returns, in two pieces, and closes the connection if that is empty.
func echo(t *testing.T, answer func(line string) string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				lines := bufio.NewScanner(conn)
				for lines.Scan() {
					text := answer(lines.Text())
					if text == "" {
						return
					}
					for _, piece := range []string{text[:1], text[1:] + "\n"} {
						if _, err := io.WriteString(conn, piece); err != nil {
							return
						}
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		group.Wait()
	})
	return listener.Addr().String()
}

// lineExchange sends the same line a bounded number of times and accepts any line as the answer.
type lineExchange struct {
	line string
	left int
}

func (l *lineExchange) next() []byte {
	if l.left == 0 {
		return nil
	}
	l.left--
	return []byte(l.line + "\n")
}

func (l *lineExchange) complete(have []byte) (bool, string, error) {
	if !bytes.HasSuffix(have, []byte("\n")) {
		return false, "", nil
	}
	if string(have) != "ok\n" {
		return true, strings.TrimSpace(string(have)), nil
	}
	return true, "", nil
}

func TestConnectionsCountOutcomes(t *testing.T) {
	address := echo(t, func(line string) string {
		if line == "bye" {
			return ""
		}
		return line
	})
	fleet, err := dialAll(address, []exchange{
		&lineExchange{"ok", 20}, &lineExchange{"refused", 3}, &lineExchange{"bye", 5},
		&lineExchange{outcomeUncounted, 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.close()
	sample, err := fleet.drive(t.Context(), load{duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if sample.Count != 20 || sample.Errors["refused"] != 3 || len(sample.Errors) != 2 ||
		sample.Errors["CONNECTION the server closed the connection"] != 1 {
		t.Errorf("count %d, errors %v", sample.Count, sample.Errors)
	}
}

func TestConnectionsKeepThePace(t *testing.T) {
	address := echo(t, func(line string) string { return line })
	fleet, err := dialAll(address, []exchange{
		&lineExchange{"ok", 1e6}, &lineExchange{"ok", 1e6}, &lineExchange{"ok", 1e6},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.close()
	for range 2 {
		sample, err := fleet.drive(t.Context(), load{
			duration: testConfig(t).Duration, perSecond: 500,
		})
		if err != nil {
			t.Fatal(err)
		}
		// 100 requests are due. None may be sent early, and on a slow machine none is left out
		// before the run is over.
		if sample.Count < 10 || sample.Count > 101 || len(sample.Errors) > 0 {
			t.Errorf("%d requests, errors %v", sample.Count, sample.Errors)
		}
	}
}

func TestConnectionsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address := echo(t, func(line string) string {
		cancel()
		return line
	})
	fleet, err := dialAll(address, []exchange{&lineExchange{"ok", 1e6}})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.close()
	if _, err := fleet.drive(ctx, load{duration: time.Hour}); err == nil {
		t.Error("no error")
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
		for i := range writers {
			paths := writerPaths(projects, i, writers)
			if len(paths) == 0 {
				t.Fatalf("writer %d of %d has nothing to do", i, writers)
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
	got, err := record(client.Request{Method: "GET", Path: "/any", Host: b.address})
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

// driveBriefly drives the clients of a subject for a short time and fails unless all succeed.
func driveBriefly(t *testing.T, subject *subject) {
	t.Helper()
	clients, err := subject.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer clients.close()
	sample, err := clients.drive(t.Context(), load{duration: 200 * time.Millisecond})
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
	driveBriefly(t, log.callers(testConfig(t)))
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
	driveBriefly(t, redisClients(own, testConfig(t)))
	rate, err := redisBenchmark(t.Context(), own.address, 4, 1000, 100*time.Millisecond)
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
	driveBriefly(t, etcdClients(member, testConfig(t)))
}

func TestReport(t *testing.T) {
	sample := newSample()
	sample.Seconds = 2
	for i := range 1000 {
		sample.add(time.Duration(i+1) * time.Millisecond)
	}
	other := newSample()
	other.Seconds = 2
	other.add(time.Millisecond)
	other.fail("500 INTERNAL")
	report := &Report{
		Program: programVersion(), Order: [][]string{{"a", "b"}},
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
		for _, want := range []string{"a / b", "etcd is absent", "500 INTERNAL", "≤ 5", "first",
			"Order of a round: a, b.", "--rate-limits off", "UNLISTED", "commit "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
	if got := number(1234567); got != "1,234,567" {
		t.Errorf("number: %s", got)
	}
}
