package work_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pws/work"
)

// frozenAwayEvents have texts that are stored away.
var frozenAwayEvents = []frozenEvent{
	{"10-handoff-created-away", &work.HandoffCreated{
		ID: agent("handoff"), WorkSession: agent("session"), Changeset: agent("changeset"),
		Continuation: work.Continuation{Summary: "s"},
		Away: &work.Away{
			Hash: blob("texts").Hash, Size: 5000, Bytes: 4000, Kept: 1,
			Notes: work.DecisionNotes | work.RiskNotes,
		},
	}},
	{"36-project-imported-away", &work.ProjectImported{
		Changesets: []work.ChangesetPublished{{ID: agent("changeset"), Source: work.SourceImport}},
		Handoffs: []*work.Handoff{{
			ID: agent("handoff"), Author: agent("ann"), WorkSession: agent("session"),
			Changeset: agent("changeset"), CreatedAt: testNow,
			Away: &work.Away{
				Hash: blob("texts").Hash, Size: 700, Bytes: 600, Notes: work.FailureNotes,
			},
		}},
	}},
}

// longContinuation has a text in each place, which together are stored away.
func longContinuation() work.Continuation {
	c := frozenContinuation(agent("task"))
	c.Tasks = nil
	c.Summary = strings.Repeat("ä summary ", 100)
	c.NextActions = append(c.NextActions, strings.Repeat("n", 2000))
	return c
}

// awayWorld is a project with texts that are stored away.
func awayWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a.go", "1")
	w.must(t, &work.CreateHandoff{Continuation: longContinuation()})
	w.must(t, &work.CreateHandoff{Continuation: work.Continuation{Summary: "short"}})
	return w
}

