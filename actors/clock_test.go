package actors

import "testing"

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
