package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// DeletedProject says when a project was deleted, and for how long it can be restored.
type DeletedProject struct {
	// When it was deleted.
	At Time `json:"at"`
	// Until when its owner can restore it; then it is removed permanently.
	RestorableUntil Time `json:"restorable_until"`
}

var projectEndOperations = []*Operation{
	declare[None, ProjectData](Operation{
		Name: "project.delete", Method: "DELETE", Path: "/api/v1/projects/{project}",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    projectParam, Conditional: true, MatchRequired: true,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.OwnerRequired, fault.PreconditionFailed,
		},
		Tag: "projects", Summary: "Delete a project",
		Doc: "Deletes a project. Only the owner may do this, with If-Match: the ETag of the " +
			"project, or *. Nobody can read the project any more; its owner finds it in " +
			"project.mine with the status DELETED. Its claims and its turn end, and members get an " +
			"inbox item. project.restore restores it for 30 days. Then it is removed permanently, " +
			"with all contents that no other project has. Forks and imports keep what they have.",
	}, deleteProject),
	declare[None, ProjectData](Operation{
		Name: "project.restore", Method: "POST", Path: "/api/v1/projects/{project}/restore",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    projectParam, Errors: []fault.Code{fault.ProjectNotFound, fault.OwnerRequired},
		Tag: "projects", Summary: "Restore a deleted project",
		Doc: "Restores a project that the caller deleted less than 30 days ago, with its " +
			"members, visibility and status. Claims and the turn do not come back. Changes nothing " +
			"if the project is not deleted.",
	}, restoreProject),
}

// deletedProject returns when a deleted project ends, nil for others.
func deletedProject(p *work.Project) *DeletedProject {
	end := p.End()
	if end == nil {
		return nil
	}
	return &DeletedProject{At: Time(end.At), RestorableUntil: Time(end.Until())}
}

func deleteProject(c *Call, _ *None) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	origin, err := c.origin(project)
	if err != nil {
		return Reply{}, err
	}
	command := &work.DeleteProject{IfMatch: func(p *work.Project) error {
		tag := c.projectETag(p, origin)
		if c.IfMatch == "" {
			return fault.New(fault.PreconditionFailed,
				"The request needs If-Match with the ETag of the project, or *.").
				With("current_etag", tag)
		}
		return c.requireMatch(tag)
	}}
	return c.answer(project, command, c.ownedProject)
}

func restoreProject(c *Call, _ *None) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	return c.answer(project, new(work.RestoreProject), c.ownedProject)
}

// ownedProject replies with a project as its owner sees it.
func (c *Call) ownedProject(p *work.Project, _ work.Result) (Reply, error) {
	return Reply{Status: 200, Data: ProjectData{Project: c.project(p.AsOwned())}}, nil
}

// endText says that a project was deleted, to those who were members.
func endText(view *work.Project) string {
	end := view.End()
	if end == nil {
		return "The owner had deleted the project; it is restored."
	}
	until, _ := Time(end.Until()).MarshalJSON()
	return "The owner has deleted the project, and can restore it until " +
		string(until[1:len(until)-1]) + "."
}

// wasMember reports whether a project is deleted, and the caller was a member that may know of it.
func (c *Call) wasMember(project id.ID) (bool, error) {
	view, err := Intact(c.Service.Engine.Summary(project))
	return view != nil && view.EndedFor(c.Agent, c.Now), err
}
