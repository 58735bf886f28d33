package actors

import (
	"cmp"
	"slices"
	"testing"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// checkMemberships expects of the index what a walk over all projects finds.
func checkMemberships(t testing.TB, what string, e *Engine) {
	t.Helper()
	const all = 1 << 20
	want, deleted := map[id.ID][]index.Position{}, map[id.ID]int{}
	maintained := map[id.ID][]id.ID{}
	of := e.Indexes(index.ForMemberships).Memberships
	e.handles.Range(func(project id.ID, _ *handle) bool {
		p := viewOf(t, e, project)
		if p == nil {
			return true
		}
		if !of.Named(project, index.FoldName(p.Name)) {
			t.Errorf("%s: %s is not found as %q", what, project.Format(id.Project), p.Name)
		}
		checkEnd(t, what, of, p)
		if p.End() != nil {
			deleted[p.Owner]++
		}
		for _, member := range p.Members() {
			at := index.Position{Millis: p.UpdatedAt, ID: project}
			want[member.Agent] = append(want[member.Agent], at)
			if member.Role >= work.Maintainer && p.Status == work.Active {
				maintained[member.Agent] = append(maintained[member.Agent], project)
			}
			filter := index.MembershipFilter{
				Role: member.Role, Visibility: p.Visibility, Status: p.Status,
				Name: index.FoldName(p.Name),
			}
			if got := of.Of(member.Agent, &filter, index.Position{}, all); !slices.Contains(got, at) {
				t.Errorf("%s: %+v does not find %s", what, filter, project.Format(id.Project))
			}
		}
		return true
	})
	for agent := range e.Identity().Agents(id.ID{}) {
		list := want[agent.ID]
		slices.SortFunc(list, func(a, b index.Position) int {
			return cmp.Or(-cmp.Compare(a.Millis, b.Millis), -a.ID.Compare(b.ID))
		})
		own, due := of.AtLeast(agent.ID, work.Maintainer), maintained[agent.ID]
		slices.SortFunc(own, id.ID.Compare)
		slices.SortFunc(due, id.ID.Compare)
		if !slices.Equal(own, due) {
			t.Errorf("%s: %s maintains %v, want %v", what, agent.Handle, own, due)
		}
		got := of.Of(agent.ID, &index.MembershipFilter{}, index.Position{}, all)
		count := of.Count(agent.ID) - deleted[agent.ID]
		if !slices.Equal(got, list) || count != len(list) {
			t.Errorf("%s: %s is a member of %v, want %v", what, agent.Handle, got, list)
		}
	}
}

// TestMembershipsSurviveARestart follows memberships and the order of activity over restarts: with
// nothing saved, with all saved, with changes in the log behind, with projects that rest.
func TestMembershipsSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	var projects []id.ID
	for range 4 {
		projects = append(projects, createProject(t, e, ann, work.Private))
		e.Advance(10)
	}
	first := func(agent, project id.ID) {
		t.Helper()
		of := e.Indexes(index.ForMemberships).Memberships
		got := of.Of(agent, &index.MembershipFilter{}, index.Position{}, 1)
		if len(got) != 1 || got[0].ID != project {
			t.Errorf("the latest activity is in %v, want %s", got, project.Format(id.Project))
		}
	}
	again := func(what string) {
		t.Helper()
		checkMemberships(t, what, e)
		stop(t, e)
		e = start(t, config)
		checkMemberships(t, what+", after a start", e)
	}
	member := func(project id.ID, role work.Role) {
		t.Helper()
		mustDo(t, e, project, ann, &work.AddMember{Agent: bob, Role: role})
	}
	member(projects[0], work.Reader)
	member(projects[1], work.Maintainer)
	first(bob, projects[1])
	again("in the log")
	saveAll(t, e)
	again("saved")
	if due := e.projections.stale.sets.Load(); due != 0 {
		t.Errorf("after a start from a snapshot the indexes of %b lack projects", due)
	}
	e.Advance(10)
	createTasks(t, e, projects[0], ann, 1)
	first(bob, projects[0])
	saveAll(t, e)
	e.Advance(10)
	createTasks(t, e, projects[1], ann, 1)
	again("activity in the log behind")
	first(bob, projects[1])
	e.Advance(10)
	name, status := "Ärger", work.Archived
	mustDo(t, e, projects[0], ann, &work.UpdateProject{Name: &name, Status: status})
	mustDo(t, e, projects[1], ann, &work.ChangeMember{Agent: bob, Role: work.Owner})
	first(bob, projects[1])
	again("a name, a status and an owner in the log behind")
	saveAll(t, e)
	e.sweep(e.Now() + 1000)
	checkMemberships(t, "at rest", e)
	e.sweep(e.Now() + 1000)
	mustDo(t, e, projects[0], bob, &work.RemoveMember{Agent: bob})
	mustDo(t, e, projects[1], bob, &work.RemoveMember{Agent: ann})
	again("removed")
	saveAll(t, e)
	again("removed and saved")
}

// TestActivityBehindASnapshotLoadsNothing: entries that change only when a project was updated do
// not make a start load it.
func TestActivityBehindASnapshotLoadsNothing(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	project := createProject(t, e, ann, work.Private)
	mustDo(t, e, project, ann, new(work.UpdateState))
	saveAll(t, e)
	e.Advance(10)
	mustDo(t, e, project, ann, new(work.UpdateState))
	updated := viewOf(t, e, project).UpdatedAt
	stop(t, e)
	e = start(t, config)
	of := e.Indexes(index.ForMemberships).Memberships
	got := of.Of(ann, &index.MembershipFilter{}, index.Position{}, 1)
	if want := (index.Position{Millis: updated, ID: project}); len(got) != 1 || got[0] != want {
		t.Errorf("listed as %v, want %v", got, want)
	}
	if h, _ := e.handles.Load(project); h.view.Load() != nil {
		t.Error("the project was loaded")
	}
}
