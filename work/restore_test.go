package work_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"pws/internal/id"
	"pws/work"
)

// busy is a project with every kind of record: two chunks of tasks, one of handoffs and more after
// it, claims, open and ended work sessions, a state and a checkpoint.
func busy(t testing.TB) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	for n := range work.TaskChunk.Len() + 5 {
		w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: fmt.Sprint(n)}})
	}
	for n := range work.HandoffChunk.Len() + 3 {
		w.now++
		w.must(t, &work.CreateHandoff{Continuation: work.Continuation{Summary: fmt.Sprint(n)}})
	}
	w.must(t, &work.UpdateState{Statement: work.Statement{Summary: "s"}})
	tasks := w.project.NewestTasks(3, w.now)
	for i, who := range []string{"bob", "carl", "dora"} {
		if _, err := w.do(agent(who), &work.ClaimTask{Task: tasks[i].ID}); err != nil {
			t.Fatal(err)
		}
		w.now += 1000
	}
	w.must(t, &work.UpdateTask{Task: tasks[0].ID, Change: work.TaskChange{
		Status: work.TaskBlocked, Blocked: &work.Blocked{Kind: work.BlockedByTransient},
	}})
	w.must(t, &work.CreateCheckpoint{Summary: "night", EndSession: true})
	w.put(t, "a", "2")
	w.must(t, &work.CreateRelation{Type: work.RelatedTo, Target: agent("other")})
	for _, kind := range []work.VerificationKind{work.SelfReport, work.ExternalAttestation} {
		w.must(t, &work.CreateVerification{Finding: work.Finding{
			Entity: w.project.Entity(), Kind: kind, Outcome: work.Passed,
		}})
	}
	return w
}

// spoiled is a copy of a saved project with a change to one record.
func (s saved) spoiled(t *testing.T, name work.Chunk, change func(list []any) []any) saved {
	t.Helper()
	list := []any{}
	if err := cbor.Unmarshal(s.chunks[name], &list); err != nil {
		t.Fatal(err)
	}
	data, err := cbor.Marshal(change(list))
	if err != nil {
		t.Fatal(err)
	}
	s.chunks = maps.Clone(s.chunks)
	s.chunks[name] = data
	return s
}

func (s saved) spoiledHead(t *testing.T, field uint64, change func(list []any) []any) saved {
	t.Helper()
	head := map[uint64]any{}
	if err := cbor.Unmarshal(s.head, &head); err != nil {
		t.Fatal(err)
	}
	head[field] = change(head[field].([]any))
	data, err := cbor.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	s.head = data
	return s
}

// with sets a field of the nth record of a list, or of a record within it.
func with(nth int, value any, path ...uint64) func(list []any) []any {
	return func(list []any) []any {
		if len(path) == 0 {
			list[nth] = value
			return list
		}
		record := list[nth].(map[any]any)
		for _, field := range path[:len(path)-1] {
			record = record[field].(map[any]any)
		}
		record[path[len(path)-1]] = value
		return list
	}
}

func swapped(list []any) []any {
	list[0], list[1] = list[1], list[0]
	return list
}

func duplicated(list []any) []any { return append(list, list[len(list)-1]) }

func shorter(list []any) []any { return list[1:] }

