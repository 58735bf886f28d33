package bench

import (
	"strings"
	"testing"
)

// TestRefusedWatchersAreNoWatchers opens more streams than a server lets wait, and ends the
// server while watchers wait.
func TestRefusedWatchersAreNoWatchers(t *testing.T) {
	config := testConfig(t)
	config.Program = buildService(t)
	s, err := startServer(t.Context(), config, "PWS_WAITING_PER_AGENT=3")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var all []*watchers
	for _, streams := range []bool{false, true} {
		open, err := s.watch(1, "", streams, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer open.close()
		all = append(all, open)
	}
	refused, err := s.watch(3, "", true, nil)
	if err == nil || !strings.Contains(err.Error(), "of 3 watchers wait") ||
		!strings.Contains(err.Error(), "429") {
		refused.close()
		t.Errorf("a refused stream: %v", err)
	}
	for _, open := range all {
		if err := open.check(); err != nil {
			t.Error(err)
		}
	}
	s.process.Kill()
	for _, open := range all {
		open.group.Wait()
		if err := open.check(); err == nil {
			t.Error("no error AFTER the end of the server")
		}
	}
}
