package index

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"pws/internal/id"
	"pws/work"
)

// TaskEntry is an unfinished task, as far as it matters for finding it.
type TaskEntry struct {
	Task id.ID
	// Until is when its claim runs out, in Unix milliseconds, 0 without a claim. From then on its
	// status is Then.
	Until int64
	// Terms are its skills, its type, and the languages of the files that it is about.
	Terms    Terms
	Priority work.Priority
	Status   work.TaskStatus
	Then     work.TaskStatus
}

// ProjectTasks is all that is kept of one project.
type ProjectTasks struct {
	Public bool
	// Members are those of a project that is not public.
	Members []id.ID
	// Active says that its tasks can be taken, Subjects what the project is about: languages and
	// topics.
	Active   bool
	Subjects Terms
	// Entries are in the order of their IDs.
	Entries []TaskEntry
}

// TaskPosition is a place in the order in which tasks should be taken: the higher priority, then
// the lower ID. The zero position is the start.
type TaskPosition struct {
	Priority work.Priority
	Task     id.ID
}

func (p TaskPosition) compare(other TaskPosition) int {
	if by := cmp.Compare(other.Priority, p.Priority); by != 0 {
		return by
	}
	return p.Task.Compare(other.Task)
}

// TaskPlace is a task in that order with its project.
type TaskPlace struct {
	TaskPosition
	Project id.ID
}

// Expiry is a place in the order in which claims run out. The zero one is the start.
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

// gone reports whether a claim that runs out there counts as run out.
func (e Expiry) gone(moved Expiry) bool { return e.compare(moved) <= 0 }

// lastOf is behind all that runs out up to a moment.
func lastOf(now int64) Expiry {
	return Expiry{Until: now, Task: id.ID(bytes.Repeat([]byte{0xff}, len(id.ID{})))}
}

// Tasks finds unfinished tasks: those of public projects by status, those of other projects for
// their members, and claims that have run out. A claim counts as run out from its moment on,
// whoever has noted it: before it answers, the index moves such tasks to the status they go back
// to. The time that is asked with never goes back. Projects without unfinished tasks take no room.
// It is safe for concurrent use.
type Tasks struct {
	// next is no later than the first claim that runs out and that has not been moved.
	next atomic.Int64
	mu   struct {
		sync.RWMutex
		projects map[id.ID]*taskProject
		// members are the projects that are not public by their members.
		members map[id.ID][]*taskProject
		// public is by status; expiry holds all claims, those that have run out until it is noted.
		public [work.TaskInReview + 1]*btree.BTreeG[*taskNode]
		expiry *btree.BTreeG[*taskNode]
		// terms leads to OPEN tasks, and subjects to projects with such, of public active projects.
		terms    postings[*taskNode]
		subjects postings[*taskProject]
		// moved is the last claim in the order of expiry that counts as run out.
		moved Expiry
		count int
	}
}

// taskProject is a project with unfinished tasks.
type taskProject struct {
	id      id.ID
	public  bool
	members []id.ID
	// nodes are in the order of their IDs; open holds the OPEN ones where the project is not public,
	// nil before the first.
	nodes []*taskNode
	open  *btree.BTreeG[*taskNode]
	// active and subjects are those of ProjectTasks; free counts the nodes that terms leads to.
	active   bool
	subjects Terms
	free     int
}

type taskNode struct {
	TaskEntry
	project *taskProject
}

func (n *taskNode) position() TaskPosition { return TaskPosition{n.Priority, n.Task} }

func (n *taskNode) expiry() Expiry { return Expiry{n.Until, n.Task} }

func byRank(a, b *taskNode) bool { return a.position().compare(b.position()) < 0 }

func byExpiry(a, b *taskNode) bool { return a.expiry().compare(b.expiry()) < 0 }

// taskDegree keeps nodes small, for many projects have few tasks.
const taskDegree = 16

func newOrder(less func(a, b *taskNode) bool) *btree.BTreeG[*taskNode] {
	return btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: taskDegree})
}

// NewTasks makes an empty index.
func NewTasks() *Tasks {
	t := new(Tasks)
	t.next.Store(math.MaxInt64)
	t.mu.projects = map[id.ID]*taskProject{}
	t.mu.members = map[id.ID][]*taskProject{}
	for status := range t.mu.public {
		t.mu.public[status] = newOrder(byRank)
	}
	t.mu.expiry = newOrder(byExpiry)
	t.mu.terms = newPostings(byRank)
	t.mu.subjects = newPostings(func(a, b *taskProject) bool { return a.id.Compare(b.id) > 0 })
	return t
}