// TestRestoreRejectsInvalidWork gives heads and chunks of tasks, handoffs and work sessions that no
// project can have.
func TestRestoreRejectsInvalidWork(t *testing.T) {
	w := busy(t)
	good := mustSave(t, w.project)
	if _, err := good.restore(); err != nil {
		t.Fatal(err)
	}
	tasks := work.Chunk{Kind: work.TaskChunk}
	second := work.Chunk{Kind: work.TaskChunk, Number: 1}
	handoffs := work.Chunk{Kind: work.HandoffChunk}
	claimed := 2 // the place of the blocked and claimed task in the second chunk
	records := work.Chunk{Kind: work.VerificationChunk}
	relations := work.Chunk{Kind: work.RelationChunk}
	const handoffTail, sessions, ended = 22, 26, 27
	for name, broken := range map[string]saved{
		"no task":             good.spoiled(t, tasks, with(3, nil)),
		"no such relation":    good.spoiled(t, relations, with(0, 6, 2)),
		"no target":           good.spoiled(t, relations, with(0, make([]byte, 16), 3)),
		"no such outcome":     good.spoiled(t, records, with(1, 4, 3, 3)),
		"no such entity":      good.spoiled(t, records, with(1, 5, 3, 1, 1)),
		"no such record kind": good.spoiled(t, records, with(1, 0, 3, 2)),
		"another tally":       good.spoiled(t, records, with(1, 1, 3, 2)),
		"another outcome":     good.spoiled(t, records, with(1, 2, 3, 3)),
		"no record":           good.spoiled(t, records, with(0, nil)),
		"records swapped":     good.spoiled(t, records, swapped),
		"no such status":      good.spoiled(t, tasks, with(3, 7, 3)),
		"no status":           good.spoiled(t, tasks, with(3, 0, 3)),
		"no such priority":    good.spoiled(t, tasks, with(3, 9, 2, 3)),
		"no such kind":        good.spoiled(t, second, with(claimed, 9, 4, 1)),
		"over and claimed":    good.spoiled(t, second, with(claimed, 5, 3)),
		"no such status back": good.spoiled(t, second, with(claimed, 9, 6, 8)),
		"over before a claim": good.spoiled(t, second, with(claimed, 6, 6, 8)),
		"tasks not in order":  good.spoiled(t, tasks, swapped),
		"a task twice":        good.spoiled(t, second, duplicated),
		"a short chunk":       good.spoiled(t, tasks, shorter),
		"a task too few":      good.spoiled(t, second, shorter),
		"no handoff":          good.spoiled(t, handoffs, with(3, nil)),
		"none in the head":    good.spoiledHead(t, handoffTail, with(1, nil)),
		"handoffs disordered": good.spoiled(t, handoffs, swapped),
		"a handoff twice":     good.spoiledHead(t, handoffTail, duplicated),
		"a handoff too few":   good.spoiled(t, handoffs, shorter),
		"no session":          good.spoiledHead(t, sessions, with(0, nil)),
		"two of one agent":    good.spoiledHead(t, sessions, duplicated),
		"no ended session":    good.spoiledHead(t, ended, with(0, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := broken.restore(); err == nil {
				t.Error("restored")
			}
		})
	}
	for _, missing := range []work.Chunk{tasks, second, handoffs} {
		less := saved{head: good.head, chunks: maps.Clone(good.chunks)}
		delete(less.chunks, missing)
		if _, err := less.restore(); err == nil {
			t.Errorf("restored without chunk %c %d", missing.Kind, missing.Number)
		}
	}
}

// TestSummaryCountsTasks asks a project that was read for listings alone at moments around the ends
// of its claims.
func TestSummaryCountsTasks(t *testing.T) {
	w := busy(t)
	summary, err := work.RestoreSummary(mustSave(t, w.project).head)
	if err != nil {
		t.Fatal(err)
	}
	if summary.NextExpiry() != w.project.NextExpiry() || summary.NextExpiry() == 0 {
		t.Errorf("the next end is at %d, want %d", summary.NextExpiry(), w.project.NextExpiry())
	}
	last := int64(0)
	w.project.ClaimedTasks(w.now, func(t *work.Task) bool {
		last = t.Claim.ExpiresAt
		return true
	})
	moments := []int64{w.now, summary.NextExpiry() - 1, summary.NextExpiry(), last - 1, last}
	for _, now := range moments {
		if got, want := summary.ClaimedCount(now), w.project.ClaimedCount(now); got != want {
			t.Errorf("%d claims at %d, want %d", got, now, want)
		}
		for status := work.TaskOpen; status <= work.TaskCancelled; status++ {
			got, want := summary.TaskCount(status, now), w.project.TaskCount(status, now)
			if got != want {
				t.Errorf("%d are %s at %d, want %d", got, status, now, want)
			}
		}
	}
	if w.project.ClaimedCount(last-1) != 1 || w.project.TaskCount(work.TaskOpen, last) < 100 {
		t.Error("the sampled times distinguish nothing")
	}
}

// TestRestoredSessionsAndHandoffsAreFound looks by ID for what came out of a snapshot.
func TestRestoredSessionsAndHandoffsAreFound(t *testing.T) {
	w := busy(t)
	p, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	for _, handoff := range w.project.Handoffs() {
		found, ok := p.Handoff(handoff.ID)
		if !ok || found.Continuation.Summary != handoff.Continuation.Summary {
			t.Errorf("handoff %s is %+v", handoff.ID.Format(id.Handoff), found)
		}
	}
	sessions := w.project.WorkSessions()
	if len(sessions) != 5 || !slices.EqualFunc(sessions, p.WorkSessions(),
		func(a, b *work.WorkSession) bool { return a.ID == b.ID && a.EndedAt == b.EndedAt }) {
		t.Errorf("the work sessions are %+v", p.WorkSessions())
	}
	for _, one := range sessions {
		if found, ok := p.WorkSession(one.ID); !ok || found.Agent != one.Agent {
			t.Errorf("work session %s is %+v", one.ID.Format(id.WorkSession), found)
		}
	}
}
