package index

import (
	"slices"
	"testing"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// endedProject is a project of ann and bob that ann has deleted, and the states before.
func endedProject(n byte, at int64) (states []*work.Project) {
	ann, bob := id.ID{1}, id.ID{2}
	p := work.NewProject()
	apply := func(event work.Event) {
		p = p.Clone()
		p.Apply(event, work.Moment{Now: at, Agent: ann})
		states = append(states, p)
	}
	apply(&work.ProjectCreated{ID: id.ID{n}, Owner: ann, About: work.About{
		Name: "Data", Visibility: work.Unlisted, Status: work.Active,
	}})
	apply(&work.MemberAdded{Member: work.Member{Agent: bob, Role: work.Reader}})
	apply(new(work.ProjectDeleted))
	return states
}

// TestEndedProjects deletes and restores a project: its owner alone finds it, under its status.
func TestEndedProjects(t *testing.T) {
	states := endedProject(9, 1000)
	open, deleted := states[1], states[2]
	place := []Position{{1000, open.ID}}
	check := func(text string, m *Memberships, ended bool) {
		t.Helper()
		of := func(agent byte, filter MembershipFilter) []Position {
			return m.Of(id.ID{agent}, &filter, Position{}, 10)
		}
		byStatus := of(1, MembershipFilter{
			Status: work.Deleted, Role: work.Owner, Visibility: work.Unlisted,
		})
		if got := slices.Equal(byStatus, place); got != ended {
			t.Errorf("%s: its owner finds %v", text, byStatus)
		}
		for agent := byte(1); agent < 3; agent++ {
			if got := slices.Equal(of(agent, MembershipFilter{}), place); got == ended {
				t.Errorf("%s: agent %d finds it: %v", text, agent, got)
			}
		}
		until := deleted.End().Until()
		if got := m.Ended(until, 5); slices.Equal(got, []id.ID{open.ID}) != ended {
			t.Errorf("%s: %v ended", text, got)
		}
		if got := m.Ended(until-1, 5); len(got) > 0 {
			t.Errorf("%s: %v ended too early", text, got)
		}
	}
	m := NewMemberships()
	m.Update(nil, open, nil)
	check("before", m, false)
	m.Update(open, deleted, []work.Event{new(work.ProjectDeleted)})
	check("deleted", m, true)
	m.Update(deleted, open, []work.Event{new(work.ProjectRestored)})
	check("restored", m, false)
	m.Update(open, deleted, []work.Event{new(work.ProjectDeleted)})
	m.drop(deleted)
	all := &MembershipFilter{Status: work.Deleted}
	if found := m.Of(id.ID{1}, all, Position{}, 10); len(found) > 0 {
		t.Errorf("dropped, it is found: %v", found)
	}
	if ended := m.Ended(deleted.End().Until(), 5); len(ended) > 0 {
		t.Errorf("dropped, it ends: %v", ended)
	}
	for _, p := range []*work.Project{open, deleted} {
		read, part := NewMemberships(), disk.NewReader(m.Append(nil, p))
		card := &Card{Project: p.ID, Visibility: p.Visibility}
		if err := read.Restore(card, &part); err != nil {
			t.Fatal(err)
		}
		check("read", read, p == deleted)
	}
}

// TestEndedOrder lists those first that ended first.
func TestEndedOrder(t *testing.T) {
	m := NewMemberships()
	for n, at := range []int64{500, 300, 400, 300} {
		m.Update(nil, endedProject(byte(n+1), at)[2], nil)
	}
	now := int64(400 + work.ProjectRestoreSeconds*1000)
	if got := m.Ended(now, 9); !slices.Equal(got, []id.ID{{2}, {4}, {3}}) {
		t.Errorf("%v", got)
	}
	if got := m.Ended(now, 2); !slices.Equal(got, []id.ID{{2}, {4}}) {
		t.Errorf("%v", got)
	}
}
