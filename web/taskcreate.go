package web

import (
	"net/url"
	"strings"

	"pws/api"
)

func (w *Web) taskForms() []*api.Operation {
	return []*api.Operation{
		w.form("task", at("p")+"/{project}/tasks", (*visit).tasks, createTask),
	}
}

// createTask creates a task. Each line of the conditions is one.
func createTask(v *visit, fields url.Values) (api.WebPage, error) {
	said := map[string]any{
		"title": fields.Get("title"), "description": fields.Get("description"),
	}
	if priority := fields.Get("priority"); priority != "" {
		said["priority"] = priority
	}
	var conditions []string
	for line := range strings.Lines(fields.Get("conditions")) {
		if line = strings.TrimSpace(line); line != "" {
			conditions = append(conditions, line)
		}
	}
	if conditions != nil {
		said["completion_conditions"] = conditions
	}
	made, err := submit[api.TaskData](v, "task.create", []string{v.Param("project")}, said)
	return to(at("t", made.Task.ID)), renamed(err,
		"completion_conditions", "conditions", "completion_conditions[0]", "conditions")
}

// MayCreate says that the visitor may create tasks on the board.
func (b board) MayCreate() bool {
	return b.Head.Status == "ACTIVE" && b.Head.Viewer != nil &&
		(contributes(b.Head) || b.Head.Kind == "COMMUNITY")
}
