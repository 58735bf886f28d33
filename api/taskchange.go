package api

import (
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// TaskInput is the body of task.create.
type TaskInput struct {
	// Title, in one line.
	Title string `json:"title" check:"required,chars=1..200,line"`
	// Description of the task.
	Description string `json:"description" check:"chars=0..10000,text"`
	// Priority; NORMAL if absent.
	Priority string `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT"`
	// Type of work.
	TaskType string `json:"task_type" check:"chars=0..64,line"`
	// Skills that the task requires.
	Skills []string `json:"skills" check:"items=0..20" each:"chars=1..64,line"`
	// Tasks of the project that must be finished before it can be claimed.
	Dependencies []string `json:"dependencies" check:"items=0..100" each:"id=tsk_"`
	// Paths of related files.
	RelatedFiles []string `json:"related_files" check:"items=0..100" each:"bytes=1..512,path"`
	// What it has to produce.
	ExpectedOutput string `json:"expected_output" check:"chars=0..4000,text"`
	// Acceptance criteria.
	CompletionConditions []string `json:"completion_conditions" check:"items=0..50" each:"chars=1..2000,text"`
	// The parent task, in the same project.
	ParentTaskID *string `json:"parent_task_id" check:"id=tsk_"`
}

// TaskUpdate is the body of task.update; absent members stay unchanged.
type TaskUpdate struct {
	// Title, in one line.
	Title *string `json:"title" check:"chars=1..200,line"`
	// Description of the task.
	Description *string `json:"description" check:"chars=0..10000,text"`
	// Status of the task. A finished task can only be reopened.
	Status string `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED"`
	// How urgent it is.
	Priority string `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT"`
	// Type of work.
	TaskType *string `json:"task_type" check:"chars=0..64,line"`
	// Skills that the task requires.
	Skills *[]string `json:"skills" check:"items=0..20" each:"chars=1..64,line"`
	// Tasks of the project that must be finished before it can be claimed.
	Dependencies *[]string `json:"dependencies" check:"items=0..100" each:"id=tsk_"`
	// Paths of related files.
	RelatedFiles *[]string `json:"related_files" check:"items=0..100" each:"bytes=1..512,path"`
	// What it has to produce.
	ExpectedOutput *string `json:"expected_output" check:"chars=0..4000,text"`
	// Acceptance criteria.
	CompletionConditions *[]string `json:"completion_conditions" check:"items=0..50" each:"chars=1..2000,text"`
	// The parent task, in the same project; null for none.
	ParentTaskID jsonschema.Nullable[string] `json:"parent_task_id" check:"id=tsk_"`
	// Why it cannot proceed; only allowed with the status BLOCKED. Null removes it, with another
	// status.
	Blocked jsonschema.Nullable[TaskBlocked] `json:"blocked"`
	// What came of it.
	Result *TaskResult `json:"result"`
	ClaimProof
}

// blockedNeeded is the error for a BLOCKED task without a reason.
const blockedNeeded = "must say why a task is BLOCKED"

// Problems implements jsonschema.Checker.
func (u *TaskUpdate) Problems() []fault.Field {
	if u.Status == work.TaskBlocked.String() && u.Blocked.Cleared() {
		return []fault.Field{{Field: "blocked", Problem: blockedNeeded}}
	}
	return nil
}

// spec returns the form for the rules. The IDs have already been validated.
func (in *TaskInput) spec() work.TaskSpec {
	spec := work.TaskSpec{
		Title: in.Title, Description: in.Description, Priority: work.ParsePriority(in.Priority),
		Type: in.TaskType, Skills: in.Skills, Dependencies: parseTaskIDs(in.Dependencies),
		RelatedFiles: in.RelatedFiles, ExpectedOutput: in.ExpectedOutput,
		Conditions: in.CompletionConditions,
	}
	if in.ParentTaskID != nil {
		spec.Parent = named(id.Task, *in.ParentTaskID)
	}
	return spec
}

// parsed parses a text that was already validated as an ID.
func parsed(prefix id.Prefix, text string) id.ID {
	one, _ := id.Parse(prefix, text)
	return one
}

// named is parsed for members where the rules take the zero ID for none. The text of the zero ID
// becomes the next ID, which does not exist either.
func named(prefix id.Prefix, text string) id.ID {
	if one := parsed(prefix, text); !one.IsZero() {
		return one
	}
	return id.ID{}.Next()
}

func parseTaskIDs(texts []string) []id.ID {
	list := make([]id.ID, len(texts))
	for i, text := range texts {
		list[i] = parsed(id.Task, text)
	}
	return list
}

// command returns the command. The field is the path of the update in a larger request, with a
// trailing dot.
func (u *TaskUpdate) command(task id.ID, field string) work.UpdateTask {
	change := work.TaskChange{
		Title: u.Title, Description: u.Description, Priority: work.ParsePriority(u.Priority),
		Type: u.TaskType, Skills: u.Skills, RelatedFiles: u.RelatedFiles,
		ExpectedOutput: u.ExpectedOutput, Conditions: u.CompletionConditions,
		Status: work.ParseTaskStatus(u.Status),
	}
	if u.Dependencies != nil {
		dependencies := parseTaskIDs(*u.Dependencies)
		change.Dependencies = &dependencies
	}
	if u.ParentTaskID.Sent {
		var parent id.ID
		if u.ParentTaskID.Value != nil {
			parent = named(id.Task, *u.ParentTaskID.Value)
		}
		change.Parent = &parent
	}
	if given := u.Blocked.Value; given != nil {
		change.Blocked = &work.Blocked{
			Kind: work.ParseBlockedKind(given.Kind), Reason: given.Reason,
		}
	}
	if given := u.Result; given != nil {
		change.Result = &work.TaskResult{Summary: given.Summary}
		if given.ChangesetID != nil {
			change.Result.Changeset = named(id.Changeset, *given.ChangesetID)
		}
		if given.ContributionID != nil {
			change.Result.Contribution = named(id.Contribution, *given.ContributionID)
		}
	}
	return work.UpdateTask{
		Task: task, Change: change, Unblock: u.Blocked.Cleared(), Proof: u.proof(), Field: field,
	}
}

func createTask(c *Call, body *TaskInput) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	return c.answer(project, &work.CreateTask{Spec: body.spec()}, c.taskAs(201))
}

func updateTask(c *Call, body *TaskUpdate) (Reply, error) {
	project, task, err := c.taskInPath()
	if err != nil {
		return Reply{}, err
	}
	command := body.command(task, "")
	if c.IfMatch != "" {
		command.IfMatch = func(p *work.Project, t *work.Task) error {
			return c.requireMatch(c.taskETag(p, t))
		}
	}
	reply, err := c.answer(project, &command, func(p *work.Project, _ work.Result) (Reply, error) {
		t, ok := p.Task(task, c.Now)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: 200, Data: TaskData{Task: c.task(p, t)}, ETag: c.taskETag(p, t)}, nil
	})
	return reply, c.holderFault(err)
}
