package actors

import "testing"

// TestClock goes through what a system's clock may do. Each row is what it does, and what the clock
// of the service shows then.
func TestClock(t *testing.T) {
	const start = 1_000_000
	now := reading{start, 0}
	source := func() reading { return now }
	var c clock
	c.source.Store(&source)
	for _, row := range []struct {
		what         string
		wall, steady int64
		raise        int64
		want         int64
	}{
		{"starts", 0, 0, 0, 0},
		{"goes on", 500, 500, 0, 500},
		{"stopped", 500, 500, 0, 500},
		{"is read late by another", 499, 501, 0, 500},
		{"is set back", -60_000, 600, 0, 500},
		{"goes on behind", -59_000, 1_600, 0, 1_000},
		{"is set back further", -90_000, 3_600, 0, 2_000},
		{"sees a newer stamp of the log", -89_000, 4_600, 9_000, 9_000},
		{"goes on behind that", -87_000, 6_600, 0, 10_000},
		{"catches up", 20_000, 7_000, 0, 20_000},
		{"goes on as ever", 21_000, 8_000, 0, 21_000},
		{"is set back again", 0, 8_200, 0, 21_000},
		{"goes on behind again", 1_000, 9_200, 0, 21_500},
	} {
		now = reading{start + row.wall, row.steady}
		if row.raise != 0 {
			c.raise(start + row.raise)
		}
		if got := c.Now(); got != start+row.want {
			t.Errorf("%s: %d, want %d", row.what, got-start, row.want)
		}
	}
	now = reading{start + 2_000, 10_200}
	if got := c.Advance(5_000); got != start+27_000 {
		t.Errorf("advanced to %d", got-start)
	}
}

// TestClockGoesOnAfterARestart starts on a snapshot that covers the whole log, with a system clock
// that is behind.
func TestClockGoesOnAfterARestart(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	e.Advance(24 * 3600 * 1000)
	mustPut(t, e, project, owner, "a", "1")
	newest := viewOf(t, e, project).UpdatedAt
	saveAll(t, e)
	config := e.config
	stop(t, e)
	e = start(t, config)
	if now := e.Now(); now < newest {
		t.Fatalf("the clock went back by %d ms", newest-now)
	}
}
