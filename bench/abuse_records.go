package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"pws/bench/client"
)

// recordAttacks store as much as they can, or use up what others need.
var recordAttacks = []attack{
	{
		name:  "fork-flood",
		what:  "forks of a project of 18 MiB, so that search is busy; a project of somebody else",
		setup: (*scene).publishWords,
		run:   forkAndFind,
	},
	{
		name:  "verification-flood",
		what:  "agents fill a PUBLIC project of the owner with verification records",
		setup: func(s *scene) error { return s.publishTasks(5, 0) },
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 5, func(api *client.API, _, turn int) error {
				if turn > s.amount(400, 105) {
					return errFinished
				}
				return verify(api, s.project)
			})
		},
		holds: func(s *scene) error {
			// An agent without a role has at most 100 records in a project.
			if most := int64(5 * 100); s.answers(success) > most {
				return fmt.Errorf("5 agents without a role have added %d records, of at most %d",
					s.answers(success), most)
			}
			return verify(s.owner, s.project)
		},
	},
	{
		name:  "claims-of-strangers",
		what:  "agents claim all tasks of the owner's PUBLIC project and rewrite them",
		setup: func(s *scene) error { return s.publishTasks(5, s.amount(60, 30)) },
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 5, func(api *client.API, worker, turn int) error {
				if turn >= 2*len(s.tasks) {
					return errFinished
				}
				return rewrite(api, s.tasks[(worker+turn)%len(s.tasks)])
			})
		},
		holds: (*scene).tasksAreUnharmed,
	},
	{
		name:  "large-handoffs",
		what:  "handoffs of 64 KB by one agent in its own project",
		setup: func(s *scene) error { return s.publishTasks(1, 0) },
		run: func(ctx context.Context, s *scene) error {
			own, err := s.attackers[0].CreateProject("Handoffs")
			if err != nil {
				return err
			}
			body := map[string]any{"summary": "s", "next_actions": items(32, 2000)}
			return s.repeat(ctx, 4, func(api *client.API, _, turn int) error {
				if turn >= s.amount(110, 10) {
					return errFinished
				}
				_, err := api.Post(projectPath(own.ID)+"/handoffs", client.RandomKey(), body, nil)
				return err
			})
		},
	},
	{
		name:  "large-keyed-checkpoints",
		what:  "checkpoints of 4 MB with an Idempotency-Key each, by one agent in its own project",
		setup: func(s *scene) error { return s.publishTasks(1, 0) },
		run:   keyCheckpoints,
	},
	{
		name:  "disk-filling",
		what:  "files of 1 MiB by one agent in its own project, as many as are accepted",
		small: []string{"--agent-hour-bytes", "4194304"},
		setup: func(s *scene) error { return s.publishTasks(1, 0) },
		run:   fillDisk,
		holds: func(s *scene) error {
			// The contents compress to three quarters.
			if most := int64(s.amount(2*256, 2*4)); s.answers(success) > most {
				return fmt.Errorf("one agent has stored %d MiB", s.answers(success))
			}
			return s.newcomerWorks()
		},
	},
}

const quotaExceeded = "409 QUOTA_EXCEEDED"

// publishTasks has the owner publish a project with tasks, for some attackers.
func (s *scene) publishTasks(attackers, tasks int) error {
	if err := s.addAttackers(attackers); err != nil {
		return err
	}
	project, err := s.owner.CreatePublicProject("Attacked")
	if err != nil {
		return err
	}
	s.project = project.ID
	if err := createTasks(s.owner, project.ID, tasks); err != nil {
		return err
	}
	all, err := listTasks(s.owner, project.ID)
	for _, task := range all {
		s.tasks = append(s.tasks, task.ID)
	}
	return err
}

// publishWords has the owner publish a project of many words that may be forked.
func (s *scene) publishWords() error {
	if err := s.addAttackers(4); err != nil {
		return err
	}
	project, err := createReusable(s.attackers[0], "Words")
	if err != nil {
		return err
	}
	s.project = project.ID
	for i := range s.amount(18, 2) {
		content := []byte(shuffledLines(i, s.amount(1<<20, 1<<17)))
		path := filePath(s.project, fmt.Sprintf("words-%d.txt", i))
		if err := putFile(s.attackers[0], path, content); err != nil {
			return err
		}
	}
	return nil
}

// findPatience bounds the time until a new project is found.
const findPatience = 2 * time.Minute

