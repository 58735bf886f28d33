package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"pws/bench/client"
)

// OverloadConfig says how much more than it can take a server is sent, and for how long.
type OverloadConfig struct {
	// Program is the binary whose serve command is started.
	Program string
	// Duration is the length of each phase, and Rounds how often a load is repeated, each time with a
	// new server.
	Duration time.Duration
	Rounds   int
	// Connections find the peak, Flood connections send Times as many requests as it had.
	Connections, Flood int
	Times              float64
	// MemoryLimit is the memory limit of the server, in bytes.
	MemoryLimit int64
	// Dir is where temporary folders are created; empty means the system's default.
	Dir string
	// Progress receives a line for each load; nil means no output.
	Progress io.Writer

	// recovery is when the server should be as before AFTER an overload.
	recovery time.Duration
}

// OverloadReport is the result of all loads.
type OverloadReport struct {
	Machine     Machine          `json:"machine"`
	Began       time.Time        `json:"began"`
	MemoryLimit int64            `json:"memory_limit_bytes"`
	Loads       []OverloadResult `json:"loads"`
}

// OverloadResult is one round of a load: its peak, what is left of it under overload, and
// afterwards.
type OverloadResult struct {
	Name string `json:"name"`
	What string `json:"what"`
	// Round counts from 1.
	Round int `json:"round"`
	// Peak is by few connections, During under overload, and After like Peak, recoveryTime after
	// the overload.
	Peak   LoadPhase `json:"peak"`
	During LoadPhase `json:"during"`
	After  LoadPhase `json:"after"`
	// OfferedPerSecond is what was due during the overload, AnsweredPerSecond what was answered,
	// refusals included, and Unsent how many requests were not sent, because their connections
	// waited for answers: the clients are a closed loop.
	OfferedPerSecond  float64 `json:"offered_per_second"`
	AnsweredPerSecond float64 `json:"answered_per_second"`
	Unsent            int64   `json:"unsent"`
	// Kept and Recovered are the rates of During and After, divided by that of Peak.
	Kept      float64 `json:"kept"`
	Recovered float64 `json:"recovered"`
	// KeptByProcessor is the work for a second of the server's processor time during the overload,
	// divided by that of Peak.
	KeptByProcessor float64 `json:"kept_by_processor"`
	// PeakBytes is the most memory that the server had resident (VmHWM).
	PeakBytes int64 `json:"peak_bytes"`
	// Refused counts the refusals, all of which say when to retry.
	Refused map[string]int64 `json:"refused,omitempty"`
	// Failures are the conditions that did not hold.
	Failures []string `json:"failures,omitempty"`
}

// LoadPhase is the useful work of a phase.
type LoadPhase struct {
	PerSecond float64 `json:"per_second"`
	P50       int64   `json:"p50_us"`
	P99       int64   `json:"p99_us"`
	// ServerMicros is the processor time of the server for a request that it carried out.
	ServerMicros float64 `json:"server_us"`
}

const (
	// keptTarget is the part of the peak that should be left under overload.
	keptTarget = 0.8
	// recoveryTime is when the server should be as before AFTER an overload.
	recoveryTime = 2 * time.Second
	// overloadAddresses are how many addresses the clients have.
	overloadAddresses = 64
)

// overloads are all loads.
var overloads = []struct {
	name, what string
	projects   int
}{
	{"writes-one", "durable PUT of 300 B into one project", 1},
	{"writes-many", "durable PUT of 300 B into 500 projects", 500},
}

// RunOverload drives a server of its own with each load: alone, with more than it can take, and
// again alone. An error means that a load could not be carried out; Failed names what did not hold.
func RunOverload(ctx context.Context, config OverloadConfig) (*OverloadReport, error) {
	if config.Duration <= 0 || config.Rounds < 1 || config.Connections < 1 || config.Flood < 1 ||
		config.Times <= 1 ||
		config.Flood > connectionsPerAddress*overloadAddresses || config.MemoryLimit <= 0 {
		return nil, fmt.Errorf("the duration, the rounds, the connections (at most %d) and the "+
			"memory limit must be positive, the times above 1", connectionsPerAddress*overloadAddresses)
	}
	config.recovery = recoveryTime
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	report := &OverloadReport{
		Machine: machine, Began: time.Now().UTC().Truncate(time.Second),
		MemoryLimit: config.MemoryLimit,
	}
	for i, one := range overloads {
		for round := range config.Rounds {
			result, err := config.carryOut(ctx, i)
			if err != nil {
				return report, fmt.Errorf("%s: %w", one.name, err)
			}
			result.Round = round + 1
			report.Loads = append(report.Loads, *result)
			if config.Progress != nil {
				fmt.Fprintf(config.Progress,
					"%-12s %8.0f → %8.0f → %8.0f a second, peak %d MiB, %v\n", one.name,
					result.Peak.PerSecond, result.During.PerSecond, result.After.PerSecond,
					result.PeakBytes>>20, result.Refused)
			}
		}
	}
	return report, nil
}

