package work

import (
	"slices"

	"pws/internal/id"
)

// TaskStatus is the status of a task.
type TaskStatus uint8

// The statuses of a task. A task that is TaskDone or TaskCancelled is finished until it is
// opened again.
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

// Final reports whether a task of this status is finished.
func (s TaskStatus) Final() bool { return s >= TaskDone }

// ParseTaskStatus reads the name on the wire; zero is no status.
func ParseTaskStatus(name string) TaskStatus {
	return TaskStatus(max(0, slices.Index(taskStatusNames[:], name)))
}

// Priority says how urgent a task is; a higher one comes first.
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

// BlockedKind is the kind of event that a blocked task waits for.
type BlockedKind uint8

// The kinds of blockers.
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

// Blocked says why a task with the status BLOCKED cannot continue.
type Blocked struct {
	Kind   BlockedKind `cbor:"1,keyasint"`
	Reason string      `cbor:"2,keyasint,omitempty"`
	// Away has the reason if it is long; Reason is then its beginning.
	Away Away `cbor:"3,keyasint,omitzero"`
}

// TaskResult is the outcome of a task; its IDs are zero if there are none.
type TaskResult struct {
	Summary      string `cbor:"1,keyasint,omitempty"`
	Changeset    id.ID  `cbor:"2,keyasint,omitzero"`
	Contribution id.ID  `cbor:"3,keyasint,omitzero"`
	// Away has the summary if it is long; Summary is then empty.
	Away Away `cbor:"4,keyasint,omitzero"`
}

// taskHoldersMax is the number of former holders that get CLAIM_LOST even without naming their
// claim.
const taskHoldersMax = 16

// TaskSpec describes the requested work.
type TaskSpec struct {
	Title       string   `cbor:"1,keyasint"`
	Description string   `cbor:"2,keyasint,omitempty"`
	Priority    Priority `cbor:"3,keyasint"`
	Type        string   `cbor:"4,keyasint,omitempty"`
	Skills      []string `cbor:"5,keyasint,omitempty"`
	// Dependencies are tasks of the project that must be finished before this one can be
	// claimed.
	Dependencies   []id.ID  `cbor:"6,keyasint,omitempty"`
	RelatedFiles   []string `cbor:"7,keyasint,omitempty"`
	ExpectedOutput string   `cbor:"8,keyasint,omitempty"`
	Conditions     []string `cbor:"9,keyasint,omitempty"`
	// Parent is zero if the task is not part of another.
	Parent id.ID `cbor:"10,keyasint,omitzero"`
	// Away has the long texts, nil if all are here. See Task.WithTexts.
	Away *SpecAway `cbor:"11,keyasint,omitempty"`
}

// bytes is the size of the texts, with those that are stored away.
func (s *TaskSpec) bytes() int {
	size := len(s.Title) + len(s.Description) + len(s.Type) + len(s.ExpectedOutput) +
		textBytes(s.Skills) + textBytes(s.RelatedFiles) + textBytes(s.Conditions) +
		len(s.Dependencies)*len(id.ID{})
	for _, one := range s.Away.all() {
		size += one.bytes()
	}
	return size
}

