package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// TaskStatus says where a task stands.
type TaskStatus uint8

// The statuses of a task. TaskDone and TaskCancelled are final until it is opened again.
const (
	TaskOpen TaskStatus = iota + 1
	TaskInProgress
	TaskBlocked
	TaskInReview
	TaskDone
	TaskCancelled
)

var taskStatusNames = [...]string{
	"", "OPEN", "IN_PROGRESS", "BLOCKED", "IN_REVIEW", "DONE", "CANCELLED",
}

// String is the name on the wire.
func (s TaskStatus) String() string { return taskStatusNames[s] }

// Final reports whether the work is over.
func (s TaskStatus) Final() bool { return s >= TaskDone }

// ParseTaskStatus reads the name on the wire; zero is no status.
func ParseTaskStatus(name string) TaskStatus {
	return TaskStatus(max(0, slices.Index(taskStatusNames[:], name)))
}

// Priority says how soon a task should be done; a higher one comes first.
type Priority uint8

// The priorities.
const (
	PriorityLow Priority = iota + 1
	PriorityNormal
	PriorityHigh
	PriorityUrgent
)

var priorityNames = [...]string{"", "LOW", "NORMAL", "HIGH", "URGENT"}

// String is the name on the wire.
func (p Priority) String() string { return priorityNames[p] }

// ParsePriority reads the name on the wire; zero is no priority.
func ParsePriority(name string) Priority {
	return Priority(max(0, slices.Index(priorityNames[:], name)))
}

// BlockedKind says what a blocked task waits for.
type BlockedKind uint8

// The kinds of what blocks.
const (
	BlockedByDependency BlockedKind = iota + 1
	BlockedByNeedsInput
	BlockedByCapability
	BlockedByTransient
)

var blockedKindNames = [...]string{"", "DEPENDENCY", "NEEDS_INPUT", "CAPABILITY", "TRANSIENT"}

// String is the name on the wire.
func (k BlockedKind) String() string { return blockedKindNames[k] }

// ParseBlockedKind reads the name on the wire; zero is no kind.
func ParseBlockedKind(name string) BlockedKind {
	return BlockedKind(max(0, slices.Index(blockedKindNames[:], name)))
}

// Blocked says why a task with the status BLOCKED does not go on.
type Blocked struct {
	Kind   BlockedKind `cbor:"1,keyasint"`
	Reason string      `cbor:"2,keyasint,omitempty"`
}

// TaskResult is what came of a task; IDs are zero where there is none.
type TaskResult struct {
	Summary      string `cbor:"1,keyasint,omitempty"`
	Changeset    id.ID  `cbor:"2,keyasint,omitzero"`
	Contribution id.ID  `cbor:"3,keyasint,omitzero"`
}

// taskHoldersMax is how many former holders of a task are told that their claim is lost even where
// they do not name it.
const taskHoldersMax = 16

// TaskSpec is what is asked for.
type TaskSpec struct {
	Title       string   `cbor:"1,keyasint"`
	Description string   `cbor:"2,keyasint,omitempty"`
	Priority    Priority `cbor:"3,keyasint"`
	Type        string   `cbor:"4,keyasint,omitempty"`
	Skills      []string `cbor:"5,keyasint,omitempty"`
	// Dependencies are tasks of the project that must be over before this one can be claimed.
	Dependencies   []id.ID  `cbor:"6,keyasint,omitempty"`
	RelatedFiles   []string `cbor:"7,keyasint,omitempty"`
	ExpectedOutput string   `cbor:"8,keyasint,omitempty"`
	Conditions     []string `cbor:"9,keyasint,omitempty"`
	// Parent is zero where the task is no part of another.
	Parent id.ID `cbor:"10,keyasint,omitzero"`
}

func (s *TaskSpec) bytes() int {
	return len(s.Title) + len(s.Description) + len(s.Type) + len(s.ExpectedOutput) +
		textBytes(s.Skills) + textBytes(s.RelatedFiles) + textBytes(s.Conditions) +
		len(s.Dependencies)*len(id.ID{})
}

