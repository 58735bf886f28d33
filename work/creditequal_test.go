package work_test

import (
	"fmt"
	"testing"

	"pws/work"
)

// TestEqualCreditsAreOne: two imports bring a credit of a bundle that names no contribution. It is
// one credit, in memory, after a replay and after a snapshot.
func TestEqualCreditsAreOne(t *testing.T) {
	w := newWorld()
	w.create(t)
	for n := range 3 {
		source := far()
		source.Artifact = agent(fmt.Sprint("artifact", n))
		source.Files[0].Path = fmt.Sprint("x", n)
		// The third credit is another one.
		author := work.BundledAgent{Handle: fmt.Sprint("h", n/2)}
		source.Credits = []work.Credit{{
			Project: agent("far"), Author: agent("ann"), AcceptedBy: agent("ann"),
			Origin: &work.CreditOrigin{Author: author, Reviewers: []work.BundledAgent{author}},
		}}
		w.must(t, &work.ImportArtifact{Source: source})
	}
	replayed, err := replayOn(nil, w.log)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*work.Project{
		"live": w.project, "replayed": replayed, "restored": restored,
	} {
		if credits := p.CreditsAt(p.Head()); len(credits) != 2 {
			t.Errorf("%s: %d credits", name, len(credits))
		}
	}
}
