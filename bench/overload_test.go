package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestOverloadRunsSmall runs each load with few clients. Nothing that depends on time is checked.
func TestOverloadRunsSmall(t *testing.T) {
	config := OverloadConfig{
		Program: buildService(t), Duration: 100 * time.Millisecond, Connections: 4, Flood: 64,
		Times: 4, MemoryLimit: 1 << 30, Dir: t.TempDir(), recovery: time.Millisecond,
	}
	for i, one := range overloads {
		result, err := config.carryOut(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Failures) > 0 || result.PeakBytes == 0 || result.AnsweredPerSecond <= 0 ||
			result.OfferedPerSecond < result.Peak.PerSecond {
			t.Errorf("%s: %+v", one.name, result)
		}
		for _, phase := range []LoadPhase{result.Peak, result.During, result.After} {
			if phase.PerSecond <= 0 {
				t.Errorf("%s: a phase did nothing: %+v", one.name, result)
			}
		}
	}
}

func TestRefusalsSayWhenToRetry(t *testing.T) {
	const body = `{"ok":false,"error":{"code":"RATE_LIMITED","message":"m"}}`
	head := "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 58\r\n"
	for text, want := range map[string]string{
		head + "Retry-After: 1\r\n\r\n" + body: "429 RATE_LIMITED",
		head + "\r\n" + body:                   "refused without Retry-After: 429 RATE_LIMITED",
		recordedResponse:                       "",
	} {
		whole, got, err := politely{}.complete([]byte(text))
		if err != nil || !whole || got != want {
			t.Errorf("%q: %t, %q, %v", text, whole, got, err)
		}
	}
}

func TestOverloadReport(t *testing.T) {
	sample := newSample()
	sample.fail("429 RATE_LIMITED")
	sample.fail("500 INTERNAL")
	result := &OverloadResult{
		Name: "writes-one", What: "a load", Kept: 0.9, Refused: map[string]int64{},
	}
	var phase LoadPhase
	sample.Seconds = 1
	result.note(&phase, sample)
	report := &OverloadReport{MemoryLimit: 1 << 30, Loads: []OverloadResult{*result}}
	if got := strings.Join(report.Failed(), "; "); got != "writes-one: 1 times 500 INTERNAL" {
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
			"kept 0.90 (0.90 to 0.90)", "closed loop", "429 RATE_LIMITED: 1", "FAILED writes-one",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
	if _, err := RunOverload(t.Context(), OverloadConfig{}); err == nil {
		t.Error("a configuration without values was accepted")
	}
}
