package work_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"pws/internal/fault"
	"pws/work"
)

// changedPaths are the changed paths that a changeset on an old base is refused with.
func changedPaths(t *testing.T, w *world, base uint32) []string {
	t.Helper()
	_, err := w.do(agent("ann"), &work.PublishChangeset{
		Base:       w.project.ChangesetNumber(base).ID,
		Operations: []work.Operation{createOp("new", "new")},
	})
	refused, ok := err.(*fault.Error)
	if !ok || refused.Code != fault.ProjectMoved {
		t.Fatalf("got %v, want %s", err, fault.ProjectMoved)
	}
	return refused.Details["changed_paths"].([]string)
}

func TestChangedPathsAreBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	for n := range work.ChangedPathsMax - 1 {
		w.put(t, fmt.Sprintf("f%03d", n), "x")
	}
	w.publish(t, renameOp("f000", "g"))
	paths := changedPaths(t, w, 1)
	if len(paths) != work.ChangedPathsMax || paths[0] != "f000" ||
		paths[len(paths)-1] != "g" {
		t.Fatalf("%d paths, from %s to %s", len(paths), paths[0], paths[len(paths)-1])
	}
	w.publish(t, renameOp("f001", "h"), renameOp("f002", "i"))
	if got := changedPaths(t, w, 1); !slices.Equal(got, paths) {
		t.Fatalf("the first %d of %d paths changed", work.ChangedPathsMax, len(got))
	}
	count := w.project.ChangesetsCount()
	got := changedPaths(t, w, uint32(count-2))
	if want := []string{"f000", "g", "f001", "h", "f002", "i"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestSearchForChangedPathsIsBounded(t *testing.T) {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "x")
	w.put(t, "b", "x")
	base := w.project.Head().Sequence
	p, moment := w.project.Clone(), work.Moment{Now: testNow, Agent: agent("ann")}
	change := func(path string) {
		p.Apply(&work.ChangesetPublished{
			ID: p.Head().ID.Next(), Source: work.SourceFilePut,
			Ops: []work.OpRecord{{
				Action: work.Modify, Path: path, Blob: blob("y").Hash, Size: 1, Type: "text/plain",
			}},
		}, moment)
	}
	for range 19_999 {
		change("a")
	}
	change("b")
	w.project = p
	if got := changedPaths(t, w, base); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after 20,000 operations: %v", got)
	}
	p = p.Clone()
	w.project = p
	change("c")
	if got := changedPaths(t, w, base); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after 20,001 operations: %v", got)
	}
	if got := changedPaths(t, w, base+20_000); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after the last operation: %v", got)
	}
}

// The number of files that a workspace counts with is that of its base.
func TestFilesAreCountedAtTheBase(t *testing.T) {
	w := newWorld()
	w.create(t)
	for n := range work.FilesMax - 1 {
		w.put(t, fmt.Sprint("f", n), "x")
	}
	space := w.must(t, new(work.OpenWorkspace)).Result.Subject
	w.must(t, &work.DeleteFile{Path: "f0"})
	w.must(t, &work.DeleteFile{Path: "f1"})
	write := func(path string) error {
		_, err := w.do(agent("ann"), &work.WriteWorkspaceFile{
			Workspace: space, Path: path, Blob: blob("new"), ContentType: "text/plain",
		})
		return err
	}
	if err := write("one more"); err != nil {
		t.Error(err)
	}
	if err := write("another"); fault.CodeOf(err) != fault.FileLimitReached {
		t.Errorf("beyond the limit: %v", err)
	}
	restored, err := mustSave(t, w.project).restore()
	if err != nil {
		t.Fatal(err)
	}
	w.project = restored
	if err := write("another"); fault.CodeOf(err) != fault.FileLimitReached {
		t.Errorf("beyond the limit, restored: %v", err)
	}
}

