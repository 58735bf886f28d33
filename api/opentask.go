package api

import (
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

const (
	// placesMax limits the number of places of public work that one request reads.
	// placeProjectsMax limits the number of their projects, because each of those may have to be
	// loaded.
	placesMax        = 2000
	placeProjectsMax = 200
	// placesBatch is the number of places that are read at a time.
	placesBatch = 50
)

// publicPlaces yields places of public work with a status after a position, by priority and age,
// within the limits of one request. It reports whether it reached the end.
func (c *Call) publicPlaces(
	status work.TaskStatus, after index.TaskPosition, yield func(index.TaskPlace) (goOn bool),
) (end bool) {
	engine, projects := c.Service.Engine, map[id.ID]bool{}
	for seen := 0; seen < placesMax; {
		tasks := engine.Indexes(index.ForTasks).Tasks
		places := tasks.Public(status, engine.Now(), after, placesBatch)
		for _, place := range places {
			if projects[place.Project] = true; len(projects) > placeProjectsMax || !yield(place) {
				return false
			}
		}
		if len(places) < placesBatch {
			return true
		}
		seen += len(places)
		after = places[len(places)-1].TaskPosition
	}
	return false
}

// publicTask returns the current task of a place, nil if it is not public work with the status
// now. The live view decides, whatever the index says.
func (c *Call) publicTask(
	place index.TaskPlace, status work.TaskStatus,
) (*work.Project, *work.Task, error) {
	view, err := Intact(c.Service.Engine.Project(place.Project))
	if err != nil || view == nil || view.Visibility != work.Public || view.Status != work.Active {
		return nil, nil, err
	}
	t, ok := view.Task(place.Task, c.Now)
	if !ok || t.Status != status {
		return nil, nil, nil
	}
	return view, t, nil
}

// openPage collects a page of task.open.
type openPage struct {
	call   *Call
	limit  int
	filter taskFilter
	data   TasksData
	// bytes is the size of the texts.
	bytes int
	// at is the last place that the page includes or has skipped.
	at index.TaskPosition
	// whole means that no later place can belong to the list.
	whole bool
	err   error
}

// take adds one place; a task beyond the limit ends the page before it. It reports whether to
// continue.
func (p *openPage) take(place index.TaskPlace) (goOn bool) {
	if place.Priority < p.filter.priority {
		p.whole = true
		return false
	}
	view, t, err := p.call.publicTask(place, p.filter.status)
	if err != nil {
		p.err = err
		return false
	}
	if t != nil && p.filter.takes(t) {
		if len(p.data.Tasks) == p.limit || p.bytes >= tasksPageBytes {
			return false
		}
		var task Task
		if task, p.err = p.call.wholeTask(view, t); p.err != nil {
			return false
		}
		p.data.Tasks, p.bytes = append(p.data.Tasks, task), p.bytes+t.Bytes()
	}
	p.at = place.TaskPosition
	return true
}

func listOpenTasks(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(50)
	if err != nil {
		return Reply{}, err
	}
	page := openPage{
		call: c, limit: limit, filter: c.taskFilter(), data: TasksData{Tasks: []Task{}},
	}
	if after != nil {
		if len(after) != 1+len(page.at.Task) {
			return Reply{}, errCursorInvalid()
		}
		page.at = index.TaskPosition{Priority: work.Priority(after[0]), Task: id.ID(after[1:])}
	}
	if page.filter.status == 0 {
		page.filter.status = work.TaskOpen
	}
	if page.at.Priority == 0 {
		// No place sorts before the lowest ID of a priority.
		page.at.Priority = page.filter.priority
	}
	end := c.publicPlaces(page.filter.status, page.at, page.take)
	if page.err != nil {
		return Reply{}, page.err
	}
	if !end && !page.whole {
		page.data.NextCursor = c.next(append([]byte{byte(page.at.Priority)}, page.at.Task[:]...))
	}
	return Reply{Data: page.data}, nil
}
