package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Checkpoint is the record of a checkpoint.
type Checkpoint struct {
	// The checkpoint's ID.
	ID string `json:"id" check:"id=ckp_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that created it.
	Author AgentRef `json:"author"`
	// The changeset of its files; null if no file changed.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The version of the state after it.
	StateVersion uint64 `json:"state_version"`
	// The handoff that it created; null if none.
	HandoffID *string `json:"handoff_id" check:"id=hnd_"`
	// Tasks that it changed, then tasks that it created.
	TaskIDs []string `json:"task_ids" each:"id=tsk_"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
}

// CheckpointData is the data of checkpoint.create.
type CheckpointData struct {
	// The checkpoint.
	Checkpoint Checkpoint `json:"checkpoint"`
	// The published changeset; null if no file changed.
	Changeset *Changeset `json:"changeset"`
	// The state after it.
	State State `json:"state"`
	// The members of the state that had values and are not in state; empty without state.
	StateDropped []string `json:"state_dropped"`
	// The handoff that it created; null if none.
	Handoff *Handoff `json:"handoff"`
	// Tasks that it changed, then tasks that it created.
	Tasks []Task `json:"tasks"`
}

// CreateCheckpoint is the body of checkpoint.create.
type CreateCheckpoint struct {
	// Summary of what was achieved.
	Summary string `json:"summary" check:"required,chars=1..4000,text"`
	// The current head; required with files.
	BaseChangesetID string `json:"base_changeset_id"`
	// Files to write, edit, rename or delete.
	Files []CheckpointFile `json:"files" check:"items=0..100"`
	// Replaces the state, as state.update does.
	State *UpdateState `json:"state"`
	// Changes some members of the state instead: absent members stay unchanged, null clears.
	StatePatch *StatePatch `json:"state_patch"`
	// How the changeset is recorded in the history.
	History *CheckpointHistory `json:"history"`
	// Creates a handoff, as handoff.create does.
	Handoff *CheckpointHandoff `json:"handoff"`
	// Tasks to change, by task_id, or to create, with title and other fields in create.
	Tasks []CheckpointTask `json:"tasks" check:"items=0..100"`
	// Whether to end the caller's work session.
	EndWorkSession bool `json:"end_work_session"`
}

// CheckpointHistory is the position of a checkpoint in the history.
type CheckpointHistory struct {
	// Message of the changeset; the summary of the checkpoint if absent.
	Message string `json:"message" check:"chars=0..4000,text"`
}

// CheckpointHandoff is the handoff of a checkpoint.
type CheckpointHandoff struct {
	// Summary; that of the checkpoint if absent.
	Summary string `json:"summary" check:"chars=1..4000,text"`
	HandoffLists
}

// CheckpointTask is a task of a checkpoint: one to change, by task_id, or one to create.
type CheckpointTask struct {
	// The task to change.
	TaskID string `json:"task_id" check:"id=tsk_"`
	// A task to create; not allowed together with other fields.
	Create *TaskInput `json:"create"`
	// Releases the caller's claim.
	Release bool `json:"release"`
	TaskUpdate
}

const (
	checkpointFilesMax = work.OperationsMax
	checkpointTasksMax = 100
)

var checkpointOperations = []*Operation{
	declare[CreateCheckpoint, CheckpointData](Operation{
		Name: "checkpoint.create", Method: "POST", Path: "/api/v1/projects/{project}/checkpoint",
		Tool: "project.checkpoint", Core: true, Overwrites: true,
		ToolBriefs: []string{"state", "handoff"},
		ToolDoc: "Save your work atomically, often and before you may stop: files, state " +
			"(state_patch changes some members, state replaces all), handoff and tasks. If " +
			"several parts are refused, details.faults has the fault of each.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.InvalidPath, fault.FileTooLarge, fault.UnsupportedContentType,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
			fault.ChangesetNotFound, fault.ProjectMoved, fault.FileNotFound, fault.PathConflict,
			fault.FileLimitReached, fault.StateConflict, fault.TaskNotFound, fault.ClaimLost,
			fault.TaskAlreadyClaimed, fault.QuotaExceeded, fault.TurnHeld, fault.FileExists,
			fault.FileChanged, fault.EditNotFound, fault.EditAmbiguous, fault.BlobCorrupt,
			fault.ContentRemoved,
		},
		Tag: "checkpoint", Summary: "Create a checkpoint",
		Doc: "Saves files, state, handoff and tasks atomically. Changing a task renews the " +
			"caller's claim of it. If several parts are refused, details.faults has the fault of " +
			"each.",
	}, createCheckpoint),
}

// Validate implements jsonschema.Validator.
func (b *CreateCheckpoint) Validate(known []fault.Field) error {
	faults := b.faults(known)
	return faults.err()
}

// faults validates all parts beyond the checks of the types, and adds the errors to those
// already found.
func (b *CreateCheckpoint) faults(known []fault.Field) *fileFaults {
	faults := &fileFaults{}
	b.validateFiles(faults)
	b.validateTasks(faults, known)
	if len(b.Files) > 0 && b.BaseChangesetID == "" {
		faults.add("base_changeset_id", "is required with files")
	}
	if b.State != nil && b.StatePatch != nil {
		faults.add("state_patch", "is not allowed together with state")
	}
	faults.addKnown(known)
	return faults
}

