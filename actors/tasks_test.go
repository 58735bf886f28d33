package actors

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pws/api"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

const leaseMillis = work.LeaseSeconds * 1000

func mustDo(t testing.TB, e *Engine, project, agent id.ID, command work.Command) api.Done {
	t.Helper()
	done, err := e.Do(api.Order{Project: project, Agent: agent, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// createTasks makes n tasks in one entry, and gives their IDs in order.
func createTasks(t testing.TB, e *Engine, project, agent id.ID, n int) (tasks []id.ID) {
	t.Helper()
	command := &work.CreateCheckpoint{Summary: "plan"}
	for i := range n {
		command.Tasks = append(command.Tasks, work.CheckpointTask{Create: &work.TaskSpec{
			Title: fmt.Sprint("task ", i), Priority: work.PriorityNormal,
		}})
	}
	p := mustDo(t, e, project, agent, command).Project
	for _, task := range p.NewestTasks(n, e.Now()) {
		tasks = append(tasks, task.ID)
	}
	return tasks
}

func describe(task id.ID, text string) *work.UpdateTask {
	return &work.UpdateTask{Task: task, Change: work.TaskChange{Description: &text}}
}

// places are the open tasks that an engine lists, in pages of three.
func places(e *Engine, status work.TaskStatus) (all []index.TaskPlace) {
	for after := (index.TaskPosition{}); ; after = all[len(all)-1].TaskPosition {
		page := e.Indexes(index.ForTasks).Tasks.Public(status, e.Now(), after, 3)
		all = append(all, page...)
		if len(page) < 3 {
			return all
		}
	}
}

// checkFound expects of the indexes what a walk over all projects finds.
func checkFound(t testing.TB, what string, e *Engine) {
	t.Helper()
	checkWatches(t, what, e)
	checkMemberships(t, what, e)
	of, now, total := e.Indexes(index.All), e.Now(), 0
	public := map[work.TaskStatus][]index.TaskPlace{}
	own := map[id.ID][]index.TaskPlace{}
	claims := map[id.ID][]index.OwnClaim{}
	e.handles.Range(func(project id.ID, _ *handle) bool {
		p := viewOf(t, e, project)
		if p == nil {
			return true
		}
		want := index.TasksOf(p)
		total += len(want.Entries)
		if got := of.Tasks.Get(project); !sameTasks(got, want) {
			t.Errorf("%s: %s is indexed as %+v, want %+v", what, project.Format(id.Project), got, want)
		}
		checkOwned(t, what, e, p)
		p.Tasks(id.ID{}, now, func(task *work.Task) bool {
			if claim := task.Claim; claim != nil {
				claims[claim.Agent] = append(claims[claim.Agent],
					index.OwnClaim{Task: task.ID, Project: project, Until: claim.ExpiresAt})
			}
			place := index.TaskPlace{Project: project}
			place.Priority, place.Task = task.Spec.Priority, task.ID
			if p.Visibility == work.Public {
				public[task.Status] = append(public[task.Status], place)
			} else if task.Status == work.TaskOpen {
				for _, member := range p.Members() {
					own[member.Agent] = append(own[member.Agent], place)
				}
			}
			return true
		})
		return true
	})
	checkOffers(t, what, e)
	if of.Tasks.Len() != total {
		t.Errorf("%s: %d tasks are indexed, want %d", what, of.Tasks.Len(), total)
	}
	for status := work.TaskOpen; !status.Final(); status++ {
		if got := places(e, status); !slices.Equal(got, inRank(public[status])) {
			t.Errorf("%s: %s: listed %v, want %v", what, status, got, public[status])
		}
	}
	for agent, tasks := range own {
		var want []id.ID
		for _, place := range inRank(tasks) {
			if !slices.Contains(want, place.Project) {
				want = append(want, place.Project)
			}
		}
		if got := of.Tasks.Own(agent, now); !slices.Equal(got, want) {
			t.Errorf("%s: own work %v, want %v", what, got, want)
		}
	}
	checkClaims(t, what, e, claims, now)
	if t.Failed() {
		t.FailNow()
	}
}

// checkClaims compares the index of claims with the live claims of all agents at a time.
func checkClaims(
	t testing.TB, what string, e *Engine, want map[id.ID][]index.OwnClaim, now int64,
) {
	t.Helper()
	of := e.Indexes(index.ForClaims).Claims
	for agent := range e.Identity().Agents(id.ID{}) {
		held := want[agent.ID]
		slices.SortFunc(held, func(a, b index.OwnClaim) int { return a.Task.Compare(b.Task) })
		if got := of.Of(agent.ID, now); !slices.Equal(got, held) {
			t.Errorf("%s: %s holds %v, want %v", what, agent.Handle, got, held)
		}
	}
}

func inRank(list []index.TaskPlace) []index.TaskPlace {
	slices.SortFunc(list, func(a, b index.TaskPlace) int {
		return cmp.Or(-cmp.Compare(a.Priority, b.Priority), a.Task.Compare(b.Task))
	})
	return list
}

// checkOwned looks for the records of a project by their IDs. Those of a deleted one are not found.
func checkOwned(t testing.TB, what string, e *Engine, p *work.Project) {
	t.Helper()
	check := func(kind id.Prefix, record id.ID) {
		owner, err := e.Owner(kind, record, p.Owner)
		if err != nil || (owner != nil) != p.Readable(p.Owner) || owner != nil && owner.ID != p.ID {
			t.Errorf("%s: %s of %v is found in %v, %v", what, record.Format(kind), p.ID, owner, err)
		}
	}
	p.Tasks(id.ID{}, work.AsStored, func(task *work.Task) bool {
		check(id.Task, task.ID)
		return true
	})
	for _, session := range p.WorkSessions() {
		check(id.WorkSession, session.ID)
	}
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		check(id.Contribution, c.ID)
		return true
	})
	for _, handoff := range p.Handoffs() {
		check(id.Handoff, handoff.ID)
	}
	p.Artifacts(id.ID{}, func(a *work.Artifact) bool { check(id.Artifact, a.ID); return true })
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		check(id.Discussion, d.ID)
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool {
			check(id.Comment, c.ID)
			return true
		})
		return true
	})
	for n := range p.ChangesetsCount() {
		check(id.Changeset, p.ChangesetNumber(uint32(n+1)).ID)
	}
}

