package work

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Checkpoint is the newest checkpoint of a project.
type Checkpoint struct {
	ID      id.ID  `cbor:"1,keyasint"`
	Author  id.ID  `cbor:"2,keyasint"`
	Summary string `cbor:"3,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"4,keyasint"`
}

// LatestCheckpoint returns the newest checkpoint, nil if there is none.
func (p *Project) LatestCheckpoint() *Checkpoint { return p.saved.Checkpoint }

// CheckpointFile is a file to write, or to delete if Content is nil.
type CheckpointFile struct {
	Path    string
	Content *Blob
	// ContentType is empty for that of the file, or of the path of a new one.
	ContentType string
	// Operation replaces the other fields.
	Operation *Operation
}

// CheckpointTask is a task to change or, with Create, a task to create.
type CheckpointTask struct {
	Update UpdateTask
	Create *TaskSpec
}

// CreateCheckpoint stores files, state, handoff and tasks together: all of them or none.
type CreateCheckpoint struct {
	Summary string
	// Base is the head that the caller has read. It is required with Files, and checked if
	// given.
	Base  *id.ID
	Files []CheckpointFile
	// Message is the message of the changeset.
	Message string
	// State is nil to keep the state unchanged.
	State *UpdateState
	// Handoff is nil to create no handoff.
	Handoff *Continuation
	Tasks   []CheckpointTask
	// EndSession ends the caller's work session.
	EndSession bool
}

// Edits reports whether a file of the checkpoint is edited.
func (c *CreateCheckpoint) Edits() bool {
	return slices.ContainsFunc(c.Files, func(file CheckpointFile) bool {
		return file.Operation != nil && len(file.Operation.Edits) > 0
	})
}

// EditFiles returns the command with the results of the edits of its files on the live files.
func (c CreateCheckpoint) EditFiles(p *Project, editor *Editor) *CreateCheckpoint {
	files := make([]CheckpointFile, len(c.Files))
	for i := range c.Files {
		files[i] = c.Files[i]
		if one := files[i].Operation; one != nil {
			edited := *one
			edited.Edited = p.editOf(one, editor)
			files[i].Operation = &edited
		}
	}
	c.Files = files
	return &c
}

// Authorize accepts agents that may see the project, and that have the role for files, the state
// and new tasks if there are any. Decide checks what a claim permits, because a repeat of the
// request comes AFTER the claim may have ended.
func (c *CreateCheckpoint) Authorize(p *Project, agent id.ID) error {
	if err := MayRead.Require(p, agent); err != nil {
		return err
	}
	if len(c.Files) > 0 {
		if err := MayWriteFiles.Require(p, agent); err != nil {
			return err
		}
	}
	if c.needsRole() {
		return MayWork.Require(p, agent)
	}
	return nil
}

// needsRole reports whether there are parts that no claim permits, beside files.
func (c *CreateCheckpoint) needsRole() bool {
	return c.State != nil || slices.ContainsFunc(c.Tasks, func(t CheckpointTask) bool {
		return t.Create != nil
	})
}

// requireClaim checks the permission for parts that a claim permits: ROLE_REQUIRED, and CLAIM_LOST
// if the permission came from a claim.
func (c *CreateCheckpoint) requireClaim(p *Project, agent id.ID) error {
	if c.needsRole() {
		return nil
	}
	err := MayHandOff.Require(p, agent)
	for i := range c.Tasks {
		update := &c.Tasks[i].Update
		if t, ok := p.task(update.Task); ok && err != nil &&
			(t.onceHeldBy(agent) || update.Proof.require(t, agent) != nil) {
			return errClaimLost(t)
		}
	}
	return err
}

// Decide validates all parts and returns all errors: ROLE_REQUIRED, CLAIM_LOST and
// PROJECT_ARCHIVED at once, else TURN_HELD, VALIDATION_FAILED without a base, PROJECT_MOVED,
// CHANGESET_NOT_FOUND, STATE_CONFLICT, and the errors of file operations, handoffs and tasks. If
// there are several, the details list each of them in faults. An error that is Stale means that
// edits were applied to another content.
func (c *CreateCheckpoint) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := c.requireClaim(p, stamp.Agent); err != nil {
		return Decision{}, err
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	build := checkpointBuild{
		command: c, project: p, stamp: stamp, scratch: p.Clone(),
		decision: Decision{Result: Result{Created: true, Subject: stamp.ID(1)}},
	}
	if len(c.Files) > 0 {
		if err := p.requireNoTurnOfOthers(stamp); err != nil {
			build.addFault(err)
		}
	}
	build.files()
	build.state()
	build.tasks()
	build.handoff()
	if err := fault.Several(build.faults); err != nil {
		return Decision{}, err
	}
	build.add(&CheckpointCreated{ID: stamp.ID(1), Summary: c.Summary})
	if c.EndSession {
		build.add(&WorkSessionEnded{ID: p.sessionOf(stamp), Summary: c.Summary, Handoff: build.left})
	}
	return build.decision, nil
}

// checkpointBuild assembles a checkpoint, part by part. An invalid part adds its error, and the
// other parts are still validated.
type checkpointBuild struct {
	command  *CreateCheckpoint
	project  *Project
	stamp    Stamp
	decision Decision
	// scratch is a private copy of the project with the tasks validated so far, for the tasks
	// that follow.
	scratch *Project
	left    id.ID
	faults  []error
}

func (b *checkpointBuild) add(events ...Event) {
	b.decision.Events = append(b.decision.Events, events...)
}

func (b *checkpointBuild) addFault(err error) { b.faults = append(b.faults, err) }

