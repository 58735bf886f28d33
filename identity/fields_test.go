package identity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fieldtest"
	"pws/internal/id"
)

// restoreAll saves a State and restores it.
func restoreAll(t *testing.T, s *State) *State {
	t.Helper()
	restored := New()
	for agent := range s.Agents(id.ID{}) {
		if err := restored.RestoreAgent(s.EncodeAgent(agent.ID)); err != nil {
			t.Fatal(err)
		}
	}
	for report := range s.Reports(id.ID{}) {
		if err := restored.RestoreReport(s.EncodeReport(report.ID)); err != nil {
			t.Fatal(err)
		}
	}
	if err := restored.RestoreOperator(s.EncodeOperator()); err != nil {
		t.Fatal(err)
	}
	if err := restored.RestoreChallenges(s.EncodeChallenges()); err != nil {
		t.Fatal(err)
	}
	return restored
}

// notCompared are the fields that the frozen events need not set, each with the reason.
var notCompared = map[string]string{
	"trieNode.branches": "the tree grows branches with many sessions; TestTrie covers them",
	"trieNode.nodes":    "the tree grows branches with many sessions; TestTrie covers them",
}

// TestSnapshotsKeepEveryField replays the frozen events, saves and restores the State after each
// of them, and compares all fields.
func TestSnapshotsKeepEveryField(t *testing.T) {
	states, events := fieldtest.New(notCompared), fieldtest.New(nil)
	files, err := filepath.Glob("testdata/*.history")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		replayed := New()
		for _, entry := range frozenEventsOf(t, file) {
			event, err := DecodeEvent(uint16(entry.kind), entry.data)
			if err != nil {
				t.Fatal(err)
			}
			events.Leaves(event)
			replayed.Apply(event, entry.now)
			want, got := states.Leaves(replayed), states.Leaves(restoreAll(t, replayed))
			if !maps.Equal(want, got) {
				t.Fatalf("%s, kind %d: restored (+) differs from saved (-):\n%s",
					filepath.Base(file), entry.kind, cmp.Diff(want, got))
			}
		}
	}
	for _, field := range slices.Concat(states.Unset(), events.Unset()) {
		t.Errorf("no frozen event sets %s", field)
	}
}

// frozenEventsOf reads the lines "event KIND NOW HEX" of a frozen history.
func frozenEventsOf(t *testing.T, file string) (entries []stored) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var entry stored
		n, _ := fmt.Sscanf(line, "event %d %d %x", &entry.kind, &entry.now, &entry.data)
		if n == 3 {
			entries = append(entries, entry)
		}
	}
	return entries
}