// Task is one version of a task. Those of a published project are immutable.
type Task struct {
	ID id.ID `cbor:"1,keyasint"`
	// Spec is what is asked for.
	Spec   TaskSpec   `cbor:"2,keyasint"`
	Status TaskStatus `cbor:"3,keyasint"`
	// Blocked is nil unless the status is BLOCKED; Result is nil until somebody says what came of it.
	Blocked *Blocked    `cbor:"4,keyasint,omitempty"`
	Result  *TaskResult `cbor:"5,keyasint,omitempty"`
	// Claim is the last claim that nobody has ended; it may have run out, see At.
	Claim *Claim `cbor:"6,keyasint,omitempty"`
	// Attempts counts claims that were given back or ran out.
	Attempts int `cbor:"7,keyasint,omitempty"`
	// Token is the newest fencing token. It grows with every claim and is never used again.
	Token uint64 `cbor:"8,keyasint,omitempty"`
	// Holders made the newest claims, the newest last, each once: at most taskHoldersMax.
	Holders   []id.ID `cbor:"9,keyasint,omitempty"`
	CreatedBy id.ID   `cbor:"10,keyasint"`
	// CreatedAt and UpdatedAt are Unix milliseconds.
	CreatedAt int64  `cbor:"11,keyasint"`
	UpdatedAt int64  `cbor:"12,keyasint"`
	Version   uint64 `cbor:"13,keyasint"`
}

func (t *Task) bytes() int {
	size := t.Spec.bytes()
	if t.Result != nil {
		size += len(t.Result.Summary)
	}
	if t.Blocked != nil {
		size += len(t.Blocked.Reason)
	}
	return size
}

// At is the task as it reads at a moment, Unix milliseconds: a claim that has run out is gone, as
// if its end had been noted the moment it ran out.
func (t *Task) At(now int64) *Task {
	if t.Claim == nil || now < t.Claim.ExpiresAt {
		return t
	}
	return t.freed(t.Claim.ExpiresAt)
}

// freed is the task after its claim was given back or ran out.
func (t *Task) freed(at int64) *Task {
	next := *t
	if next.Status == TaskInProgress {
		next.Status = next.Claim.Before
	}
	next.Claim = nil
	next.Attempts++
	next.Version++
	next.UpdatedAt = at
	return &next
}

func byID(a, b *Task) bool { return a.ID.Compare(b.ID) < 0 }

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

// tasks is all tasks of a project. Each unfinished one stands in exactly one of the three orders.
type tasks struct {
	all table[*Task]
	// queue holds the OPEN ones without a claim, claimed those with one, rest the others that are
	// not over.
	queue   table[*Task]
	claimed table[*Task]
	rest    table[*Task]
	// counts is by status as stored.
	counts [len(taskStatusNames)]int
	// changed is for each chunk the revision of the project that last changed a task of it.
	changed []uint64
}

// shared makes the trees common to two states; the newer one copies before it writes.
func (t *tasks) share() {
	t.all.shared, t.queue.shared, t.claimed.shared, t.rest.shared = true, true, true, true
}

// place is the order that a task belongs to, nil for those that are over.
func (t *tasks) place(one *Task) (order *table[*Task], less func(a, b *Task) bool) {
	switch {
	case one.Status.Final():
		return nil, nil
	case one.Claim != nil:
		return &t.claimed, byExpiry
	case one.Status == TaskOpen:
		return &t.queue, byRank
	}
	return &t.rest, byRank
}

// putTask stores a new task, or another version of one.
func (p *Project) putTask(next *Task) {
	t := &p.tasks
	old, stood := t.all.get(next)
	if stood {
		if order, less := t.place(old); order != nil {
			order.remove(old, less)
		}
		t.counts[old.Status]--
		p.texts -= old.bytes()
	}
	t.all.set(next, byID)
	if order, less := t.place(next); order != nil {
		order.set(next, less)
	}
	t.counts[next.Status]++
	p.texts += next.bytes()
	p.noteTaskChanged(next, stood)
}

// noteTaskChanged keeps the revisions of the chunks. IDs rise, so a task never changes its chunk.
func (p *Project) noteTaskChanged(one *Task, stood bool) {
	rank := p.tasks.all.len() - 1
	if stood {
		rank = p.taskRank(one.ID)
	}
	chunk := rank / TaskChunk.Len()
	if chunk < len(p.tasks.changed) {
		p.tasks.changed = slices.Clone(p.tasks.changed)
		p.tasks.changed[chunk] = p.Revision + 1
		return
	}
	p.tasks.changed = append(slices.Clip(p.tasks.changed), p.Revision+1)
}

