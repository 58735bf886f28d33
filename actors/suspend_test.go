package actors

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// heldBy counts the claims of an agent in a project, as stored.
func heldBy(t testing.TB, e *Engine, project, agent id.ID) (count int) {
	t.Helper()
	viewOf(t, e, project).Tasks(id.ID{}, work.AsStored, func(task *work.Task) bool {
		if task.Claim != nil && task.Claim.Agent == agent {
			count++
		}
		return true
	})
	return count
}

// A suspension that races with claims leaves none behind, and none comes later. Each agent claims
// as fast as it can until it is refused.
func TestSuspensionRacesWithClaims(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 200)
	racing := agents(t, e, "agent", 8)
	addReaders(t, e, project, owner, racing)
	var racers sync.WaitGroup
	begun := make(chan struct{}, len(racing))
	for n, agent := range racing {
		racers.Go(func() {
			for i := n; ; i += len(racing) {
				task := tasks[i%len(tasks)]
				var command work.Command = &work.ClaimTask{Task: task}
				if i%2 == 1 {
					command = &work.ReleaseTask{Task: task}
				}
				_, err := e.Do(api.Order{Project: project, Agent: agent, Command: command})
				if i == n {
					begun <- struct{}{}
				}
				switch fault.CodeOf(err) {
				case "", fault.TaskAlreadyClaimed, fault.ClaimLost:
				case fault.SessionInvalid:
					return
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	for range racing {
		<-begun
	}
	for _, agent := range racing {
		if _, err := e.SuspendAgent(agent.Format(id.Agent), "spam"); err != nil {
			t.Error(err)
		}
		if held := heldBy(t, e, project, agent); held != 0 {
			t.Errorf("a suspended agent holds %d claims", held)
		}
	}
	racers.Wait()
	check := func(what string, e *Engine) {
		for _, agent := range racing {
			if held := heldBy(t, e, project, agent); held != 0 {
				t.Errorf("%s: a suspended agent holds %d claims", what, held)
			}
		}
		checkFound(t, what, e)
	}
	check("live", e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	check("after a kill", start(t, config))
}

// A process that died between a suspension and the release of claims releases them at its start.
func TestStartFreesSuspendedAgents(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	tasks := createTasks(t, e, project, owner, 1)
	agent := register(t, e, "claimer")
	mustDo(t, e, project, agent, &work.ClaimTask{Task: tasks[0]})
	suspend := &identity.SuspendAgent{Agent: "claimer", Reason: "spam"}
	if _, err := e.OperatorDo(suspend); err != nil {
		t.Fatal(err)
	}
	if held := heldBy(t, e, project, agent); held != 1 {
		t.Fatalf("%d claims before the start", held)
	}
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	freed := again.WaitActivity(project, id.ID{})
	defer freed.Stop()
	for heldBy(t, again, project, agent) > 0 {
		<-freed.Ready()
		freed.Seen(false)
	}
}

// What a suspended agent holds is freed by a later sweep where the disk was full at the first one.
func TestFreeingSuspendedAgentsIsTriedAgain(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	e := start(t, smallDisk(t.TempDir(), &free))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	tasks := createTasks(t, e, project, owner, 1)
	mustDo(t, e, project, owner, &work.ClaimTask{Task: tasks[0]})
	if _, err := e.OperatorDo(&identity.SuspendAgent{Agent: "owner", Reason: "spam"}); err != nil {
		t.Fatal(err)
	}
	free.Store(0)
	settleSpace(t, e, false)
	resumed := e.resume(0)
	if held := heldBy(t, e, project, owner); held != 1 {
		t.Fatalf("%d claims while the disk is full", held)
	}
	free.Store(1 << 40)
	settleSpace(t, e, true)
	e.resume(resumed)
	if held := heldBy(t, e, project, owner); held != 0 {
		t.Errorf("a suspended agent holds %d claims", held)
	}
}

// A suspended agent that holds more claims than one order releases loses all of them.
func TestSuspensionReleasesManyClaims(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	const claimers = 64
	tasks := createTasks(t, e, project, owner, work.OrderEventsMax+10)
	var claiming sync.WaitGroup
	for n := range claimers {
		claiming.Go(func() {
			for i := n; i < len(tasks); i += claimers {
				order := api.Order{
					Project: project, Agent: owner, Command: &work.ClaimTask{Task: tasks[i]},
				}
				if _, err := e.Do(order); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	claiming.Wait()
	if held := heldBy(t, e, project, owner); held != len(tasks) {
		t.Fatalf("%d of %d tasks are claimed", held, len(tasks))
	}
	if _, err := e.SuspendAgent(owner.Format(id.Agent), "spam"); err != nil {
		t.Fatal(err)
	}
	if held := heldBy(t, e, project, owner); held != 0 {
		t.Errorf("a suspended agent holds %d claims", held)
	}
}

// A turn of which nobody can see whose it is counts as one that could not be freed.
func TestTurnsThatCannotBeReadAreTriedAgain(t *testing.T) {
	e, project, agent := oneProject(t, nil)
	mustDo(t, e, project, agent, &work.OpenWorkspace{})
	saveAll(t, e)
	h, _ := e.handles.Load(project)
	h.mu.Lock()
	passive := e.passivate(h)
	h.mu.Unlock()
	if passive != passivated {
		t.Fatalf("the project is in memory: %d", passive)
	}
	if err := e.snapshot.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.freeAgent(agent); !errors.Is(err, snapshot.ErrClosed) {
		t.Errorf("the turn was looked at: %v", err)
	}
	if !e.suspendedHold.Load() {
		t.Error("it is not tried again")
	}
}
