package work_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pws/internal/id"
	"pws/work"
)

// frozenWorkWorld is what the second frozen snapshot was made of: everything that a project can
// say of its work, a chunk of handoffs and one behind it.
func frozenWorkWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Contributor})
	w.put(t, "a.go", "1")
	first := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "first"}}).Result.Subject
	second := w.must(t, &work.CreateTask{Spec: frozenSpec(first)}).Result.Subject
	for n := range work.HandoffChunk.Len() {
		w.now++
		w.must(t, &work.CreateHandoff{Continuation: work.Continuation{Summary: fmt.Sprint(n)}})
	}
	bob := func(command work.Command) {
		t.Helper()
		w.now += 1000
		if _, err := w.do(agent("bob"), command); err != nil {
			t.Fatal(err)
		}
	}
	bob(&work.ClaimTask{Task: first})
	bob(&work.ReleaseTask{Task: first})
	bob(&work.ClaimTask{Task: first})
	bob(&work.UpdateTask{Task: first, Change: work.TaskChange{Status: work.TaskInReview}})
	bob(&work.RenewClaim{Task: first})
	bob(&work.UpdateTask{Task: second, Change: work.TaskChange{
		Status:  work.TaskBlocked,
		Blocked: &work.Blocked{Kind: work.BlockedByNeedsInput, Reason: "why"},
		Result:  &work.TaskResult{Summary: "half", Changeset: w.project.Head().ID},
	}})
	base := w.project.Head().ID
	content := blob("22")
	left := frozenContinuation(first)
	w.now += 1000
	w.must(t, &work.CreateCheckpoint{
		Summary: "night", Base: &base, Message: "m", EndSession: true,
		Files:   []work.CheckpointFile{{Path: "b", Content: &content, ContentType: "text/x"}},
		State:   &work.UpdateState{Statement: frozenStatement()},
		Handoff: &left,
	})
	return w
}

func frozenSpec(first id.ID) work.TaskSpec {
	return work.TaskSpec{
		Title: "second", Description: "d", Priority: work.PriorityHigh, Type: "bug",
		Skills: []string{"go"}, Dependencies: []id.ID{first}, RelatedFiles: []string{"a.go"},
		ExpectedOutput: "e", Conditions: []string{"c"}, Parent: first,
	}
}

func frozenStatement() work.Statement {
	return work.Statement{
		Summary: "s", Objective: "o", CurrentFocus: "f", Completed: []string{"c"},
		InProgress: []string{"i"}, KnownProblems: []string{"k"}, Decisions: []string{"d"},
		NextActions: []string{"n"}, ImportantFiles: []string{"a.go"},
		Dependencies: []string{"p"}, OpenQuestions: []string{"q"}, Custom: []byte(`{"x":1}`),
	}
}

func frozenContinuation(task id.ID) work.Continuation {
	return work.Continuation{
		Summary: "h", CompletedWork: []string{"c"},
		Decisions:        []work.Note{{Text: "d"}, {Text: "e", Reason: "r", Reasoned: true}},
		FailedApproaches: []work.Note{{Text: "f", Reasoned: true}},
		Blockers:         []string{"b"}, Assumptions: []string{"a"}, Dependencies: []string{"d"},
		OpenQuestions: []string{"q"}, NextActions: []string{"n"}, Tasks: []id.ID{task},
		ResidualRisks: []string{"r"},
	}
}

// frozenProject reads a project that was saved in a folder, the first chunk of each kind in a file;
// world makes the one that the sample was made of. The head is given as it was saved.
func frozenProject(
	t *testing.T, folder string, world func(t *testing.T) *world, files map[string]work.ChunkKind,
) (p *work.Project, head []byte) {
	t.Helper()
	fresh := func() saved { return mustSave(t, world(t).project) }
	s := saved{chunks: map[work.Chunk][]byte{}}
	s.head = frozen(t, filepath.Join(folder, "head.cbor"), func() []byte { return fresh().head })
	for file, kind := range files {
		name := work.Chunk{Kind: kind}
		s.chunks[name] = frozen(t, filepath.Join(folder, file),
			func() []byte { return fresh().chunks[name] })
	}
	p, err := s.restore()
	if err != nil {
		t.Fatal(err)
	}
	return p, s.head
}

// TestFrozenWorkSnapshot reads a project that was saved when work had come to it.
func TestFrozenWorkSnapshot(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v2", frozenWorkWorld,
		map[string]work.ChunkKind{
			"tasks.cbor": work.TaskChunk, "handoffs.cbor": work.HandoffChunk,
		})
	checkFrozenTasks(t, p)
	checkFrozenWords(t, p)
	checkFrozenSessions(t, p)
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.TaskCount(work.TaskInReview, testNow) != 1 ||
		summary.TaskCount(work.TaskBlocked, testNow) != 1 ||
		summary.NextExpiry() != p.NextExpiry() || summary.NextExpiry() != testNow+1_805_032 {
		t.Errorf("the summary: %v, the next claim runs out at %d", err, summary.NextExpiry())
	}
}