// taskRank is the place of a task among all, from 0.
func (p *Project) taskRank(wanted id.ID) int {
	low, high := 0, p.tasks.all.len()
	for low < high {
		middle := (low + high) / 2
		if p.tasks.all.at(middle).ID.Compare(wanted) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// task finds a task as it is stored.
func (p *Project) task(wanted id.ID) (*Task, bool) { return p.tasks.all.get(&Task{ID: wanted}) }

// Task finds a task as it reads at a moment, Unix milliseconds.
func (p *Project) Task(wanted id.ID, now int64) (*Task, bool) {
	t, ok := p.task(wanted)
	if !ok {
		return nil, false
	}
	return t.At(now), true
}

// NewestTasks are the last that were made, as they read at a moment, the oldest of them first.
func (p *Project) NewestTasks(count int, now int64) []*Task {
	list := make([]*Task, 0, count)
	p.tasks.all.reverse(func(t *Task) bool {
		if len(list) < count {
			list = append(list, t.At(now))
		}
		return len(list) < count
	})
	slices.Reverse(list)
	return list
}

// TasksTotal is how many tasks there ever were.
func (p *Project) TasksTotal() int { return p.tasks.all.len() }

// Tasks yields the tasks as they read at a moment, the oldest first, behind an ID or from the start
// for the zero ID.
func (p *Project) Tasks(after id.ID, now int64, yield func(*Task) bool) {
	p.tasks.all.from(&Task{ID: after}, func(t *Task) bool {
		return t.ID == after || yield(t.At(now))
	})
}

// over yields the tasks whose claims have run out by a moment, as they are stored.
func (p *Project) over(now int64, yield func(*Task)) {
	p.tasks.claimed.scan(func(t *Task) bool {
		if t.Claim.ExpiresAt > now {
			return false
		}
		yield(t)
		return true
	})
}

// OpenTasks yields those that are OPEN and free at a moment, in the order in which they should be
// taken. Some of them may wait for others, see Unmet.
func (p *Project) OpenTasks(now int64, yield func(*Task) bool) {
	var freed []*Task
	p.over(now, func(t *Task) {
		if read := t.At(now); read.Status == TaskOpen {
			freed = append(freed, read)
		}
	})
	slices.SortFunc(freed, func(a, b *Task) int {
		if byRank(a, b) {
			return -1
		}
		return 1
	})
	goOn := true
	p.tasks.queue.scan(func(t *Task) bool {
		for goOn && len(freed) > 0 && byRank(freed[0], t) {
			goOn, freed = yield(freed[0]), freed[1:]
		}
		goOn = goOn && yield(t)
		return goOn
	})
	for ; goOn && len(freed) > 0; freed = freed[1:] {
		goOn = yield(freed[0])
	}
}

// ClaimedTasks yields those with a live claim at a moment; the claim that runs out first is first.
func (p *Project) ClaimedTasks(now int64, yield func(*Task) bool) {
	p.tasks.claimed.scan(func(t *Task) bool { return t.Claim.ExpiresAt <= now || yield(t) })
}

// StalledTasks yields those that are not over, not OPEN and without a live claim at a moment:
// BLOCKED, IN_REVIEW, or IN_PROGRESS with nobody at it.
func (p *Project) StalledTasks(now int64, yield func(*Task) bool) {
	goOn := true
	p.tasks.claimed.scan(func(t *Task) bool {
		if t.Claim.ExpiresAt > now {
			return false
		}
		if read := t.At(now); read.Status != TaskOpen {
			goOn = yield(read)
		}
		return goOn
	})
	if goOn {
		p.tasks.rest.scan(yield)
	}
}

// TaskCount is the number of tasks that have a status at a moment.
func (p *Project) TaskCount(status TaskStatus, now int64) int {
	if p.summary != nil {
		return p.summary.taskCounts[status]
	}
	count := p.tasks.counts[status]
	p.over(now, func(t *Task) {
		if t.Status == status {
			count--
		}
		if t.At(now).Status == status {
			count++
		}
	})
	return count
}

// ClaimedCount is the number of live claims at a moment.
func (p *Project) ClaimedCount(now int64) int {
	count := p.tasks.claimed.len()
	p.over(now, func(*Task) { count-- })
	return count
}

// NextExpiry is when the first claim runs out that nobody has noted yet, Unix milliseconds; 0
// where there is none.
func (p *Project) NextExpiry() int64 {
	if p.summary != nil {
		return p.summary.nextExpiry
	}
	if p.tasks.claimed.len() == 0 {
		return 0
	}
	return p.tasks.claimed.at(0).Claim.ExpiresAt
}

// Unmet are the dependencies of a task that are not over.
func (p *Project) Unmet(t *Task) []id.ID {
	var unmet []id.ID
	for _, dependency := range t.Spec.Dependencies {
		if other, ok := p.task(dependency); ok && !other.Status.Final() {
			unmet = append(unmet, dependency)
		}
	}
	return unmet
}

// unknownTasks names the places of a list that hold no task of the project.
func (p *Project) unknownTasks(list []id.ID, field string) (faults []fault.Field) {
	for at, wanted := range list {
		if _, ok := p.task(wanted); !ok {
			faults = append(faults, fault.Field{
				Field: indexed(field, at), Problem: "names no task of this project",
			})
		}
	}
	return faults
}
