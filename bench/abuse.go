package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// AbuseConfig says which attacks to run, and for how long.
type AbuseConfig struct {
	// Program is the binary whose serve command is started for each attack.
	Program string
	// Only names the wanted attacks; empty means all.
	Only []string
	// Quiet is how long ordinary users are measured BEFORE each attack and AFTER it.
	Quiet time.Duration
	// Attack is how long each attack goes on.
	Attack time.Duration
	// Small runs the attacks with small amounts, which show only that they work.
	Small bool
	// MemoryLimit is the memory limit of the server, in bytes.
	MemoryLimit int64
	// Dir is where temporary folders are created; empty means the system's default.
	Dir string
	// Progress receives a line for each attack; nil means no output.
	Progress io.Writer `json:"-"`

	// yields says that this process lowers its priority BEFORE it attacks.
	yields bool
}

// attack is one way to abuse the service. Ordinary users work at the same time, from other
// addresses.
type attack struct {
	name, what string
	// flags are flags of the server, and small are further ones for small amounts.
	flags, small []string
	// setup prepares the attack BEFORE anything is measured; it may be nil.
	setup func(*scene) error
	// run attacks until the context ends, or until everything was tried.
	run func(context.Context, *scene) error
	// holds checks, while the connections of the attack are still open, what must be true in spite
	// of it; it may be nil.
	holds func(*scene) error
}

// attacks are all attacks, in order.
var attacks = slices.Concat(connectionAttacks, requestAttacks, networkAttacks, recordAttacks)

// AttackNames lists all attacks in order.
func AttackNames() (names []string) {
	for _, one := range attacks {
		names = append(names, one.name)
	}
	return names
}

// AbuseReport is the result of all attacks.
type AbuseReport struct {
	Machine     Machine       `json:"machine"`
	Began       time.Time     `json:"began"`
	MemoryLimit int64         `json:"memory_limit_bytes"`
	Attacks     []AbuseResult `json:"attacks"`
}

// AbuseResult is what one attack did to the server and to its ordinary users.
type AbuseResult struct {
	Name string `json:"name"`
	What string `json:"what"`
	// Before, During and After are what ordinary users saw.
	Before UserPhase `json:"before"`
	During UserPhase `json:"during"`
	After  UserPhase `json:"after"`
	// P99Ratio is their p99 during the attack, divided by that before it.
	P99Ratio float64 `json:"p99_ratio"`
	// PeakBytes is the most memory that the server had resident (VmHWM).
	PeakBytes int64 `json:"peak_bytes"`
	// QuietAfterSeconds is the time from the end of the attack until the server had as many sockets
	// as before it, no requests that wait, and no memory reserved for requests.
	QuietAfterSeconds float64 `json:"quiet_after_seconds"`
	// Answers counts what the attackers received, by status and code.
	Answers map[string]int64 `json:"answers,omitempty"`
	// Figures are further measurements of this attack, by name.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Failures are the conditions that did not hold.
	Failures []string `json:"failures,omitempty"`
}

// UserPhase is what ordinary users saw for a time.
type UserPhase struct {
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	P50      int64   `json:"p50_us"`
	P99      int64   `json:"p99_us"`
	// Refused counts answers of 429 and 503, Errors everything else that was no success.
	Refused map[string]int64 `json:"refused,omitempty"`
	Errors  map[string]int64 `json:"errors,omitempty"`
	// CPUShare is the server's part of the time of all processors.
	CPUShare float64 `json:"cpu_share"`
}

// ratioTarget is the target for P99Ratio. It depends on the machine, so that it is reported and
// fails nothing.
const ratioTarget = 5

// RunAbuse carries out the wanted attacks, each against a server of its own. An error means that an
// attack could not be carried out; Failed names what did not hold.
func RunAbuse(ctx context.Context, config AbuseConfig) (*AbuseReport, error) {
	if err := checkNames("attack", config.Only, AttackNames()); err != nil {
		return nil, err
	}
	if config.Quiet <= 0 || config.Attack <= 0 || config.MemoryLimit <= 0 {
		return nil, errors.New("the times and the memory limit must be positive")
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	report := &AbuseReport{
		Machine: machine, Began: time.Now().UTC().Truncate(time.Second),
		MemoryLimit: config.MemoryLimit,
	}
	for _, one := range attacks {
		if len(config.Only) > 0 && !slices.Contains(config.Only, one.name) {
			continue
		}
		result, err := config.runAttack(ctx, one.name)
		if err != nil {
			return report, fmt.Errorf("%s: %w", one.name, err)
		}
		report.Attacks = append(report.Attacks, *result)
		config.say("%-20s p99 %d → %d → %d µs, peak %d MiB, %v", one.name, result.Before.P99,
			result.During.P99, result.After.P99, result.PeakBytes>>20, result.Answers)
	}
	return report, nil
}

func (c *AbuseConfig) say(format string, args ...any) {
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, format+"\n", args...)
	}
}

