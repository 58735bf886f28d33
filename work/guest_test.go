package work_test

import (
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// guestWorld is a community project in which agents that are no members left something.
func guestWorld(t *testing.T) *world {
	w := newWorld()
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community, About: work.About{
		Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	eve := func(command work.Command) id.ID {
		t.Helper()
		w.now += 1000
		decision, err := w.do(agent("eve"), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	task := eve(&work.CreateTask{Spec: work.TaskSpec{Title: "by eve"}})
	eve(&work.UpdateTask{Task: task, Change: work.TaskChange{
		Result: &work.TaskResult{Summary: "half"},
	}})
	eve(&work.CreateHandoff{Continuation: work.Continuation{Summary: "to all"}})
	eve(new(work.TakeTurn))
	if _, err := w.do(agent("bob"), new(work.TakeTurn)); fault.CodeOf(err) != fault.TurnHeld {
		t.Fatal(err)
	}
	w.now += 60_000
	eve(&work.WriteWorkspaceFile{
		Workspace: w.project.CommunityWorkspace(agent("eve"), 0).ID, Path: "a", Blob: blob("1"),
		ContentType: "text/plain",
	})
	w.must(t, &work.BlockAgent{Agent: agent("mal"), Reason: "r"})
	return w
}

// TestFrozenGuests reads a project that was saved with what agents that are no members left.
func TestFrozenGuests(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v7-guests", guestWorld, map[string]work.ChunkKind{
		"tasks.cbor": work.TaskChunk, "workspaces.cbor": work.WorkspaceChunk,
	})
	task := p.NewestTasks(1, testNow)[0]
	if task.SpecGuest != agent("eve") || task.WorkGuest != agent("eve") {
		t.Errorf("the task is %+v", task)
	}
	turn, held := p.Turn(testNow)
	if !held || turn.Awaited != agent("bob") || turn.Renewals != 1 {
		t.Errorf("the turn is %+v", turn)
	}
	want := work.Block{
		Agent: agent("mal"), Reason: "r", By: agent("ann"), At: p.UpdatedAt,
	}
	if found, blocked := p.Block(agent("mal")); !blocked || found != want || len(p.Blocks()) != 1 {
		t.Errorf("the blocks are %+v, want %+v", p.Blocks(), want)
	}
}

// TestGuestsHaveRoomOfTheirOwn lets one guest of a community project write as many tasks, handoffs
// and texts as it may. Members and other guests have as much room as before.
func TestGuestsHaveRoomOfTheirOwn(t *testing.T) {
	w := guestWorld(t)
	by := func(who string, command work.Command) string {
		t.Helper()
		w.now++
		_, err := w.do(agent(who), command)
		return quotaOf(t, err)
	}
	task := func() work.Command {
		return &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}
	}
	handoff := func() work.Command { return new(work.CreateHandoff) }
	for _, test := range []struct {
		command func() work.Command
		most    int
		quota   string
	}{
		{task, work.GuestTasksMax, "tasks_of_agent"},
		{handoff, work.GuestHandoffsMax, "handoffs_of_agent"},
	} {
		for range test.most - 1 {
			if quota := by("eve", test.command()); quota != "" {
				t.Fatalf("%s: too early", quota)
			}
		}
		if quota := by("eve", test.command()); quota != test.quota {
			t.Errorf("quota %q, want %s", quota, test.quota)
		}
		for _, who := range []string{"ann", "bob"} {
			if quota := by(who, test.command()); quota != "" {
				t.Errorf("%s: refused by %s", who, quota)
			}
		}
	}
}

// TestRoomOfFormerMembers has members make more than a guest may, and leave. What they made stays
// in the room of members: it takes little of that of guests, and the next member has no new room.
func TestRoomOfFormerMembers(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community, About: work.About{
		Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	made := 0
	for _, who := range []string{"bob", "dan"} {
		w.must(t, &work.AddMember{Agent: agent(who), Role: work.Maintainer})
		var err error
		for err == nil && made <= work.TasksMax {
			if _, err = w.do(agent(who), &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}); err == nil {
				made++
			}
		}
		w.must(t, &work.RemoveMember{Agent: agent(who)})
		if _, err := w.do(agent("eve"), &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}); err != nil {
			t.Errorf("a guest, AFTER %s has left: %v", who, err)
		}
	}
	if most := work.TasksMax + 2*work.GuestTasksMax; made < work.TasksMax || made > most {
		t.Errorf("members made %d tasks, want %d to %d", made, work.TasksMax, most)
	}
}

