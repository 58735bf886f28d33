package search

import (
	"container/heap"
	"math"
	"sync"

	"pws/internal/id"
)

const (
	// projectKeysMax is the number of documents of one project that are queued individually, and
	// queueKeysMax that of all projects. Beyond it the whole project is queued, and all its documents
	// are compared with the index.
	projectKeysMax = 256
	queueKeysMax   = 50_000
	// stepKeysMax is the number of documents in one step.
	stepKeysMax = 32
)

// rank orders the steps. Within a rank owners take turns, and so do the projects of an owner.
type rank uint8

const (
	// hidden projects are not PUBLIC any more. Their documents are removed before anything else.
	hidden rank = iota
	// named documents have changed, or are new.
	named
	// whole projects are looked through.
	whole
	// copies are forks, whose files the source has too, and are looked through last.
	copies
	ranks
)

// turns are the ranks that come first in successive steps, so that none waits for ever. If nothing
// of that rank waits, the first rank of which something waits comes.
var turns = [...]rank{named, named, named, whole, named, named, named, copies}

// Queue holds the keys of documents to index, each once however often the document changes. Its
// memory grows with the number of projects, up to a constant for each, and with that of agents. It
// is safe for concurrent use; adding a key costs a few map lookups.
type Queue struct {
	mu struct {
		sync.Mutex
		lines [ranks]line
		// keys are those of the named documents.
		keys map[Key]struct{}
		// documents is how many wait, by rank.
		documents [ranks]int
		// taken is the oldest change that was taken and is not done, by rank.
		taken [ranks]Mark
		steps uint64
	}
	wake chan struct{}
}

// Mark is an entry of the log: its position, and its time in Unix milliseconds.
type Mark struct {
	Position uint64
	Millis   int64
}

// never is after all entries.
var never = Mark{Position: math.MaxUint64}

func (m Mark) isSet() bool { return m.Position != 0 }

// earlier returns the earlier of two marks; the first may be unset.
func earlier(a, b Mark) Mark {
	if !a.isSet() || b.Position < a.Position {
		return b
	}
	return a
}

// Step is a piece of work for one project. Keys are documents to index; without them, the project
// is looked through after From, from the beginning if that is zero.
type Step struct {
	Keys    []Key
	Project id.ID
	From    Key
	// Copies means that the files of forks have their turn.
	Copies  bool
	rank    rank
	waiting *waiting
}

// NewQueue makes an empty queue.
func NewQueue() *Queue {
	q := &Queue{wake: make(chan struct{}, 1)}
	q.mu.keys = map[Key]struct{}{}
	for i := range q.mu.lines {
		q.mu.lines[i] = line{projects: map[id.ID]*waiting{}, owners: map[id.ID]*owner{}}
	}
	return q
}

// Wake returns a channel that receives when something was added.
func (q *Queue) Wake() <-chan struct{} { return q.wake }

