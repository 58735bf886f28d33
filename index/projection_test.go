package index

import (
	"slices"
	"strings"
	"testing"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// TestInvalidParts restores parts of cards that nobody has written.
func TestInvalidParts(t *testing.T) {
	anID := make([]byte, 16)
	task := slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskOpen), 0, 0, 0})
	trait := slices.Concat(anID, []byte{byte(Observed), 0, 2, 'g', 'o', 1, 1})
	for name, c := range map[string]struct {
		of   Set
		part []byte
		ok   bool
	}{
		"a task":                    {ForTasks, task, true},
		"a task that ends too soon": {ForTasks, task[:len(task)-1], false},
		"a task and a byte":         {ForTasks, slices.Concat(task, []byte{0}), false},
		"a task without a status": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, 0, 0, 0, 0}), false},
		"a task that is over": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskDone), 0, 0, 0}), false},
		"a claim that leads nowhere": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskOpen), 9, 0, 0}), false},
		"more tasks than bytes": {ForTasks, []byte{200, 1}, false},
		"a relation and imports": {ForLinks,
			slices.Concat([]byte{1}, anID, []byte{1, 3}, anID, []byte{200, 2}), true},
		"a link of another kind":    {ForLinks, slices.Concat([]byte{77}, anID, []byte{1}), false},
		"no link of a kind":         {ForLinks, slices.Concat([]byte{3}, anID, []byte{0}), false},
		"a relation, twice":         {ForLinks, slices.Concat([]byte{1}, anID, []byte{2}), false},
		"a link that ends too soon": {ForLinks, slices.Concat([]byte{1}, anID), false},
		"evidence":                  {ForProfiles, trait, true},
		"evidence of no category": {ForProfiles,
			slices.Concat(anID, []byte{byte(Observed), 99, 0, 1, 1}), false},
		"evidence that ends too soon": {ForProfiles, trait[:len(trait)-1], false},
		"a watcher":                   {ForWatches, slices.Concat(anID, []byte{5}), true},
		"half a watcher":              {ForWatches, anID, false},
		"a workspace":                 {ForWorkspaces, slices.Concat(anID, anID), true},
		"half a workspace":            {ForWorkspaces, anID, false},
		"a review":                    {ForReviews, slices.Concat(anID, anID, []byte{0}), true},
		"half a review":               {ForReviews, anID, false},
	} {
		at := 0
		for c.of>>at != 1 {
			at++
		}
		card := slices.Concat([]byte{cardVersion, byte(work.Public), 1, 9, 0, byte(at)},
			[]byte{byte(len(c.part))}, c.part)
		if err := NewProjections().Restore(All, id.ID{1}, card); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		} else if err != nil && !strings.HasPrefix(err.Error(), names[at]) {
			t.Errorf("%s: %q does not begin with %s", name, err, names[at])
		}
	}
}

// TestHeadsOfCards reads what precedes the parts.
func TestHeadsOfCards(t *testing.T) {
	member := id.ID{7}
	head := slices.Concat([]byte{cardVersion, byte(work.Private), 1, 200, 1, 1}, member[:])
	r := disk.NewReader(head)
	c, err := decodeCard(id.ID{1}, &r)
	want := &Card{
		Project: id.ID{1}, Visibility: work.Private, Active: true, Created: 200,
		Members: []id.ID{member},
	}
	if err != nil || !c.equal(want) {
		t.Fatalf("read as %+v, %v", c, err)
	}
	for at := range head {
		r := disk.NewReader(head[:at])
		if c, err := decodeCard(id.ID{1}, &r); err == nil {
			t.Errorf("%d bytes are read as %+v", at, c)
		}
	}
}

// TestEachProjectionHasItsPlace compares the constants, the names and the list.
func TestEachProjectionHasItsPlace(t *testing.T) {
	p := NewProjections()
	if len(p.list) != len(names) || All != 1<<len(p.list)-1 {
		t.Fatalf("%d projections, %d names, %b", len(p.list), len(names), All)
	}
	for set, one := range map[Set]Projection{
		ForListing: p.Listing, ForTasks: p.Tasks, ForLinks: p.Links, ForSubjects: p.Subjects,
		ForReviews: p.Reviews, ForProfiles: p.Profiles, ForWatches: p.Watches,
		ForWorkspaces: p.Workspaces,
	} {
		for at := range p.list {
			if set == 1<<at && p.list[at] != one {
				t.Errorf("%s is not %T", names[at], one)
			}
		}
		if set.String() == "" || strings.Contains(set.String(), ",") {
			t.Errorf("%T is called %q", one, set)
		}
		for _, kind := range one.Kinds() {
			if p.OfKind(kind)&set == 0 {
				t.Errorf("%T does not follow events of kind %d", one, kind)
			}
		}
	}
	if p.OfKind(60_000) != 0 {
		t.Error("an unknown kind changes something")
	}
}
