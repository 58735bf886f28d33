package work

import (
	"slices"

	"pws/internal/id"
)

// board is all tasks of a project: once in the order of their IDs, and each unfinished one in
// exactly one of three orders.
type board struct {
	// blocks holds all, cut as the chunks of a saved project are; nothing is ever taken out. Blocks
	// are copied when they are written.
	blocks []*taskBlock
	// queue holds the OPEN ones without a claim, claimed those with one, rest the others that are
	// not over.
	queue   table[*Task]
	claimed table[*Task]
	rest    table[*Task]
	// counts is by status as stored.
	counts [len(taskStatusNames)]int
}

// taskBlock is a chunk of tasks in the order of their IDs.
type taskBlock struct {
	tasks []*Task
	// changed is the revision of the project that last changed one of them.
	changed uint64
}

// noTasks is the board of a project that has none. Nobody writes it.
var noTasks board

// tasks is for reading.
func (p *Project) tasks() *board {
	if p.board == nil {
		return &noTasks
	}
	return p.board
}

// ownTasks is the board for writing: another one than that of the state this one was cloned from.
func (p *Project) ownTasks() *board {
	if p.board == nil {
		p.board, p.boardShared = new(board), false
	}
	if p.boardShared {
		own := *p.board
		own.queue.shared, own.claimed.shared, own.rest.shared = true, true, true
		own.blocks = slices.Clone(own.blocks)
		p.board, p.boardShared = &own, false
	}
	return p.board
}

// byRank is the order in which tasks should be taken: priority, then the oldest.
func byRank(a, b *Task) bool {
	if a.Spec.Priority != b.Spec.Priority {
		return a.Spec.Priority > b.Spec.Priority
	}
	return a.ID.Compare(b.ID) < 0
}

// byExpiry is the order in which claims run out.
func byExpiry(a, b *Task) bool {
	if a.Claim.ExpiresAt != b.Claim.ExpiresAt {
		return a.Claim.ExpiresAt < b.Claim.ExpiresAt
	}
	return a.ID.Compare(b.ID) < 0
}

// place is the order that a task belongs to, nil for those that are over.
func (b *board) place(one *Task) (order *table[*Task], less func(a, b *Task) bool) {
	switch {
	case one.Status.Final():
		return nil, nil
	case one.Claim != nil:
		return &b.claimed, byExpiry
	case one.Status == TaskOpen:
		return &b.queue, byRank
	}
	return &b.rest, byRank
}

// enter puts a task into its order and counts it.
func (b *board) enter(one *Task) {
	if order, less := b.place(one); order != nil {
		order.set(one, less)
	}
	b.counts[one.Status]++
}

// leave is the reverse of enter.
func (b *board) leave(one *Task) {
	if order, less := b.place(one); order != nil {
		order.remove(one, less)
	}
	b.counts[one.Status]--
}

func (b *board) len() int {
	if len(b.blocks) == 0 {
		return 0
	}
	return (len(b.blocks)-1)*TaskChunk.Len() + len(b.blocks[len(b.blocks)-1].tasks)
}

// at is the nth task, from 0.
func (b *board) at(nth int) *Task {
	return b.blocks[nth/TaskChunk.Len()].tasks[nth%TaskChunk.Len()]
}

// find is the place of a task, or where one with this ID would stand.
func (b *board) find(wanted id.ID) (nth int, found bool) {
	low, high := 0, b.len()
	for low < high {
		middle := (low + high) / 2
		switch b.at(middle).ID.Compare(wanted) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// put stores a new task, which is behind all others, or another version of one. It returns the
// version before, nil for none.
func (b *board) put(next *Task, revision uint64) (old *Task) {
	nth, found := b.find(next.ID)
	at, place := nth/TaskChunk.Len(), nth%TaskChunk.Len()
	block := &taskBlock{changed: revision}
	switch {
	case found:
		block.tasks = slices.Clone(b.blocks[at].tasks)
		old, block.tasks[place] = block.tasks[place], next
		b.leave(old)
	case at < len(b.blocks):
		block.tasks = append(slices.Clip(b.blocks[at].tasks), next)
	default:
		block.tasks = []*Task{next}
		b.blocks = append(b.blocks, nil)
	}
	b.blocks[at] = block
	b.enter(next)
	return old
}

// putTask stores a new task, or another version of one.
func (p *Project) putTask(next *Task) {
	if old := p.ownTasks().put(next, p.Revision+1); old != nil {
		p.texts -= old.bytes()
	}
	p.texts += next.bytes()
}

// task finds a task as it is stored.
func (p *Project) task(wanted id.ID) (*Task, bool) {
	nth, found := p.tasks().find(wanted)
	if !found {
		return nil, false
	}
	return p.tasks().at(nth), true
}