// Len is the number of unfinished tasks.
func (t *Tasks) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.count
}

// Has reports whether a project has unfinished tasks.
func (t *Tasks) Has(project id.ID) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.projects[project] != nil
}

// Put takes in a task, or another state of one. It reports whether it is the first of its project:
// then nobody finds it until SetAudience has said who may.
func (t *Tasks) Put(project id.ID, entry TaskEntry) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.projects[project]
	if p == nil {
		p, first = &taskProject{id: project}, true
		t.mu.projects[project] = p
	}
	t.put(p, entry)
	return first
}

func (t *Tasks) put(p *taskProject, entry TaskEntry) {
	at, known := p.find(entry.Task)
	if known {
		t.unlink(p.nodes[at])
		p.nodes[at].TaskEntry = entry
	} else {
		p.nodes = slices.Insert(p.nodes, at, &taskNode{TaskEntry: entry, project: p})
		t.mu.count++
	}
	t.link(p.nodes[at])
}

func (p *taskProject) find(task id.ID) (at int, known bool) {
	// IDs rise, so that a new task nearly always comes last.
	if last := len(p.nodes) - 1; last < 0 || p.nodes[last].Task.Compare(task) < 0 {
		return last + 1, false
	}
	return slices.BinarySearchFunc(p.nodes, task, func(n *taskNode, wanted id.ID) int {
		return n.Task.Compare(wanted)
	})
}

// link puts a node into the orders that it belongs to now, unlink takes it out of them.
func (t *Tasks) link(n *taskNode) {
	if n.Until != 0 {
		t.mu.expiry.Set(n)
		if !n.expiry().gone(t.mu.moved) && n.Until < t.next.Load() {
			t.next.Store(n.Until)
		}
	}
	if order := t.order(n); order != nil {
		order.Set(n)
		t.addTerms(n, order)
	}
}

func (t *Tasks) unlink(n *taskNode) {
	if n.Until != 0 {
		t.mu.expiry.Delete(n)
	}
	if order := t.order(n); order != nil {
		order.Delete(n)
		t.removeTerms(n, order)
	}
}

// order is the list that a node of its status belongs to, nil where nobody looks for it.
func (t *Tasks) order(n *taskNode) *btree.BTreeG[*taskNode] {
	status := n.Status
	if n.Until != 0 && n.expiry().gone(t.mu.moved) {
		status = n.Then
	}
	switch {
	case n.project.public:
		return t.mu.public[status]
	case status != work.TaskOpen:
		return nil
	case n.project.open == nil:
		n.project.open = newOrder(byRank)
	}
	return n.project.open
}

// Drop forgets a task that is over.
func (t *Tasks) Drop(project, task id.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.projects[project]
	if p == nil {
		return
	}
	at, known := p.find(task)
	if !known {
		return
	}
	t.unlink(p.nodes[at])
	p.nodes = slices.Delete(p.nodes, at, at+1)
	t.mu.count--
	if len(p.nodes) == 0 {
		t.setMembers(p, nil)
		delete(t.mu.projects, project)
	}
}

// SetAudience says who may find the tasks of a project, where it has any: everybody, or its
// members.
func (t *Tasks) SetAudience(project id.ID, public bool, members []id.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.mu.projects[project]
	if p == nil {
		return
	}
	if public {
		members = nil
	}
	t.setMembers(p, members)
	if p.public == public {
		return
	}
	t.relink(p, func() { p.public, p.open = public, nil })
}

// relink changes what the places of all tasks of a project depend on.
func (t *Tasks) relink(p *taskProject, change func()) {
	for _, n := range p.nodes {
		t.unlink(n)
	}
	change()
	for _, n := range p.nodes {
		t.link(n)
	}
}

func (t *Tasks) setMembers(p *taskProject, members []id.ID) {
	if slices.Equal(p.members, members) {
		return
	}
	for _, member := range p.members {
		list := t.mu.members[member]
		if at := slices.Index(list, p); at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if len(list) == 0 {
			delete(t.mu.members, member)
			continue
		}
		t.mu.members[member] = list
	}
	for _, member := range members {
		t.mu.members[member] = append(t.mu.members[member], p)
	}
	p.members = slices.Clone(members)
}

