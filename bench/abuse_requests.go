package bench

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"pws/bench/client"
)

// requestAttacks repeat requests that are meant to cost much.
var requestAttacks = []attack{
	{
		name:  "hostile-bodies",
		what:  "bodies of up to 16 MiB: empty objects, empty operations, unknown members",
		setup: (*scene).prepareBodies,
		run:   sendBodies,
		holds: (*scene).newcomerWorks,
	},
	{
		name:  "pending-challenges",
		what:  "challenges for 18 agents of others, and for registrations, that nobody answers",
		setup: (*scene).prepareChallenges,
		run:   askChallenges,
		holds: (*scene).newcomerWorks,
	},
	{
		name: "large-diffs",
		what: "diffs of ten files of 1 MiB, by 8 agents",
		setup: func(s *scene) error {
			if err := s.addAttackers(8); err != nil {
				return err
			}
			return s.publishLargeDiff()
		},
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 8, func(api *client.API, _, _ int) error {
				return api.Get(s.paths[0], nil)
			})
		},
	},
	{
		name:  "large-resumes",
		what:  "the largest resume and the manifest of a big project, anonymous and by 8 agents",
		setup: (*scene).publishBigProject,
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 8, func(api *client.API, worker, turn int) error {
				if worker%2 == 0 {
					api.Credential = ""
				}
				return api.Get(s.paths[turn%len(s.paths)], nil)
			})
		},
	},
	{
		name:  "large-checkpoints",
		what:  "checkpoints of 100 tasks with dependencies on a big project, by its owner",
		setup: (*scene).publishBigProject,
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 8, func(api *client.API, worker, turn int) error {
				api.Credential = s.attackers[0].Credential
				body := dependentTasks(s.tasks[turn%len(s.tasks):], worker*1000+turn)
				_, err := postCheckpoint(api, s.project, body, nil)
				return err
			})
		},
	},
	{
		name:  "conflicting-accepts",
		what:  "accept of a contribution that conflicts in files of 1 MiB, again and again",
		setup: (*scene).submitConflict,
		run: func(ctx context.Context, s *scene) error {
			return s.repeat(ctx, 8, func(api *client.API, _, _ int) error {
				api.Credential = s.attackers[0].Credential
				_, err := api.Call(client.Request{
					Method: "POST", Path: s.paths[0], Body: []byte(s.paths[1]),
				}, nil)
				return err
			})
		},
	},
}

// hostile is a request with a large body that cannot be valid.
type hostile struct {
	path string
	body []byte
}

// hostileBodies are bodies of about so many bytes.
func hostileBodies(project string, size int) []hostile {
	list := func(before, item, after string) []byte {
		var out bytes.Buffer
		out.WriteString(before + item)
		for out.Len() < size-len(after)-len(item)-1 {
			out.WriteString("," + item)
		}
		out.WriteString(after)
		return out.Bytes()
	}
	var members bytes.Buffer
	members.WriteString(`{"api_version":"v1"`)
	for i := 0; members.Len() < size-32; i++ {
		fmt.Fprintf(&members, `,"m%d":0`, i)
	}
	members.WriteString("}")
	return []hostile{
		{projectPath(project) + "/handoffs", list(`{"decisions":[`, "{}", "]}")},
		{projectPath(project) + "/changesets", list(`{"message":"m","operations":[`, "{}", "]}")},
		{projectPath(project) + "/changesets", members.Bytes()},
		{"/api/v1/projects/import", list(`{"format":`+strings.Repeat("[", 100), "[]", "]}")},
	}
}

func (s *scene) prepareBodies() error {
	if err := s.addAttackers(4); err != nil {
		return err
	}
	project, err := s.attackers[0].CreateProject("Bodies")
	s.project = project.ID
	return err
}

// negotiateBytes is the largest body that negotiate reads.
const negotiateBytes = 64 << 10

func sendBodies(ctx context.Context, s *scene) error {
	bodies := hostileBodies(s.project, s.amount(16<<20, 1<<20))
	anonymous := hostileBodies(s.project, negotiateBytes)
	for i := range anonymous {
		anonymous[i].path = "/api/v1/capabilities/negotiate"
	}
	return s.repeat(ctx, 8, func(api *client.API, worker, turn int) error {
		from := bodies
		if worker%2 == 0 {
			from, api.Credential = anonymous, ""
		}
		one := from[(worker+turn)%len(from)]
		_, err := api.Call(client.Request{
			Method: "POST", Path: one.path, Body: one.body, IdempotencyKey: client.RandomKey(),
		}, nil)
		return err
	})
}

// challenged is a key of an agent that is no attacker.
type challenged struct {
	AgentID string `json:"agent_id"`
	KeyID   string `json:"key_id"`
}

// victims are the agents for which an attacker requests challenges.
const victims = 18

func (s *scene) prepareChallenges() error {
	for i := range victims {
		api, err := s.register(fmt.Sprintf("127.0.3.%d", 1+i))
		if err != nil {
			return err
		}
		var me struct {
			Agent struct {
				ID string `json:"id"`
			} `json:"agent"`
		}
		var own struct {
			Keys []struct {
				ID string `json:"id"`
			} `json:"keys"`
		}
		if err = api.Get("/api/v1/agents/me", &me); err == nil {
			err = api.Get("/api/v1/agents/me/keys", &own)
		}
		if err != nil || len(own.Keys) != 1 {
			api.Close()
			return fmt.Errorf("an agent has %d keys: %w", len(own.Keys), err)
		}
		s.victims = append(s.victims, victim{api, challenged{me.Agent.ID, own.Keys[0].ID}})
	}
	return nil
}