func (b *CreateCheckpoint) validateTasks(faults *fileFaults, known []fault.Field) {
	seen := map[string]bool{}
	for i := range b.Tasks[:min(len(b.Tasks), checkpointTasksMax)] {
		task, where := &b.Tasks[i], fmt.Sprintf("tasks[%d]", i)
		switch {
		case task.Create == nil && task.TaskID == "":
			if !fault.Within(known, where) {
				faults.add(where, "must have either task_id or create")
			}
		case (task.Create != nil || fault.Within(known, where+".create")) &&
			(!task.createAlone() || fault.Within(known, where+".task_id")):
			faults.add(where+".create", "is not allowed together with task_id or changes of a "+
				"task")
		case task.TaskID != "" && seen[task.TaskID]:
			faults.add(where+".task_id", "is duplicated")
		}
		seen[task.TaskID] = true
		for _, one := range task.Problems() {
			faults.add(where+"."+one.Field, one.Problem)
		}
	}
}

// createAlone reports whether no member that changes a task is present. Null counts as absent.
func (t *CheckpointTask) createAlone() bool {
	update := t.TaskUpdate
	if update.ParentTaskID.Cleared() {
		update.ParentTaskID.Sent = false
	}
	if update.Blocked.Cleared() {
		update.Blocked.Sent = false
	}
	return t.TaskID == "" && !t.Release && update == TaskUpdate{}
}

// command returns the command for a valid body.
func (b *CreateCheckpoint) command() *work.CreateCheckpoint {
	command := &work.CreateCheckpoint{
		Summary: b.Summary, Message: b.Summary, EndSession: b.EndWorkSession,
		Files: make([]work.CheckpointFile, len(b.Files)),
		Tasks: make([]work.CheckpointTask, len(b.Tasks)),
	}
	if b.BaseChangesetID != "" {
		// An invalid ID names no changeset, like the zero ID.
		base := parsed(id.Changeset, b.BaseChangesetID)
		command.Base = &base
	}
	if b.History != nil && b.History.Message != "" {
		command.Message = b.History.Message
	}
	for i := range b.Files {
		command.Files[i] = b.Files[i].command()
	}
	if b.State != nil {
		state := b.State.command()
		command.State = &state
	}
	if b.StatePatch != nil {
		state := b.StatePatch.command("state_patch.")
		command.State = &state
	}
	if b.Handoff != nil {
		said := b.Handoff.continuation(b.Handoff.Summary)
		if said.Summary == "" {
			said.Summary = b.Summary
		}
		command.Handoff = &said
	}
	for i := range b.Tasks {
		command.Tasks[i] = b.Tasks[i].command(fmt.Sprintf("tasks[%d].", i))
	}
	return command
}

func (t *CheckpointTask) command(field string) work.CheckpointTask {
	if t.Create != nil {
		spec := t.Create.spec()
		return work.CheckpointTask{Create: &spec}
	}
	update := t.TaskUpdate.command(parsed(id.Task, t.TaskID), field)
	update.Release = t.Release
	return work.CheckpointTask{Update: update}
}

func createCheckpoint(c *Call, body *CreateCheckpoint) (Reply, error) {
	if err := body.faults(nil).err(); err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := body.command()
	send := func(command *work.CreateCheckpoint) (Reply, error) {
		reply, err := c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
			return Reply{Status: 201, Data: c.checkpoint(p, r, command)}, nil
		})
		return reply, c.holderFault(err)
	}
	if !command.Edits() {
		return send(command)
	}
	return c.edited(project, c.mayWriteFiles,
		func(view *work.Project, editor *work.Editor) (Reply, error) {
			if view == nil {
				return send(command)
			}
			return send(command.EditFiles(view, editor))
		})
}

// checkpoint returns the wire form of the newest checkpoint with all its changes.
func (c *Call) checkpoint(
	p *work.Project, result work.Result, command *work.CreateCheckpoint,
) CheckpointData {
	made := p.LatestCheckpoint()
	data := CheckpointData{
		Checkpoint: Checkpoint{
			ID: made.ID.Format(id.Checkpoint), ProjectID: p.ID.Format(id.Project),
			Author:      c.agentRef(made.Author),
			ChangesetID: idOrNil(id.Changeset, result.Changeset), StateVersion: p.State().Version,
			TaskIDs: []string{}, CreatedAt: Time(made.CreatedAt),
		},
		State: c.state(p), StateDropped: []string{}, Tasks: []Task{},
	}
	if command.State != nil && command.State.Patch == nil {
		data.StateDropped = dropped(p.State())
	}
	if changeset, ok := p.Changeset(result.Changeset); ok {
		published := c.changeset(p, changeset)
		data.Changeset = &published
	}
	if command.Handoff != nil {
		left := c.writtenHandoff(p, p.LatestHandoff())
		data.Handoff, data.Checkpoint.HandoffID = &left, &left.ID
	}
	created := 0
	for i := range command.Tasks {
		if command.Tasks[i].Create != nil {
			created++
		} else if t, ok := p.Task(command.Tasks[i].Update.Task, c.Now); ok {
			data.Tasks = append(data.Tasks, c.task(p, t))
		}
	}
	for _, t := range p.NewestTasks(created, c.Now) {
		data.Tasks = append(data.Tasks, c.task(p, t))
	}
	for i := range data.Tasks {
		data.Checkpoint.TaskIDs = append(data.Checkpoint.TaskIDs, data.Tasks[i].ID)
	}
	return data
}
