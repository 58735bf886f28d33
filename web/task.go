package web

import "pws/api"

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
	Next    string
}

type column struct {
	Status string
	Tasks  []api.Task
}

// statuses are the columns of a board, in order.
var statuses = []string{"OPEN", "IN_PROGRESS", "BLOCKED", "IN_REVIEW", "DONE", "CANCELLED"}

func (v *visit) tasks() (view, error) {
	status := v.Query["status"]
	made, list, head, err := listOf[api.TasksData](v, "tasks", "Tasks", "task.list", "tasks",
		"limit", "100", "status", status)
	all := board{Head: head, Next: next(list.NextCursor, "status", status)}
	for _, name := range statuses {
		one := column{Status: name}
		for _, task := range list.Tasks {
			if task.Status == name {
				one.Tasks = append(one.Tasks, task)
			}
		}
		if len(one.Tasks) > 0 || name == status {
			all.Columns = append(all.Columns, one)
		}
	}
	made.Data = all
	return made, err
}

// taskView is a task with its project and what it depends on.
type taskView struct {
	Project api.Project
	Task    api.Task
	After   []api.Task
}

func (v *visit) task() (view, error) {
	made := view{Template: "task"}
	found, err := read[api.TaskData](v, "task.read", []string{v.Param("task")})
	if err != nil {
		return made, err
	}
	all := taskView{Task: found.Task}
	project, err := read[api.ProjectData](v, "project.read", []string{all.Task.ProjectID})
	if err != nil {
		return made, err
	}
	all.Project = project.Project
	for _, id := range all.Task.Dependencies {
		before, err := read[api.TaskData](v, "task.read", []string{id})
		if err != nil {
			return made, err
		}
		all.After = append(all.After, before.Task)
	}
	made.Title, made.Data = all.Task.Title, all
	made.Source = "/api/v1/tasks/" + all.Task.ID
	return made, nil
}
