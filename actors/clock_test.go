package actors

import (
	"testing"

	"pws/internal/datadir"
	"pws/journal"
)

// TestClockNeverGoesBackOrStops goes through what a system's clock may do. Each row is what it
// does, and what the clock of the service shows then.
func TestClockNeverGoesBackOrStops(t *testing.T) {
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

// TestMemberClockFollowsTheGroup goes through what happens to the clock of a member of a group: it
// follows, sees stamps of the log, leads, and other members do or do not show the time of its
// system's clock.
func TestMemberClockFollowsTheGroup(t *testing.T) {
	const start, hour = 1_000_000, 3_600_000
	now, trusted := reading{start, 0}, true
	source := func() reading { return now }
	c := clock{trusts: func() bool { return trusted }}
	c.source.Store(&source)
	c.follows.Store(true)
	for _, row := range []struct {
		what         string
		do           func()
		wall, steady int64
		trusted      bool
		want         int64
	}{
		{"follows", nil, 0, 0, true, 0},
		{"sees a newer stamp", func() { c.note(start + 700) }, 500, 500, true, 700},
		{"jumps, and others do not", nil, hour, 1_000, false, 1_000},
		{"goes on like that", nil, hour + 2_000, 3_000, false, 3_000},
		{"is repaired", nil, 4_000, 4_000, false, 4_000},
		{"jumps with others", nil, hour, 5_000, true, hour},
		{"goes on with them", nil, hour + 1_500, 6_500, false, hour + 1_500},
		{"jumps back", nil, 7_000, 7_000, true, 7_000},
		{"sees another stamp", func() { c.note(start + 9_000) }, 8_000, 8_000, true, 9_000},
		{"leads", c.lead, 8_500, 8_500, true, 9_000},
		{"goes on behind the stamp", nil, 9_500, 9_500, true, 9_500},
		{"jumps as a leader, and others do not", nil, hour, 10_000, false, 10_000},
		{"is set back as a leader", nil, -hour, 10_000, false, 10_000},
		{"goes on at half the pace", nil, -hour + 1_000, 11_000, false, 10_500},
		{"follows again", c.follow, -hour + 2_000, 12_000, false, 10_500},
		{"is repaired as a follower", nil, 13_000, 13_000, true, 13_000},
	} {
		now, trusted = reading{start + row.wall, row.steady}, row.trusted
		if row.do != nil {
			row.do()
		}
		if got := c.Now(); got != start+row.want {
			t.Errorf("%s: %d, want %d", row.what, got-start, row.want)
		}
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

// TestClockGoesOnBehindAllStamps starts with a system clock that is behind. An entry may have
// waited for the log, so that the newest one has an earlier stamp than one before it.
func TestClockGoesOnBehindAllStamps(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	e.Advance(24 * 3600 * 1000)
	mustPut(t, e, project, owner, "a", "1")
	newest := viewOf(t, e, project).UpdatedAt
	late := datadir.Entry{
		Target: datadir.TargetContents, Now: newest - 5000, Agent: owner,
		Blobs: []datadir.Blob{{Hash: blobOf("x").Hash, Content: []byte("x")}},
	}
	done := make(contentsDone, 1)
	entry := journal.Entry{Payload: late.Encode()}
	if err := e.journal.Append(e.leading(), entry, done); err != nil {
		t.Fatal(err)
	}
	<-done
	for _, saved := range []bool{false, true} {
		if saved {
			saveAll(t, e)
		}
		config := quiet(crashCopy(t, e.config.Dir))
		if now := start(t, config).Now(); now < newest {
			t.Errorf("saved %v: the clock went back by %d ms", saved, newest-now)
		}
	}
}

// TestAdvanceSurvivesAKill advances the clock, and kills the process BEFORE anything is in the log.
// A claim that ran out by itself meanwhile does not come back.
func TestAdvanceSurvivesAKill(t *testing.T) {
	e, _, _ := oneProject(t, func(c *Config) { c.TestClock = true })
	e.Advance(1000)
	e.Advance(24 * 3600 * 1000)
	shown := e.Now()
	for _, one := range []struct {
		what string
		test bool
	}{{"for tests", true}, {"as ever", false}} {
		config := quiet(crashCopy(t, e.config.Dir))
		config.TestClock = one.test
		if now := start(t, config).Now(); now >= shown != one.test {
			t.Errorf("%s: the clock shows %d ms AFTER what it did", one.what, now-shown)
		}
	}
}
