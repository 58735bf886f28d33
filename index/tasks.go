package index

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// TaskEntry is an unfinished task with the fields that queries need.
type TaskEntry struct {
	Task id.ID
	// Until is when its claim expires, in Unix milliseconds, 0 without a claim. From then on its
	// status is Then.
	Until int64
	// Terms are its skills, its type, and the languages of the files that it concerns.
	Terms    Terms
	Priority work.Priority
	Status   work.TaskStatus
	Then     work.TaskStatus
}

// ProjectTasks is everything stored for one project.
type ProjectTasks struct {
	ProjectRecords[TaskEntry]
	// Active is set if its tasks can be claimed. Subjects are the languages and topics of the
	// project.
	Active   bool
	Subjects Terms
}

// TaskPosition is a place in the order in which tasks should be claimed: by higher priority, then
// by lower ID. The zero position is the start.
type TaskPosition struct {
	Priority work.Priority
	Task     id.ID
}

// Compare orders positions by priority, the highest first, then by age.
func (p TaskPosition) Compare(other TaskPosition) int {
	if by := cmp.Compare(other.Priority, p.Priority); by != 0 {
		return by
	}
	return p.Task.Compare(other.Task)
}

// TaskPlace is a task's position and its project.
type TaskPlace struct {
	TaskPosition
	Project id.ID
}

// Expiry is a place in the order in which claims expire. The zero value is the start.
type Expiry struct {
	// Until is Unix milliseconds.
	Until int64
	Task  id.ID
}

func (e Expiry) compare(other Expiry) int {
	if by := cmp.Compare(e.Until, other.Until); by != 0 {
		return by
	}
	return e.Task.Compare(other.Task)
}

// expiredBy reports whether a claim at this place is expired if all claims up to moved are.
func (e Expiry) expiredBy(moved Expiry) bool { return e.compare(moved) <= 0 }

// lastOf returns a place after all claims that expire up to a given time.
func lastOf(now int64) Expiry {
	return Expiry{Until: now, Task: id.ID(bytes.Repeat([]byte{0xff}, len(id.ID{})))}
}

// Tasks finds unfinished tasks: those of public projects by status, those of other projects for
// their members, and expired claims. A claim counts as expired from its expiry time on, even before
// the expiry is recorded: before a query, the index moves such tasks to the status they return to.
// The time given to queries never goes back. Projects without unfinished tasks take no memory. It
// is safe for concurrent use.
type Tasks struct {
	byProject[TaskEntry, taskData]
	// next is at most the expiry of the first claim that has not been moved.
	next atomic.Int64
	// orders is guarded by the lock of byProject.
	orders struct {
		// public is by status; expiry holds all claims, and expired ones until their expiry is
		// recorded.
		public [work.TaskInReview + 1]sorted.Set[*taskNode]
		expiry sorted.Set[*taskNode]
		// terms holds the OPEN tasks of public active projects; subjects holds the projects of
		// those tasks.
		terms    postings[*taskNode]
		subjects postings[*taskProject]
		// moved is the last claim in the order of expiry that has been moved.
		moved Expiry
	}
}

// taskData is the data per project that Tasks needs.
type taskData struct {
	// active and subjects are those of ProjectTasks; free counts the nodes in terms.
	active   bool
	subjects Terms
	free     int
	// open holds the OPEN tasks if the project is not public; it is nil until there is one.
	open sorted.Set[*taskNode]
}

type (
	taskProject = owner[TaskEntry, taskData]
	taskNode    = node[TaskEntry, taskData]
)

func (e *TaskEntry) position() TaskPosition { return TaskPosition{e.Priority, e.Task} }

func (e *TaskEntry) expiry() Expiry { return Expiry{e.Until, e.Task} }

func placeOf(n *taskNode) TaskPlace { return TaskPlace{n.record.position(), n.project.id} }

func lessRank(a, b *taskNode) bool {
	return a.record.position().Compare(b.record.position()) < 0
}

func lessExpiry(a, b *taskNode) bool { return a.record.expiry().compare(b.record.expiry()) < 0 }

// taskDegree keeps nodes small, because many projects have few tasks.
const taskDegree = 16

var (
	byRank   = sorted.By(lessRank, taskDegree)
	byExpiry = sorted.By(lessExpiry, taskDegree)
)

// NewTasks makes an empty index.
func NewTasks() *Tasks {
	t := new(Tasks)
	t.init(func(e *TaskEntry) *id.ID { return &e.Task }, t.linkTask, t.unlinkTask)
	t.next.Store(math.MaxInt64)
	for status := range t.orders.public {
		t.orders.public[status] = byRank.New()
	}
	t.orders.expiry = byExpiry.New()
	t.orders.terms = newPostings(lessRank)
	t.orders.subjects = newPostings(func(a, b *taskProject) bool { return a.id.Compare(b.id) > 0 })
	return t
}

// Has reports whether a project has unfinished tasks.
func (t *Tasks) Has(project id.ID) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.projects[project] != nil
}

func (t *Tasks) linkTask(n *taskNode) {
	if until := n.record.Until; until != 0 {
		t.orders.expiry.Set(n)
		if !n.record.expiry().expiredBy(t.orders.moved) && until < t.next.Load() {
			t.next.Store(until)
		}
	}
	if order := t.order(n); order != nil {
		order.Set(n)
		t.addTerms(n, order)
	}
}

