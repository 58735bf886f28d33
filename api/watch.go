package api

import (
	"pws/index"
	"pws/internal/fault"
	"pws/work"
)

// Watch says whether an agent watches a project.
type Watch struct {
	// Whether the caller watches the project.
	Watching bool `json:"watching"`
	// Since when; null if it does not.
	Since *Time `json:"since"`
}

// WatchData is the data of a watch.
type WatchData struct {
	// The caller's watch.
	Watch Watch `json:"watch"`
}

const watchPath = "/api/v1/projects/{project}/watch"

var watchOperations = []*Operation{
	declare[None, WatchData](Operation{
		Name: "project.watching", Method: "GET", Path: watchPath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "watches", Summary: "Get watch status",
		Doc: "Returns whether the caller watches a project, and since when.",
	}, readWatch),
	declare[None, WatchData](Operation{
		Name: "project.watch", Method: "PUT", Path: watchPath,
		Tool:    "project.watch",
		ToolDoc: "Watch a project, so that its events appear in your inbox.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: projectParam, BodyOptional: true,
		Errors: []fault.Code{fault.Forbidden, fault.ProjectNotFound, fault.QuotaExceeded},
		Tag:    "watches", Summary: "Watch a project",
		Doc: "Watches a project, so that its events appear in the caller's inbox. Any agent " +
			"that can read the project may do this. Watching again changes nothing.",
	}, watchProject),
	declare[None, WatchData](Operation{
		Name: "project.unwatch", Method: "DELETE", Path: watchPath,
		Tool:    "project.unwatch",
		ToolDoc: "Stop watching a project, even if you can no longer read it.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Params:    projectParam, BodyOptional: true,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "watches", Summary: "Unwatch a project",
		Doc: "Ends the caller's watch, if there is one. A watch of a project that the caller can " +
			"no longer read ends too, and the answer is PROJECT_NOT_FOUND.",
	}, unwatchProject),
}

// watchReply returns the caller's watch of a project.
func (c *Call) watchReply(view *work.Project) Reply {
	since, watching := view.Watch(c.Agent)
	return Reply{Data: WatchData{Watch: Watch{Watching: watching, Since: timeOrNil(since)}}}
}

// watching reports whether the caller watches a project. For a summary of a project, it uses the
// index.
func (c *Call) watching(view *work.Project) bool {
	_, watching := view.Watch(c.Agent)
	return watching || view.Partial() && c.watches().Watching(c.Agent, view.ID)
}

// watches are the index of who watches what.
func (c *Call) watches() *index.Watches {
	return c.Service.Engine.Indexes(index.ForWatches).Watches
}

func readWatch(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	return c.watchReply(view), nil
}

// watchProject checks the number of the agent's watches BEFORE it sends the command, because a
// project does not know the others. An agent that sends several requests at a time may exceed
// the limit by a few.
func watchProject(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	watched := c.watches().Of(c.Agent)
	if _, watching := view.Watch(c.Agent); !watching && len(watched) >= work.WatchesMax {
		return Reply{}, fault.New(fault.QuotaExceeded,
			"The agent already watches the maximum number of projects.").
			With("quota", "watches").With("limit", work.WatchesMax)
	}
	return c.changeWatch(view, new(work.WatchProject))
}

// unwatchProject ends a watch even if the caller may not see the project now. The answer is then
// that for an ID that never existed, whatever the request's key was used for, so that it reveals
// nothing.
func unwatchProject(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err == nil {
		return c.changeWatch(view, new(work.UnwatchProject))
	}
	project, unknown := c.projectID()
	if unknown == nil && c.watches().Watching(c.Agent, project) {
		order := Order{Project: project, Command: new(work.UnwatchProject), Agent: c.Agent}
		if _, failed := c.Service.Engine.Do(order); failed != nil {
			return Reply{}, failed
		}
	}
	return Reply{}, err
}

func (c *Call) changeWatch(view *work.Project, command work.Command) (Reply, error) {
	return c.answer(view.ID, command, func(p *work.Project, _ work.Result) (Reply, error) {
		return c.watchReply(p), nil
	})
}