// forkAndFind forks a large project many times, creates a project of somebody else, and measures
// when it is found.
func forkAndFind(ctx context.Context, s *scene) error {
	each := s.amount(30, 4) / 2
	err := s.repeat(ctx, 2, func(api *client.API, worker, turn int) error {
		if turn >= each {
			return errFinished
		}
		_, err := api.Post(projectPath(s.project)+"/fork", client.RandomKey(), map[string]string{
			"name": fmt.Sprintf("Fork %d of %d", turn, worker), "visibility": "PUBLIC",
			"reuse_policy": "ALLOW_REUSE",
		}, nil)
		return err
	})
	if err != nil {
		return err
	}
	api, err := s.newcomer()
	if err != nil {
		return err
	}
	defer api.Close()
	if _, err := api.CreatePublicProject("Zyzzogeton"); err != nil {
		return err
	}
	begun := time.Now()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		var found struct {
			Results []struct{} `json:"results"`
		}
		if err := api.Get("/api/v1/search?q="+url.QueryEscape("Zyzzogeton"), &found); err != nil {
			return err
		}
		took := time.Since(begun)
		if len(found.Results) > 0 {
			s.figure("found after s", took.Seconds())
			return nil
		}
		if took > findPatience {
			return fmt.Errorf("a new project was not found in %v", findPatience)
		}
		<-ticker.C
	}
}

// verify adds a verification record about a project.
func verify(api *client.API, project string) error {
	_, err := api.Post("/api/v1/verifications", client.RandomKey(), map[string]any{
		"entity_type": "PROJECT", "entity_id": project, "kind": "SELF_REPORT", "outcome": "FAILED",
		"summary": strings.Repeat("It does not work. ", 100),
	}, nil)
	return err
}

// rewrite claims a task and replaces its title.
func rewrite(api *client.API, task string) error {
	var claimed struct {
		Claim struct {
			ID    string `json:"id"`
			Token int64  `json:"fencing_token"`
		} `json:"claim"`
	}
	path := "/api/v1/tasks/" + task
	if _, err := api.Post(path+"/claim", client.RandomKey(), struct{}{}, &claimed); err != nil {
		return err
	}
	body, err := client.EncodeJSON(map[string]any{
		"title": rewritten, "claim_id": claimed.Claim.ID, "fencing_token": claimed.Claim.Token,
	})
	if err != nil {
		return err
	}
	_, err = api.Call(client.Request{Method: "PATCH", Path: path, Body: body}, nil)
	return err
}

// rewritten is the title that a stranger gives to tasks.
const rewritten = "Nothing to do here"

// tasksAreUnharmed checks that no stranger has rewritten a task, and that some tasks are free.
func (s *scene) tasksAreUnharmed() error {
	free := 0
	for _, id := range s.tasks {
		var data struct {
			Task struct {
				Title  string `json:"title"`
				Status string `json:"status"`
			} `json:"task"`
		}
		if err := s.owner.Get("/api/v1/tasks/"+id, &data); err != nil {
			return err
		}
		if data.Task.Title == rewritten {
			return errors.New("a stranger has rewritten a task")
		}
		if data.Task.Status == "OPEN" {
			free++
		}
	}
	s.figure("tasks left", float64(free))
	if free == 0 {
		return errors.New("strangers have claimed all tasks")
	}
	return nil
}

// fillDisk writes files until the agent's quota is used up.
func fillDisk(ctx context.Context, s *scene) error {
	own, err := s.attackers[0].CreateProject("Files")
	if err != nil {
		return err
	}
	fillers := []*filler{newFiller(1, 1<<20), newFiller(2, 1<<20)}
	return s.repeat(ctx, len(fillers), func(api *client.API, worker, turn int) error {
		if s.answers(quotaExceeded) > 0 {
			return errFinished
		}
		path := filePath(own.ID, fmt.Sprintf("file-%d-%d.txt", worker, turn))
		return putFile(api, path, fillers[worker].next())
	})
}

// items are texts for a list.
func items(count, size int) []string {
	out := make([]string, count)
	filler := newFiller(7, size)
	for i := range out {
		out[i] = string(filler.next())
	}
	return out
}

// keyCheckpoints sends checkpoints of several files, each under a key of its own.
func keyCheckpoints(ctx context.Context, s *scene) error {
	own, err := s.attackers[0].CreateProject("Checkpoints")
	if err != nil {
		return err
	}
	fillers := make([]*filler, 4)
	for i := range fillers {
		fillers[i] = newFiller(i, s.amount(1<<20, 1<<17)-1)
	}
	turns := s.amount(60, 6)
	return s.repeat(ctx, 1, func(api *client.API, _, turn int) error {
		if turn >= turns {
			return errFinished
		}
		var current struct {
			Project client.Project `json:"project"`
		}
		if err := api.Get(projectPath(own.ID), &current); err != nil {
			return err
		}
		var files []map[string]string
		for i, filler := range fillers {
			files = append(files, map[string]string{
				"path": fmt.Sprintf("file-%d.txt", i), "content": string(filler.next()),
			})
		}
		_, err := api.Post(projectPath(own.ID)+"/checkpoint", client.RandomKey(), map[string]any{
			"summary": "All of it", "base_changeset_id": current.Project.Head, "files": files,
		}, nil)
		return err
	})
}
