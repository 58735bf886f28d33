package replica

import (
	"testing"
	"time"
)

func TestHeldEntriesAreNotCut(t *testing.T) {
	var h hold
	now := time.Now()
	expect := func(what string, at time.Time, want uint64) {
		t.Helper()
		if got := h.limit(100, at); got != want {
			t.Errorf("%s: cut BEFORE %d, not %d", what, got, want)
		}
	}
	expect("without a copy", now, 100)
	h.begin(40, now)
	expect("while a copy is sent", now.Add(24*time.Hour), 40)
	h.end(now)
	expect("AFTER it", now.Add(holdTime-1), 40)
	h.begin(60, now.Add(holdTime-1))
	expect("while another one is sent", now.Add(24*time.Hour), 40)
	h.end(now)
	expect("when nobody needs it any more", now.Add(holdTime), 100)
	h.begin(70, now.Add(2*holdTime))
	expect("while a later one is sent", now.Add(24*time.Hour), 70)
	if got := h.limit(50, now); got != 50 {
		t.Errorf("what is not cut is cut BEFORE %d", got)
	}
}
