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

// lastID is after all others.
var lastID = id.ID(bytes.Repeat([]byte{0xff}, len(id.ID{})))

// lastOf returns a place after all claims that expire up to a given time.
func lastOf(now int64) Expiry { return Expiry{Until: now, Task: lastID} }

// Tasks finds unfinished tasks: those of public projects by status, those of other projects for
// their members, and expired claims. A claim counts as expired from its expiry time on, even before
// the expiry is recorded: before a query, the index moves such tasks to the status they return to.
// The time given to queries never goes back. Projects without unfinished tasks take no memory. It
// is safe for concurrent use.
//
// The tasks of most projects are in common lists. A project with many tasks has lists of its own,
// and only the first of each is in the common ones (bigTasks): so it costs little to hide it, to
// archive it, or to change its topics, whatever the number of its tasks.
type Tasks struct {
	byProject[TaskEntry, taskData]
	limits bigLimits
	// next is at most the expiry of the first claim that has not been moved.
	next atomic.Int64
	// orders is guarded by the lock of byProject.
	orders struct {
		// public holds the tasks of small public projects by status, and heads, of big ones, the
		// first of each priority. counts counts the tasks of both.
		public, heads [work.TaskInReview + 1]sorted.Set[*taskNode]
		counts        [work.TaskInReview + 1]int
		// expiry holds all claims, and expired ones until their expiry is recorded.
		expiry sorted.Set[*taskNode]
		// best holds the best OPEN task of each offered project, subjects those projects.
		best     sorted.Set[*taskNode]
		subjects postings[*taskProject]
		// terms holds the OPEN tasks of small offered projects, and of big ones the best task of
		// each term, except of wide ones.
		terms postings[*taskNode]
		wide  map[*taskProject]struct{}
		// moved is the last claim in the order of expiry that has been moved.
		moved Expiry
	}
}

// taskData is the data per project that Tasks needs.
type taskData struct {
	// active and subjects are those of ProjectTasks.
	active   bool
	subjects Terms
	// parked means that the project has no task that can be claimed, see Park.
	parked bool
	// weight is the sum of the weights of its tasks.
	weight int32
	// revision is at least that of the state that the last change came from.
	revision uint64
	// best is the best OPEN task, nil if there is none.
	best *taskNode
	// big is nil for a small project.
	big *bigTasks
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
	t := &Tasks{limits: usualLimits}
	t.init(func(e *TaskEntry) *id.ID { return &e.Task }, t.linkTask, t.unlinkTask, t.relistTasks)
	t.next.Store(math.MaxInt64)
	for status := range t.orders.public {
		t.orders.public[status], t.orders.heads[status] = byRank.New(), byRank.New()
	}
	t.orders.expiry, t.orders.best = byExpiry.New(), byRank.New()
	t.orders.terms, t.orders.wide = newPostings(lessRank), map[*taskProject]struct{}{}
	t.orders.subjects = newPostings(func(a, b *taskProject) bool { return a.id.Compare(b.id) > 0 })
	return t
}

// Has reports whether a project has unfinished tasks.
func (t *Tasks) Has(project id.ID) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.projects[project] != nil
}

// status returns the status of a task now.
func (t *Tasks) status(n *taskNode) work.TaskStatus {
	if n.record.Until != 0 && n.record.expiry().expiredBy(t.orders.moved) {
		return n.record.Then
	}
	return n.record.Status
}

func (t *Tasks) linkTask(n *taskNode) {
	p := n.project
	t.unpark(p, n)
	if until := n.record.Until; until != 0 {
		t.orders.expiry.Set(n)
		if !n.record.expiry().expiredBy(t.orders.moved) && until < t.next.Load() {
			t.next.Store(until)
		}
	}
	if p.kept.weight += n.record.Terms.weight(); p.kept.big == nil && p.kept.weight > t.limits.big {
		t.regroup(p, n, true)
	}
	status := t.status(n)
	if p.public {
		t.orders.counts[status]++
	}
	small := p.kept.big == nil
	switch {
	case !small:
		t.linkBig(n)
	case p.public:
		t.orders.public[status].Set(n)
	}
	if status != work.TaskOpen {
		return
	}
	if small && offered(p) {
		n.record.Terms.each(func(term string) { t.orders.terms.set(term, n) })
	}
	if p.kept.best == nil || lessRank(n, p.kept.best) {
		t.setBest(p, n)
	}
}

func (t *Tasks) unlinkTask(n *taskNode) {
	p, status := n.project, t.status(n)
	t.unpark(p, nil)
	if n.record.Until != 0 {
		t.orders.expiry.Delete(n)
	}
	if p.public {
		t.orders.counts[status]--
	}
	small := p.kept.big == nil
	switch {
	case !small:
		t.unlinkBig(n)
	case p.public:
		t.orders.public[status].Delete(n)
	}
	if small && status == work.TaskOpen && offered(p) {
		n.record.Terms.each(func(term string) { t.orders.terms.delete(term, n) })
	}
	if p.kept.best == n {
		t.setBest(p, t.bestBut(p, n))
	}
	if p.kept.weight -= n.record.Terms.weight(); !small && p.kept.weight < t.limits.small {
		t.regroup(p, n, false)
	}
}

// bestBut returns the best OPEN task of a project apart from one that is removed, nil if there is
// none.
func (t *Tasks) bestBut(p *taskProject, removed *taskNode) (best *taskNode) {
	if big := p.kept.big; big != nil {
		// OPEN is the first status.
		if len(big.ranked) > 0 && t.status(big.ranked[0]) == work.TaskOpen {
			return big.ranked[0]
		}
		return nil
	}
	for _, n := range p.nodes {
		if n != removed && (best == nil || lessRank(n, best)) && t.status(n) == work.TaskOpen {
			best = n
		}
	}
	return best
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
		// It is the next in the order of expiry, so the status of no other task changes.
		t.orders.moved = n.record.expiry()
		t.linkTask(n)
	}
	if next > now {
		t.orders.moved = lastOf(now)
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
	found := placesBehind(t.orders.public[status], after, limit)
	if t.orders.heads[status].Len() == 0 {
		return found
	}
	found = append(found, t.bigPlacesBehind(status, after, limit)...)
	slices.SortFunc(found, func(a, b TaskPlace) int { return a.Compare(b.TaskPosition) })
	return found[:min(len(found), limit)]
}

// bigPlacesBehind lists tasks of big public projects after a position.
func (t *Tasks) bigPlacesBehind(
	status work.TaskStatus, after TaskPosition, limit int,
) (found []TaskPlace) {
	lists := merge[*taskNode]{less: lessRank}
	take := func(n *taskNode) bool {
		found = append(found, placeOf(n))
		return len(found) < limit
	}
	look := func(head *taskNode) bool {
		if !lists.upTo(head, take) {
			return false
		}
		from := TaskPosition{Priority: head.record.Priority}
		if from.Priority == after.Priority {
			from = after
		}
		lists.add(t.behind(head.project.kept.big, status, from))
		return true
	}
	heads := t.orders.heads[status]
	if after == (TaskPosition{}) {
		heads.Scan(look)
	} else {
		heads.Ascend(&taskNode{record: TaskEntry{Priority: after.Priority}}, look)
	}
	if len(found) < limit {
		lists.rest(take)
	}
	return found
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
	return t.orders.counts[status]
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