// Replace makes what is kept of a project this, and nothing where it has no entries.
func (t *Tasks) Replace(project id.ID, all ProjectTasks) {
	t.mu.Lock()
	if p := t.mu.projects[project]; p != nil {
		for _, n := range p.nodes {
			t.unlink(n)
		}
		t.mu.count -= len(p.nodes)
		t.setMembers(p, nil)
		delete(t.mu.projects, project)
	}
	if len(all.Entries) > 0 {
		p := &taskProject{
			id: project, public: all.Public, active: all.Active, subjects: all.Subjects,
		}
		p.nodes = make([]*taskNode, 0, len(all.Entries))
		t.mu.projects[project] = p
		if !all.Public {
			t.setMembers(p, all.Members)
		}
		for _, entry := range all.Entries {
			t.put(p, entry)
		}
	}
	t.mu.Unlock()
}

// Get is what is kept of a project, for comparing.
func (t *Tasks) Get(project id.ID) (all ProjectTasks) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.mu.projects[project]
	if p == nil {
		return all
	}
	all.Public, all.Members = p.public, slices.Clone(p.members)
	all.Active, all.Subjects = p.active, p.subjects
	for _, n := range p.nodes {
		all.Entries = append(all.Entries, n.TaskEntry)
	}
	return all
}

// movedAtOnce bounds how long the index is locked where very many claims run out together.
const movedAtOnce = 256

// move lets the claims that have run out by now count as that.
func (t *Tasks) move(now int64) {
	for t.next.Load() <= now {
		t.moveSome(now)
	}
}

func (t *Tasks) moveSome(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next.Load() > now {
		// Somebody with a later time was here first.
		return
	}
	var over []*taskNode
	next := int64(math.MaxInt64)
	pivot := &taskNode{TaskEntry: TaskEntry{Until: t.mu.moved.Until, Task: t.mu.moved.Task}}
	t.mu.expiry.Ascend(pivot, func(n *taskNode) bool {
		switch {
		case n.expiry().gone(t.mu.moved):
			return true
		case n.Until > now || len(over) == movedAtOnce:
			next = n.Until
			return false
		}
		over = append(over, n)
		return true
	})
	for _, n := range over {
		t.unlink(n)
	}
	if next > now {
		t.mu.moved = lastOf(now)
	} else {
		t.mu.moved = over[len(over)-1].expiry()
	}
	for _, n := range over {
		t.link(n)
	}
	t.next.Store(next)
}

// Public lists tasks of public projects that have a status now, behind a position.
func (t *Tasks) Public(
	status work.TaskStatus, now int64, after TaskPosition, limit int,
) []TaskPlace {
	if status == 0 || status.Final() || limit <= 0 {
		return nil
	}
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	order := t.mu.public[status]
	found := make([]TaskPlace, 0, min(limit, order.Len()))
	take := func(n *taskNode) bool {
		if n.position() != after {
			found = append(found, TaskPlace{n.position(), n.project.id})
		}
		return len(found) < limit
	}
	if after == (TaskPosition{}) {
		order.Scan(take)
	} else {
		pivot := TaskEntry{Priority: after.Priority, Task: after.Task}
		order.Ascend(&taskNode{TaskEntry: pivot}, take)
	}
	return found
}

// CountPublic counts the tasks of public projects that have an unfinished status now.
func (t *Tasks) CountPublic(status work.TaskStatus, now int64) int {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.public[status].Len()
}

// Own names the projects that are not public, have OPEN tasks now and an agent as a member; that
// with the best task comes first.
func (t *Tasks) Own(agent id.ID, now int64) []id.ID {
	t.move(now)
	t.mu.RLock()
	defer t.mu.RUnlock()
	var best []TaskPlace
	for _, p := range t.mu.members[agent] {
		if p.open == nil {
			continue
		}
		if n, any := p.open.Min(); any {
			best = append(best, TaskPlace{n.position(), p.id})
		}
	}
	slices.SortFunc(best, func(a, b TaskPlace) int { return a.compare(b.TaskPosition) })
	found := make([]id.ID, len(best))
	for at := range best {
		found[at] = best[at].Project
	}
	return found
}

// Due names up to limit projects, each once, that have claims which ran out and nobody has noted,
// behind a place in the order of expiry; next is the place to go on from.
func (t *Tasks) Due(now int64, after Expiry, limit int) (projects []id.ID, next Expiry) {
	next = after
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen := map[*taskProject]bool{}
	pivot := &taskNode{TaskEntry: TaskEntry{Until: after.Until, Task: after.Task}}
	t.mu.expiry.Ascend(pivot, func(n *taskNode) bool {
		switch {
		case n.Until > now || len(projects) == limit && !seen[n.project]:
			return false
		case n.expiry() == after:
			return true
		case !seen[n.project]:
			seen[n.project] = true
			projects = append(projects, n.project.id)
		}
		next = n.expiry()
		return true
	})
	return projects, next
}
