package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestAttacks carries out every attack with small amounts. Nothing that depends on time is checked.
func TestAttacks(t *testing.T) {
	program := buildService(t)
	for _, one := range attacks {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			config := &AbuseConfig{
				Program: program, Quiet: 50 * time.Millisecond, Attack: 200 * time.Millisecond,
				Small: true, MemoryLimit: 1 << 30, Dir: t.TempDir(),
			}
			result, err := config.carryOut(t.Context(), &one)
			if err != nil {
				t.Fatal(err)
			}
			for _, failure := range result.Failures {
				t.Error(failure)
			}
			if result.PeakBytes == 0 {
				t.Error("the memory was not measured")
			}
			t.Log(result.Answers, result.Figures)
		})
	}
}

func TestAbuseReport(t *testing.T) {
	report := &AbuseReport{MemoryLimit: 1 << 30, Attacks: []AbuseResult{{
		Name: "one", What: "an attack", Before: UserPhase{P50: 1000, P99: 2000},
		During:   UserPhase{P99: 9000, Refused: map[string]int64{"429 RATE_LIMITED": 3}},
		After:    UserPhase{Errors: map[string]int64{"500 INTERNAL": 4}, CPUShare: 0.5},
		P99Ratio: 4.5, PeakBytes: 77 << 20, Answers: map[string]int64{"success": 12},
		Figures:  map[string]float64{"found after s": 1.5},
		Failures: []string{"ordinary users saw 4 times 500 INTERNAL"},
	}}}
	if got := strings.Join(report.Failed(), "; "); got !=
		"one: ordinary users saw 4 times 500 INTERNAL" {
		t.Errorf("failed: %s", got)
	}
	for _, show := range []func(*bytes.Buffer) error{
		func(out *bytes.Buffer) error { return report.Text(out) },
		func(out *bytes.Buffer) error { return report.Markdown(out) },
	} {
		var out bytes.Buffer
		if err := show(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"1.00", "4.5", "77", "50 %", "success: 12", "found after s: 1.5", "FAILED one",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}

func TestUnknownAttacksAreNamed(t *testing.T) {
	_, err := RunAbuse(t.Context(), AbuseConfig{Only: []string{"none"}})
	if err == nil || !strings.Contains(err.Error(), "unread-answers") {
		t.Errorf("error: %v", err)
	}
	if _, err := RunAbuse(t.Context(), AbuseConfig{Quiet: time.Second}); err == nil {
		t.Error("an attack without a time was accepted")
	}
}
