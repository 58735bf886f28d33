package work

import (
	"pws/internal/id"
	"pws/internal/sorted"
)

// taskQueues holds all tasks of a project in the order of their IDs. Each unfinished task is also
// in exactly one of three queues.
type taskQueues struct {
	// recordList holds all tasks.
	recordList[*Task]
	// open holds the OPEN tasks without a claim, claimed those with a claim, and rest the other
	// unfinished tasks.
	open    treeSet[*Task]
	claimed treeSet[*Task]
	rest    treeSet[*Task]
	// counts holds the number of tasks by stored status.
	counts [len(taskStatusNames)]int
}

// noTasks is read for projects without tasks. It is never written.
var noTasks taskQueues

// tasks returns the queues for reading.
func (p *Project) tasks() *taskQueues {
	if p.queues == nil {
		return &noTasks
	}
	return p.queues
}

// ownTasks returns the queues for writing. No older state uses them.
func (p *Project) ownTasks() *taskQueues {
	if p.queues == nil {
		p.queues, p.queuesShared = new(taskQueues), false
	}
	if p.queuesShared {
		own := *p.queues
		own.open.shared, own.claimed.shared, own.rest.shared = true, true, true
		p.queues, p.queuesShared = &own, false
	}
	return p.queues
}

// byRank orders tasks by descending priority, then by age, the oldest first.
var byRank = inOrder(func(a, b *Task) bool {
	if a.Spec.Priority != b.Spec.Priority {
		return a.Spec.Priority > b.Spec.Priority
	}
	return a.ID.Compare(b.ID) < 0
})

// byExpiry orders tasks by the time when their claims expire.
var byExpiry = inOrder(func(a, b *Task) bool {
	if a.Claim.ExpiresAt != b.Claim.ExpiresAt {
		return a.Claim.ExpiresAt < b.Claim.ExpiresAt
	}
	return a.ID.Compare(b.ID) < 0
})

// queueOf returns the queue that a task belongs to, nil for a finished one.
func (q *taskQueues) queueOf(one *Task) (queue *treeSet[*Task], order sorted.Order[*Task]) {
	switch {
	case one.Status.Final():
		return nil, order
	case one.Claim != nil:
		return &q.claimed, byExpiry
	case one.Status == TaskOpen:
		return &q.open, byRank
	}
	return &q.rest, byRank
}

// enter adds a task to its queue and to the counts.
func (q *taskQueues) enter(one *Task) {
	if queue, order := q.queueOf(one); queue != nil {
		queue.set(one, order)
	}
	q.counts[one.Status]++
}

// leave is the reverse of enter.
func (q *taskQueues) leave(one *Task) {
	if queue, order := q.queueOf(one); queue != nil {
		queue.remove(one, order)
	}
	q.counts[one.Status]--
}

// putTask stores a new task, or a new version of one. The tasks that it depends on are stored
// BEFORE it.
func (p *Project) putTask(next *Task) {
	old, known := p.task(next.ID)
	if !known || !sameList(old.Spec.Dependencies, next.Spec.Dependencies) {
		next.waitsFor = p.places(next.Spec.Dependencies)
	}
	p.storeTask(next)
}

// storeTask is putTask without the positions of the dependencies.
func (p *Project) storeTask(next *Task) {
	all := p.ownTasks()
	if old, existed := all.put(next, p.Revision+1); existed {
		all.leave(old)
		p.countTask(old, -1)
		p.leaveTexts(old, next)
	}
	all.enter(next)
	p.countTask(next, 1)
}

// task finds a task as stored.
func (p *Project) task(wanted id.ID) (*Task, bool) { return p.tasks().get(wanted) }

// sameList reports whether two lists are the same memory.
func sameList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// linkTasks computes the positions of all dependencies, for tasks that were stored in an order in
// which a task may depend on later ones. Nobody else reads the tasks yet.
func (p *Project) linkTasks() {
	all := p.tasks()
	places := make(map[id.ID]uint32, all.len())
	for nth := range all.len() {
		places[all.at(nth).ID] = uint32(nth) // #nosec G115 -- at most TasksMax
	}
	for nth := range all.len() {
		one := all.at(nth)
		if len(one.Spec.Dependencies) == 0 {
			continue
		}
		one.waitsFor = make([]uint32, len(one.Spec.Dependencies))
		for i, dependency := range one.Spec.Dependencies {
			place, known := places[dependency]
			if !known {
				place = nowhere
			}
			one.waitsFor[i] = place
		}
	}
}
