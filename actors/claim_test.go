package actors

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// agents registers some with a name in common.
func agents(t testing.TB, e *Engine, name string, n int) (all []id.ID) {
	t.Helper()
	for i := range n {
		all = append(all, register(t, e, fmt.Sprintf("%s-%d", name, i)))
	}
	return all
}

// addReaders makes agents members of a project, so that they may hold any number of claims.
func addReaders(t testing.TB, e *Engine, project, owner id.ID, agents []id.ID) {
	t.Helper()
	for _, agent := range agents {
		mustDo(t, e, project, owner, &work.AddMember{Agent: agent, Role: work.Reader})
	}
}

// TestEachTaskIsClaimedOnce lets agents race for all tasks of a project, while snapshots are taken
// and the project becomes passive.
func TestEachTaskIsClaimedOnce(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 200)
	racing := agents(t, e, "agent", 16)
	addReaders(t, e, project, owner, racing)
	var claimed sync.Map
	var count atomic.Int32
	var racers, background sync.WaitGroup
	var over atomic.Bool
	for n, agent := range racing {
		racers.Go(func() {
			for i := 0; ; i++ {
				var command work.Command = &work.ClaimNext{}
				if n%2 == 0 {
					if i == len(tasks) {
						return
					}
					command = &work.ClaimTask{Task: tasks[i]}
				}
				done, err := e.Do(api.Order{Project: project, Agent: agent, Command: command})
				switch fault.CodeOf(err) {
				case "":
					task := done.Result.Subject
					if _, taken := claimed.Swap(task, agent); taken {
						t.Errorf("%v was claimed twice", task)
					}
					count.Add(1)
				case fault.TaskAlreadyClaimed:
				case fault.TaskNotFound:
					return
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	background.Go(func() {
		for !over.Load() {
			if err := e.Save(); err != nil {
				t.Error(err)
			}
			e.sweep(e.Advance(10))
		}
	})
	racers.Wait()
	over.Store(true)
	background.Wait()
	if count.Load() != 200 {
		t.Fatalf("%d claims of 200 tasks", count.Load())
	}
	check := func(what string, e *Engine) {
		p := viewOf(t, e, project)
		for _, task := range tasks {
			stored, _ := p.Task(task, work.AsStored)
			agent, _ := claimed.Load(task)
			if stored.Claim == nil || stored.Claim.Agent != agent || stored.Token != 1 {
				t.Fatalf("%s: %+v, claimed by %v", what, stored.Claim, agent)
			}
		}
		checkFound(t, what, e)
	}
	check("live", e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	check("after a kill", start(t, config))
}

// claimInput is what a client does with a task.
type claimInput struct {
	action string
	task   int
	agent  int
}

// claimOutput is the answer: of a claim its fencing token, 0 where it was refused; of a read the
// agent that holds the task, -1 for none.
type claimOutput struct {
	token  uint64
	holder int
}

// claimState is one task: who holds it, -1 for nobody, and the newest token.
type claimState struct {
	holder int
	token  uint64
}

var claimModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[int][]porcupine.Operation{}
		for _, one := range history {
			task := one.Input.(claimInput).task
			parts[task] = append(parts[task], one)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return claimState{holder: -1} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(claimState), input.(claimInput), output.(claimOutput)
		switch in.action {
		case "claim":
			if out.token == 0 {
				return s.holder >= 0, s
			}
			return s.holder < 0 && out.token == s.token+1, claimState{in.agent, out.token}
		case "release":
			if out.token == 0 {
				return s.holder != in.agent, s
			}
			return s.holder == in.agent && out.token == s.token, claimState{-1, s.token}
		}
		return out.holder == s.holder && out.token == s.token, s
	},
}

// claimClient gives random commands of one agent and notes what comes of them.
type claimClient struct {
	e       *Engine
	project id.ID
	tasks   []id.ID
	agents  []id.ID
	agent   int
}

func (c *claimClient) do(in claimInput) (out claimOutput, err error) {
	task, now := c.tasks[in.task], c.e.Now()
	var command work.Command = &work.ClaimTask{Task: task}
	switch in.action {
	case "read":
		p, err := c.e.Project(c.project)
		if err != nil {
			return out, err
		}
		stored, _ := p.Task(task, now)
		out = claimOutput{token: stored.Token, holder: -1}
		for i, agent := range c.agents {
			if stored.Claim != nil && stored.Claim.Agent == agent {
				out.holder = i
			}
		}
		return out, nil
	case "release":
		command = &work.ReleaseTask{Task: task}
	}
	done, err := c.e.Do(api.Order{Project: c.project, Agent: c.agents[c.agent], Command: command})
	switch fault.CodeOf(err) {
	case "":
		stored, _ := done.Project.Task(task, now)
		return claimOutput{token: stored.Token}, nil
	case fault.TaskAlreadyClaimed, fault.ClaimLost:
		return out, nil
	}
	return out, err
}

// TestClaimsAreLinearizable records concurrent claims, releases and reads, and asks whether one
// order of them explains all that was seen.
func TestClaimsAreLinearizable(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks, racing := createTasks(t, e, project, owner, 2), agents(t, e, "agent", 6)
	linearizable(t, claimModel, len(racing), 60, func(agent, step int) (any, any, error) {
		client := claimClient{e: e, project: project, tasks: tasks, agents: racing, agent: agent}
		in := claimInput{
			action: []string{"claim", "read", "release"}[step%3],
			task:   step / 3 % len(tasks), agent: agent,
		}
		out, err := client.do(in)
		return in, out, err
	})
}