func (b *checkpointBuild) files() {
	c, p := b.command, b.project
	if c.Base != nil {
		if err := p.requireBase(*c.Base); err != nil {
			b.addFault(err)
		}
	} else if len(c.Files) > 0 {
		b.addFault(fault.Invalid(fault.Field{
			Field: "base_changeset_id", Problem: "is required with files",
		}))
	}
	operations := make([]Operation, len(c.Files))
	for i := range c.Files {
		operations[i] = c.Files[i].operation()
	}
	published, blobs, faults := validateOperations(p, operations, func(nth int) string {
		return indexed("files", nth)
	})
	if b.faults = append(b.faults, faults...); len(faults) > 0 {
		return
	}
	b.decision.Again = notBrought(operations, blobs)
	if len(published.Ops) == 0 {
		return
	}
	published.ID = p.nextChangesetID(b.stamp.ID(0))
	published.Message = c.Message
	published.Source, published.SourceID = SourceCheckpoint, b.stamp.ID(1)
	b.add(published)
	b.decision.Blobs = blobs
	b.decision.Result.Changeset = published.ID
}

// notBrought are the contents of operations that are there as requested: no changeset brings them.
func notBrought(operations []Operation, brought []Blob) (again []Blob) {
	named := make(map[Hash]bool, len(brought))
	for i := range brought {
		named[brought[i].Hash] = true
	}
	for i := range operations {
		if o := &operations[i]; o.Write && o.Content != nil && !named[o.Content.Hash] {
			again = append(again, *o.Content)
		}
	}
	return again
}

// operation returns the operation for a file.
func (f *CheckpointFile) operation() Operation {
	switch {
	case f.Operation != nil:
		return *f.Operation
	case f.Content == nil:
		return Operation{Action: Delete, Path: f.Path}
	}
	return Operation{
		Write: true, Path: f.Path, Content: f.Content, ContentType: f.ContentType,
	}
}

func (b *checkpointBuild) state() {
	if b.command.State == nil {
		return
	}
	decision, err := b.command.State.Decide(b.project, b.stamp)
	if err != nil {
		b.addFault(err)
		return
	}
	for _, event := range decision.Events {
		if updated, ok := event.(*StateUpdated); ok && !b.decision.Result.Changeset.IsZero() {
			updated.Changeset = b.decision.Result.Changeset
		}
	}
	b.add(decision.Events...)
}

// tasks validates the tasks in order. Links are checked against the result of all of them.
func (b *checkpointBuild) tasks() {
	moment := Moment{Now: b.stamp.Now, Agent: b.stamp.Agent}
	links := newTaskLinks(b.project)
	for i := range b.command.Tasks {
		update := &b.command.Tasks[i].Update
		links.change(update.Task, &update.Change)
	}
	for i := range b.command.Tasks {
		events, texts, faults := b.task(i, links)
		if len(faults) > 0 {
			b.faults = append(b.faults, faults...)
			continue
		}
		b.decision.Blobs = append(b.decision.Blobs, texts...)
		for _, event := range events {
			b.scratch.Apply(event, moment)
		}
		b.add(events...)
	}
}

// taskNumber is the number of the first new task's ID among the IDs of a stamp.
const taskNumber = 3

func (b *checkpointBuild) task(at int, links *taskLinks) ([]Event, []Blob, []error) {
	task := &b.command.Tasks[at]
	if task.Create == nil {
		events, texts, faults := task.Update.validate(b.scratch, b.stamp, links)
		for _, err := range faults {
			if refusal, ok := err.(*fault.Error); ok {
				refusal.With("task_id", task.Update.Task.Format(id.Task))
			}
		}
		return events, texts, faults
	}
	field := fmt.Sprintf("tasks[%d].create.", at)
	created, texts, err := decideTask(b.scratch, task.Create, b.stamp.Agent,
		b.stamp.ID(uint16(taskNumber+at)), field)
	if err != nil {
		return nil, nil, []error{err}
	}
	return []Event{created}, texts, nil
}

// handoff is validated AFTER the tasks, because it may name tasks of the same checkpoint.
func (b *checkpointBuild) handoff() {
	if b.command.Handoff == nil {
		return
	}
	published, _ := b.published()
	created, err := decideHandoff(
		b.scratch, b.command.Handoff, b.stamp, 2, "handoff.", published)
	if err != nil {
		b.addFault(err)
		return
	}
	b.left = created.ID
	b.decision.Blobs = append(b.decision.Blobs, created.putAway()...)
	b.add(created)
}

func (b *checkpointBuild) published() (*ChangesetPublished, bool) {
	if len(b.decision.Events) == 0 {
		return nil, false
	}
	published, ok := b.decision.Events[0].(*ChangesetPublished)
	return published, ok
}

// withPaths adds the paths of a changeset that are missing in the list, as changedSince does.
func withPaths(paths []string, published *ChangesetPublished) []string {
	seen := make(map[string]bool, len(paths))
	for _, path := range paths {
		seen[path] = true
	}
	for i := range published.Ops {
		for _, path := range [...]string{published.Ops[i].From, published.Ops[i].Path} {
			if path != "" && !seen[path] && len(paths) < ChangedPathsMax {
				paths, seen[path] = append(paths, path), true
			}
		}
	}
	return paths
}

// CheckpointCreated is the event that completes a checkpoint.
type CheckpointCreated struct {
	ID      id.ID  `cbor:"1,keyasint"`
	Summary string `cbor:"2,keyasint,omitempty"`
}

func (e *CheckpointCreated) apply(p *Project, at Moment) {
	p.saved.Checkpoint = &Checkpoint{
		ID: e.ID, Author: at.Agent, Summary: e.Summary, CreatedAt: at.Now,
	}
	p.summarize(at.Agent, e.Summary)
}