// TestFrozenAwaySnapshot reads a project that was saved with texts stored away.
func TestFrozenAwaySnapshot(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v9-away", awayWorld, nil)
	w := awayWorld(t)
	if diff := cmp.Diff(w.project.Handoffs(), p.Handoffs(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for _, h := range p.Handoffs() {
		if h.Away == nil {
			continue
		}
		whole, err := h.WithTexts(w.blobs[h.Away.Hash])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(longContinuation(), whole.Continuation); diff != "" {
			t.Error(diff)
		}
	}
}

// TestLongTextsOfHandoffsAreStoredAway compares what a handoff counts and has with its texts and
// without.
func TestLongTextsOfHandoffsAreStoredAway(t *testing.T) {
	w := awayWorld(t)
	base := w.project.Head().ID
	long := longContinuation()
	content := blob("2")
	w.must(t, &work.CreateCheckpoint{
		Base: &base, Handoff: &long,
		Files: []work.CheckpointFile{{Path: "b.go", Content: &content, ContentType: "text/plain"}},
	})
	handoffs := w.project.Handoffs()
	if handoffs[1].Away != nil {
		t.Error("a short handoff is stored away")
	}
	for i, changed := range map[int][]string{0: {"a.go"}, 2: {"b.go"}} {
		h := handoffs[i]
		if h.Away == nil || len(h.Continuation.NextActions) > 0 || len(h.ChangedFiles) > 0 {
			t.Fatalf("handoff %d is in memory: %+v", i, h)
		}
		if kept := h.Continuation.Summary; len(kept) > 800 || !strings.HasPrefix(long.Summary, kept) ||
			len(kept) < 790 {
			t.Errorf("%d bytes of the summary are kept", len(kept))
		}
		content := w.blobs[h.Away.Hash]
		if len(content) != h.Away.Size {
			t.Errorf("the content has %d bytes instead of %d", len(content), h.Away.Size)
		}
		whole, err := h.WithTexts(content)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changed, whole.ChangedFiles); diff != "" {
			t.Error(diff)
		}
		if whole.Bytes() != h.Bytes() {
			t.Errorf("it counts %d bytes with its texts, %d without", whole.Bytes(), h.Bytes())
		}
		for _, kind := range []work.NoteKinds{
			work.DecisionNotes, work.FailureNotes, work.BlockerNotes, work.QuestionNotes,
			work.RiskNotes,
		} {
			if !h.Has(kind) || !whole.Has(kind) || handoffs[1].Has(kind) {
				t.Errorf("notes of kind %d: %v, %v, %v", kind, h.Has(kind), whole.Has(kind),
					handoffs[1].Has(kind))
			}
		}
	}
	named := map[work.Hash]bool{}
	w.project.Contents(func(work.Hash) bool { return false }, func(h work.Hash) { named[h] = true })
	if !named[handoffs[0].Away.Hash] || !named[handoffs[2].Away.Hash] {
		t.Error("the project does not name the contents of its texts")
	}
	for _, wrong := range [][]byte{nil, {0xff}, {0xff, 1, 'x', 0xa0}, {0xff, 1, 'h', 0xff}} {
		if _, err := handoffs[0].WithTexts(wrong); err == nil {
			t.Errorf("%x is taken for texts", wrong)
		}
	}
}

// putWithKeys writes a file many times, each time with an Idempotency-Key.
func putWithKeys(t *testing.T, w *world, times int) {
	for n := range times {
		put := &work.PutFile{Path: "a", Blob: blob(fmt.Sprint(n)), ContentType: "text/plain"}
		if _, err := w.do(agent("ann"), put, byte(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// memoryCase fills a project with records of one kind.
type memoryCase struct {
	name string
	fill func(w *world)
}

func memoryCases(t *testing.T) []memoryCase {
	return []memoryCase{
		{"files", func(w *world) {
			for n := range 4000 {
				w.put(t, fmt.Sprintf("folder-%d/file-%d.go", n%50, n), "first")
			}
		}},
		{"changes of a file", func(w *world) {
			for n := range 10_000 {
				w.put(t, "a.go", fmt.Sprint(n))
			}
		}},
		{"results", func(w *world) { putWithKeys(t, w, 10_000) }},
		{"tasks", func(w *world) {
			for n := range 5000 {
				w.must(t, &work.CreateTask{Spec: work.TaskSpec{
					Title: fmt.Sprint("task ", n), Description: strings.Repeat("d", 300),
				}})
			}
		}},
		{"tasks with long texts", func(w *world) {
			for n := range 3000 {
				w.must(t, &work.CreateTask{Spec: work.TaskSpec{
					Title: fmt.Sprint("task ", n), Description: long(fmt.Sprint("d", n)),
					Conditions: longList(fmt.Sprint("c", n)),
				}})
			}
		}},
		{"handoffs", func(w *world) {
			for range 5000 {
				w.must(t, &work.CreateHandoff{Continuation: longContinuation()})
			}
		}},
		{"versions of the state", func(w *world) {
			for n := range work.StateVersionsMax + 1 {
				w.describe(t, work.Statement{
					Summary:     strings.Repeat("s", 1500),
					NextActions: []string{fmt.Sprint(n), strings.Repeat("n", 500)},
				})
			}
		}},
		{"short versions of the state", func(w *world) {
			for n := range work.StateVersionsMax + 1 {
				w.describe(t, work.Statement{Summary: fmt.Sprint(n)})
			}
		}},
		{"discussions", func(w *world) {
			for n := range 3000 {
				w.must(t, &work.CreateDiscussion{
					Title: fmt.Sprint(n), Body: strings.Repeat("b", 500),
				})
			}
		}},
		{"long messages", func(w *world) {
			for n := range 2000 {
				w.must(t, &work.PutFile{
					Path: fmt.Sprint(n % 100), Blob: blob(fmt.Sprint(n)), ContentType: "text/plain",
					Message: strings.Repeat("m", 4000),
				})
			}
		}},
		{"long discussions", func(w *world) {
			for n := range 1000 {
				w.must(t, &work.CreateDiscussion{
					Title: fmt.Sprint(n), Body: strings.Repeat("b", 20_000),
				})
			}
		}},
	}
}

// TestMemoryBytes compares the estimate of the memory of a project with the heap.
func TestMemoryBytes(t *testing.T) {
	for _, of := range memoryCases(t) {
		t.Run(of.name, func(t *testing.T) {
			heap := func() int64 {
				var stats runtime.MemStats
				runtime.GC()
				runtime.GC()
				runtime.ReadMemStats(&stats)
				return int64(stats.HeapAlloc)
			}
			before := heap()
			w := newWorld()
			w.create(t)
			of.fill(w)
			// Only what a saved project takes counts, not what the test keeps.
			s := mustSave(t, w.project)
			estimate := w.project.MemoryBytes()
			w = nil
			withSaved := heap()
			p, err := s.restore()
			if err != nil {
				t.Fatal(err)
			}
			real := heap() - withSaved
			runtime.KeepAlive(s)
			if restored := p.MemoryBytes(); restored < estimate*9/10 || restored > estimate*11/10 {
				t.Errorf("the estimate is %d, AFTER it is restored %d", estimate, restored)
			}
			t.Logf("estimate %d, heap %d: %.2f", p.MemoryBytes(), real,
				float64(p.MemoryBytes())/float64(real))
			if estimate < real*7/10 || estimate > 2*real {
				t.Errorf("the estimate is %d, the heap has %d (%d before)", estimate, real, before)
			}
			runtime.KeepAlive(p)
		})
	}
}
