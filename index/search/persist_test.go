package search

import (
	"testing"
	"time"
)

// TestRoundsOfWriting checks what ends a pause between two rounds, and what does not.
func TestRoundsOfWriting(t *testing.T) {
	for _, c := range []struct {
		name  string
		begin func(r *rounds)
		ends  bool
	}{
		{"nothing", func(*rounds) {}, false},
		{"a little text", func(r *rounds) { r.add(unsavedMax, false) }, false},
		{"much text", func(r *rounds) { r.add(unsavedMax, false); r.add(1, false) }, true},
		{"somebody waits", func(r *rounds) { r.add(0, true) }, true},
		{"it is closed", func(r *rounds) { r.close(); r.close() }, true},
		{"text of the round before", func(r *rounds) {
			passed := make(chan time.Time, 1)
			passed <- time.Time{}
			r.add(unsavedMax, false)
			r.pause(passed)
			r.add(unsavedMax, false)
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRounds()
			c.begin(r)
			passed := make(chan time.Time)
			ended := make(chan struct{})
			go func() {
				r.pause(passed)
				close(ended)
			}()
			if c.ends {
				<-ended
				return
			}
			// The pause still waits for the time.
			select {
			case passed <- time.Time{}:
			case <-ended:
				t.Fatal("the pause ended early")
			}
			<-ended
		})
	}
}