func (t *Tasks) unlinkTask(n *taskNode) {
	if n.record.Until != 0 {
		t.orders.expiry.Delete(n)
	}
	if order := t.order(n); order != nil {
		order.Delete(n)
		t.removeTerms(n, order)
	}
}

// order returns the list for the status of a node, nil for a status that no query lists.
func (t *Tasks) order(n *taskNode) sorted.Set[*taskNode] {
	status, p := n.record.Status, n.project
	if n.record.Until != 0 && n.record.expiry().expiredBy(t.orders.moved) {
		status = n.record.Then
	}
	switch {
	case p.public:
		return t.orders.public[status]
	case status != work.TaskOpen:
		return nil
	case p.kept.open == nil:
		p.kept.open = byRank.New()
	}
	return p.kept.open
}

// Put adds a task or replaces its entry. It reports whether it is the first of its project; then
// nobody can find it until SetAudience is called.
func (t *Tasks) Put(project id.ID, entry TaskEntry) (first bool) {
	return t.enter(project, entry.Task, entry)
}

// Replace replaces all entries of a project; without entries the project is removed.
func (t *Tasks) Replace(project id.ID, all ProjectTasks) {
	t.replace(project, &all.ProjectRecords, taskData{active: all.Active, subjects: all.Subjects})
}

// Get returns everything stored for a project. Tests compare it.
func (t *Tasks) Get(project id.ID) (all ProjectTasks) {
	records, from := t.get(project)
	return ProjectTasks{records, from.active, from.subjects}
}

// movedAtOnce bounds how long the index is locked when very many claims expire together.
const movedAtOnce = 256

// move moves the tasks whose claims have expired by now to their next status.
func (t *Tasks) move(now int64) {
	for t.next.Load() <= now {
		t.moveSome(now)
	}
}

func (t *Tasks) moveSome(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next.Load() > now {
		// A concurrent caller with a later time has already moved them.
		return
	}
	var over []*taskNode
	next := int64(math.MaxInt64)
	pivot := &taskNode{record: TaskEntry{Until: t.orders.moved.Until, Task: t.orders.moved.Task}}
	t.orders.expiry.Ascend(pivot, func(n *taskNode) bool {
		switch {
		case n.record.expiry().expiredBy(t.orders.moved):
			return true
		case n.record.Until > now || len(over) == movedAtOnce:
			next = n.record.Until
			return false
		}
		over = append(over, n)
		return true
	})
	for _, n := range over {
		t.unlinkTask(n)
	}
	if next > now {
		t.orders.moved = lastOf(now)
	} else {
		t.orders.moved = over[len(over)-1].record.expiry()
	}
	for _, n := range over {
		t.linkTask(n)
	}
	t.next.Store(next)
}

// Public lists tasks of public projects that now have a status, after a position.
func (t *Tasks) Public(
	status work.TaskStatus, now int64, after TaskPosition, limit int,
) []TaskPlace {
	if status == 0 || status.Final() || limit <= 0 {
		return nil
	}
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return placesBehind(t.orders.public[status], after, limit)
}

// placesBehind lists tasks of an order after a position.
func placesBehind(order sorted.Set[*taskNode], after TaskPosition, limit int) []TaskPlace {
	found := make([]TaskPlace, 0, min(limit, order.Len()))
	take := func(n *taskNode) bool {
		if n.record.position() != after {
			found = append(found, placeOf(n))
		}
		return len(found) < limit
	}
	if after == (TaskPosition{}) {
		order.Scan(take)
	} else {
		pivot := TaskEntry{Priority: after.Priority, Task: after.Task}
		order.Ascend(&taskNode{record: pivot}, take)
	}
	return found
}

// CountPublic counts the tasks of public projects that now have an unfinished status.
func (t *Tasks) CountPublic(status work.TaskStatus, now int64) int {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.orders.public[status].Len()
}

// Own returns the projects that are not public, have an agent as a member and have OPEN tasks now.
// The project with the best task comes first.
func (t *Tasks) Own(agent id.ID, now int64) []id.ID {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	var best []TaskPlace
	for _, p := range t.mu.members[agent] {
		if p.kept.open == nil {
			continue
		}
		if n, any := p.kept.open.Min(); any {
			best = append(best, placeOf(n))
		}
	}
	slices.SortFunc(best, func(a, b TaskPlace) int { return a.Compare(b.TaskPosition) })
	found := make([]id.ID, len(best))
	for at := range best {
		found[at] = best[at].Project
	}
	return found
}

// Due returns up to limit projects, each once, that have expired claims whose expiry is not
// recorded yet, after a position in the order of expiry; next is the position to continue from.
func (t *Tasks) Due(now int64, after Expiry, limit int) (projects []id.ID, next Expiry) {
	next = after
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen := map[*taskProject]bool{}
	pivot := &taskNode{record: TaskEntry{Until: after.Until, Task: after.Task}}
	t.orders.expiry.Ascend(pivot, func(n *taskNode) bool {
		switch {
		case n.record.Until > now || len(projects) == limit && !seen[n.project]:
			return false
		case n.record.expiry() == after:
			return true
		case !seen[n.project]:
			seen[n.project] = true
			projects = append(projects, n.project.id)
		}
		next = n.record.expiry()
		return true
	})
	return projects, next
}
