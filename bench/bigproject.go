package bench

import (
	"context"
	"fmt"
	"time"

	"pws/bench/client"
)

// projectSize is the number of records in a project, besides its state.
type projectSize struct {
	changesets int
	tasks      int
	handoffs   int
}

func (p projectSize) String() string {
	return fmt.Sprintf("%s changesets, %s tasks, %s handoffs", number(float64(p.changesets)),
		number(float64(p.tasks)), number(float64(p.handoffs)))
}

// fillProject creates a project and fills it with partly finished work.
func (s *server) fillProject(ctx context.Context, size projectSize) (string, error) {
	project, err := s.api.CreatePublicProject("Continuation of " + size.String())
	if err != nil {
		return "", err
	}
	if err := s.fillChangesets(ctx, project.ID, size.changesets); err != nil {
		return "", err
	}
	if err := createTasks(s.api, project.ID, size.tasks); err != nil {
		return "", err
	}
	if err := advanceTasks(s.api, project.ID); err != nil {
		return "", err
	}
	err = s.each(ctx, size.handoffs, func(api *client.API, at int) error {
		_, err := api.Call(client.Request{
			Method: "POST", Path: projectPath(project.ID) + "/handoffs",
			IdempotencyKey: client.RandomKey(), Body: newProse(at).handoff(nil),
		}, nil)
		return err
	})
	if err != nil {
		return "", err
	}
	_, err = s.api.Call(client.Request{
		Method: "PATCH", Path: projectPath(project.ID) + "/state", Body: newProse(0).fullState(nil),
	}, nil)
	return project.ID, err
}

// fillChangesets publishes changesets of one file each.
func (s *server) fillChangesets(ctx context.Context, project string, count int) error {
	// Creating the project makes the first changeset.
	count--
	writers := min(s.config.Connections, count)
	_, err := fill(ctx, httpClients(s.host, writers, func(at int) func() []byte {
		w := &writer{
			host: s.host, credential: s.api.Credential, filler: newFiller(at, contentBytes),
			paths: writerPaths([]string{project}, at, writers),
			left:  count*(at+1)/writers - count*at/writers,
		}
		return w.nextOfMany
	}))
	return err
}

// fillTimeMax bounds the duration of a fill.
const fillTimeMax = 30 * time.Minute

// fill drives clients until they have no request left, and fails on any error.
func fill(ctx context.Context, connect connect) (*Sample, error) {
	clients, err := connect()
	if err != nil {
		return nil, err
	}
	defer clients.close()
	total, err := clients.drive(ctx, load{duration: fillTimeMax})
	if err == nil && len(total.Errors) > 0 {
		err = fmt.Errorf("the fill failed: %v", total.Errors)
	}
	return total, err
}

// advanceTasks finishes three of ten tasks, blocks one of ten, and claims one of twenty.
func advanceTasks(api *client.API, project string) error {
	tasks, err := listTasks(api, project)
	if err != nil {
		return err
	}
	words := newProse(1)
	for from := 0; from < len(tasks); from += tasksPerRequest {
		body, updates := []byte(`{"summary":"Look at the tasks.","tasks":[`), 0
		for i := from; i < min(from+tasksPerRequest, len(tasks)); i++ {
			if i%10 >= 4 {
				continue
			}
			if updates++; updates > 1 {
				body = append(body, ',')
			}
			body = append(append(body, `{"task_id":"`...), tasks[i].ID...)
			if i%10 == 3 {
				body = append(body, `","status":"BLOCKED","blocked":{"kind":"NEEDS_INPUT"`...)
				body = words.member(body, "reason", 60)
			} else {
				body = append(body, `","status":"DONE","result":{`...)
				body = words.member(body, "summary", 60)
			}
			body = append(body, `}}`...)
		}
		if _, err := postCheckpoint(api, project, append(body, `]}`...), nil); err != nil {
			return err
		}
	}
	for range len(tasks) / 20 {
		_, err := api.Post("/api/v1/tasks/claim-next", "", map[string]string{"project_id": project},
			nil)
		if err != nil {
			return err
		}
	}
	return nil
}
