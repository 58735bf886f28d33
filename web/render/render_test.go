package render

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOneRenderForManyWhoAsk(t *testing.T) {
	r := New()
	var made atomic.Int32
	release := make(chan struct{})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			got := r.get(AtOnce, false, func() (string, bool) {
				made.Add(1)
				<-release
				return "x", true
			}, "one")
			if !got.OK || got.HTML != "x" {
				t.Errorf("%+v", got)
			}
		})
	}
	close(release)
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

// TestTextsTakePlaces: a text is made in a place, and is shown plain without one, which is not
// remembered. A remembered one takes no place.
func TestTextsTakePlaces(t *testing.T) {
	r := New()
	var asked []bool
	full := true
	in := func(small bool, make func()) bool {
		if asked = append(asked, small); full {
			return false
		}
		make()
		return true
	}
	large := strings.Repeat("a", smallMax+1)
	all := func(want bool) {
		t.Helper()
		asked = nil
		if r.Markdown(Markdown{Text: large}, in).OK != want ||
			r.Markdown(Markdown{Text: large[1:]}, in).OK != want ||
			r.Code("a.go", "x", in).OK != want {
			t.Errorf("OK is not %v", want)
		}
	}
	for _, full = range []bool{true, false} {
		if all(!full); !slices.Equal(asked, []bool{false, true, false}) {
			t.Errorf("full %v: small %v", full, asked)
		}
	}
	full = true
	if all(true); len(asked) != 0 {
		t.Errorf("%d remembered texts took a place", len(asked))
	}
}

func TestResultsAreRemembered(t *testing.T) {
	r, made := New(), 0
	get := func(parts ...string) Result {
		return r.get(AtOnce, false, func() (string, bool) {
			made++
			return "x", parts[0] != "bad"
		}, parts...)
	}
	for range 3 {
		if !get("a", "bc").OK || !get("ab", "c").OK || get("bad").OK {
			t.Error("wrong result")
		}
	}
	if made != 3 {
		t.Errorf("made %d times", made)
	}
	for range 2 {
		if r.get(AtOnce, false, func() (string, bool) { made++; panic("library") }, "panic").OK {
			t.Error("a panic is a result")
		}
	}
	if made != 4 {
		t.Errorf("made %d times", made)
	}
}