// Task is one version of a task. The tasks of a published project are immutable.
type Task struct {
	ID id.ID `cbor:"1,keyasint"`
	// Spec describes the requested work.
	Spec   TaskSpec   `cbor:"2,keyasint"`
	Status TaskStatus `cbor:"3,keyasint"`
	// Blocked is nil unless the status is BLOCKED; Result is nil until an agent reports one.
	Blocked *Blocked    `cbor:"4,keyasint,omitempty"`
	Result  *TaskResult `cbor:"5,keyasint,omitempty"`
	// Claim is the last claim that was not ended explicitly; it may have expired, see At.
	Claim *Claim `cbor:"6,keyasint,omitempty"`
	// Attempts counts claims that were released or expired.
	Attempts int `cbor:"7,keyasint,omitempty"`
	// Token is the newest fencing token. It grows with every claim and is never used again.
	Token uint64 `cbor:"8,keyasint,omitempty"`
	// Holders are the agents that made the newest claims, the newest last, each once: at most
	// taskHoldersMax.
	Holders   []id.ID `cbor:"9,keyasint,omitempty"`
	CreatedBy id.ID   `cbor:"10,keyasint"`
	// CreatedAt and UpdatedAt are Unix milliseconds.
	CreatedAt int64  `cbor:"11,keyasint"`
	UpdatedAt int64  `cbor:"12,keyasint"`
	Version   uint64 `cbor:"13,keyasint"`
	// SpecGuest last wrote the spec, and WorkGuest the progress: status, blocker and result. Each
	// is zero if that agent was a member at the time.
	SpecGuest id.ID `cbor:"14,keyasint,omitzero"`
	WorkGuest id.ID `cbor:"15,keyasint,omitzero"`

	// waitsFor has the positions of the dependencies in the project, nowhere for an unknown one. It
	// is not saved, but computed when the task is stored or restored.
	waitsFor []uint32
}

// Bytes is the size of the texts, with those that are stored away.
func (t *Task) Bytes() int { return t.Spec.bytes() + t.workBytes() }

// workBytes returns the size of the texts about the progress.
func (t *Task) workBytes() (size int) {
	if t.Result != nil {
		size += len(t.Result.Summary) + t.Result.Away.bytes()
	}
	if t.Blocked != nil {
		size += len(t.Blocked.Reason) + t.Blocked.Away.bytes()
	}
	return size
}

// At returns the task at a moment in Unix milliseconds. An expired claim is removed, as if its end
// had been recorded at once.
func (t *Task) At(now int64) *Task {
	if t.Claim == nil || now < t.Claim.ExpiresAt {
		return t
	}
	return t.freed(t.Claim.ExpiresAt)
}

// freed returns the task after its claim was released or expired.
func (t *Task) freed(at int64) *Task {
	next := t.Unclaimed()
	next.Attempts++
	next.Version++
	next.UpdatedAt = at
	return next
}

// Unclaimed returns a copy of the task without its claim. IN_PROGRESS, and a BLOCKED that ends with
// the claim, become the status from before the claim. The attempts and the result stay.
func (t *Task) Unclaimed() *Task {
	next := *t
	if claim := t.Claim; claim != nil &&
		(t.Status == TaskInProgress || t.Status == TaskBlocked && claim.EndsBlock) {
		next.Status, next.Blocked = claim.Before, nil
	}
	next.Claim = nil
	return &next
}

// AsStored is a time before the expiry of every claim. A task as of this time is the stored one,
// with its claim even if that has expired.
const AsStored = -1 << 63

// Task finds a task as of a time in Unix milliseconds.
func (p *Project) Task(wanted id.ID, now int64) (*Task, bool) {
	t, ok := p.task(wanted)
	if !ok {
		return nil, false
	}
	return t.At(now), true
}

// NewestTasks returns the newest tasks as of a time, the oldest of them first.
func (p *Project) NewestTasks(count int, now int64) []*Task {
	all := p.tasks()
	list := make([]*Task, 0, min(count, all.len()))
	for nth := max(0, all.len()-count); nth < all.len(); nth++ {
		list = append(list, all.at(nth).At(now))
	}
	return list
}

// TasksTotal returns the number of tasks that were ever created.
func (p *Project) TasksTotal() int { return p.tasks().len() }

// Tasks yields the tasks as of a time, the oldest first, after an ID. A zero ID yields all of
// them.
func (p *Project) Tasks(after id.ID, now int64, yield func(*Task) bool) {
	all := p.tasks()
	nth, found := all.find(after)
	if found {
		nth++
	}
	for nth < all.len() && yield(all.at(nth).At(now)) {
		nth++
	}
}

