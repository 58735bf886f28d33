package api

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Task is the record of a task on the wire.
type Task struct {
	ID                   string       `json:"id" check:"id=tsk_" doc:"The task's ID."`
	ProjectID            string       `json:"project_id" check:"id=prj_" doc:"Its project."`
	Title                string       `json:"title" doc:"What is to be done, in a line."`
	Description          string       `json:"description" doc:"What is to be done, at length."`
	Status               string       `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED" doc:"Where it stands."`
	Priority             string       `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT" doc:"How soon it should be done."`
	TaskType             string       `json:"task_type" doc:"What kind of work it is; empty where nobody said."`
	Skills               []string     `json:"skills" doc:"What it takes to do it."`
	Dependencies         []string     `json:"dependencies" each:"id=tsk_" doc:"Tasks that must be over before it can be claimed."`
	RelatedFiles         []string     `json:"related_files" doc:"Paths that it is about."`
	ExpectedOutput       string       `json:"expected_output" doc:"What should come of it."`
	CompletionConditions []string     `json:"completion_conditions" doc:"What must hold when it is done."`
	ParentTaskID         *string      `json:"parent_task_id" check:"id=tsk_" doc:"The task that it is a part of."`
	Claim                *Claim       `json:"claim" doc:"The live claim; null where the task is free."`
	Blocked              *TaskBlocked `json:"blocked" doc:"Why it does not go on: with the status BLOCKED, and while it is OPEN and waits for dependencies."`
	AttemptCount         int          `json:"attempt_count" doc:"How many claims were given back or ran out."`
	Result               *TaskResult  `json:"result" doc:"What came of it."`
	CreatedBy            string       `json:"created_by" check:"id=agt_" doc:"Who made it."`
	Version              uint64       `json:"version" doc:"Grows with each change."`
	CreatedAt            Time         `json:"created_at" doc:"When it was made."`
	UpdatedAt            Time         `json:"updated_at" doc:"When it last changed."`

	Origin *RecordOrigin `json:"origin" doc:"What the bundle that it came with says of it; null where it was made here."`
}

// TaskBlocked says why a task does not go on.
type TaskBlocked struct {
	Kind   string `json:"kind" check:"required,enum=DEPENDENCY|NEEDS_INPUT|CAPABILITY|TRANSIENT" doc:"What it waits for."`
	Reason string `json:"reason" check:"chars=0..4000,text" doc:"The same in words."`
}

// TaskResult says what came of a task.
type TaskResult struct {
	Summary        string  `json:"summary" check:"chars=0..4000,text" doc:"What came of it, in words."`
	ChangesetID    *string `json:"changeset_id" check:"id=chg_" doc:"The changeset that holds it."`
	ContributionID *string `json:"contribution_id" check:"id=ctr_" doc:"The contribution that holds it."`
}

// TaskData is one task as data.
type TaskData struct {
	Task Task `json:"task" doc:"The task."`
}

// TasksData is a page of tasks.
type TasksData struct {
	Tasks      []Task  `json:"tasks" doc:"In the order of the list."`
	NextCursor *string `json:"next_cursor" doc:"Leads to the next page; null on the last."`
}

const (
	projectTasksPath = "/api/v1/projects/{project}/tasks"
	tasksPath        = "/api/v1/tasks"
	taskPath         = tasksPath + "/{task}"
)

var (
	taskParam = []Param{{Name: "task", Doc: "The task's ID."}}

	// taskFilters are what both lists of tasks can be narrowed by.
	taskFilters = []Param{
		{Name: "skill", Check: "chars=1..64", Doc: "Only tasks that name this skill."},
		{Name: "task_type", Check: "chars=1..64", Doc: "Only tasks of this type."},
		{Name: "priority", Check: "enum=LOW|NORMAL|HIGH|URGENT", Doc: "Only tasks of this priority."},
		{
			Name: "claimed", Check: "enum=true|false",
			Doc: "Only tasks with a live claim, or only those without.",
		},
	}
)

