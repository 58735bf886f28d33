package index

import (
	"slices"
	"strings"
	"testing"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// TestInvalidParts restores parts that Append never writes.
func TestInvalidParts(t *testing.T) {
	anID := make([]byte, 16)
	task := slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskOpen), 0, 0, 0})
	named := []byte{200, 1, byte(work.Active), 2, 'g', 'o'}
	ended := []byte{200, 1, byte(work.Deleted), 200, 2, byte(work.Public), 2, 'g', 'o'}
	invalid := []byte{200, 1, byte(work.Deleted), 200, 2, 9, 2, 'g', 'o'}
	trait := slices.Concat(anID, []byte{byte(Observed), 0, 2, 'g', 'o', 1, 1})
	for name, c := range map[string]struct {
		of   Set
		part []byte
		ok   bool
	}{
		"a task":                   {ForTasks, task, true},
		"a task that is truncated": {ForTasks, task[:len(task)-1], false},
		"a task and a byte":        {ForTasks, slices.Concat(task, []byte{0}), false},
		"a task with an invalid status": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, 0, 0, 0, 0}), false},
		"a finished task": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskDone), 0, 0, 0}), false},
		"a claim without a next status": {ForTasks,
			slices.Concat([]byte{1}, anID, []byte{2, byte(work.TaskOpen), 9, 0, 0}), false},
		"more tasks than bytes": {ForTasks, []byte{200, 1}, false},
		"a relation and imports": {ForLinks,
			slices.Concat([]byte{1}, anID, []byte{1, 3}, anID, []byte{200, 2}), true},
		"a link of an unknown kind": {ForLinks, slices.Concat([]byte{77}, anID, []byte{1}), false},
		"a link with count 0":       {ForLinks, slices.Concat([]byte{3}, anID, []byte{0}), false},
		"a relation with count 2":   {ForLinks, slices.Concat([]byte{1}, anID, []byte{2}), false},
		"a link that is truncated":  {ForLinks, slices.Concat([]byte{1}, anID), false},
		"evidence":                  {ForProfiles, trait, true},
		"evidence of an unknown category": {ForProfiles,
			slices.Concat(anID, []byte{byte(Observed), 99, 0, 1, 1}), false},
		"evidence that is truncated": {ForProfiles, trait[:len(trait)-1], false},
		"a watcher":                  {ForWatches, slices.Concat(anID, []byte{5}), true},
		"a truncated watcher":        {ForWatches, anID, false},
		"a workspace":                {ForWorkspaces, slices.Concat(anID, anID), true},
		"a truncated workspace":      {ForWorkspaces, anID, false},
		"a review":                   {ForReviews, slices.Concat(anID, anID, []byte{0}), true},
		"a truncated review":         {ForReviews, anID, false},
		"undecided":                  {ForUndecided, anID, true},
		"undecided, truncated":       {ForUndecided, anID[:5], false},
		"undecided, not sorted": {ForUndecided,
			slices.Concat([]byte{1}, anID, anID[:15]), false},
		"a claim":                   {ForClaims, slices.Concat(anID, anID, []byte{5}), true},
		"a claim without an end":    {ForClaims, slices.Concat(anID, anID, []byte{0}), false},
		"a truncated claim":         {ForClaims, slices.Concat(anID, anID), false},
		"a member":                  {ForMemberships, slices.Concat(named, anID, []byte{1}), true},
		"a deleted project":         {ForMemberships, slices.Concat(ended, anID, []byte{4}), true},
		"a truncated end":           {ForMemberships, ended[:4], false},
		"an end without visibility": {ForMemberships, ended[:5], false},
		"an unknown visibility":     {ForMemberships, invalid, false},
		"a project without members": {ForMemberships, named, true},
		"a member without a role":   {ForMemberships, slices.Concat(named, anID, []byte{0}), false},
		"a member of unknown role":  {ForMemberships, slices.Concat(named, anID, []byte{5}), false},
		"a truncated member":        {ForMemberships, slices.Concat(named, anID), false},
		"a truncated name":          {ForMemberships, named[:len(named)-1], false},
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

// TestDecodeCard decodes the fields before the parts.
func TestDecodeCard(t *testing.T) {
	member := id.ID{7}
	head := slices.Concat([]byte{cardVersion, byte(work.Private), 1, 200, 1, 1}, member[:])
	r := disk.NewReader(head)
	c, err := decodeCard(id.ID{1}, &r)
	want := &Card{
		Project: id.ID{1}, Visibility: work.Private, Active: true, Created: 200,
		Members: []id.ID{member},
	}
	if err != nil || !c.equal(want) {
		t.Fatalf("decoded as %+v, %v", c, err)
	}
	for i := range head {
		r := disk.NewReader(head[:i])
		if c, err := decodeCard(id.ID{1}, &r); err == nil {
			t.Errorf("%d bytes are decoded as %+v", i, c)
		}
	}
}

// TestProjectionConstantsMatchTheList compares the constants, the names and the list.
func TestProjectionConstantsMatchTheList(t *testing.T) {
	p := NewProjections()
	if len(p.list) != len(names) || All != 1<<len(p.list)-1 {
		t.Fatalf("%d projections, %d names, %b", len(p.list), len(names), All)
	}
	for set, one := range map[Set]Projection{
		ForListing: p.Listing, ForTasks: p.Tasks, ForLinks: p.Links, ForSubjects: p.Subjects,
		ForReviews: p.Reviews, ForProfiles: p.Profiles, ForWatches: p.Watches,
		ForWorkspaces: p.Workspaces, ForClaims: p.Claims,
		ForMemberships: p.Memberships,
	} {
		for i := range p.list {
			if set == 1<<i && p.list[i] != one {
				t.Errorf("%s is not %T", names[i], one)
			}
		}
		if set.String() == "" || strings.Contains(set.String(), ",") {
			t.Errorf("%T has the name %q", one, set)
		}
		for _, kind := range one.Kinds() {
			if p.OfKind(kind)&set == 0 {
				t.Errorf("%T is not updated by events of kind %d", one, kind)
			}
		}
	}
	if p.OfKind(60_000) != 0 {
		t.Error("an unknown kind of event changes a projection")
	}
}
