package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestClocks(t *testing.T) {
	var log bytes.Buffer
	c := newClocks(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Unix(1_800_000_000, 0)
	if off := c.behindMost(now); off != 0 {
		t.Errorf("alone: %v", off)
	}
	send := func(member uint64, ahead time.Duration) {
		c.note(member, now.Add(ahead), now)
	}
	for _, one := range []struct {
		second, third, behind time.Duration
		lines                 int
	}{
		{0, 0, 0, 0},
		{0, 5 * time.Second, 0, 1},
		{0, 6 * time.Second, 0, 0},
		{0, 220 * time.Millisecond, 0, 0},
		{10 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond, 1},
		{-5 * time.Second, -4 * time.Second, -4 * time.Second, 2},
		{3 * time.Second, 4 * time.Second, 3 * time.Second, 0},
	} {
		log.Reset()
		send(2, one.second)
		send(3, one.third)
		if off := c.behindMost(now); off != one.behind {
			t.Errorf("%v and %v: %v", one.second, one.third, off)
		}
		if lines := strings.Count(log.String(), "\n"); lines != one.lines {
			t.Errorf("%v and %v: %s", one.second, one.third, log.String())
		}
	}
	now = now.Add(clockFresh)
	if off := c.behindMost(now); off != 0 || len(c.ahead(now)) != 0 {
		t.Errorf("nobody was heard, and the clock is %v behind", off)
	}
	send(2, 3*time.Second)
	// Of two clocks nobody knows which one is right.
	if off := c.behindMost(now); off != 0 {
		t.Errorf("of two: %v", off)
	}
}
