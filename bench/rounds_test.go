package bench

import (
	"context"
	"testing"
	"time"
)

// TestWarmUpUsesNothing drives a subject whose server takes a whole processor all the time.
func TestWarmUpUsesNothing(t *testing.T) {
	begun := time.Now()
	cpu := func() time.Duration { return time.Since(begun) }
	one := &subject{
		name: "one", cpu: cpu, others: []func() time.Duration{cpu},
		fleet:  callers{scripted(func() error { return nil })},
		settle: func(context.Context) error { return nil },
	}
	l := load{warmup: 50 * time.Millisecond, duration: 300 * time.Millisecond}
	sample, err := one.drive(t.Context(), l, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, used := range []time.Duration{sample.ServerCPU, sample.OtherCPU[0]} {
		if used <= 0 || sample.SettledCPU-used < l.warmup {
			t.Errorf("%v of %v were used AFTER the warm-up", used, sample.SettledCPU)
		}
	}
	if sample.Count == 0 || sample.Warmed == 0 {
		t.Errorf("count %d, in the warm-up %d", sample.Count, sample.Warmed)
	}
}