var taskOperations = []*Operation{
	declare[None, TasksData](Operation{
		Name: "task.list", Method: "GET", Path: projectTasksPath,
		Tool: "task.list", Core: true,
		ToolDoc: "Find work in a project: its tasks, the oldest first, with who holds them.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: slices.Concat(pageParams(50), taskFilters, []Param{{
			Name: "status", Check: "enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED",
			Doc: "Only tasks with this status.",
		}}),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "tasks", Summary: "List tasks of a project",
		Doc: "Lists the tasks of a project, the oldest first.",
	}, listTasks),
	declare[TaskInput, TaskData](Operation{
		Name: "task.create", Method: "POST", Path: projectTasksPath,
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "tasks", Summary: "Create a task",
		Doc: "Adds an OPEN task. Contributors may do this, and any agent in a community project.",
	}, createTask),
	declare[None, TasksData](Operation{
		Name: "task.open", Method: "GET", Path: tasksPath,
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Query: slices.Concat(pageParams(50), taskFilters, []Param{{
			Name: "status", Check: "enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW",
			Doc: "Tasks with this status; OPEN if absent.",
		}}),
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Tag:    "tasks", Summary: "List open tasks of public projects",
		Doc: "Lists unfinished tasks of PUBLIC projects: the higher priority first, then the oldest. " +
			"A page may hold less than its limit and still lead to a next one.",
	}, listOpenTasks),
	declare[None, TaskData](Operation{
		Name: "task.read", Method: "GET", Path: taskPath,
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: taskParam,
		Errors: []fault.Code{fault.TaskNotFound}, Conditional: true,
		Tag: "tasks", Summary: "Get a task",
		Doc: "Returns a task with its live claim. It reads as free the moment a claim runs out.",
	}, readTask),
	declare[TaskUpdate, TaskData](Operation{
		Name: "task.update", Method: "PATCH", Path: taskPath,
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{200}, Params: taskParam,
		Errors: []fault.Code{
			fault.TaskNotFound, fault.RoleRequired, fault.ClaimLost, fault.TaskAlreadyClaimed,
			fault.ProjectArchived, fault.PreconditionFailed, fault.QuotaExceeded,
		},
		Conditional: true, Tag: "tasks", Summary: "Update a task",
		Doc: "Changes what is sent and leaves the rest. DONE needs a live claim of the caller, or the " +
			"role MAINTAINER. A final status, and OPEN, end the claim.",
	}, updateTask),
}

// task is the wire form of a task as it was read at the time of the call.
func (c *Call) task(p *work.Project, t *work.Task) Task {
	record := Task{
		ID: t.ID.Format(id.Task), ProjectID: p.ID.Format(id.Project),
		Title: t.Spec.Title, Description: t.Spec.Description,
		Status: t.Status.String(), Priority: t.Spec.Priority.String(), TaskType: t.Spec.Type,
		Skills: orEmpty(t.Spec.Skills), Dependencies: taskIDs(t.Spec.Dependencies),
		RelatedFiles: orEmpty(t.Spec.RelatedFiles), ExpectedOutput: t.Spec.ExpectedOutput,
		CompletionConditions: orEmpty(t.Spec.Conditions),
		ParentTaskID:         idOrNil(id.Task, t.Spec.Parent),
		Claim:                claimOf(t), Blocked: blockedOf(p, t),
		AttemptCount: t.Attempts, CreatedBy: t.CreatedBy.Format(id.Agent), Version: t.Version,
		CreatedAt: Time(t.CreatedAt), UpdatedAt: Time(t.UpdatedAt),
		Origin: recordOrigin(id.Task, p.TaskOrigin(t)),
	}
	if t.Result != nil {
		record.Result = &TaskResult{
			Summary:        t.Result.Summary,
			ChangesetID:    idOrNil(id.Changeset, t.Result.Changeset),
			ContributionID: idOrNil(id.Contribution, t.Result.Contribution),
		}
	}
	return record
}

// idOrNil is the public form of an ID, nil for the zero one.
func idOrNil(prefix id.Prefix, one id.ID) *string {
	if one.IsZero() {
		return nil
	}
	text := one.Format(prefix)
	return &text
}

func taskIDs(list []id.ID) []string {
	names := make([]string, len(list))
	for at, one := range list {
		names[at] = one.Format(id.Task)
	}
	return names
}

