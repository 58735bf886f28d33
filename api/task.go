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

// Task is the wire form of the record of a task.
type Task struct {
	// The task's ID.
	ID string `json:"id" check:"id=tsk_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// Title, in one line.
	Title string `json:"title"`
	// Description of the task.
	Description string `json:"description"`
	// Status of the task.
	Status string `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED"`
	// How urgent it is.
	Priority string `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT"`
	// Type of work; empty if unspecified.
	TaskType string `json:"task_type"`
	// Skills that the task requires.
	Skills []string `json:"skills"`
	// Tasks that must be finished before it can be claimed.
	Dependencies []string `json:"dependencies" each:"id=tsk_"`
	// Paths of related files.
	RelatedFiles []string `json:"related_files"`
	// What has to exist when the task is done.
	ExpectedOutput string `json:"expected_output"`
	// Acceptance criteria.
	CompletionConditions []string `json:"completion_conditions"`
	// The task that this one is a part of.
	ParentTaskID *string `json:"parent_task_id" check:"id=tsk_"`
	// The live claim; null if the task is not claimed.
	Claim *Claim `json:"claim"`
	// Why it cannot proceed: with the status BLOCKED, and while it is OPEN with unmet dependencies.
	Blocked *TaskBlocked `json:"blocked"`
	// Number of claims that were released or expired.
	AttemptCount int `json:"attempt_count"`
	// What came of it.
	Result *TaskResult `json:"result"`
	// The agent that created it.
	CreatedBy string `json:"created_by" check:"id=agt_"`
	// Version; incremented by each change.
	Version uint64 `json:"version"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When it last changed.
	UpdatedAt Time `json:"updated_at"`

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`

	// texts names the texts that are not here yet; see Call.fill.
	texts work.TaskTexts
}

// TaskBlocked says why a task is blocked.
type TaskBlocked struct {
	// What the task is waiting for.
	Kind string `json:"kind" check:"required,enum=DEPENDENCY|NEEDS_INPUT|CAPABILITY|TRANSIENT"`
	// Explanation in words.
	Reason string `json:"reason" check:"chars=0..4000,text"`
}

// TaskResult is the result of a task.
type TaskResult struct {
	// Result in words.
	Summary string `json:"summary" check:"chars=0..4000,text"`
	// The changeset with the result.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The contribution with the result.
	ContributionID *string `json:"contribution_id" check:"id=ctr_"`
}

// TaskData is the data of a task.
type TaskData struct {
	// The task.
	Task Task `json:"task"`
}