// carryOut runs one attack against a server of its own, with ordinary users BEFORE, during and
// AFTER it.
func (c *AbuseConfig) carryOut(ctx context.Context, one *attack) (*AbuseResult, error) {
	flags := slices.Clone(one.flags)
	if c.Small {
		flags = append(flags, one.small...)
	}
	users, err := c.prepareUsers(ctx)
	if err != nil {
		return nil, err
	}
	defer users.stop()
	if err := c.yield(serverNice); err != nil {
		return nil, err
	}
	s, err := openScene(ctx, c, flags...)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if one.setup != nil {
		if err := one.setup(s); err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
	}
	if err := users.start(ctx, s.host); err != nil {
		return nil, err
	}
	result := &AbuseResult{Name: one.name, What: one.what}
	if _, err := s.heldForRequests(ctx); err != nil {
		return nil, err
	}
	s.disconnect()
	sockets, err := s.settledSockets()
	if err != nil {
		return nil, err
	}
	if err := s.during(ctx, users, &result.Before, c.Quiet, waitFor); err != nil {
		return nil, err
	}
	if err := c.yield(attackNice); err != nil {
		return nil, err
	}
	err = s.during(ctx, users, &result.During, c.Attack, func(attacked context.Context) error {
		if err := one.run(attacked, s); err != nil {
			return err
		}
		if one.holds != nil {
			// What does not hold is a result of the attack.
			if err := one.holds(s); err != nil {
				result.Failures = append(result.Failures, err.Error())
			}
		}
		return waitFor(attacked)
	})
	if err != nil {
		return nil, errors.Join(err, s.alive())
	}
	s.disconnect()
	begun := time.Now()
	if err := s.awaitQuiet(ctx, sockets); err != nil {
		result.Failures = append(result.Failures, err.Error())
	}
	result.QuietAfterSeconds = time.Since(begun).Seconds()
	if err := s.during(ctx, users, &result.After, c.Quiet, waitFor); err != nil {
		return nil, err
	}
	return result, s.judge(result)
}

// waitFor waits until the time of a phase is over.
func waitFor(phase context.Context) error {
	<-phase.Done()
	return nil
}

// judge adds what the attackers received, and what did not hold.
func (s *scene) judge(result *AbuseResult) error {
	s.mu.Lock()
	result.Answers, result.Figures = maps.Clone(s.mu.answers), maps.Clone(s.mu.figures)
	s.mu.Unlock()
	if before := result.Before.P99; before > 0 {
		result.P99Ratio = float64(result.During.P99) / float64(before)
	}
	fail := func(format string, args ...any) {
		result.Failures = append(result.Failures, fmt.Sprintf(format, args...))
	}
	for _, phase := range []*UserPhase{&result.Before, &result.During, &result.After} {
		for _, outcome := range slices.Sorted(maps.Keys(phase.Errors)) {
			fail("ordinary users saw %d times %s", phase.Errors[outcome], outcome)
		}
		if phase.Requests == 0 {
			fail("ordinary users were not served for %.1f s", phase.Seconds)
		}
	}
	if err := s.alive(); err != nil {
		fail("%v", err)
		return nil
	}
	usage, err := s.usage()
	if err != nil {
		return err
	}
	if result.PeakBytes = usage.PeakBytes; usage.PeakBytes > s.config.MemoryLimit {
		fail("the server took %d bytes of memory", usage.PeakBytes)
	}
	return nil
}

// Failed names what did not hold, with the attack.
func (r *AbuseReport) Failed() (failed []string) {
	for _, one := range r.Attacks {
		for _, failure := range one.Failures {
			failed = append(failed, one.Name+": "+failure)
		}
	}
	return failed
}
