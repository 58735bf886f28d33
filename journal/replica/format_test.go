package replica

import (
	"errors"
	"testing"

	"pws/internal/logformat"
	"pws/journal"
)

// TestAppendOfNewerFormat appends entries that members understand only AFTER all have announced so.
func TestAppendOfNewerFormat(t *testing.T) {
	h := newHub(t, 3, steady)
	leader := h.leader()
	value := uint64(0)
	put := func(format uint64) error {
		value++
		return <-leader.putOf(value, format).done
	}
	if err := put(logformat.First); err != nil {
		t.Error(err)
	}
	if err := put(logformat.Agreed); !errors.Is(err, journal.ErrNotUnderstood) {
		t.Errorf("an entry that nobody understands: %v", err)
	}
	h.until("the newer format", func() bool {
		for _, r := range h.members {
			if r != leader {
				leader.j.Load().Announced(r.member, logformat.Agreed)
			}
		}
		return leader.j.Load().Status().Format == logformat.Agreed
	})
	if err := put(logformat.Agreed); err != nil {
		t.Error(err)
	}
	if err := put(logformat.Agreed + 1); !errors.Is(err, journal.ErrNotUnderstood) {
		t.Errorf("an entry of a format that does not exist: %v", err)
	}
}
