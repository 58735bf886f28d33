package actors

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

const (
	claimCrashDirEnv  = "PWS_CLAIM_CRASH_DIR"
	claimCrashWorkers = 6
	claimCrashTasks   = 5
)

// claimCrashParts are the agents, the project and the tasks of the test.
func claimCrashParts(t *testing.T, e *Engine) (racing []id.ID, project id.ID, tasks []id.ID) {
	t.Helper()
	for worker := range claimCrashWorkers {
		agent, ok := e.Identity().AgentByHandle(fmt.Sprintf("agent-%d", worker))
		if !ok {
			t.Fatal("an agent is lost")
		}
		racing = append(racing, agent.ID)
	}
	for _, place := range claimPlaces(e) {
		project = place.Project
		tasks = append(tasks, place.Task)
	}
	if len(tasks) != claimCrashTasks {
		t.Fatalf("%d tasks are found", len(tasks))
	}
	return racing, project, tasks
}

// claimPlaces are the tasks, whatever their status is, in the order of their IDs.
func claimPlaces(e *Engine) []index.TaskPlace {
	return inRank(append(places(e, work.TaskOpen), places(e, work.TaskInProgress)...))
}

// TestClaimCrashChild is the child process of TestClaimCrash: its workers race for tasks until it
// is killed. It prints what was acknowledged BEFORE the worker goes on, and a release also BEFORE
// it is requested.
func TestClaimCrashChild(t *testing.T) {
	dir := os.Getenv(claimCrashDirEnv)
	if dir == "" {
		t.Skip("it is the child of TestClaimCrash")
	}
	e := start(t, quiet(dir))
	racing, project, tasks := claimCrashParts(t, e)
	var output sync.Mutex
	report := func(what string, task int, claim *work.Claim) {
		output.Lock()
		defer output.Unlock()
		fmt.Fprintln(os.Stdout, what, task, claim.Token, claim.ClaimedAt, claim.ExpiresAt)
	}
	for worker, agent := range racing {
		random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(worker)))
		do := func(task int, command work.Command) *work.Claim {
			done, err := e.Do(api.Order{Project: project, Agent: agent, Command: command})
			switch fault.CodeOf(err) {
			case "":
				stored, _ := done.Project.Task(tasks[task], work.AsStored)
				return stored.Claim
			case fault.TaskAlreadyClaimed, fault.ClaimLost:
			default:
				report("failed "+err.Error(), task, new(work.Claim))
			}
			return nil
		}
		go func() {
			for {
				task := random.IntN(len(tasks))
				claim := do(task, &work.ClaimTask{Task: tasks[task]})
				if claim == nil {
					continue
				}
				report("claimed", task, claim)
				if random.IntN(2) == 0 {
					if renewed := do(task, &work.RenewClaim{Task: tasks[task]}); renewed != nil {
						report("renewed", task, renewed)
					}
				}
				if random.IntN(3) > 0 {
					report("releasing", task, claim)
					do(task, &work.ReleaseTask{Task: tasks[task]})
					report("released", task, claim)
				}
			}
		}()
	}
	for {
		if err := e.Save(); err != nil {
			report("failed to save: "+err.Error(), 0, new(work.Claim))
		}
		e.Advance(leaseMillis / 20)
	}
}

// leaseSeen is what the child reported of one claim.
type leaseSeen struct {
	claimedAt, expiresAt int64
	// releasing says that the holder has begun to give it back, released that it has.
	releasing, released bool
}

// claimCrash is what the parent knows of the claims of each task, by fencing token.
type claimCrash struct {
	t     *testing.T
	dir   string
	seen  [claimCrashTasks]map[uint64]*leaseSeen
	first [claimCrashTasks]uint64
}

