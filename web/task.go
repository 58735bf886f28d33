package web

import "pws/api"

const (
	// columnTasks is the number of tasks that a column of the board shows.
	columnTasks = "15"
	// cardLinks is the number of dependencies that a card names.
	cardLinks = 3
	// lookupsMax bounds how many agents, and how many tasks, a page reads for their names.
	lookupsMax = 40
)

func (w *Web) taskPages() []*api.Operation {
	return []*api.Operation{
		w.page("tasks", at("p")+"/{project}/tasks", query("task.list", "cursor", "status"),
			(*visit).tasks),
		w.page("task", at("t")+"/{task}", nil, (*visit).task),
	}
}

// board is the tasks of a project by their status.
type board struct {
	Head    api.Project
	Columns []column
	// One is set if the page shows tasks of one status only.
	One  bool
	Next string
}

// column has the tasks of a status; Link leads to all of them if there are more.
type column struct {
	Status string
	Cards  []card
	Link   string
}

// card is a task with the handle of its holder, and what it has to wait for.
type card struct {
	api.Task
	Holder string
	After  []api.Task
	// More counts the dependencies that are not named.
	More int
}

// statuses are the columns of a board, in order.
var statuses = []string{"OPEN", "IN_PROGRESS", "BLOCKED", "IN_REVIEW", "DONE"}

func (v *visit) tasks() (view, error) {
	made := view{Template: "tasks", Tab: "tasks"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	all, known := board{Head: head}, newLookup(v)
	shown, limit := statuses, columnTasks
	if status := v.Query["status"]; status != "" {
		shown, limit, all.One = []string{status}, "50", true
	}
	for _, status := range shown {
		order := ""
		if status == "DONE" || status == "CANCELLED" {
			order = "NEWEST"
		}
		list, err := read[api.TasksData](v, "task.list", []string{head.ID}, "status", status,
			"order", order, "limit", limit, "cursor", v.Query["cursor"])
		if err != nil {
			return made, err
		}
		one := column{Status: status}
		if all.One {
			all.Next = next(list.NextCursor, "status", status)
		} else if list.NextCursor != nil {
			one.Link = at("p", head.ID, "tasks") + "?status=" + status
		}
		for _, task := range list.Tasks {
			made, err := known.card(task)
			if err != nil {
				return view{}, err
			}
			one.Cards = append(one.Cards, made)
		}
		all.Columns = append(all.Columns, one)
	}
	made.Title, made.Data = "Tasks of "+head.Name, all
	made.inInterface(head, "projects/"+head.ID+"/tasks")
	return made, nil
}

// taskView is a task with its project, what it depends on, and what depends on it.
type taskView struct {
	Project api.Project
	Task    api.Task
	Holder  string
	Creator string
	Parent  *api.Task
	After   []api.Task
	Before  []api.Task
}

func (v *visit) task() (view, error) {
	made := view{Template: "task"}
	found, err := read[api.TaskData](v, "task.read", []string{v.Param("task")})
	if err != nil {
		return made, err
	}
	all, known := taskView{Task: found.Task}, newLookup(v)
	if all.Project, err = v.projectAt(all.Task.ProjectID); err != nil {
		return made, err
	}
	if all.Creator, err = known.handle(all.Task.CreatedBy); err != nil {
		return made, err
	}
	if all.Task.Claim != nil {
		if all.Holder, err = known.handle(all.Task.Claim.AgentID); err != nil {
			return made, err
		}
	}
	if all.Task.ParentTaskID != nil {
		parents, err := known.tasks([]string{*all.Task.ParentTaskID})
		if err != nil {
			return made, err
		}
		for i := range parents {
			all.Parent = &parents[i]
		}
	}
	if all.After, err = known.tasks(all.Task.Dependencies); err != nil {
		return made, err
	}
	before, err := read[api.TasksData](v, "task.list", []string{all.Project.ID},
		"depends_on", all.Task.ID, "limit", "50")
	all.Before = before.Tasks
	made.Title, made.Data = all.Task.Title, all
	made.inInterface(all.Project, "tasks/"+all.Task.ID)
	return made, err
}

// lookup finds the names of agents and tasks, each once.
type lookup struct {
	visit   *visit
	handles map[string]string
	known   map[string]api.Task
	reads   int
}

func newLookup(v *visit) *lookup {
	return &lookup{visit: v, handles: map[string]string{}, known: map[string]api.Task{}}
}

// handle is the handle of an agent, empty if too many were asked for.
func (l *lookup) handle(agent string) (string, error) {
	handle, known := l.handles[agent]
	if known || len(l.handles) == lookupsMax {
		return handle, nil
	}
	found, err := read[api.AgentData](l.visit, "agent.read", []string{agent})
	l.handles[agent] = found.Agent.Handle
	return found.Agent.Handle, err
}

// tasks are the tasks of some IDs, without those that were too many.
func (l *lookup) tasks(ids []string) (all []api.Task, err error) {
	for _, id := range ids {
		task, known := l.known[id]
		if !known && l.reads == lookupsMax {
			continue
		}
		if !known {
			l.reads++
			found, err := read[api.TaskData](l.visit, "task.read", []string{id})
			if err != nil {
				return nil, err
			}
			task = found.Task
			l.known[id] = task
		}
		all = append(all, task)
	}
	return all, nil
}

// card is what the board shows of a task. What a finished one depended on is not named.
func (l *lookup) card(task api.Task) (made card, err error) {
	l.known[task.ID] = task
	made.Task = task
	if task.Claim != nil {
		if made.Holder, err = l.handle(task.Claim.AgentID); err != nil {
			return made, err
		}
	}
	if task.Status == "OPEN" || task.Status == "BLOCKED" {
		named := task.Dependencies[:min(len(task.Dependencies), cardLinks)]
		made.After, err = l.tasks(named)
		made.More = len(task.Dependencies) - len(made.After)
	}
	return made, err
}
