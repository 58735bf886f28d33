package actors

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/identity"
	"pws/index"
	"pws/internal/fieldtest"
	"pws/internal/id"
	"pws/work"
)

// TestInboxSectionsKeepEveryField gives the notices of all frozen events to an index of inboxes,
// saves and restores it, and compares all fields.
func TestInboxSectionsKeepEveryField(t *testing.T) {
	files, err := filepath.Glob("../work/testdata/events/v1/*.cbor")
	if err != nil || len(files) == 0 {
		t.Fatalf("no frozen events: %v", err)
	}
	live := index.NewInbox()
	for i, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		kind, _ := strconv.Atoi(number)
		saved, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		event, err := work.DecodeEvent(work.Kind(kind), saved)
		if err != nil {
			t.Fatal(file, err)
		}
		live.Deliver(uint64(i+1), deliveriesOf(event, i, id.ID{1}, id.ID{2}, 1_763_600_000_000))
	}
	agents := live.Agents()
	if len(agents) == 0 {
		t.Fatal("no frozen event gives a notice")
	}
	entry := uint64(len(files) + 1)
	live.Mark(entry, &identity.InboxMarked{
		Agent: agents[0], Status: identity.ItemArchived, Through: identity.Place{Entry: entry},
	})
	walk, restored := fieldtest.New(map[string]string{
		".dirty": "the agents to save next", "inboxBox.covered": "set by a start",
	}), index.NewInbox()
	for _, agent := range agents {
		saved, head := live.Saved(agent)
		decoded, err := decodeInbox(encodeInbox(saved))
		if err != nil {
			t.Fatal(err)
		}
		restored.Restore(agent, decoded, head)
	}
	want, got := walk.Leaves(live), walk.Leaves(restored)
	if !maps.Equal(want, got) {
		t.Errorf("restored (+) differs from saved (-):\n%s", cmp.Diff(want, got))
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen event sets %s", field)
	}
}