func (q *Queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Put queues documents of one project, or agents, that an entry of the log has changed. The owner
// is zero for agents.
func (q *Queue) Put(mark Mark, owner id.ID, keys ...Key) {
	q.mu.Lock()
	for _, key := range keys {
		q.put(mark, owner, key)
	}
	q.mu.Unlock()
	q.poke()
}

func (q *Queue) put(mark Mark, owner id.ID, key Key) {
	if _, there := q.mu.keys[key]; there {
		return
	}
	w, l := q.mu.lines[named].projects[key.Project], &q.mu.lines[named]
	if !key.Project.IsZero() &&
		(len(q.mu.keys) >= queueKeysMax || w != nil && len(w.keys) >= projectKeysMax) {
		q.putWhole(mark, owner, key.Project, projectKeysMax)
		return
	}
	q.mu.keys[key] = struct{}{}
	q.mu.documents[named]++
	if w != nil {
		w.keys = append(w.keys, marked{key, mark})
		return
	}
	l.add(&waiting{
		project: key.Project, ownedBy: owner, mark: mark, keys: []marked{{key, mark}},
	})
}

// PutWhole queues a whole project with an estimate of the number of its documents.
func (q *Queue) PutWhole(mark Mark, owner, project id.ID, documents int) {
	q.mu.Lock()
	q.putWhole(mark, owner, project, documents)
	q.mu.Unlock()
	q.poke()
}

func (q *Queue) putWhole(mark Mark, owner, project id.ID, documents int) {
	if w := q.wholeOf(project); w != nil {
		// What it has passed already may have changed.
		if w.from != (Key{}) && !w.again.isSet() {
			w.again = mark
		}
		return
	}
	documents = max(1, documents)
	q.mu.documents[whole] += documents
	q.mu.lines[whole].add(&waiting{
		project: project, ownedBy: owner, mark: mark, documents: documents,
	})
}

func (q *Queue) wholeOf(project id.ID) *waiting {
	if w := q.mu.lines[whole].projects[project]; w != nil {
		return w
	}
	return q.mu.lines[copies].projects[project]
}

// PutHidden queues a project that is not PUBLIC any more, before everything else.
func (q *Queue) PutHidden(mark Mark, project id.ID) {
	q.mu.Lock()
	if l := &q.mu.lines[hidden]; l.projects[project] == nil {
		l.add(&waiting{project: project, ownedBy: project, mark: mark, documents: 1})
		q.mu.documents[hidden]++
	}
	q.mu.Unlock()
	q.poke()
}

// Take removes the next step; any is false if there is none. Forks wait unless withCopies is set.
// The step counts as in hand until Done. What changes after this call is queued again.
func (q *Queue) Take(withCopies bool) (step Step, any bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of, any := q.turn(withCopies)
	if !any {
		return step, false
	}
	q.mu.steps++
	w := q.mu.lines[of].next()
	q.mu.taken[of] = earlier(q.mu.taken[of], w.mark)
	step = Step{Project: w.project, From: w.from, Copies: of == copies, rank: of, waiting: w}
	if of != named {
		q.mu.documents[of] -= w.documents
		return step, true
	}
	count := min(stepKeysMax, len(w.keys))
	for _, one := range w.keys[:count] {
		step.Keys = append(step.Keys, one.key)
		delete(q.mu.keys, one.key)
	}
	q.mu.documents[named] -= count
	if w.keys = w.keys[count:]; len(w.keys) > 0 {
		w.mark = w.keys[0].Mark
		q.mu.lines[named].add(w)
	}
	return step, true
}

func (q *Queue) turn(withCopies bool) (of rank, any bool) {
	order := [...]rank{hidden, turns[q.mu.steps%uint64(len(turns))], named, whole, copies}
	for _, of = range order {
		if len(q.mu.lines[of].projects) > 0 && (withCopies || of != copies) {
			return of, true
		}
	}
	return 0, false
}

// Continue puts back the rest of a project, of which so many documents were looked at: what comes
// after a key. A fork waits with other forks from then on.
func (q *Queue) Continue(step Step, from Key, fork bool, owner id.ID, looked int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of, w := whole, step.waiting
	if fork {
		of = copies
	}
	if other := q.mu.lines[whole].projects[w.project]; other != nil {
		// It was queued once more during the step.
		q.mu.lines[whole].remove(other)
		q.mu.documents[whole] -= other.documents
		w.again = earlier(w.again, other.mark)
	}
	w.from, w.ownedBy, w.documents = from, owner, max(1, w.documents-looked)
	q.mu.documents[of] += w.documents
	q.mu.lines[of].add(w)
}

// Finish ends looking through a project, and queues it again if it changed behind the steps.
func (q *Queue) Finish(step Step) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := step.waiting; w.again.isSet() {
		q.putWhole(w.again, w.ownedBy, w.project, projectKeysMax)
	}
}

// Done records that all that was taken is in the index, or is queued again.
func (q *Queue) Done() {
	q.mu.Lock()
	q.mu.taken = [ranks]Mark{}
	q.mu.Unlock()
}

