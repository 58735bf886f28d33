package actors

import (
	"fmt"
	"slices"
	"testing"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

func relate(target id.ID) *work.CreateRelation {
	return &work.CreateRelation{Type: work.DependsOn, Target: target}
}

// checkLinks expects of the index what a walk over all projects finds.
func checkLinks(t testing.TB, what string, e *Engine) {
	t.Helper()
	want, total := map[index.Link][]id.ID{}, 0
	e.handles.Range(func(project id.ID, _ *handle) bool {
		for _, link := range index.LinksOf(viewOf(t, e, project)).Links {
			want[link.Link] = append(want[link.Link], project)
			total++
		}
		return true
	})
	links := e.Indexes(index.ForLinks).Links
	if links.Len() != total {
		t.Errorf("%s: %d links are indexed, want %d", what, links.Len(), total)
	}
	for link, projects := range want {
		slices.SortFunc(projects, id.ID.Compare)
		var got []id.ID
		for after := (id.ID{}); ; after = got[len(got)-1] {
			page := links.Projects(link, after, 2)
			if got = append(got, page...); len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, projects) {
			t.Errorf("%s: %v leads to %v, want %v", what, link, got, projects)
		}
	}
}

// TestLinksSurviveARestart follows what projects name over restarts: with nothing saved, with
// all saved, with some in the log behind, and with projects that rest.
func TestLinksSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	var projects []id.ID
	for range 5 {
		projects = append(projects, createProject(t, e, ann, work.Public))
	}
	again := func(what string) {
		t.Helper()
		checkLinks(t, what, e)
		stop(t, e)
		e = start(t, config)
		checkLinks(t, what+", after a start", e)
	}
	for _, source := range projects[1:] {
		mustDo(t, e, source, ann, relate(projects[0]))
		mustDo(t, e, source, ann, relate(projects[0]))
	}
	again("in the log")
	saveAll(t, e)
	again("saved")
	mustDo(t, e, projects[1], ann, relate(projects[2]))
	mustDo(t, e, projects[0], ann, relate(projects[1]))
	again("saved, and in the log behind")
	saveAll(t, e)
	e.sweep(e.Now() + 1000)
	checkLinks(t, "at rest", e)
	again("saved again")
	stop(t, e)
	if _, err := Verify(config.Dir); err != nil {
		t.Error(err)
	}
}

// TestLinksAreSavedEachTime changes what a project names, and who may read it, between snapshots of
// one engine. A start that has the snapshot alone finds all of it.
func TestLinksAreSavedEachTime(t *testing.T) {
	e, project, ann := oneProject(t, nil)
	bob := register(t, e, "bob")
	var others []id.ID
	for range 2 {
		others = append(others, createProject(t, e, ann, work.Public))
	}
	mustPut(t, e, others[0], ann, "lib/a", "shared")
	artifact := offer(t, e, others[0], ann, "lib")
	for i, command := range []work.Command{
		relate(others[0]), relate(others[1]), importing(t, e, artifact, ann, "v"),
		importing(t, e, artifact, ann, "w"),
		&work.UpdateProject{Visibility: work.Private, Reuse: work.AllowReuse},
		&work.AddMember{Agent: bob, Role: work.Maintainer},
	} {
		mustDo(t, e, project, ann, command)
		mustPut(t, e, project, ann, "other", fmt.Sprint(i))
		saveAll(t, e)
		what := fmt.Sprintf("%d, %T", i, command)
		dir := crashCopy(t, e.config.Dir)
		if _, err := Verify(dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		again := start(t, quiet(dir))
		checkLinks(t, what, again)
		for _, agent := range []id.ID{ann, bob, {}} {
			link := index.Link{Kind: index.LinkImport, Target: artifact}
			got := again.Indexes(index.ForLinks).Links.Count(link, agent)
			want := e.Indexes(index.ForLinks).Links.Count(link, agent)
			if got != want {
				t.Errorf("%s: %d imports are counted, want %d", what, got, want)
			}
		}
		stop(t, again)
	}
}
