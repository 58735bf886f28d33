package replica

import (
	"fmt"
	"testing"
)

// expected ends a simulation that has failed as it should.
type expected struct{ text string }

// Fatal implements failer.
func (e *expected) Fatal(args ...any) { e.Fatalf("%s", fmt.Sprint(args...)) }

// Fatalf implements failer.
func (e *expected) Fatalf(format string, args ...any) {
	e.text = fmt.Sprintf(format, args...)
	panic(e)
}

// TestSimulationFindsMissingRules shows what the simulation finds: groups in which a rule is
// missing fail.
func TestSimulationFindsMissingRules(t *testing.T) {
	for what, change := range map[string]func(*simulation){
		"without the gate and reigns":     func(s *simulation) { s.unfenced = true },
		"disks that report BEFORE a sync": func(s *simulation) { s.lies = true },
		"leases AFTER a transfer has begun": func(s *simulation) {
			s.leases, s.trusting = true, true
		},
	} {
		t.Run(what, func(t *testing.T) {
			for seed := range uint64(300) {
				if text := failure(seed, change); text != "" {
					t.Logf("found: %s", text)
					return
				}
			}
			t.Error("300 seeds have found nothing")
		})
	}
}

// failure runs a simulation and returns how it has failed. Raft panics about what it finds, too.
func failure(seed uint64, change func(*simulation)) (text string) {
	var failed expected
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
			if failed.text != "" {
				text = failed.text
			}
		}
	}()
	simulate(&failed, seed, 500, change)
	return ""
}
