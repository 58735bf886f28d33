package diff

import (
	"fmt"
	"strings"
	"testing"
)

// TestHunksThatTouchAreJoined changes two lines at every distance: changes with at most six lines
// between them, whose contexts touch or overlap, stand in one hunk, as git writes them.
func TestHunksThatTouchAreJoined(t *testing.T) {
	for between := 1; between <= 10; between++ {
		var old, changed strings.Builder
		for n := range 40 {
			fmt.Fprintf(&old, "line %d\n", n)
			if n == 10 || n == 11+between {
				fmt.Fprintf(&changed, "changed %d\n", n)
			} else {
				fmt.Fprintf(&changed, "line %d\n", n)
			}
		}
		text := Unified([]File{{Path: "a", Action: Modify, Old: []byte(old.String()),
			New: []byte(changed.String())}}, 1<<20).Text
		want := 1
		if between > 2*contextLines {
			want = 2
		}
		if got := strings.Count(text, "\n@@ "); got != want {
			t.Errorf("%d lines between: %d hunks, want %d:\n%s", between, got, want, text)
		}
	}
}
