package api

import (
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

const (
	// placesMax bounds how many places of public work one request looks at, and placeProjectsMax in
	// how many projects they are, for each of those may have to be loaded.
	placesMax        = 2000
	placeProjectsMax = 200
	// placesBatch is how many places are asked for at a time.
	placesBatch = 50
)

// publicPlaces yields places of public work with a status, in the order in which it should be
// taken, behind a position, within the bounds of one request. It reports whether it came to their
// end.
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

// publicTask is the task of a place as it reads now, nil where it is no public work with a status
// any more. The live view decides, whatever the place says.
func (c *Call) publicTask(
	place index.TaskPlace, status work.TaskStatus,
) (*work.Project, *work.Task, error) {
	view, err := c.Service.Engine.Project(place.Project)
	if err != nil || view == nil || view.Visibility != work.Public || view.Status != work.Active {
		return nil, nil, err
	}
	t, ok := view.Task(place.Task, c.Now)
	if !ok || t.Status != status {
		return nil, nil, nil
	}
	return view, t, nil
}

// openPage is the page of task.open in the making.
type openPage struct {
	call   *Call
	limit  int
	filter taskFilter
	data   TasksData
	// at is the last place that the page has or has passed over.
	at index.TaskPosition
	// whole says that no further place can belong to the list.
	whole bool
	err   error
}

// take looks at one place; a task beyond the limit ends the page in front of it.
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
		if len(p.data.Tasks) == p.limit {
			return false
		}
		p.data.Tasks = append(p.data.Tasks, p.call.task(view, t))
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
		// Nothing stands in front of the lowest ID of a priority.
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
