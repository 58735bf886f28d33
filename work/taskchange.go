package work

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// CreateTask adds a task. A spec without a priority gets the normal one.
type CreateTask struct{ Spec TaskSpec }

// Authorize accepts contributors, and any agent in a community project.
func (c *CreateTask) Authorize(p *Project, agent id.ID) error {
	return MayWork.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, QUOTA_EXCEEDED, and VALIDATION_FAILED for references to tasks
// that the project does not have.
func (c *CreateTask) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	created, texts, err := decideTask(p, &c.Spec, stamp.Agent, stamp.ID(0), "")
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{created}, Blobs: texts,
		Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// decideTask returns the event and the contents of its texts, or QUOTA_EXCEEDED and
// VALIDATION_FAILED; field is the path of the spec in the request.
func decideTask(
	p *Project, spec *TaskSpec, author, candidate id.ID, field string,
) (*TaskCreated, []Blob, error) {
	if err := p.requireQuota(author, quotaTasks, 1); err != nil {
		return nil, nil, err
	}
	if err := p.requireQuota(author, quotaTexts, spec.bytes()); err != nil {
		return nil, nil, err
	}
	faults := p.unknownTasks(spec.Dependencies, field+"dependencies")
	if _, ok := p.task(spec.Parent); !ok && !spec.Parent.IsZero() {
		faults = append(faults, errParent(field, "names no task of this project"))
	}
	if len(faults) > 0 {
		return nil, nil, fault.Invalid(faults...)
	}
	created := &TaskCreated{ID: candidate, Spec: *spec, Guest: p.guest(author)}
	if created.Spec.Priority == 0 {
		created.Spec.Priority = PriorityNormal
	}
	if total := p.tasks().len(); total > 0 {
		created.ID = above(p.tasks().at(total-1).ID, candidate)
	}
	var texts away
	texts.spec(&created.Spec)
	return created, texts.blobs, nil
}

func errParent(field, problem string) fault.Field {
	return fault.Field{Field: field + "parent_task_id", Problem: problem}
}

// TaskCreated is the event of a new task.
type TaskCreated struct {
	ID   id.ID    `cbor:"1,keyasint"`
	Spec TaskSpec `cbor:"2,keyasint"`
	// Guest is the author if it was not a member.
	Guest id.ID `cbor:"3,keyasint,omitzero"`
}

func (e *TaskCreated) apply(p *Project, at Moment) {
	p.putTask(&Task{
		ID: e.ID, Spec: e.Spec, Status: TaskOpen, CreatedBy: at.Agent,
		CreatedAt: at.Now, UpdatedAt: at.Now, Version: 1, SpecGuest: e.Guest,
	})
	p.touch(at, 0, e.ID)
}

// TaskChange is a change of a task. Nil and zero fields stay unchanged.
type TaskChange struct {
	Title          *string     `cbor:"1,keyasint,omitempty"`
	Description    *string     `cbor:"2,keyasint,omitempty"`
	Priority       Priority    `cbor:"3,keyasint,omitempty"`
	Type           *string     `cbor:"4,keyasint,omitempty"`
	Skills         *[]string   `cbor:"5,keyasint,omitempty"`
	Dependencies   *[]id.ID    `cbor:"6,keyasint,omitempty"`
	RelatedFiles   *[]string   `cbor:"7,keyasint,omitempty"`
	ExpectedOutput *string     `cbor:"8,keyasint,omitempty"`
	Conditions     *[]string   `cbor:"9,keyasint,omitempty"`
	Parent         *id.ID      `cbor:"10,keyasint,omitempty"`
	Status         TaskStatus  `cbor:"11,keyasint,omitempty"`
	Blocked        *Blocked    `cbor:"12,keyasint,omitempty"`
	Result         *TaskResult `cbor:"13,keyasint,omitempty"`
	// Away has the long ones of the texts above that are set.
	Away *SpecAway `cbor:"14,keyasint,omitempty"`
}

// on returns the changed task. The caller updates its claim.
func (c *TaskChange) on(t *Task) *Task {
	next := *t
	spec := &next.Spec
	spec.Title = valueOr(c.Title, spec.Title)
	spec.Description = valueOr(c.Description, spec.Description)
	spec.Type = valueOr(c.Type, spec.Type)
	spec.Skills = valueOr(c.Skills, spec.Skills)
	spec.Dependencies = valueOr(c.Dependencies, spec.Dependencies)
	spec.RelatedFiles = valueOr(c.RelatedFiles, spec.RelatedFiles)
	spec.ExpectedOutput = valueOr(c.ExpectedOutput, spec.ExpectedOutput)
	spec.Conditions = valueOr(c.Conditions, spec.Conditions)
	spec.Parent = valueOr(c.Parent, spec.Parent)
	spec.Away = c.awayOn(spec.Away)
	if c.Priority != 0 {
		spec.Priority = c.Priority
	}
	if c.Status != 0 {
		next.Status = c.Status
	}
	if c.Blocked != nil {
		next.Blocked = c.Blocked
	}
	if c.Result != nil {
		next.Result = c.Result
	}
	if next.Status != TaskBlocked {
		next.Blocked = nil
	}
	return &next
}

// sameSpec reports whether two versions of a task have the same spec.
func (t *Task) sameSpec(other *Task) bool {
	a, b := &t.Spec, &other.Spec
	return a.Title == b.Title && a.Description == b.Description && a.Priority == b.Priority &&
		a.Type == b.Type && slices.Equal(a.Skills, b.Skills) &&
		slices.Equal(a.Dependencies, b.Dependencies) &&
		slices.Equal(a.RelatedFiles, b.RelatedFiles) && a.ExpectedOutput == b.ExpectedOutput &&
		slices.Equal(a.Conditions, b.Conditions) && a.Parent == b.Parent && same(a.Away, b.Away)
}

// sameWork reports whether two versions of a task have the same progress: status, blocker and
// result.
func (t *Task) sameWork(other *Task) bool {
	return t.Status == other.Status && same(t.Blocked, other.Blocked) && same(t.Result, other.Result)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// UpdateTask changes a task. It releases the claim of the caller if asked to, and otherwise renews
// it, as RenewClaim does.
type UpdateTask struct {
	Task   id.ID
	Change TaskChange
	// Unblock removes what a task is BLOCKED by. It is valid only if the task gets another
	// status.
	Unblock bool
	// Proof is the claim that the caller believes it holds.
	Proof ClaimProof
	// Release releases the claim AFTER the change.
	Release bool
	// IfMatch is called with the current project and task; nil checks nothing. It returns
	// PRECONDITION_FAILED.
	IfMatch func(p *Project, t *Task) error
	// Field is the path of the change in a larger request, with a trailing dot.
	Field string
}

// Authorize accepts every agent that may see the project; Decide checks the claim.
func (c *UpdateTask) Authorize(p *Project, agent id.ID) error {
	return readableOr(p, agent, errTaskNotFound())
}

// Decide accepts contributors, any agent in a community project, and the holder. A holder that is
// not a member can change only the progress: its DONE becomes IN_REVIEW, and its BLOCKED ends with
// its claim, so that it cannot strand a task. Decide returns
// TASK_NOT_FOUND, CLAIM_LOST, ROLE_REQUIRED, PROJECT_ARCHIVED, PRECONDITION_FAILED,
// TASK_ALREADY_CLAIMED if another agent holds the claim, QUOTA_EXCEEDED, and VALIDATION_FAILED.
func (c *UpdateTask) Decide(p *Project, stamp Stamp) (Decision, error) {
	events, texts, faults := c.validate(p, stamp, c.links(p))
	if len(faults) > 0 {
		return Decision{}, faults[0]
	}
	return Decision{Events: events, Blobs: texts, Result: Result{Subject: c.Task}}, nil
}

func (c *UpdateTask) links(p *Project) *taskLinks {
	links := newTaskLinks(p)
	links.change(c.Task, &c.Change)
	return links
}

// validate returns the events of the change and the contents of its texts, or all its errors:
// missing permissions first, then invalid values. Of several errors with one code, only the first
// is returned.
func (c *UpdateTask) validate(
	p *Project, stamp Stamp, links *taskLinks,
) (events []Event, texts []Blob, faults []error) {
	t, ok := p.task(c.Task)
	if !ok {
		return nil, nil, []error{errTaskNotFound()}
	}
	addFault := func(err error) {
		if err != nil && !slices.ContainsFunc(faults, func(known error) bool {
			return fault.CodeOf(known) == fault.CodeOf(err)
		}) {
			faults = append(faults, err)
		}
	}
	addFault(c.Proof.require(t, stamp.Agent))
	addFault(requireTaskWriter(p, t, stamp.Agent))
	change, texts := c.Change.stored()
	limited, reports := p.limited(t, stamp.Agent), false
	if limited {
		addFault(c.requireProgress())
		change, reports = change.reported()
	}
	addFault(requireActive(p))
	if c.IfMatch != nil {
		addFault(c.IfMatch(p, t))
	}
	next := change.on(t)
	addFault(c.requireStep(p, t, next, stamp.Agent))
	if c.Release && !t.heldBy(stamp.Agent) {
		addFault(errClaimLost(t))
	}
	if invalid := c.faults(p, t, next, links); len(invalid) > 0 {
		addFault(fault.Invalid(invalid...))
	}
	guest := p.guest(stamp.Agent)
	next.signed(t, guest)
	addFault(p.requireTaskTexts(t, next, stamp.Agent))
	if len(faults) > 0 {
		return nil, nil, faults
	}
	updated := &TaskUpdated{
		Task: t.ID, Change: change, Guest: guest,
		EndsClaim: t.Claim != nil && (reports || next.Status.Final() || next.Status == TaskOpen),
		WhileHeld: limited && next.Status == TaskBlocked,
	}
	return c.outcome(t, next, updated, stamp), texts, nil
}

// outcome returns the events of a valid change. A claim of the caller that goes on is renewed, even
// if nothing else changes.
func (c *UpdateTask) outcome(
	t, next *Task, updated *TaskUpdated, stamp Stamp,
) (events []Event) {
	ends := updated.EndsClaim
	renews := t.heldBy(stamp.Agent) && !ends && !c.Release
	if ends || !next.sameWork(t) || !next.sameSpec(t) {
		if next.Status == t.Status {
			updated.Change.Status = 0
		}
		if renews {
			updated.ExpiresAt = renewal(t, stamp).ExpiresAt
		}
		events = append(events, updated)
	} else if renews {
		events = append(events, renewal(t, stamp))
	}
	if c.Release && !ends {
		events = append(events, &TaskReleased{Task: t.ID, Token: t.Token})
	}
	return events
}

// requireStep checks who may make a status change: CLAIM_LOST, TASK_ALREADY_CLAIMED,
// ROLE_REQUIRED. The holder and maintainers may make any. Only they may set DONE or change a
// DONE task, but the agent that finished it may update its result. Contributors may confirm a task
// that an agent that is no member has finished.
func (c *UpdateTask) requireStep(p *Project, t, next *Task, agent id.ID) error {
	if t.heldBy(agent) || p.RoleOf(agent) >= Maintainer {
		return nil
	}
	if next.sameWork(t) && (c.Change.Status != TaskDone || t.lastHeldBy(agent)) {
		return nil
	}
	switch {
	case t.awaitsMember() && next.Status == TaskDone &&
		(c.Change.Result == nil || !t.onceHeldBy(agent)):
		return MayWork.Require(p, agent)
	case (t.Claim != nil || next.Status == TaskDone) && t.onceHeldBy(agent):
		return errClaimLost(t)
	case t.Claim != nil:
		return errTaskClaimed(t)
	case next.Status == TaskDone || t.Status == TaskDone:
		return MayWriteFiles.Require(p, agent)
	}
	return nil
}

// faults returns all values that are invalid in this project.
func (c *UpdateTask) faults(p *Project, t, next *Task, links *taskLinks) (faults []fault.Field) {
	add := func(name, problem string) {
		faults = append(faults, fault.Field{Field: c.Field + name, Problem: problem})
	}
	change := &c.Change
	switch {
	case t.Status.Final() && next.Status != t.Status && next.Status != TaskOpen:
		add("status", "a task that is over can only be opened again")
	case next.Status == TaskBlocked && (next.Blocked == nil || c.Unblock):
		add("blocked", "must say why a task is BLOCKED")
	case change.Blocked != nil && next.Status != TaskBlocked:
		add("blocked", "goes with the status BLOCKED alone")
	case change.Blocked != nil && change.Blocked.Kind == 0:
		add("blocked.kind", "must say what a BLOCKED task waits for")
	}
	faults = append(faults, links.faults(t.ID, change, c.Field)...)
	if change.Result != nil && !change.Result.Changeset.IsZero() {
		if !p.HasChangeset(change.Result.Changeset) {
			add("result.changeset_id", "names no changeset of this project")
		}
	}
	if change.Result != nil && !change.Result.Contribution.IsZero() {
		if _, ok := p.Contribution(change.Result.Contribution); !ok {
			add("result.contribution_id", "names no contribution of this project")
		}
	}
	return faults
}

// requireTaskWriter accepts the holder, contributors, and any agent in a community project. It
// returns CLAIM_LOST to a former holder, else ROLE_REQUIRED.
func requireTaskWriter(p *Project, t *Task, agent id.ID) error {
	err := MayWork.Require(p, agent)
	switch {
	case err == nil || t.heldBy(agent):
		return nil
	case t.onceHeldBy(agent):
		return errClaimLost(t)
	}
	return err
}

// TaskUpdated is the event of a changed task.
type TaskUpdated struct {
	Task id.ID `cbor:"1,keyasint"`
	// Change has a status only if the status changes.
	Change TaskChange `cbor:"2,keyasint"`
	// EndsClaim means that the change finishes or frees the task.
	EndsClaim bool `cbor:"3,keyasint,omitempty"`
	// Guest is the caller if it was not a member, or the agent whose unconfirmed result a block takes
	// back: its texts stay with the task.
	Guest id.ID `cbor:"4,keyasint,omitzero"`
	// ExpiresAt is the new end of the caller's claim in Unix milliseconds, zero if the claim is not
	// renewed.
	ExpiresAt int64 `cbor:"5,keyasint,omitempty"`
	// WhileHeld means that the status BLOCKED, if the change sets it, ends with the claim.
	WhileHeld bool `cbor:"6,keyasint,omitempty"`
}

func (e *TaskUpdated) apply(p *Project, at Moment) {
	t := p.mustTask(e.Task)
	next := e.Change.on(t)
	if e.ExpiresAt != 0 {
		next.Claim = t.Claim.renewed(at.Now, e.ExpiresAt)
	}
	if e.Change.Status != 0 || e.Change.Blocked != nil {
		next.Claim = next.Claim.endingBlock(e.WhileHeld)
	}
	if e.EndsClaim {
		next.Claim = nil
		if next.Status == TaskOpen {
			next.Attempts++
		}
	}
	next.signed(t, e.Guest)
	next.Version++
	next.UpdatedAt = at.Now
	p.putTask(next)
	p.touch(at, 0, e.Task)
}

// mustTask returns the task of an event. It panics if there is none: then the event belongs to
// another project.
func (p *Project) mustTask(wanted id.ID) *Task {
	t, ok := p.task(wanted)
	if !ok {
		panic(fmt.Sprintf("no task %s", wanted.Format(id.Task)))
	}
	return t
}

func errTaskNotFound() error {
	return fault.New(fault.TaskNotFound, "There is no such task.")
}
