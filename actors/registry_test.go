package actors

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// summaryReaders asks for the summaries of projects from several goroutines until the returned
// function is called. Each project must exist at any moment, and no version may go back.
func summaryReaders(t *testing.T, e *Engine, projects []id.ID) (stop func()) {
	t.Helper()
	var done atomic.Bool
	var readers sync.WaitGroup
	for reader := range 4 {
		readers.Go(func() {
			seen := make([]uint64, len(projects))
			for round := 0; !done.Load(); round++ {
				for n := range projects {
					at := (n*7 + reader*13) % len(projects)
					p, err := e.Summary(projects[at])
					if err != nil || p == nil {
						t.Errorf("round %d: project %d is missing: %v", round, at, err)
						return
					}
					if p.Version < seen[at] {
						t.Errorf("project %d went from version %d back to %d", at, seen[at],
							p.Version)
						return
					}
					seen[at] = p.Version
				}
			}
		})
	}
	return func() {
		done.Store(true)
		readers.Wait()
	}
}

// TestSummariesDuringLoads restarts an engine whose projects are in the log alone, and reads
// summaries of them while others load them.
func TestSummariesDuringLoads(t *testing.T) {
	const projectsCount, restarts = 100, 12
	dir := t.TempDir()
	e := start(t, quiet(dir))
	owner := register(t, e, "owner")
	projects := make([]id.ID, projectsCount)
	for i := range projects {
		projects[i] = createProject(t, e, owner, work.Public)
	}
	for range restarts {
		stop(t, e)
		e = start(t, quiet(dir))
		finish := summaryReaders(t, e, projects)
		var loaders sync.WaitGroup
		for loader := range 2 {
			loaders.Go(func() {
				for n := range projects {
					at := (n*7 + loader*101) % projectsCount
					if p, err := e.Project(projects[at]); err != nil || p == nil {
						t.Errorf("project %d is missing: %v", at, err)
					}
				}
			})
		}
		loaders.Wait()
		finish()
		if t.Failed() {
			return
		}
	}
}