// savedTask compares what is saved of tasks.
var savedTask = cmpopts.IgnoreUnexported(work.Task{})

func checkFrozenTasks(t *testing.T, p *work.Project) {
	t.Helper()
	tasks := p.NewestTasks(9, testNow)
	if len(tasks) != 2 {
		t.Fatalf("%d tasks, want 2", len(tasks))
	}
	first, second := tasks[0], tasks[1]
	bob, _ := p.OpenSession(agent("bob"))
	want := &work.Task{
		ID: first.ID, Spec: work.TaskSpec{Title: "first", Priority: work.PriorityNormal},
		Status: work.TaskInReview, Attempts: 1, Token: 2, Holders: []id.ID{agent("bob")},
		Claim: &work.Claim{
			ID: first.Claim.ID, Agent: agent("bob"), WorkSession: bob.ID, Token: 2,
			ClaimedAt: testNow + 3032, RenewedAt: testNow + 5032, ExpiresAt: testNow + 1_805_032,
			Before: work.TaskOpen,
		},
		CreatedBy: agent("ann"), CreatedAt: testNow, UpdatedAt: testNow + 5032, Version: 6,
	}
	if diff := cmp.Diff(want, first, savedTask); diff != "" || first.Claim.ID.IsZero() {
		t.Errorf("the first task: %s", diff)
	}
	want = &work.Task{
		ID: second.ID, Spec: frozenSpec(first.ID), Status: work.TaskBlocked,
		Blocked:   &work.Blocked{Kind: work.BlockedByNeedsInput, Reason: "why"},
		Result:    &work.TaskResult{Summary: "half", Changeset: p.ChangesetNumber(2).ID},
		CreatedBy: agent("ann"), CreatedAt: testNow, UpdatedAt: testNow + 6032, Version: 2,
	}
	if diff := cmp.Diff(want, second, savedTask); diff != "" {
		t.Errorf("the second task: %s", diff)
	}
}

func checkFrozenWords(t *testing.T, p *work.Project) {
	t.Helper()
	wantState := &work.State{
		Statement: frozenStatement(), Changeset: p.Head().ID, Version: 2,
		UpdatedBy: agent("ann"), UpdatedAt: testNow + 7032,
	}
	if diff := cmp.Diff(wantState, p.State()); diff != "" {
		t.Errorf("the state: %s", diff)
	}
	c := p.LatestCheckpoint()
	if c == nil || c.Summary != "night" || c.Author != agent("ann") ||
		c.CreatedAt != testNow+7032 || c.ID != p.Head().SourceID {
		t.Errorf("the checkpoint is %+v", c)
	}
	if len(p.Handoffs()) != work.HandoffChunk.Len()+1 {
		t.Fatalf("%d handoffs", len(p.Handoffs()))
	}
	latest := p.LatestHandoff()
	ended, _ := p.WorkSession(latest.WorkSession)
	wantHandoff := &work.Handoff{
		ID: latest.ID, Author: agent("ann"), WorkSession: latest.WorkSession,
		Continuation: frozenContinuation(p.NewestTasks(2, testNow)[0].ID),
		Changeset:    p.Head().ID, Previous: p.Handoffs()[work.HandoffChunk.Len()-1].ID,
		ChangedFiles: []string{"b"}, CreatedAt: testNow + 7032,
	}
	if diff := cmp.Diff(wantHandoff, latest); diff != "" || ended == nil ||
		ended.Agent != agent("ann") {
		t.Errorf("the latest handoff: %s", diff)
	}
	if h := p.Handoffs()[7]; h.Continuation.Summary != "7" || h.Previous != p.Handoffs()[6].ID {
		t.Errorf("an older handoff is %+v", h)
	}
}

func checkFrozenSessions(t *testing.T, p *work.Project) {
	t.Helper()
	tasks := p.NewestTasks(2, testNow)
	both := []id.ID{tasks[0].ID, tasks[1].ID}
	sessions := p.WorkSessions()
	if len(sessions) != 2 {
		t.Fatalf("%d work sessions, want 2", len(sessions))
	}
	want := []*work.WorkSession{{
		ID: sessions[0].ID, Agent: agent("bob"), StartedAt: testNow + 1032,
		LastActiveAt: testNow + 6032, Tasks: both,
	}, {
		ID: sessions[1].ID, Agent: agent("ann"), StartedAt: testNow,
		LastActiveAt: testNow + 7032, EndedAt: testNow + 7032, Summary: "night",
		Handoff: p.LatestHandoff().ID, Changesets: []uint32{1, 2, 3}, Tasks: both,
	}}
	if diff := cmp.Diff(want, sessions); diff != "" {
		t.Errorf("the work sessions: %s", diff)
	}
}