// TestTextsOfTasksCountForTheirLastWriter moves the texts of a task between the room of a guest and
// that of members.
func TestTextsOfTasksCountForTheirLastWriter(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community, About: work.About{
		Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	used := func(who string) (bytes int) {
		for _, usage := range w.project.QuotaUsages(agent(who), w.now) {
			if usage.Quota == "text_bytes_of_agent" {
				bytes = usage.Used
			}
		}
		return bytes
	}
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "12345"}}).Result.Subject
	for _, step := range []struct {
		who      string
		change   work.TaskChange
		eve, bob int
	}{
		{"eve", work.TaskChange{Result: &work.TaskResult{Summary: "123"}}, 3, 0},
		{"bob", work.TaskChange{Title: pointer("1234")}, 3, 4},
		{"bob", work.TaskChange{Result: &work.TaskResult{Summary: "12"}}, 0, 6},
		{"eve", work.TaskChange{Title: pointer("1")}, 1, 2},
		{"ann", work.TaskChange{Title: pointer("2")}, 0, 2},
		{"ann", work.TaskChange{Status: work.TaskDone}, 0, 0},
	} {
		command := &work.UpdateTask{Task: task, Change: step.change}
		if _, err := w.do(agent(step.who), command); err != nil {
			t.Fatal(err)
		}
		if eve, bob := used("eve"), used("bob"); eve != step.eve || bob != step.bob {
			t.Errorf("after %+v by %s: %d and %d bytes, want %d and %d", step.change, step.who,
				eve, bob, step.eve, step.bob)
		}
	}
}

// TestOneGuestCannotFillTheTextsOfTasks lets a guest write texts into the tasks of others.
func TestOneGuestCannotFillTheTextsOfTasks(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community, About: work.About{
		Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	const size = work.GuestTextBytesMax / 4
	text := sized("1048576")
	refused := 0
	for range 6 {
		task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}}).Result.Subject
		change := work.TaskChange{Title: pointer(""), Description: pointer(text[:size])}
		_, err := w.do(agent("eve"), &work.UpdateTask{Task: task, Change: change})
		if quotaOf(t, err) == "text_bytes_of_agent" {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d of 6 texts were refused, want 2", refused)
	}
}

// guestHandoffWorld is a project with a handoff of a member and a newer one that its author could
// write only while it held a claim.
func guestHandoffWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "for all"}}).Result.Subject
	w.must(t, &work.CreateHandoff{Continuation: work.Continuation{Summary: "of a member"}})
	for _, command := range []work.Command{
		&work.ClaimTask{Task: task},
		&work.CreateHandoff{Continuation: work.Continuation{Summary: "of a guest"}},
	} {
		w.now += 1000
		if _, err := w.do(agent("eve"), command); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestFrozenGuestHandoffs reads a project that was saved with a handoff of a guest.
func TestFrozenGuestHandoffs(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v12-guesthandoffs", guestHandoffWorld,
		map[string]work.ChunkKind{"tasks.cbor": work.TaskChunk})
	first, guest := p.CurrentHandoffs()
	if first == nil || first.Continuation.Summary != "of a member" ||
		guest == nil || guest.Continuation.Summary != "of a guest" {
		t.Errorf("the handoffs are %+v and %+v", first, guest)
	}
}
