package work_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// taskChunks are the saved chunks of tasks with the revision that last changed each.
func taskChunks(t testing.TB, p *work.Project) (chunks [][]byte, revisions []uint64) {
	t.Helper()
	_, end := p.Chunks(work.TaskChunk)
	for n := range end {
		name := work.Chunk{Kind: work.TaskChunk, Number: n}
		data, err := p.EncodeChunk(name)
		if err != nil {
			t.Fatal(err)
		}
		chunks, revisions = append(chunks, data), append(revisions, p.ChunkRevision(name))
	}
	return chunks, revisions
}

// TestChunksThatDidNotChangeAreTheSame checks what lets a snapshot skip chunks of tasks: a chunk
// without a revision later than the saved one encodes to the saved bytes, and a new task in a chunk
// is such a revision.
func TestChunksThatDidNotChangeAreTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := source(rand.New(rand.NewPCG(seed, 0)).IntN)
	w := newWorld()
	w.create(t)
	for n := range 3*work.TaskChunk.Len() - 7 {
		w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: fmt.Sprint(n)}})
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	w.project = restored
	if _, revisions := taskChunks(t, restored); len(revisions) != 3 ||
		revisions[0] != 0 || revisions[2] != 0 {
		t.Fatalf("the restored chunks were changed at %v", revisions)
	}
	old, _ := taskChunks(t, w.project)
	saved := w.project.Revision
	passed, written := 0, 0
	for range 120 {
		for range draw(4) {
			if _, err := w.do(agent("ann"), draw.workCommand(w)); err != nil {
				continue
			}
			w.now += int64(draw(600_000))
		}
		chunks, revisions := taskChunks(t, w.project)
		for n, data := range chunks {
			same := n < len(old) && bytes.Equal(old[n], data)
			if same != (revisions[n] <= saved) {
				t.Fatalf("chunk %d is the same: %v; changed at %d, saved at %d", n, same,
					revisions[n], saved)
			}
			if same {
				passed++
			} else {
				written++
			}
		}
		old, saved = chunks, w.project.Revision
	}
	if passed < 100 || written < 50 {
		t.Errorf("%d chunks were kept, %d written: too few", passed, written)
	}
}

// TestTasksStayInTheirChunks makes tasks while the clock goes back.
func TestTasksStayInTheirChunks(t *testing.T) {
	w := newWorld()
	w.create(t)
	var made []id.ID
	for n := range work.TaskChunk.Len() + 9 {
		w.now = testNow - int64(n%5)*1000
		spec := work.TaskSpec{Title: fmt.Sprint(n)}
		made = append(made, w.must(t, &work.CreateTask{Spec: spec}).Result.Subject)
	}
	for n, one := range made {
		got, ok := w.project.Task(one, w.now)
		if !ok || got.Spec.Title != fmt.Sprint(n) || n > 0 && one.Compare(made[n-1]) <= 0 {
			t.Fatalf("task %d is %+v", n, got)
		}
	}
	if chunks, _ := taskChunks(t, w.project); len(chunks) != 2 {
		t.Errorf("%d chunks, want 2", len(chunks))
	}
}