// blockedOf is what was said with the status BLOCKED, or what an OPEN task waits for.
func blockedOf(p *work.Project, t *work.Task) *TaskBlocked {
	if t.Blocked != nil {
		return &TaskBlocked{Kind: t.Blocked.Kind.String(), Reason: t.Blocked.Reason}
	}
	unmet := unmetOf(p, t)
	if len(unmet) == 0 {
		return nil
	}
	return &TaskBlocked{
		Kind:   work.BlockedByDependency.String(),
		Reason: "waits for " + strings.Join(taskIDs(unmet), ", "),
	}
}

// unmetOf is what an OPEN task waits for.
func unmetOf(p *work.Project, t *work.Task) []id.ID {
	if t.Status != work.TaskOpen {
		return nil
	}
	return p.Unmet(t)
}

// taskETag changes with everything that the record shows. The version of a task whose claim has run
// out is the one that it keeps when that is noted; what it waits for is no part of its version.
func taskETag(p *work.Project, t *work.Task) string {
	tag := append(make([]byte, 0, 40), '"', 't')
	tag = strconv.AppendUint(tag, t.Version, 36)
	if unmet := unmetOf(p, t); len(unmet) > 0 {
		sum := fnv.New64a()
		for _, one := range unmet {
			_, _ = sum.Write(one[:])
		}
		tag = strconv.AppendUint(append(tag, '-'), sum.Sum64(), 36)
	}
	return string(append(tag, '"'))
}

// taskAs renders the task that a command was about, to be stored for repeats of its key.
func (c *Call) taskAs(status int) func(p *work.Project, r work.Result) (Reply, error) {
	return func(p *work.Project, r work.Result) (Reply, error) {
		t, ok := p.Task(r.Subject, c.Now)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Status: status, Data: TaskData{Task: c.task(p, t)}}, nil
	}
}

func (c *Call) taskReply(p *work.Project, t *work.Task) Reply {
	return Reply{Data: TaskData{Task: c.task(p, t)}, ETag: taskETag(p, t)}
}

// taskInPath is the task in the path with the project that it was made in: TASK_NOT_FOUND.
func (c *Call) taskInPath() (project, task id.ID, err error) {
	view, task, err := c.owner(id.Task, "task", errTaskNotFound)
	if err != nil {
		return id.ID{}, id.ID{}, err
	}
	return view.ID, task, nil
}

func errTaskNotFound() error {
	return fault.New(fault.TaskNotFound, "There is no such task.")
}

func readTask(c *Call, _ *None) (Reply, error) {
	view, task, err := c.owner(id.Task, "task", errTaskNotFound)
	if err != nil {
		return Reply{}, err
	}
	t, ok := view.Task(task, c.Now)
	if !ok || !view.Readable(c.Agent) {
		return Reply{}, errTaskNotFound()
	}
	return c.taskReply(view, t), nil
}

// taskFilter is what a list is narrowed to; zero fields let everything pass.
type taskFilter struct {
	status      work.TaskStatus
	priority    work.Priority
	skill, kind string
	claimed     string
}

// taskFilter reads the filters of a list, whose form has been checked.
func (c *Call) taskFilter() taskFilter {
	return taskFilter{
		status:   work.ParseTaskStatus(c.Query["status"]),
		priority: work.ParsePriority(c.Query["priority"]),
		skill:    c.Query["skill"], kind: c.Query["task_type"], claimed: c.Query["claimed"],
	}
}

func (f *taskFilter) takes(t *work.Task) bool {
	return (f.status == 0 || t.Status == f.status) &&
		(f.priority == 0 || t.Spec.Priority == f.priority) &&
		(f.skill == "" || slices.Contains(t.Spec.Skills, f.skill)) &&
		(f.kind == "" || t.Spec.Type == f.kind) &&
		(f.claimed == "" || strconv.FormatBool(t.Claim != nil) == f.claimed)
}

func listTasks(c *Call, _ *None) (Reply, error) {
	view, last, limit, err := c.listed(50)
	if err != nil {
		return Reply{}, err
	}
	data, filter := TasksData{Tasks: []Task{}}, c.taskFilter()
	view.Tasks(last, c.Now, func(t *work.Task) bool {
		if !filter.takes(t) {
			return true
		}
		if len(data.Tasks) == limit {
			data.NextCursor = c.next(last[:])
			return false
		}
		data.Tasks, last = append(data.Tasks, c.task(view, t)), t.ID
		return true
	})
	return Reply{Data: data}, nil
}