func TestChangesetIDsAscendWhenTheClockGoesBack(t *testing.T) {
	w := newWorld()
	w.create(t)
	for n := range 50 {
		w.now = testNow + int64(n%7)*1000 - int64(n)*100
		w.put(t, "a", fmt.Sprint(n))
	}
	for sequence := 2; sequence <= w.project.ChangesetsCount(); sequence++ {
		c := w.project.ChangesetNumber(uint32(sequence))
		if parent := w.project.Parent(c); parent.ID.Compare(c.ID) >= 0 {
			t.Fatalf("changeset %d has ID %v, its parent %v", sequence, c.ID, parent.ID)
		}
		if found, ok := w.project.Changeset(c.ID); !ok || found.Sequence != c.Sequence {
			t.Fatalf("changeset %d is not found by its ID", sequence)
		}
	}
	if w.project.UpdatedAt < testNow {
		t.Fatalf("updated at %d, before the creation", w.project.UpdatedAt)
	}
}

func TestStoredResultsExpire(t *testing.T) {
	w := newWorld()
	w.create(t)
	put := func(key byte) {
		t.Helper()
		command := &work.PutFile{Path: "a", Blob: blob(fmt.Sprint(key, w.now))}
		if _, err := w.do(agent("ann"), command, key); err != nil {
			t.Fatal(err)
		}
	}
	for key := range byte(5) {
		put(key + 1)
		w.now += 1000
	}
	view := w.project
	w.now = testNow + 3000 + work.IdempotencySeconds*1000
	put(9)
	first, end := w.project.ResultRange()
	if first != 4 || end != 6 {
		t.Fatalf("results %d to %d are kept, want 4 to 6", first, end)
	}
	if _, kept := w.project.ResultAt(3); kept {
		t.Fatal("a result that ran out is kept")
	}
	if record, kept := w.project.ResultAt(5); !kept || record.Key[0] != 9 {
		t.Fatalf("the newest result is %v", record)
	}
	if first, end := view.ResultRange(); first != 0 || end != 5 {
		t.Fatalf("an older view keeps %d to %d, want 0 to 5", first, end)
	}
}

func TestRestoreRejectsInconsistentSections(t *testing.T) {
	w := newWorld()
	w.create(t)
	for n := range work.ChunkLen + 3 {
		w.put(t, fmt.Sprint("f", n%5), fmt.Sprint(n))
	}
	good := mustSave(t, w.project)
	if len(good.chunks) != 1 {
		t.Fatalf("%d chunks, want 1", len(good.chunks))
	}
	hostile := func(field int, value any) []byte {
		head := map[int]any{}
		if err := cbor.Unmarshal(good.head, &head); err != nil {
			t.Fatal(err)
		}
		head[field] = value
		data, err := cbor.Marshal(head)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, spoiled := range map[string]saved{
		"no chunk":        {head: good.head},
		"a broken chunk":  {head: good.head, chunks: chunk(0x82, 0x01)},
		"an empty chunk":  {head: good.head, chunks: chunk(0x80)},
		"no head":         {chunks: good.chunks},
		"a shorter head":  {head: good.head[:len(good.head)-1], chunks: good.chunks},
		"a huge history":  {head: hostile(13, int64(1)<<60), chunks: good.chunks},
		"less than none":  {head: hostile(13, -1), chunks: good.chunks},
		"no history":      {head: []byte{0xa0}},
		"other sizes":     {head: hostile(11, 1), chunks: good.chunks},
		"bytes behind it": {head: append(slices.Clone(good.head), 0), chunks: good.chunks},
	} {
		if _, err := spoiled.restore(); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
}

func TestKindsAreKnown(t *testing.T) {
	_, err := work.DecodeEvent(999, []byte{0xa0})
	if err == nil || !strings.Contains(err.Error(), "999") {
		t.Fatalf("an unknown kind: %v", err)
	}
}

// TestManyStoredResults reads more results than a busy project keeps in a few days.
func TestManyStoredResults(t *testing.T) {
	w := newWorld()
	w.create(t)
	head := map[int]cbor.RawMessage{}
	if err := cbor.Unmarshal(mustSave(t, w.project).head, &head); err != nil {
		t.Fatal(err)
	}
	count := 1<<20 + 1
	list := binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(count))
	head[15] = append(list, bytes.Repeat([]byte{0xa0}, count)...)
	data, err := cbor.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := saved{head: data}.restore()
	if err != nil {
		t.Fatal(err)
	}
	if _, end := restored.ResultRange(); end != uint64(count) {
		t.Fatalf("%d results, want %d", end, count)
	}
}
