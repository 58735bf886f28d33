package work_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// fuzzBytesMax is what reading a hostile record may take for each of its bytes, and at least.
const (
	fuzzBytesPerByte = 4096
	fuzzBytesMin     = 4 << 20
)

// bounded fails where reading takes more memory than the input can be worth.
func bounded(t *testing.T, size int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(
		fuzzBytesMin+fuzzBytesPerByte*size) {
		t.Fatalf("%d bytes took %d bytes of memory", size, taken)
	}
}

// FuzzDecodeEvent gives hostile events to the decoder; what it takes must be encodable again.
func FuzzDecodeEvent(f *testing.F) {
	files, err := filepath.Glob("testdata/events/v1/*.cbor")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		kind, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(kind), data)
	}
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		bounded(t, len(data), func() {
			event, err := work.DecodeEvent(work.Kind(kind), data)
			if err != nil {
				return
			}
			if work.KindOf(event) != work.Kind(kind) {
				t.Fatalf("kind %d came back as %d", kind, work.KindOf(event))
			}
			if _, err := work.EncodeEvent(nil, event); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// FuzzRestore gives hostile heads and chunks to Restore; what it takes must be readable, and it
// must be possible to save it again.
func FuzzRestore(f *testing.F) {
	w := newWorld()
	w.create(f)
	w.put(f, "a", "1")
	w.publish(f, renameOp("a", "b"), createOp("c/d.go", "2"))
	none := []byte{0x80}
	f.Add(mustSave(f, w.project).head, none, none, none)
	f.Add([]byte{0xa1, 0x0d, 0x19, 0x02, 0x00},
		[]byte{0x81, 0xa1, 0x01, 0xa1, 0x02, 0x61, 0x78}, none, none)
	full := mustSave(f, busy(f).project)
	f.Add(full.head, none, full.chunks[work.Chunk{Kind: work.TaskChunk}],
		full.chunks[work.Chunk{Kind: work.HandoffChunk}])
	few := newWorld()
	few.create(f)
	few.must(f, &work.CreateTask{Spec: work.TaskSpec{Title: "t"}})
	few.must(f, &work.ClaimTask{Task: few.project.NewestTasks(1, few.now)[0].ID})
	few.must(f, &work.CreateHandoff{})
	one := mustSave(f, few.project)
	f.Add(one.head, none, one.chunks[work.Chunk{Kind: work.TaskChunk}], none)
	f.Fuzz(func(t *testing.T, head, history, tasks, handoffs []byte) {
		bounded(t, len(head)+len(history)+len(tasks)+len(handoffs), func() {
			chunks := map[work.ChunkKind][]byte{
				work.HistoryChunk: history, work.TaskChunk: tasks, work.HandoffChunk: handoffs,
			}
			p, err := work.Restore(head, func(name work.Chunk) ([]byte, error) {
				if name.Number > 0 {
					return nil, errors.New("there is one chunk only")
				}
				return chunks[name.Kind], nil
			}, readTree)
			if err != nil {
				return
			}
			readAll(p)
			if _, err := save(p); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// readAll looks at all that a project can be asked for.
func readAll(p *work.Project) {
	last := p.ChangesetNumber(uint32(p.ChangesetsCount()))
	p.FilesAt(last, "", func(f work.FileInfo) bool { return true })
	p.Changes(nil, last)
	p.Languages()
	p.State()
	p.LatestHandoff()
	p.Handoff(id.ID{})
	for _, one := range p.WorkSessions() {
		p.WorkSession(one.ID)
		p.OpenSession(one.Agent)
	}
	for _, now := range []int64{0, p.NextExpiry(), testNow} {
		look := func(t *work.Task) bool {
			p.Task(t.ID, now)
			p.Unmet(t)
			_ = t.Status.String() + t.Spec.Priority.String()
			return true
		}
		p.Tasks(id.ID{}, now, look)
		p.OpenTasks(now, look)
		p.ClaimedTasks(now, look)
		p.StalledTasks(now, look)
		p.TaskCount(work.TaskOpen, now)
	}
}
