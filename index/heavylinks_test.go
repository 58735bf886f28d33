package index

import (
	"testing"

	"pws/internal/id"
)

// TestLinksOfManyMembers expects that the links of a project with many members are in few counts.
func TestLinksOfManyMembers(t *testing.T) {
	links, project := NewLinks(), id.ID{1}
	members := make([]id.ID, 1000)
	for nth := range members {
		members[nth] = idOf(1, nth)
		links.Add(project, Link{LinkImport, idOf(2, nth)})
	}
	for _, readers := range []Audience{{Open: true}, {Members: members}, {Open: true}} {
		links.SetAudience(project, readers)
		if counts := len(links.mu.open) + len(links.mu.own); counts > usualTallies {
			t.Errorf("the links of one project are in %d counts", counts)
		}
		if count := links.Count(Link{LinkImport, idOf(2, 7)}, members[9]); count != 1 {
			t.Errorf("a member counts %d", count)
		}
	}
	links.SetAudience(project, Audience{Members: members})
	if count := links.Count(Link{LinkImport, idOf(2, 7)}, id.ID{9}); count != 0 {
		t.Errorf("an agent that may not read the project counts %d", count)
	}
}
