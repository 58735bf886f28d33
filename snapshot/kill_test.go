package snapshot

import (
	"testing"

	"pws/internal/disk/disktest"
)

// TestOpenAfterAKill kills the process before every operation of the story and opens the store. The
// generation that this start has read must survive, and removed files must not be needed, if the
// machine crashes at any operation after that.
func TestOpenAfterAKill(t *testing.T) {
	st := newStory()
	for i := 1; ; i += stride {
		d := disktest.New()
		d.CrashAt = i
		if s, err := st.open(d); err == nil {
			for run := 1; run <= storyRuns && st.commit(s, run) == nil; run++ {
			}
			s.Close()
		}
		killed := d.AfterKill()
		for stop := 1; ; stop++ {
			next := killed.AfterKill()
			next.CrashAt = stop
			shown := 0
			if s, err := st.open(next); err == nil {
				shown = int(s.Position())
				s.Close()
			}
			for kind := range disktest.CrashKinds {
				s, err := st.open(next.AfterCrash(kind))
				if err != nil {
					t.Fatalf("kill at %d, stop at %d, crash %d: %v", i, stop, kind, err)
				}
				if run, err := st.at(s); err != nil || run < shown {
					t.Fatalf("kill at %d, stop at %d, crash %d: run %d after %d: %v", i, stop,
						kind, run, shown, err)
				}
				s.Close()
			}
			if next.Ops < stop {
				break
			}
		}
		if d.Ops < i {
			return
		}
	}
}