// sectionPositions are the positions of the sections of one project by their keys.
func sectionPositions(e *Engine, project id.ID) map[string]uint64 {
	positions := map[string]uint64{}
	for _, kind := range []string{"p", "c", "r", "o", "t", "s"} {
		for key, position := range e.sectionKeys(kind + string(project[:])) {
			positions[key] = position
		}
	}
	return positions
}

// rewritten are the sections of a project that a save writes.
func rewritten(t *testing.T, e *Engine, project id.ID) (keys []string) {
	t.Helper()
	before := sectionPositions(e, project)
	saveAll(t, e)
	for key, position := range sectionPositions(e, project) {
		if before[key] != position {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func taskChunkKey(project id.ID, n int) string {
	return datadir.ChunkKey(project, work.Chunk{Kind: work.TaskChunk, Number: n})
}

// TestSaveWritesChangedTasks changes single tasks of a thousand: their chunks alone are written
// again, also after a start that had to apply the change itself, and after a rest.
func TestSaveWritesChangedTasks(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 1000)
	if keys := rewritten(t, e, project); len(keys) != 2+8 {
		t.Fatalf("%d sections of a thousand tasks: %q", len(keys), keys)
	}
	expect := func(what string, e *Engine, chunk int) {
		t.Helper()
		want := []string{
			datadir.ProjectKey(project), datadir.CardKey(project), taskChunkKey(project, chunk),
		}
		slices.Sort(want)
		if keys := rewritten(t, e, project); !slices.Equal(keys, want) {
			t.Fatalf("%s: %q are written, want %q", what, keys, want)
		}
	}
	mustDo(t, e, project, owner, describe(tasks[300], "changed"))
	expect("one change", e, 2)
	mustPut(t, e, project, owner, "a", "file")
	want := []string{datadir.ProjectKey(project), datadir.CardKey(project)}
	if keys := rewritten(t, e, project); !slices.Equal(keys, want) {
		t.Fatalf("%q are written for a file", keys)
	}

	mustDo(t, e, project, owner, describe(tasks[999], "changed and not saved"))
	state := fullState(t, e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	checkFound(t, "after a kill", again)
	sameState(t, "after a kill", state, fullState(t, again))
	expect("after a kill", again, 7)

	if again.sweep(again.Advance(1000)) != 1 {
		t.Fatal("the project is still in memory")
	}
	mustDo(t, again, project, owner, describe(tasks[0], "changed after a rest"))
	expect("after a rest", again, 0)
	state = fullState(t, again)
	config.Dir = crashCopy(t, again.config.Dir)
	last := start(t, config)
	sameState(t, "at last", state, fullState(t, last))
	checkFound(t, "at last", last)
}

// TestTaskChangesWhileASaveRuns changes a task, and who may see it, between the steps of a
// snapshot.
func TestTaskChangesWhileASaveRuns(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 300)
	position, taken := e.journal.Durable(), e.saver.drainDirty()
	mustDo(t, e, project, owner, describe(tasks[0], "late"))
	mustDo(t, e, project, owner, &work.UpdateProject{Visibility: work.Private})
	createTasks(t, e, project, owner, 1)
	if err := e.saver.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		want := fullState(t, e)
		config := e.config
		config.Dir = crashCopy(t, e.config.Dir)
		again := start(t, config)
		checkFound(t, fmt.Sprint("round ", round), again)
		sameState(t, fmt.Sprint("round ", round), want, fullState(t, again))
		saveAll(t, e)
	}
}

// TestFinishedTasksAreNotIndexed expects nothing in the index of tasks where nothing is
// unfinished, before and after a start, which loads no project for it.
func TestFinishedTasksAreNotIndexed(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	task := createTasks(t, e, project, owner, 1)[0]
	if keys := rewritten(t, e, project); !slices.Contains(keys, datadir.CardKey(project)) {
		t.Fatalf("%q are written for a task", keys)
	}
	expect := func(status work.TaskStatus, want int) {
		t.Helper()
		mustDo(t, e, project, owner, &work.UpdateTask{
			Task: task, Change: work.TaskChange{Status: status},
		})
		saveAll(t, e)
		config := e.config
		config.Dir = crashCopy(t, e.config.Dir)
		again := start(t, config)
		for _, of := range []*Engine{e, again} {
			if list := places(of, work.TaskOpen); len(list) != want ||
				of.Indexes(index.ForTasks).Tasks.Len() != want {
				t.Fatalf("%s: open are %v", status, list)
			}
		}
		if again.handles.Size() != 1 || viewsLoaded(again) != 0 {
			t.Fatal("a start has loaded the project")
		}
	}
	expect(work.TaskDone, 0)
	expect(work.TaskOpen, 1)
}

func viewsLoaded(e *Engine) (count int) {
	e.handles.Range(func(_ id.ID, h *handle) bool {
		if h.view.Load() != nil {
			count++
		}
		return true
	})
	return count
}

// TestAudienceFollowsTheProject moves tasks between the lists as members and visibility change,
// with a start after each step.
func TestAudienceFollowsTheProject(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner, friend := register(t, e, "owner"), register(t, e, "friend")
	project := createProject(t, e, owner, work.Private)
	createTasks(t, e, project, owner, 2)
	for _, c := range []struct {
		command work.Command
		public  bool
		friends bool
	}{
		{describe(viewOf(t, e, project).NewestTasks(1, 0)[0].ID, "begin"), false, false},
		{&work.AddMember{Agent: friend, Role: work.Reader}, false, true},
		{&work.UpdateProject{Visibility: work.Public, Reuse: work.AllowReuse}, true, false},
		{&work.UpdateProject{Visibility: work.Unlisted}, false, true},
		{&work.RemoveMember{Agent: friend}, false, false},
		{&work.UpdateProject{Visibility: work.Public}, true, false},
	} {
		mustDo(t, e, project, owner, c.command)
		check := func(e *Engine) {
			t.Helper()
			checkFound(t, fmt.Sprintf("%+v", c.command), e)
			own := e.Indexes(index.ForTasks).Tasks.Own(friend, e.Now())
			public, friends := len(places(e, work.TaskOpen)) > 0, len(own) > 0
			if public != c.public || friends != c.friends {
				t.Fatalf("%+v: public %v, own %v", c.command, public, friends)
			}
		}
		check(e)
		config.Dir = crashCopy(t, e.config.Dir)
		check(start(t, config))
		saveAll(t, e)
		config.Dir = crashCopy(t, e.config.Dir)
		check(start(t, config))
	}
}