// TestClaimCrash kills a process whose agents race for tasks, again and again. A claim is given
// once and with a token above all before it, it is not over before its time, and it is there after
// the start with its end. There are 4 rounds, or PWS_CRASH_ROUNDS.
func TestClaimCrash(t *testing.T) {
	rounds := 4
	if text := os.Getenv("PWS_CRASH_ROUNDS"); text != "" {
		rounds, _ = strconv.Atoi(text)
	}
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	c := &claimCrash{t: t, dir: filepath.Join(t.TempDir(), "data")}
	e := start(t, quiet(c.dir))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	createTasks(t, e, project, owner, claimCrashTasks)
	addReaders(t, e, project, owner, agents(t, e, "agent", claimCrashWorkers))
	stop(t, e)
	for task := range c.seen {
		c.seen[task] = map[uint64]*leaseSeen{}
	}
	for round := range rounds {
		c.round(50 + random.IntN(200))
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	claims := 0
	for _, seen := range c.seen {
		claims += len(seen)
	}
	if claims < rounds*10 {
		t.Fatalf("%d claims in %d rounds", claims, rounds)
	}
}

func (c *claimCrash) round(lines int) {
	c.t.Helper()
	killAfter(c.t, "TestClaimCrashChild", lines, c.take, claimCrashDirEnv+"="+c.dir)
	e := start(c.t, quiet(c.dir))
	c.check(e)
	stop(c.t, e)
}

func (c *claimCrash) take(line string) {
	var what string
	var task int
	var token uint64
	var claimedAt, expiresAt int64
	n, _ := fmt.Sscan(line, &what, &task, &token, &claimedAt, &expiresAt)
	if n != 5 || task >= claimCrashTasks {
		c.t.Errorf("the child says %q", line)
		return
	}
	known := c.seen[task][token]
	switch {
	case what == "claimed":
		if known != nil || token <= c.first[task] {
			c.t.Errorf("task %d: token %d was given again, the last start had %d", task, token,
				c.first[task])
		}
		c.seen[task][token] = &leaseSeen{claimedAt: claimedAt, expiresAt: expiresAt}
	case known == nil:
		c.t.Errorf("the child says %q of a claim that it did not report", line)
	case what == "renewed":
		known.expiresAt = expiresAt
	case what == "releasing":
		known.releasing = true
	case what == "released":
		known.released = true
	default:
		c.t.Errorf("the child says %q", line)
	}
}

// check compares what was reported with what a start finds.
func (c *claimCrash) check(e *Engine) {
	c.t.Helper()
	checkFound(c.t, "after a kill", e)
	p := viewOf(c.t, e, claimPlaces(e)[0].Project)
	at := 0
	p.Tasks(id.ID{}, work.AsStored, func(stored *work.Task) bool {
		c.checkTask(at, stored)
		c.first[at] = stored.Token
		at++
		return true
	})
}

func (c *claimCrash) checkTask(task int, stored *work.Task) {
	c.t.Helper()
	seen := c.seen[task]
	for token, lease := range seen {
		next := seen[token+1]
		switch {
		case token > stored.Token:
			c.t.Errorf("task %d: the token %d is lost, the newest is %d", task, token, stored.Token)
		case next != nil && next.claimedAt < lease.expiresAt && !lease.releasing:
			c.t.Errorf("task %d: claim %d until %d, but %d was given at %d", task, token,
				lease.expiresAt, token+1, next.claimedAt)
		}
	}
	last, known := seen[stored.Token]
	held := stored.Claim != nil
	switch {
	case held && known && (last.released || stored.Claim.ExpiresAt < last.expiresAt ||
		stored.Claim.ClaimedAt != last.claimedAt):
		c.t.Errorf("task %d: %+v, reported was %+v", task, stored.Claim, last)
	case held && stored.Claim.Token != stored.Token:
		c.t.Errorf("task %d: the claim %d under the token %d", task, stored.Claim.Token, stored.Token)
	case !held && known && !last.releasing && stored.UpdatedAt < last.expiresAt:
		c.t.Errorf("task %d: the claim %+v is gone before its time", task, last)
	}
}
