package wal

import "testing"

// After Roll, all entries in front of the next one can be cut, and none behind it is lost.
func TestRollLetsEverythingBeforeBeCut(t *testing.T) {
	dir := t.TempDir()
	l, _ := mustOpen(t, Options{Dir: dir, ReserveBytes: -1})
	for range 5 {
		appendOne(t, l)
	}
	l.Roll()
	rolled := appendOne(t, l)
	appendOne(t, l)
	if err := l.CutBefore(rolled); err != nil {
		t.Fatal(err)
	}
	if first := l.Stats().First; first != rolled {
		t.Errorf("the log begins with entry %d, not %d", first, rolled)
	}
	for range 3 {
		appendOne(t, l)
	}
	if segments := l.Stats().Segments; segments != 1 {
		t.Errorf("%d segments: the rolled one was to go on", segments)
	}
	mustClose(t, l)
	again, found := mustOpen(t, Options{Dir: dir, ReserveBytes: -1})
	if found.First != rolled || found.Last != rolled+4 {
		t.Errorf("opened again, the log has entries %d to %d", found.First, found.Last)
	}
	mustClose(t, again)
}
