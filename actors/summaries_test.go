package actors

import (
	"fmt"
	"math"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// TestSummariesAreKept reads the record of a passive project once, and again when it was saved
// anew. It keeps as many as it may.
func TestSummariesAreKept(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	summary := func(of id.ID) *work.Project {
		t.Helper()
		saveAll(t, e)
		e.sweep(math.MaxInt64)
		if h, _ := e.handles.Load(of); !h.passive() {
			t.Fatal("the project is not passive")
		}
		p, err := e.Summary(of)
		if err != nil || !p.Partial() {
			t.Fatalf("%v, %v", p, err)
		}
		return p
	}
	first := summary(project)
	if again := summary(project); again != first {
		t.Error("the record was read again")
	}
	for n := range 3 {
		mustPut(t, e, project, owner, "f", fmt.Sprint(n))
		if now := summary(project); now == first || now.ChangesetsCount() != n+2 {
			t.Errorf("the record has %d changesets", now.ChangesetsCount())
		}
	}
	var part summaryPart
	for n := range 3 * summariesMax {
		of := id.New(int64(n%(2*summariesMax)), [10]byte{})
		_, known := part.of[of]
		part.keep(of, summaryAt{first, 1}, known)
		if _, known := part.of[of]; !known || len(part.of) != min(n+1, summariesMax) ||
			len(part.oldest) != len(part.of) {
			t.Fatalf("%d are kept, in a list of %d", len(part.of), len(part.oldest))
		}
	}
}
