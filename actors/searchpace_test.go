package actors

import (
	"runtime"
	"testing"
	"time"
)

// TestIndexingPausesByLoad goes through samples of a server. Each row is what the log has got and
// how much of its processors was used in a second, and the pause behind a round of 100 ms then.
func TestIndexingPausesByLoad(t *testing.T) {
	processors := time.Duration(max(1, runtime.GOMAXPROCS(0)/2))
	now := searchSample{at: time.Unix(1_000, 0), newest: 1_000_000, used: time.Hour}
	var p searchPace
	p.note(now)
	if p.isBusy() || p.roundMax() != searchRoundMax {
		t.Errorf("the first sample: %+v", p)
	}
	const took = 100 * time.Millisecond
	for _, row := range []struct {
		what    string
		entries uint64
		load    float64
		busy    bool
		round   int
		pause   time.Duration
	}{
		{"few writers", 100, 0.1, false, searchRoundMax, searchRest},
		{"many writers, free processors", 2_000, 0.3, true, searchRoundCalm, searchRest},
		{"processors in use", 9_000, 0.75, true, searchRoundMax, 900 * time.Millisecond},
		{"all of them", 30_000, 1, true, searchRoundMax, 900 * time.Millisecond},
		{"half of that", 5_000, 0.625, true, 1152, 462500 * time.Microsecond},
	} {
		now.at, now.newest = now.at.Add(time.Second), now.newest+row.entries
		now.used += time.Duration(row.load * float64(processors*time.Second))
		p.note(now)
		if p.isBusy() != row.busy || max(p.roundMax()-row.round, row.round-p.roundMax()) > 1 ||
			(p.pause(took)-row.pause).Abs() > time.Millisecond {
			t.Errorf("%s: busy %t, %d documents, %v", row.what, p.isBusy(), p.roundMax(), p.pause(took))
		}
	}
	soon := now
	soon.at, soon.newest = now.at.Add(time.Millisecond), now.newest+1_000_000
	if p.note(soon); p.entries != 5_000 {
		t.Errorf("a sample that is too close: %.0f entries", p.entries)
	}
	now.at, now.systemAll, now.systemUsed = now.at.Add(time.Second), 1_000, 200
	p.note(now)
	now.at, now.systemAll, now.systemUsed = now.at.Add(time.Second), 1_200, 390
	if p.note(now); p.load != 0.95 {
		t.Errorf("the load of others: %.2f", p.load)
	}
	now.at, now.used = now.at.Add(time.Second), 0
	if p.note(now); p.roundMax() != searchRoundMax || p.pause(time.Hour) != searchRestMax {
		t.Error("a load that is unknown counts as none")
	}
}
