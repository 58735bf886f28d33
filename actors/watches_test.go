package actors

import (
	"slices"
	"testing"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// checkWatches expects of the index what a walk over all projects finds.
func checkWatches(t testing.TB, what string, e *Engine) {
	t.Helper()
	want := map[id.ID][]index.Watched{}
	e.handles.Range(func(project id.ID, _ *handle) bool {
		viewOf(t, e, project).Watchers(func(one work.Watcher) bool {
			want[one.Agent] = append(want[one.Agent],
				index.Watched{Project: project, Since: one.Since})
			return true
		})
		return true
	})
	for agent := range e.Identity().Agents(id.ID{}) {
		list := want[agent.ID]
		slices.SortFunc(list, func(a, b index.Watched) int { return a.Project.Compare(b.Project) })
		if got := e.Indexes(index.ForWatches).Watches.Of(agent.ID); !slices.Equal(got, list) {
			t.Errorf("%s: %s watches %v, want %v", what, agent.Handle, got, list)
		}
	}
}

// TestWatchesSurviveARestart follows who watches what over restarts: with nothing saved, with
// all saved, with some in the log behind, with projects that rest, and with all taken back.
func TestWatchesSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	var projects []id.ID
	for range 4 {
		projects = append(projects, createProject(t, e, ann, work.Public))
	}
	again := func(what string) {
		t.Helper()
		checkWatches(t, what, e)
		stop(t, e)
		e = start(t, config)
		checkWatches(t, what+", after a start", e)
	}
	watch := func(agent id.ID, watched ...id.ID) {
		t.Helper()
		for _, project := range watched {
			mustDo(t, e, project, agent, new(work.WatchProject))
			e.Advance(7)
			mustDo(t, e, project, agent, new(work.WatchProject))
		}
	}
	unwatch := func(agent id.ID, watched ...id.ID) {
		t.Helper()
		for _, project := range watched {
			mustDo(t, e, project, agent, new(work.UnwatchProject))
		}
	}
	watch(ann, projects[:3]...)
	watch(bob, projects[2])
	unwatch(ann, projects[0])
	again("in the log")
	saveAll(t, e)
	again("saved")
	watch(ann, projects[0], projects[3])
	unwatch(bob, projects[2])
	again("saved, and in the log behind")
	watches := e.Indexes(index.ForWatches).Watches
	if got := len(watches.Of(ann)); got != 4 || watches.Watching(bob, projects[2]) {
		t.Errorf("ann watches %d projects", got)
	}
	saveAll(t, e)
	e.sweep(e.Now() + 1000)
	checkWatches(t, "at rest", e)
	unwatch(ann, projects...)
	again("taken back")
	saveAll(t, e)
	again("taken back and saved")
	watch(bob, projects[1])
	again("watched once more")
	saveAll(t, e)
	stop(t, e)
	if _, err := Verify(config.Dir); err != nil {
		t.Error(err)
	}
}