// TasksBefore yields the tasks as of a time, the newest first, before an ID. A zero ID yields all
// of them.
func (p *Project) TasksBefore(before id.ID, now int64, yield func(*Task) bool) {
	all := p.tasks()
	nth := all.len()
	if !before.IsZero() {
		nth, _ = all.find(before)
	}
	for nth > 0 && yield(all.at(nth-1).At(now)) {
		nth--
	}
}

// over yields the tasks whose claims have expired by a time, as stored.
func (p *Project) over(now int64, yield func(*Task)) {
	p.tasks().claimed.scan(func(t *Task) bool {
		if t.Claim.ExpiresAt > now {
			return false
		}
		yield(t)
		return true
	})
}

// OpenTasks yields the tasks that are OPEN and unclaimed at a time, in the order in which they
// should be claimed. Some of them may have unfinished dependencies, see Unmet.
func (p *Project) OpenTasks(now int64, yield func(*Task) bool) {
	p.withFreed(&p.tasks().open, now, func(t *Task) bool { return t.Status == TaskOpen }, yield)
}

// StalledTasks yields the unfinished tasks that are not OPEN and have no live claim at a time:
// BLOCKED, IN_REVIEW, or IN_PROGRESS without a holder. The order is that of OpenTasks.
func (p *Project) StalledTasks(now int64, yield func(*Task) bool) {
	p.withFreed(&p.tasks().rest, now, func(t *Task) bool { return t.Status != TaskOpen }, yield)
}

// withFreed yields a queue by rank, merged with the tasks that belong to it because their claims
// expired.
func (p *Project) withFreed(
	order *treeSet[*Task], now int64, belongs func(*Task) bool, yield func(*Task) bool,
) {
	var freed []*Task
	p.over(now, func(t *Task) {
		if read := t.At(now); belongs(read) {
			freed = append(freed, read)
		}
	})
	slices.SortFunc(freed, func(a, b *Task) int {
		if byRank.Less(a, b) {
			return -1
		}
		return 1
	})
	goOn := true
	order.scan(func(t *Task) bool {
		for goOn && len(freed) > 0 && byRank.Less(freed[0], t) {
			goOn, freed = yield(freed[0]), freed[1:]
		}
		goOn = goOn && yield(t)
		return goOn
	})
	for ; goOn && len(freed) > 0; freed = freed[1:] {
		goOn = yield(freed[0])
	}
}

// ClaimedTasks yields the tasks with a live claim at a time, in the order of expiry.
func (p *Project) ClaimedTasks(now int64, yield func(*Task) bool) {
	p.tasks().claimed.scan(func(t *Task) bool { return t.Claim.ExpiresAt <= now || yield(t) })
}

// TaskCount returns the number of tasks with a status at a time.
func (p *Project) TaskCount(status TaskStatus, now int64) int {
	count := p.tasks().counts[status]
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

// ClaimedCount returns the number of live claims at a time.
func (p *Project) ClaimedCount(now int64) int {
	count := p.tasks().claimed.len()
	p.over(now, func(*Task) { count-- })
	return count
}

// NextExpiry returns when the first recorded claim expires, in Unix milliseconds; 0 without claims.
func (p *Project) NextExpiry() int64 {
	if p.tasks().claimed.len() == 0 {
		return 0
	}
	return p.tasks().claimed.at(0).Claim.ExpiresAt
}

// Unmet returns the dependencies of a stored task that are not finished.
func (p *Project) Unmet(t *Task) []id.ID {
	var unmet []id.ID
	for i := range t.waitsFor {
		if p.waitsAt(t, i) {
			unmet = append(unmet, t.Spec.Dependencies[i])
		}
	}
	return unmet
}

// Waits reports whether a stored task has dependencies that are not finished.
func (p *Project) Waits(t *Task) bool {
	for i := range t.waitsFor {
		if p.waitsAt(t, i) {
			return true
		}
	}
	return false
}

// waitsAt reports whether the nth dependency of a task is not finished.
func (p *Project) waitsAt(t *Task, nth int) bool {
	place := t.waitsFor[nth]
	return place != nowhere && !p.tasks().at(int(place)).Status.Final()
}