// TestSummariesDuringPassivation changes projects, saves them and lets them leave memory while
// others read their summaries.
func TestSummariesDuringPassivation(t *testing.T) {
	const projectsCount, rounds = 4, 4
	e := start(t, quiet(t.TempDir()))
	owner := register(t, e, "owner")
	projects := make([]id.ID, projectsCount)
	for i := range projects {
		projects[i] = createProject(t, e, owner, work.Public)
	}
	finish := summaryReaders(t, e, projects)
	var sweeper sync.WaitGroup
	var done atomic.Bool
	sweeper.Go(func() {
		for !done.Load() {
			e.sweep(e.clock.Now() + 1000)
		}
	})
	for round := range rounds {
		for _, project := range projects {
			name := fmt.Sprint("round ", round)
			_, err := e.Do(api.Order{Project: project, Agent: owner,
				Command: &work.UpdateProject{Name: &name}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Save(); err != nil {
			t.Fatal(err)
		}
	}
	done.Store(true)
	sweeper.Wait()
	finish()
}

// TestUnnotedProjectStaysInMemory sweeps between the commit of a snapshot and the note that it
// holds a project: the project must not leave memory then, nor the registry.
func TestUnnotedProjectStaysInMemory(t *testing.T) {
	e, project, _ := oneProject(t, nil)
	saveAll(t, e)
	h, _ := e.handles.Load(project)
	h.stored.Store(false)
	for range 2 {
		if passivated := e.sweep(e.clock.Now() + 1000); passivated != 0 {
			t.Fatalf("%d projects left memory", passivated)
		}
	}
	if p, err := e.Project(project); err != nil || p == nil {
		t.Fatalf("the project is missing: %v", err)
	}
	h.stored.Store(true)
	if passivated := e.sweep(e.clock.Now() + 1000); passivated != 1 {
		t.Fatalf("%d projects left memory, want 1", passivated)
	}
	if p, err := e.Summary(project); err != nil || p == nil {
		t.Fatalf("the project is missing: %v", err)
	}
}

// TestSweepAtEachStepOfASave starts an engine whose projects are in the log alone, and sweeps at
// each step of its first snapshot: no project leaves the registry.
func TestSweepAtEachStepOfASave(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustPut(t, e, project, owner, "a", "1")
	want := fullState(t, e)
	again := start(t, quiet(crashCopy(t, e.config.Dir)))
	again.saver.hook = func(step string) error {
		again.sweep(again.clock.Now() + 1000)
		if _, known := again.handles.Load(project); !known {
			t.Errorf("a sweep behind the step %q forgets a project", step)
		}
		return nil
	}
	saveAll(t, again)
	sameState(t, "behind the snapshot", want, fullState(t, again))
	saved := start(t, quiet(crashCopy(t, again.config.Dir)))
	sameState(t, "behind a kill", want, fullState(t, saved))
}

// TestOutOfServiceOutlastsSweeps has an event panic in a project that exists, and in one that is
// being made: neither takes orders behind a sweep, and what was published stays readable.
func TestOutOfServiceOutlastsSweeps(t *testing.T) {
	e, existing, owner := oneProject(t, nil)
	saveAll(t, e)
	made := e.stamp(owner).ID(0)
	commands := map[id.ID]work.Command{
		existing: putOf("a", "1"), made: creationOf(made, work.Public),
	}
	for project := range commands {
		h, _ := e.handles.LoadOrStore(project, &handle{id: project})
		a := &projectActor{engine: e, handle: h}
		fits := a.apply(work.NewProject(), []work.Event{new(work.ContributionReviewed)}, work.Moment{})
		if fits {
			t.Fatal("an event that does not fit was applied")
		}
	}
	for round := range 2 {
		if passivated := e.sweep(e.clock.Now() + 1000); passivated != 0 {
			t.Errorf("%d projects left memory", passivated)
		}
		for project, command := range commands {
			_, err := e.Do(api.Order{Project: project, Agent: owner, Command: command})
			if !errors.Is(err, errBroken) {
				t.Errorf("round %d: %T is answered with %v", round, command, err)
			}
		}
	}
	if viewOf(t, e, existing) == nil || viewOf(t, e, made) != nil {
		t.Error("what is published is another")
	}
}

// TestRetiredHandleTakesNoOrder finds a handle, and uses it when a sweep has dropped it: the order
// goes to the handle that is in the registry then.
func TestRetiredHandleTakesNoOrder(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	project := e.stamp(owner).ID(0)
	refused := creationOf(project, work.Public)
	refused.About.Reuse = 0
	creation := api.Order{Project: project, Agent: owner, Command: refused}
	if _, err := e.Do(creation); fault.CodeOf(err) != fault.ReusePolicyRequired {
		t.Fatalf("a public project without a policy: %v", err)
	}
	found, _ := e.handles.Load(project)
	e.sweep(e.clock.Now() + 1000)
	creation.Command = creationOf(project, work.Public)
	if _, err := e.send(found, creation); err != errRetired {
		t.Errorf("a handle that a sweep has dropped answers with %v", err)
	}
	if found.view.Load() != nil || viewOf(t, e, project) != nil {
		t.Error("it has made the project")
	}
	if _, err := e.Do(creation); err != nil || viewOf(t, e, project) == nil {
		t.Errorf("the project is not there: %v", err)
	}
}

// operationOf is a call of an operation by an agent.
func operationOf(e *Engine, name string, agent id.ID, query map[string]string) *api.Call {
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == name })
	return &api.Call{
		Service: api.NewService(e, api.Config{}), Operation: api.Table[at],
		Now: e.Now(), Agent: agent, Query: query,
	}
}

// drain polls all events from the oldest on, and counts them by type.
func drain(t *testing.T, e *Engine, agent id.ID) map[string]int {
	counts, cursor := map[string]int{}, ""
	for {
		query := map[string]string{"limit": "7"}
		if cursor != "" {
			query["after"] = cursor
		}
		c := operationOf(e, "events.poll", agent, query)
		reply, err := c.Operation.Run(c, c.Operation.NewRequest())
		if err != nil {
			t.Error(err)
			return counts
		}
		page := reply.Data.(api.EventsData)
		for _, event := range page.Events {
			counts[event.Type]++
		}
		if cursor = page.NextCursor; !page.HasMore {
			return counts
		}
	}
}

// TestEventsDuringLoads restarts an engine whose projects are in the log alone. Pollers drain the
// events and members read their inboxes while others load the projects. Nothing is left out.
func TestEventsDuringLoads(t *testing.T) {
	const projectsCount, restarts = 60, 24
	dir := t.TempDir()
	e := start(t, quiet(dir))
	owner, friend := register(t, e, "owner"), register(t, e, "friend")
	readers := []id.ID{{}, owner, friend}
	beginDay(e)
	projects := make([]id.ID, projectsCount)
	for i := range projects {
		projects[i] = createProject(t, e, owner, work.Public)
		_, err := e.Do(api.Order{Project: projects[i], Agent: owner,
			Command: &work.CreateDiscussion{Title: "For a friend", Mentions: []id.ID{friend}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for range restarts {
		stop(t, e)
		e = start(t, quiet(dir))
		var all sync.WaitGroup
		for reader, agent := range readers {
			all.Go(func() {
				counts := drain(t, e, agent)
				if counts["project.created"] != projectsCount ||
					counts["discussion.created"] != projectsCount {
					t.Errorf("reader %d saw %v", reader, counts)
				}
			})
			all.Go(func() {
				for n := range projects {
					at := (n*7 + reader*13) % projectsCount
					if p, err := e.Project(projects[at]); err != nil || p == nil {
						t.Errorf("project %d is missing: %v", at, err)
					}
				}
			})
		}
		all.Go(func() {
			c := operationOf(e, "inbox.read", friend, map[string]string{"limit": "200"})
			reply, err := c.Operation.Run(c, c.Operation.NewRequest())
			if err != nil {
				t.Error(err)
				return
			}
			// Of all these mentions by one agent on one day so many become items.
			found := len(reply.Data.(api.InboxData).Items)
			if found != work.MentionItemsPerDayMax {
				t.Errorf("the inbox has %d items", found)
			}
		})
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
