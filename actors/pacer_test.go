package actors

import (
	"testing"
	"time"
)

// TestPacerLeavesTheProcessor lets a work of 100 ms go on in steps: three quarters of the time are
// pauses, of bounded lengths, and none is made where there is no time.
func TestPacerLeavesTheProcessor(t *testing.T) {
	var now time.Time
	var pauses []time.Duration
	p := &pacer{
		now: func() time.Time { return now },
		pause: func(d time.Duration) {
			now = now.Add(d)
			pauses = append(pauses, d)
		},
	}
	work := func(step time.Duration) {
		for done := time.Duration(0); done < 100*time.Millisecond; done += step {
			now = now.Add(step)
			p.step()
		}
	}
	work(300 * time.Microsecond)
	if len(pauses) > 0 {
		t.Errorf("%d pauses in an urgent work", len(pauses))
	}
	p.begin()
	began := now
	work(300 * time.Microsecond)
	if took := now.Sub(began); took < 395*time.Millisecond || took > 405*time.Millisecond {
		t.Errorf("100 ms of work took %v", took)
	}
	if pauses[0] != yieldTimes*1200*time.Microsecond {
		t.Errorf("the first pause was %v", pauses[0])
	}
	pauses = nil
	work(50 * time.Millisecond)
	if len(pauses) != 2 || pauses[0] != yieldMax {
		t.Errorf("pauses of %v after long steps", pauses)
	}
	p.end()
	pauses = nil
	work(time.Millisecond)
	if len(pauses) > 0 {
		t.Errorf("%d pauses after the end", len(pauses))
	}
}

// TestUrgentSavesDoNotPause checks what ends a pause. The engine has no other goroutine, which
// could take the wake-up.
func TestUrgentSavesDoNotPause(t *testing.T) {
	e := &Engine{stop: make(chan struct{})}
	e.space = newDiskSpace(e)
	e.saver = newSaver(e)
	// pause begins a pause of an hour, and returns what waits for its end.
	pause := func() (ends func(why string)) {
		ended := make(chan struct{})
		go func() {
			e.saver.pauseSave(time.Hour)
			close(ended)
		}()
		return func(why string) {
			t.Helper()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Fatal("a save pauses", why)
			}
		}
	}
	e.saver.hurry()
	pause()("although it was hurried")
	<-e.saver.woken
	e.space.short.Store(true)
	pause()("although space is short")
	e.space.short.Store(false)
	ends := pause()
	close(e.stop)
	ends("although the engine stops")
}
