package work_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/work"
)

// TestTopAuthors counts changesets by author, in older states and restored ones as well.
func TestTopAuthors(t *testing.T) {
	w := newWorld()
	w.create(t)
	for _, who := range []string{"bob", "carl", "dora"} {
		w.must(t, &work.AddMember{Agent: agent(who), Role: work.Maintainer})
	}
	old := w.project
	for n, who := range []string{"carl", "bob", "carl", "dora", "carl"} {
		put := &work.PutFile{Path: "a", Blob: blob(fmt.Sprint(n)), ContentType: "text/plain"}
		if _, err := w.do(agent(who), put); err != nil {
			t.Fatal(err)
		}
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	want := []work.AuthorCount{
		{Agent: agent("carl"), Changesets: 3}, {Agent: agent("ann"), Changesets: 1},
		{Agent: agent("bob"), Changesets: 1}, {Agent: agent("dora"), Changesets: 1},
	}
	for name, one := range map[string]struct {
		project *work.Project
		most    int
		want    []work.AuthorCount
	}{
		"newest":   {w.project, 9, want},
		"cut":      {w.project, 2, want[:2]},
		"restored": {restored, 9, want},
		"old":      {old, 9, want[1:2]},
	} {
		if diff := cmp.Diff(one.want, one.project.TopAuthors(one.most)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