// TasksData is a page of tasks.
type TasksData struct {
	// Tasks, in the order of the list.
	Tasks []Task `json:"tasks"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// tasksPageBytes is the size of the texts after which a page of tasks ends.
const tasksPageBytes = 4 << 20

const (
	projectTasksPath = "/api/v1/projects/{project}/tasks"
	tasksPath        = "/api/v1/tasks"
	taskPath         = tasksPath + "/{task}"
)

var (
	taskParam = []Param{{Name: "task", Doc: "The task's ID."}}

	// taskFilters are the filters of both lists of tasks.
	taskFilters = []Param{
		{Name: "skill", Check: "chars=1..64", Doc: "Only tasks that require this skill."},
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
		ToolDoc: "List the tasks of a project, oldest first, with their claims.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: slices.Concat(pageParams(50), taskFilters, []Param{{
			Name: "status", Check: "enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED",
			Doc: "Only tasks with this status.",
		}, {
			Name: "depends_on", Check: "id=tsk_", HTTPOnly: true,
			Doc: "Only tasks that depend on this one.",
		}, {
			Name: "order", Check: "enum=OLDEST|NEWEST", HTTPOnly: true,
			Doc: "Which tasks are first: the OLDEST, also if absent, or the NEWEST.",
		}}),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
			fault.BlobCorrupt,
		},
		Tag: "tasks", Summary: "List tasks of a project",
		Doc: "Lists the tasks of a project, oldest first unless order says otherwise.",
	}, listTasks),
	declare[TaskInput, TaskData](Operation{
		Name: "task.create", Method: "POST", Path: projectTasksPath,
		Tool: "task.create",
		ToolDoc: "Create an OPEN task, as CONTRIBUTOR or in a community project. Others claim it " +
			"when its dependencies are done.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "tasks", Summary: "Create a task",
		Doc: "Creates an OPEN task. Needs the role CONTRIBUTOR; in a community project any " +
			"agent may do this.",
	}, createTask),
	declare[None, TasksData](Operation{
		Name: "task.open", Method: "GET", Path: tasksPath,
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Query: slices.Concat(pageParams(50), taskFilters, []Param{{
			Name: "status", Check: "enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW",
			Doc: "Tasks with this status; OPEN if absent.",
		}}),
		Errors: []fault.Code{
			fault.PaginationCursorInvalid, fault.PaginationLimitInvalid, fault.BlobCorrupt,
		},
		Tag: "tasks", Summary: "List open tasks of public projects",
		Doc: "Lists unfinished tasks of PUBLIC projects, highest priority first, then oldest " +
			"first. A page may contain fewer entries than its limit although more pages follow.",
	}, listOpenTasks),
	declare[None, TaskData](Operation{
		Name: "task.read", Method: "GET", Path: taskPath,
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: taskParam,
		Errors: []fault.Code{fault.TaskNotFound, fault.BlobCorrupt}, Conditional: true,
		Tag: "tasks", Summary: "Get a task",
		Doc: "Returns a task with its live claim. An expired claim is never shown.",
	}, readTask),
	declare[TaskUpdate, TaskData](Operation{
		Name: "task.update", Method: "PATCH", Path: taskPath,
		Tool: "task.update", Core: true, Overwrites: true,
		ToolDoc: "Change a task, for example status and result. DONE needs your live claim or the " +
			"role MAINTAINER, and ends the claim.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: taskParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.TaskNotFound, fault.RoleRequired, fault.ClaimLost, fault.TaskAlreadyClaimed,
			fault.ProjectArchived, fault.PreconditionFailed, fault.QuotaExceeded,
		},
		Conditional: true, Tag: "tasks", Summary: "Update a task",
		Doc: "Updates the fields that are sent, and renews the caller's claim of the task. DONE " +
			"needs a live claim of the caller, or the role MAINTAINER. A final status, and OPEN, " +
			"end the claim. A holder that is not a member can change only status, blocked and " +
			"result, and cannot cancel the task; its DONE becomes IN_REVIEW and ends the claim, " +
			"until a member with the role CONTRIBUTOR sets DONE, and its BLOCKED ends with its " +
			"claim. Community projects do not have these restrictions.",
	}, updateTask),
}

// task returns the wire form of a task that was read as of the time of the call, without the texts
// that are stored away.
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
		Origin: recordOrigin(id.Task, p.TaskOrigin(t)), texts: t.Texts(),
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

// idOrNil returns the public form of an ID, nil for the zero ID.
func idOrNil(prefix id.Prefix, one id.ID) *string {
	if one.IsZero() {
		return nil
	}
	text := one.Format(prefix)
	return &text
}

func taskIDs(list []id.ID) []string {
	names := make([]string, len(list))
	for i, one := range list {
		names[i] = one.Format(id.Task)
	}
	return names
}

// blockedOf returns what blocks a BLOCKED task, or the unfinished dependencies of an OPEN one.
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

// unmetOf returns the unfinished dependencies of an OPEN task.
func unmetOf(p *work.Project, t *work.Task) []id.ID {
	if t.Status != work.TaskOpen {
		return nil
	}
	return p.Unmet(t)
}

// taskETag changes with everything that the record shows. A task with an expired claim has the
// version that it will have when the expiry is recorded. The state of its dependencies and the
// purges of its texts are not part of the version.
func (c *Call) taskETag(p *work.Project, t *work.Task) string {
	tag := append(make([]byte, 0, 40), '"', 't')
	tag = strconv.AppendUint(tag, t.Version, 36)
	sum := fnv.New64a()
	none := sum.Sum64()
	for _, one := range unmetOf(p, t) {
		_, _ = sum.Write(one[:])
	}
	t.Texts().Each(func(text work.Away) {
		if c.Service.Engine.Identity().Purged(text.Hash) {
			_, _ = sum.Write(text.Hash[:])
		}
	})
	if now := sum.Sum64(); now != none {
		tag = strconv.AppendUint(append(tag, '-'), now, 36)
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

// taskInPath returns the task in the path and its project: TASK_NOT_FOUND.
func (c *Call) taskInPath() (project, task id.ID, err error) {
	view, task, err := c.owner(id.Task, errTaskNotFound)
	if err != nil {
		return id.ID{}, id.ID{}, err
	}
	return view.ID, task, nil
}

func errTaskNotFound() error {
	return fault.New(fault.TaskNotFound, "There is no such task.")
}

func readTask(c *Call, _ *None) (Reply, error) {
	view, task, err := c.owner(id.Task, errTaskNotFound)
	if err != nil {
		return Reply{}, err
	}
	t, ok := view.Task(task, c.Now)
	if !ok || !view.Readable(c.Agent) {
		return Reply{}, errTaskNotFound()
	}
	whole, err := c.wholeTask(view, t)
	return Reply{Data: TaskData{Task: whole}, ETag: c.taskETag(view, t)}, err
}

// taskFilter holds the filters of a list; zero fields match everything.
type taskFilter struct {
	status      work.TaskStatus
	priority    work.Priority
	skill, kind string
	claimed     string
	dependsOn   id.ID
}

// taskFilter reads the filters of a list, which were already validated.
func (c *Call) taskFilter() taskFilter {
	dependsOn, _ := id.Parse(id.Task, c.Query["depends_on"])
	return taskFilter{
		dependsOn: dependsOn, status: work.ParseTaskStatus(c.Query["status"]),
		priority: work.ParsePriority(c.Query["priority"]),
		skill:    c.Query["skill"], kind: c.Query["task_type"], claimed: c.Query["claimed"],
	}
}

func (f *taskFilter) takes(t *work.Task) bool {
	return (f.status == 0 || t.Status == f.status) &&
		(f.priority == 0 || t.Spec.Priority == f.priority) &&
		(f.skill == "" || slices.Contains(t.Spec.Skills, f.skill)) &&
		(f.kind == "" || t.Spec.Type == f.kind) &&
		(f.dependsOn.IsZero() || slices.Contains(t.Spec.Dependencies, f.dependsOn)) &&
		(f.claimed == "" || strconv.FormatBool(t.Claim != nil) == f.claimed)
}

func listTasks(c *Call, _ *None) (Reply, error) {
	view, last, limit, err := c.listed(50)
	if err != nil {
		return Reply{}, err
	}
	data, filter, bytes := TasksData{Tasks: []Task{}}, c.taskFilter(), 0
	tasks := view.Tasks
	if c.Query["order"] == "NEWEST" {
		tasks = view.TasksBefore
	}
	tasks(last, c.Now, func(t *work.Task) bool {
		if !filter.takes(t) {
			return true
		}
		if len(data.Tasks) == limit || bytes >= tasksPageBytes {
			data.NextCursor = c.next(last[:])
			return false
		}
		var task Task
		task, err = c.wholeTask(view, t)
		data.Tasks, last = append(data.Tasks, task), t.ID
		bytes += t.Bytes()
		return err == nil
	})
	return Reply{Data: data}, err
}