// Len returns how many documents wait; those of whole projects are estimated. Copies are those in
// forks.
func (q *Queue) Len() (all, ofNamed, ofCopies int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, count := range q.mu.documents {
		all += count
	}
	return all, q.mu.documents[hidden] + q.mu.documents[named], q.mu.documents[copies]
}

// Wholes returns how many whole projects wait, without forks.
func (q *Queue) Wholes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.lines[whole].projects)
}

// Oldest returns the oldest queued change, including those in hand if inHand is set. If there is
// none, the position is the largest possible.
func (q *Queue) Oldest(inHand bool) Mark { return q.oldest(copies, inHand) }

// OldestNamed is Oldest without the whole projects.
func (q *Queue) OldestNamed(inHand bool) Mark { return q.oldest(named, inHand) }

func (q *Queue) oldest(last rank, inHand bool) Mark {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := never
	for of := range last + 1 {
		if marks := q.mu.lines[of].marks; len(marks) > 0 {
			oldest = earlier(oldest, marks[0].mark)
		}
		if taken := q.mu.taken[of]; inHand && taken.isSet() {
			oldest = earlier(oldest, taken)
		}
	}
	return oldest
}

// waiting is a project with changes.
type waiting struct {
	project, ownedBy id.ID
	// mark is the oldest change.
	mark Mark
	// keys are named documents, the oldest first.
	keys []marked
	// from, of a whole project, is the last document looked at. again is the first change since the
	// beginning that may concern documents before it. documents is an estimate of what is left.
	from      Key
	again     Mark
	documents int
	// at is the index in the heap.
	at int
}

type marked struct {
	key Key
	Mark
}

// line has the projects of one rank.
type line struct {
	projects map[id.ID]*waiting
	owners   map[id.ID]*owner
	// turn has the owners, the next one first.
	turn  []*owner
	marks marks
}

// owner has the projects of one owner, the next one first.
type owner struct {
	id   id.ID
	turn []*waiting
}

func (l *line) add(w *waiting) {
	o := l.owners[w.ownedBy]
	if o == nil {
		o = &owner{id: w.ownedBy}
		l.owners[o.id] = o
		l.turn = append(l.turn, o)
	}
	o.turn = append(o.turn, w)
	l.projects[w.project] = w
	heap.Push(&l.marks, w)
}

// next removes the next project of the next owner.
func (l *line) next() *waiting {
	o := l.turn[0]
	l.turn = l.turn[1:]
	w := o.turn[0]
	if o.turn = o.turn[1:]; len(o.turn) > 0 {
		l.turn = append(l.turn, o)
	} else {
		delete(l.owners, o.id)
	}
	l.forget(w)
	return w
}

func (l *line) forget(w *waiting) {
	delete(l.projects, w.project)
	heap.Remove(&l.marks, w.at)
}

// remove removes a project out of turn.
func (l *line) remove(w *waiting) {
	o := l.owners[w.ownedBy]
	o.turn = without(o.turn, w)
	if len(o.turn) == 0 {
		delete(l.owners, o.id)
		l.turn = without(l.turn, o)
	}
	l.forget(w)
}

func without[T comparable](list []T, one T) []T {
	kept := make([]T, 0, len(list))
	for _, each := range list {
		if each != one {
			kept = append(kept, each)
		}
	}
	return kept
}

// marks is a heap of projects by their oldest change.
type marks []*waiting

func (m marks) Len() int           { return len(m) }
func (m marks) Less(a, b int) bool { return m[a].mark.Position < m[b].mark.Position }

func (m marks) Swap(a, b int) {
	m[a], m[b] = m[b], m[a]
	m[a].at, m[b].at = a, b
}

// Push implements heap.Interface.
func (m *marks) Push(x any) {
	w, ok := x.(*waiting)
	if !ok {
		panic("search: foreign value in the heap")
	}
	w.at = len(*m)
	*m = append(*m, w)
}

// Pop implements heap.Interface.
func (m *marks) Pop() any {
	last := len(*m) - 1
	w := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	return w
}
