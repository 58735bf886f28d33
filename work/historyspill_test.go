package work_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/work"
)

// scribbling is a Spill whose blocks are overwritten when the next ones are read, so that nothing
// that was decoded may refer to them. It refuses those that draw says.
type scribbling struct {
	refuse func() bool
	last   []byte
	put    int
}

func (s *scribbling) spill(blocks [][]byte) (read func(nth int) []byte) {
	if len(slices.Concat(blocks...)) > work.SpillBytes || s.refuse() {
		return nil
	}
	s.put++
	return func(nth int) []byte {
		clear(s.last)
		s.last = bytes.Clone(blocks[nth])
		return s.last
	}
}

// randomOperations change files of a project whose files are known.
func randomOperations(draw *rand.Rand, step int, files map[string]bool) (all []work.Operation) {
	count := 1 + draw.IntN(3)
	if step == 400 {
		// The block of this one is larger than what is spilled at once.
		count = 1_000
	}
	used := map[string]bool{}
	for n := range count {
		path := fmt.Sprintf("folder/file-%d.txt", draw.IntN(60))
		if count > 3 {
			path = fmt.Sprintf("many/file-%d.txt", n)
		}
		moved := fmt.Sprintf("moved/file-%d-%d.txt", step, n)
		op := createOp(path, fmt.Sprint("content ", step, n))
		switch {
		case used[path]:
			continue
		case files[path] && draw.IntN(6) == 0:
			op = work.Operation{Action: work.Delete, Path: path}
			delete(files, path)
		case files[path] && draw.IntN(6) == 0:
			op = renameOp(path, moved)
			delete(files, path)
		case files[path]:
			op.Action = work.Modify
		default:
			files[path] = true
		}
		used[path] = true
		all = append(all, op)
	}
	return all
}

// historyText is all that can be read of a history.
func historyText(t *testing.T, w *world) []string {
	p := w.project
	var text []string
	note := func(format string, values ...any) {
		text = append(text, fmt.Sprintf(format, values...))
	}
	paths := map[string]bool{}
	var all []*work.Changeset
	for sequence := range uint32(p.ChangesetsCount()) {
		all = append(all, p.ChangesetNumber(sequence+1))
	}
	for _, c := range all {
		note("%v %v %q %v %v", c.ID, c.Author, c.Message, c.CreatedAt, c.OpCount)
		for _, op := range c.Ops {
			note("%v %s %x %d %v", op.Action, *op.Path, op.Blob, op.Size, op.Type)
			paths[*op.Path] = true
		}
		found, known := p.Changeset(c.ID)
		note("%v %v %v", known && found.ID == c.ID, p.Step(c.Sequence), p.HasChangeset(c.ID.Next()))
	}
	p.Files("", func(f work.FileInfo) bool {
		note("%+v", f)
		return true
	})
	for path := range paths {
		if !strings.HasPrefix(path, "many/") {
			note("%s %s", path, w.history(t, path, 7))
		}
	}
	slices.Sort(text)
	saved, err := save(p)
	if err != nil {
		t.Fatal(err)
	}
	note("%x", saved.head)
	return text
}

// TestSpilledHistory gives the same commands to a project whose history is in the heap, and to one
// that spills it, and compares all that can be read.
func TestSpilledHistory(t *testing.T) {
	for seed := range uint64(1) {
		choices := rand.New(rand.NewPCG(seed, 1))
		far := &scribbling{refuse: func() bool { return choices.IntN(3) == 0 }}
		plain, spilled := newWorld(), newWorld()
		spilled.spill = far.spill
		var older *work.Project
		var olderText []string
		for _, w := range []*world{plain, spilled} {
			w.create(t)
			draw, files := rand.New(rand.NewPCG(seed, 2)), map[string]bool{}
			for step := range 1_200 {
				operations := randomOperations(draw, step, files)
				if len(operations) == 0 {
					continue
				}
				command := &work.PublishChangeset{
					Base: w.project.Head().ID, Operations: operations,
				}
				if draw.IntN(2) == 0 {
					command.Message = fmt.Sprint("message ", step)
				}
				w.now += int64(draw.IntN(3))
				w.must(t, command)
				if step == 600 && w == spilled {
					older, olderText = w.project, historyText(t, w)
				}
			}
		}
		if far.put < 3 {
			t.Fatalf("blocks were spilled %d times", far.put)
		}
		if diff := cmp.Diff(historyText(t, plain), historyText(t, spilled)); diff != "" {
			t.Fatalf("seed %d: spilled (+) differs from the heap (-):\n%s", seed, diff)
		}
		spilled.project = older
		if diff := cmp.Diff(olderText, historyText(t, spilled)); diff != "" {
			t.Fatalf("seed %d: an older state was changed:\n%s", seed, diff)
		}
	}
}

// spilledBytesMax bounds what a changeset takes in the heap once its block is spilled.
const spilledBytesMax = 30

// TestSpilledChangesetsLeaveTheHeap compares the heap, and the estimate of it, BEFORE and AFTER the
// histories of projects are spilled.
func TestSpilledChangesetsLeaveTheHeap(t *testing.T) {
	const projects, changesets = 5, 10_000
	all := make([]*work.Project, projects)
	empty := heapStats()
	for n := range all {
		w := newWorld()
		w.create(t)
		w.put(t, "folder/file-0.go", "first")
		all[n] = w.project
		for step := range changesets {
			all[n] = published(all[n], step, 1, false)
		}
	}
	full, estimate := heapStats(), int64(0)
	var outside [][]byte
	for _, p := range all {
		estimate += p.MemoryBytes()
		p.SpillHistory(func(blocks [][]byte) func(int) []byte {
			first := len(outside)
			for _, block := range blocks {
				outside = append(outside, bytes.Clone(block))
			}
			return func(nth int) []byte { return outside[first+nth] }
		})
		estimate -= p.MemoryBytes()
	}
	size := int64(0)
	for _, one := range outside {
		size += int64(cap(one))
	}
	spilled := heapStats()
	runtime.KeepAlive(all)
	left := float64(int64(spilled.HeapAlloc)-int64(empty.HeapAlloc)-size) / projects / changesets
	freed := int64(full.HeapAlloc) - int64(spilled.HeapAlloc) + size
	t.Logf("%.1f bytes of a changeset left, %d freed, %d by the estimate", left, freed, estimate)
	runtime.KeepAlive(outside)
	if left > spilledBytesMax {
		t.Errorf("a changeset takes %.1f bytes of the heap, want at most %d", left, spilledBytesMax)
	}
	if estimate < freed*8/10 || estimate > freed*11/10 {
		t.Errorf("%d bytes were freed, %d by the estimate", freed, estimate)
	}
}
