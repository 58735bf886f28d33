package bench

import (
	"context"
	"fmt"

	"pws/bench/client"
)

// ownProject is a project that only one worker writes, with its current head.
type ownProject struct {
	path string
	head string
}

// checkpointer sends checkpoints of its own projects in turn.
type checkpointer struct {
	host       string
	credential string
	projects   []ownProject
	filler     *filler
	words      *prose
	turn       int
	// current is the project of the request in flight.
	current *ownProject
	body    []byte
	out     []byte
}

func (c *checkpointer) next() []byte {
	c.current = &c.projects[c.turn%len(c.projects)]
	file := c.turn / len(c.projects) % filesPerWriter
	c.turn++
	c.body = append(c.body[:0], `{"summary":"`...)
	c.body = append(c.words.text(c.body, 80), `","base_changeset_id":"`...)
	c.body = append(append(c.body, c.current.head...), `","files":[{"path":"src/file-`...)
	c.body = append(append(c.body, '0'+byte(file)), `.txt","content":"`...)
	c.body = append(append(c.body, c.filler.next()...), `"}],"state":`...)
	c.body = append(c.words.state(c.body), `,"handoff":`...)
	c.body = append(c.words.handoff(c.body), '}')
	request := client.Request{
		Method: "POST", Path: c.current.path, Host: c.host, Credential: c.credential, Body: c.body,
	}
	c.out = request.Append(c.out[:0])
	return c.out
}

func (c *checkpointer) complete(have []byte) (bool, string, error) {
	response, whole, err := parseHTTP(have)
	if err != nil || !whole {
		return false, "", err
	}
	if outcome := client.Outcome(response); outcome != "" {
		return true, outcome, nil
	}
	// The checkpoint, its state and its handoff all name the changeset that it created.
	head, found := findID(response.Body, `"changeset_id":"`)
	if !found || head == c.current.head {
		return true, fmt.Sprintf("%d without a changeset", response.Status), nil
	}
	c.current.head = head
	return true, "", nil
}

// checkpointers connects workers, each with its own projects.
func (s *server) checkpointers(ctx context.Context) connect {
	return func() (fleet, error) {
		n := s.config.Connections
		projects := make([]ownProject, max(s.config.Projects, n))
		err := s.each(ctx, len(projects), func(api *client.API, at int) error {
			project, err := api.CreateProject(fmt.Sprintf("Checkpoints %d", at))
			projects[at] = ownProject{
				path: projectPath(project.ID) + "/checkpoint", head: project.Head,
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("create projects: %w", err)
		}
		return clients(s.host, n, func(at int) exchange {
			return &checkpointer{
				host: s.host, credential: s.api.Credential,
				projects: projects[len(projects)*at/n : len(projects)*(at+1)/n],
				filler:   newFiller(at, contentBytes), words: newProse(at),
			}
		})()
	}
}
