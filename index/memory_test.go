package index

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"pws/internal/heaptest"
	"pws/internal/id"
	"pws/work"
)

// cardOf is the card of a PUBLIC project with a member, three open tasks, a watcher and evidence.
func cardOf(nth int) []byte {
	member := idOf(1, nth%500)
	name := fmt.Sprint("project ", nth)
	memberships := slices.Concat([]byte{200, 1, byte(work.Active), byte(len(name))}, []byte(name),
		member[:], []byte{1})
	tasks := []byte{3}
	for task := range 3 {
		one := idOf(2, nth*3+task)
		tasks = slices.Concat(tasks, one[:], []byte{2, byte(work.TaskOpen), 0, 0, 0})
	}
	watches := slices.Concat(member[:], []byte{5})
	evidence := slices.Concat(member[:], []byte{byte(Observed), 0, 2, 'g', 'o', 1, 1})
	card := []byte{cardVersion, byte(work.Public), 1}
	card = append(binary.AppendUvarint(card, uint64(nth)), 0)
	for _, one := range []struct {
		of   byte
		part []byte
	}{{1, tasks}, {5, evidence}, {6, watches}, {9, memberships}} {
		card = append(card, one.of)
		card = append(binary.AppendUvarint(card, uint64(len(one.part))), one.part...)
	}
	return card
}

func idOf(kind byte, nth int) (one id.ID) {
	binary.BigEndian.PutUint64(one[:], uint64(nth))
	one[15] = kind
	return one
}

// TestMemoryBytes compares the estimate with the heap, for indexes of few and of many projects.
func TestMemoryBytes(t *testing.T) {
	for _, projects := range []int{4_000, 30_000} {
		empty := heaptest.Live()
		p := NewProjections()
		for nth := range projects {
			if err := p.Restore(All, idOf(3, nth), cardOf(nth)); err != nil {
				t.Fatal(err)
			}
		}
		heap, estimate := heaptest.Live()-empty, p.MemoryBytes()
		t.Logf("%d projects: %d bytes in the heap, %d estimated", projects, heap, estimate)
		if estimate < heap*7/10 || estimate > heap*13/10 {
			t.Errorf("%d projects take %d bytes, the estimate is %d", projects, heap, estimate)
		}
		runtime.KeepAlive(p)
	}
}

func TestInboxMemoryBytes(t *testing.T) {
	empty := heaptest.Live()
	inbox := NewInbox()
	for nth := range 40_000 {
		inbox.Deliver(uint64(nth+1), []Delivery{{Agent: idOf(1, nth%2000), InboxItem: InboxItem{
			At: int64(nth), Kind: work.NoticeMention, Project: idOf(3, nth), Actor: idOf(1, nth%7),
		}}})
	}
	heap, estimate := heaptest.Live()-empty, inbox.MemoryBytes()
	t.Logf("%d bytes in the heap, %d estimated", heap, estimate)
	if estimate < heap*6/10 || estimate > heap*14/10 {
		t.Errorf("the inboxes take %d bytes, the estimate is %d", heap, estimate)
	}
	runtime.KeepAlive(inbox)
}
