package work

import "pws/internal/id"

// board is all tasks of a project: once in the order of their IDs, and each unfinished one in
// exactly one of three orders.
type board struct {
	// shelf holds all.
	shelf[*Task]
	// queue holds the OPEN ones without a claim, claimed those with one, rest the others that are
	// not over.
	queue   table[*Task]
	claimed table[*Task]
	rest    table[*Task]
	// counts is by status as stored.
	counts [len(taskStatusNames)]int
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

// putTask stores a new task, or another version of one.
func (p *Project) putTask(next *Task) {
	all := p.ownTasks()
	if old, stood := all.put(next, p.Revision+1); stood {
		all.leave(old)
		p.texts -= old.bytes()
	}
	all.enter(next)
	p.texts += next.bytes()
}

// task finds a task as it is stored.
func (p *Project) task(wanted id.ID) (*Task, bool) { return p.tasks().get(wanted) }