// victim is an ordinary agent that an attacker wants to keep out.
type victim struct {
	api *client.API
	key challenged
}

func askChallenges(ctx context.Context, s *scene) error {
	var group sync.WaitGroup
	defer group.Wait()
	// While the attack goes on, each of the agents signs in.
	failures := make(chan error, 1)
	group.Go(func() {
		defer close(failures)
		for _, one := range s.victims {
			if err := one.api.Renew(); err != nil {
				failures <- fmt.Errorf("an agent cannot sign in: %w", err)
				return
			}
		}
	})
	err := s.repeat(ctx, 8, func(api *client.API, worker, turn int) error {
		if worker == 0 {
			return startRegistration(api)
		}
		at := worker + turn
		_, err := api.Post("/api/v1/auth/challenge", "", s.victims[at%len(s.victims)].key, nil)
		return err
	})
	if err != nil {
		return err
	}
	return <-failures
}

// publishLargeDiff makes a changeset that changes ten files of 1 MiB, and remembers its diff.
func (s *scene) publishLargeDiff() error {
	project, err := s.owner.CreatePublicProject("Large files")
	if err != nil {
		return err
	}
	head := project.Head
	for round, action := range []string{"CREATE", "MODIFY"} {
		operations := make([]fillOperation, s.amount(10, 2))
		for i := range operations {
			operations[i] = fillOperation{
				Action: action, Path: fmt.Sprintf("file-%d.txt", i),
				Content: shuffledLines(i+100*round, s.amount(1<<20, 1<<17)),
			}
		}
		if head, err = publish(s.owner, project.ID, head, operations); err != nil {
			return err
		}
	}
	s.paths = []string{projectPath(project.ID) + "/changesets/" + head + "/diff"}
	return nil
}

// shuffledLines is a text of short lines, few of which are equal in two texts at one place.
func shuffledLines(seed, size int) string {
	var out strings.Builder
	text := newDocuments(seed)
	for out.Len() < size-16 {
		out.WriteString(word(int(text.rank.Uint64())) + "\n")
	}
	return out.String()
}

// publishBigProject has an attacker create a project with many tasks and handoffs.
func (s *scene) publishBigProject() error {
	if err := s.addAttackers(8); err != nil {
		return err
	}
	api := s.attackers[0]
	project, err := api.CreatePublicProject("Big")
	if err != nil {
		return err
	}
	s.project = project.ID
	if err := createTasks(api, project.ID, s.amount(3000, 300)); err != nil {
		return err
	}
	tasks, err := listTasks(api, project.ID)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		s.tasks = append(s.tasks, task.ID)
	}
	for i := range s.amount(100, 5) {
		_, err := api.Call(client.Request{
			Method: "POST", Path: projectPath(project.ID) + "/handoffs", Body: newProse(i).handoff(nil),
			IdempotencyKey: client.RandomKey(),
		}, nil)
		if err != nil {
			return err
		}
	}
	s.paths = []string{
		projectPath(project.ID) + "/resume?max_chars=100000", projectPath(project.ID) + "/manifest",
	}
	return nil
}

// dependentTasks is a checkpoint that creates 100 tasks, each of which depends on others.
func dependentTasks(others []string, seed int) []byte {
	const depends = 20
	dependencies, err := client.EncodeJSON(others[:min(len(others), depends)])
	if err != nil {
		panic(err)
	}
	body := []byte(`{"summary":"Plan the work.","tasks":[`)
	for i := range 100 {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"create":{"title":"Task %d of %d","dependencies":%s}}`, i, seed,
			dependencies)
	}
	return append(body, `]}`...)
}

// submitConflict prepares a contribution that cannot be merged, in a project of the attacker.
func (s *scene) submitConflict() error {
	if err := s.addAttackers(2); err != nil {
		return err
	}
	owner, guest := s.attackers[0], s.attackers[1]
	project, err := owner.CreatePublicProject("Conflicts")
	if err != nil {
		return err
	}
	files, size := s.amount(4, 2), s.amount(1<<20, 1<<17)
	write := func(api *client.API, folder string, round int) error {
		for i := range files {
			content := []byte(shuffledLines(i+100*round, size))
			if err := putFile(api, fmt.Sprintf("%s/files/file-%d.txt", folder, i), content); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(owner, projectPath(project.ID), 0); err != nil {
		return err
	}
	var opened struct {
		Workspace struct {
			ID string `json:"id"`
		} `json:"workspace"`
	}
	_, err = guest.Post(projectPath(project.ID)+"/workspaces", client.RandomKey(), struct{}{}, &opened)
	if err != nil {
		return err
	}
	workspace := "/api/v1/workspaces/" + opened.Workspace.ID
	if err := write(guest, workspace, 1); err != nil {
		return err
	}
	var submitted struct {
		Contribution struct {
			ID       string `json:"id"`
			Revision string `json:"current_revision_id"`
		} `json:"contribution"`
	}
	_, err = guest.Post(workspace+"/submit", client.RandomKey(),
		map[string]string{"summary": "Other words"}, &submitted)
	if err != nil {
		return err
	}
	s.paths = []string{
		"/api/v1/contributions/" + submitted.Contribution.ID + "/accept",
		`{"revision_id":"` + submitted.Contribution.Revision + `"}`,
	}
	return write(owner, projectPath(project.ID), 2)
}

// startRegistration requests a challenge for a new key and does not answer it.
func startRegistration(api *client.API) error {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	_, err = api.Post("/api/v1/agents/register/start", "", map[string]string{
		"public_key": base64.RawURLEncoding.EncodeToString(public), "algorithm": "Ed25519",
	}, nil)
	return err
}