// connectionsPerAddress is below the bound of a server with default settings, so that none of these
// connections is refused.
const connectionsPerAddress = 240

// politely sends requests and checks that refusals say when to retry.
type politely struct{ httpExchange }

func (p politely) complete(have []byte) (bool, string, error) {
	response, whole, err := client.Parse(have)
	if err != nil || !whole {
		return false, "", err
	}
	outcome := client.Outcome(response)
	if isRefusal(outcome) && response.Header("retry-after") == "" {
		outcome = "refused without Retry-After: " + outcome
	}
	return true, outcome, nil
}

func isRefusal(outcome string) bool {
	return strings.HasPrefix(outcome, "429 ") || strings.HasPrefix(outcome, "503 ")
}

// carryOut drives one load.
func (c *OverloadConfig) carryOut(ctx context.Context, at int) (*OverloadResult, error) {
	one := overloads[at]
	s, err := openScene(ctx, &AbuseConfig{
		Program: c.Program, Dir: c.Dir, MemoryLimit: c.MemoryLimit,
	}, "--rate-limits", "off")
	if err != nil {
		return nil, err
	}
	defer s.close()
	var projects []string
	for i := range one.projects {
		project, err := s.owner.CreateProject(fmt.Sprintf("Overload %d", i))
		if err != nil {
			return nil, err
		}
		projects = append(projects, project.ID)
	}
	few, err := s.writers(projects, c.Connections, c.Flood, 0)
	if err != nil {
		return nil, err
	}
	defer few.close()
	result := &OverloadResult{Name: one.name, What: one.what, Refused: map[string]int64{}}
	peak, err := result.phase(ctx, s, few, &result.Peak, load{duration: c.Duration})
	if err != nil {
		return nil, err
	}
	many, err := s.writers(projects, c.Flood, c.Flood, c.Connections)
	if err != nil {
		return nil, err
	}
	result.OfferedPerSecond = max(c.Times*peak.PerSecond(), 1)
	during, err := result.phase(ctx, s, many, &result.During, load{
		duration: c.Duration, perSecond: result.OfferedPerSecond,
	})
	many.close()
	if err != nil {
		return nil, errors.Join(err, s.alive())
	}
	result.AnsweredPerSecond = float64(during.Count+sum(during.Errors)) / during.Seconds
	result.Unsent = during.Unsent
	select {
	case <-time.After(c.recovery):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if _, err := result.phase(ctx, s, few, &result.After, load{duration: c.Duration}); err != nil {
		return nil, err
	}
	if rate := result.Peak.PerSecond; rate > 0 {
		result.Kept, result.Recovered = result.During.PerSecond/rate, result.After.PerSecond/rate
	}
	if micros := result.During.ServerMicros; micros > 0 {
		result.KeptByProcessor = result.Peak.ServerMicros / micros
	}
	return result, s.judgeOverload(result)
}

// writers connects clients that write the same files of the projects, whatever their number, from
// many addresses. Seed keeps their contents apart from those of others.
func (s *scene) writers(projects []string, n, files, seed int) (connections, error) {
	writers := make([]*writer, n)
	exchanges := make([]exchange, n)
	for i := range exchanges {
		writers[i] = &writer{
			host: s.host, credential: s.owner.Credential, filler: newFiller(seed+i, contentBytes),
		}
		exchanges[i] = politely{httpExchange{writers[i].next}}
	}
	for i := range max(files, n) {
		w := writers[i%n]
		w.paths = append(w.paths,
			filePath(projects[i%len(projects)], fmt.Sprintf("file-%d.txt", i%64)))
	}
	var addresses []netip.Addr
	for i := range overloadAddresses {
		addresses = append(addresses, netip.AddrFrom4([4]byte{127, 0, 4, byte(1 + i)}))
	}
	return dialAllFrom(s.host, exchanges, addresses)
}

// phase drives clients, and separates refusals from what should not happen.
func (r *OverloadResult) phase(
	ctx context.Context, s *scene, clients connections, into *LoadPhase, l load,
) (*Sample, error) {
	before, err := s.usage()
	if err != nil {
		return nil, err
	}
	sample, err := clients.drive(ctx, l)
	if err != nil {
		return nil, err
	}
	after, err := s.usage()
	if err != nil {
		return nil, errors.Join(err, s.alive())
	}
	r.note(into, sample)
	if sample.Count > 0 {
		into.ServerMicros = float64((after.CPU - before.CPU).Microseconds()) / float64(sample.Count)
	}
	return sample, nil
}

// note adds the results of a phase.
func (r *OverloadResult) note(into *LoadPhase, sample *Sample) {
	into.PerSecond = sample.PerSecond()
	into.P50 = sample.latencies.ValueAtQuantile(50)
	into.P99 = sample.latencies.ValueAtQuantile(99)
	for _, outcome := range slices.Sorted(maps.Keys(sample.Errors)) {
		if isRefusal(outcome) {
			r.Refused[outcome] += sample.Errors[outcome]
		} else {
			r.Failures = append(r.Failures, fmt.Sprintf("%d times %s", sample.Errors[outcome], outcome))
		}
	}
}

func (s *scene) judgeOverload(result *OverloadResult) error {
	if err := s.alive(); err != nil {
		result.Failures = append(result.Failures, err.Error())
		return nil
	}
	usage, err := s.usage()
	if err != nil {
		return err
	}
	if result.PeakBytes = usage.PeakBytes; usage.PeakBytes > s.config.MemoryLimit {
		result.Failures = append(result.Failures,
			fmt.Sprintf("the server took %d bytes of memory", usage.PeakBytes))
	}
	return nil
}

// Failed names what did not hold, with the load.
func (r *OverloadReport) Failed() (failed []string) {
	for _, one := range r.Loads {
		for _, failure := range one.Failures {
			failed = append(failed, one.Name+": "+failure)
		}
	}
	return failed
}

// Text writes the report as a table for a terminal.
func (r *OverloadReport) Text(out io.Writer) error { return r.write(out, (*table).text) }

// Markdown writes the report as a Markdown table.
func (r *OverloadReport) Markdown(out io.Writer) error { return r.write(out, (*table).markdown) }

func (r *OverloadReport) write(out io.Writer, show func(*table, io.Writer) error) error {
	fmt.Fprintf(out, "%s: %s; memory limit %d MiB.\n\n", r.Began.Format(time.RFC3339), r.Machine,
		r.MemoryLimit>>20)
	fmt.Fprint(out, "The clients are a closed loop: each connection has one request in flight, and "+
		"what is offered beyond the answers stays unsent. The time of a request counts from when it "+
		"was due, for one that was not sent until the end of the phase. So a p99 near the length of the "+
		"phase follows from that length, and does not say how long the server took.\n\n")
	t := &table{heading: []string{
		"load", "peak a second", "p99 ms", "server µs", "offered a second", "answered", "unsent",
		"served under overload", "p99 ms",
		"server µs", fmt.Sprintf("kept (target ≥ %g)", keptTarget), "kept by processor time",
		"2 s after", "p99 ms", "recovered",
		"server's peak MiB", "refusals with Retry-After", "what",
	}}
	for _, one := range r.Loads {
		var refused []string
		for _, outcome := range slices.Sorted(maps.Keys(one.Refused)) {
			refused = append(refused, fmt.Sprintf("%s: %d", outcome, one.Refused[outcome]))
		}
		t.add(one.Name, number(one.Peak.PerSecond), millis(one.Peak.P99),
			fmt.Sprintf("%.0f", one.Peak.ServerMicros), number(one.OfferedPerSecond),
			number(one.AnsweredPerSecond), number(float64(one.Unsent)),
			number(one.During.PerSecond), millis(one.During.P99),
			fmt.Sprintf("%.0f", one.During.ServerMicros), fmt.Sprintf("%.2f", one.Kept),
			fmt.Sprintf("%.2f", one.KeptByProcessor),
			number(one.After.PerSecond), millis(one.After.P99),
			fmt.Sprintf("%.2f", one.Recovered), fmt.Sprint(one.PeakBytes>>20),
			strings.Join(refused, ", "), one.What)
	}
	if err := show(t, out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, one := range overloads {
		var kept, recovered []float64
		for _, round := range r.Loads {
			if round.Name == one.name {
				kept, recovered = append(kept, round.Kept), append(recovered, round.Recovered)
			}
		}
		if len(kept) > 0 {
			fmt.Fprintf(out, "%s: kept %.2f (%.2f to %.2f), recovered %.2f (%.2f to %.2f)\n\n",
				one.name, median(kept), slices.Min(kept), slices.Max(kept), median(recovered),
				slices.Min(recovered), slices.Max(recovered))
		}
	}
	for _, one := range r.Failed() {
		fmt.Fprintf(out, "\nFAILED %s\n", one)
	}
	return nil
}
