package actors

import (
	"errors"
	"testing"
	"time"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// codeOf is the code of a refusal, empty for other outcomes.
func codeOf(err error) fault.Code {
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

// TestStrangerLoadsNoPrivateProject asks for a PRIVATE project that rests, in memory and from the
// disk, and sends commands to it: nothing of it is loaded, and it counts as not used.
func TestStrangerLoadsNoPrivateProject(t *testing.T) {
	first, _, owner := oneProject(t, nil)
	stranger, member := register(t, first, "stranger"), register(t, first, "member")
	project := createProject(t, first, owner, work.Private)
	task := createTasks(t, first, project, owner, 1)[0]
	mustDo(t, first, project, owner, &work.AddMember{Agent: member, Role: work.Contributor})
	unlisted := createProject(t, first, owner, work.Unlisted)
	saveAll(t, first)
	config := first.config
	config.Dir = crashCopy(t, first.config.Dir)
	for what, e := range map[string]*Engine{"AFTER a rest": first, "AFTER a start": start(t, config)} {
		e.sweep(e.Advance(2 * e.config.PassivateAfter.Milliseconds()))
		if viewsLoaded(e) > 0 {
			t.Fatal("nothing rests")
		}
		h, _ := e.handles.Load(project)
		used := h.touched.Load()
		for _, agent := range []id.ID{stranger, {}} {
			p, err := e.ProjectFor(project, agent)
			owning, owned := e.Owner(id.Task, task, agent)
			readable, asked := e.Readable(project, agent)
			if p != nil || owning != nil || readable || err != nil || owned != nil || asked != nil {
				t.Errorf("%s: %v, %v, %t, %v, %v, %v", what, p, owning, readable, err, owned, asked)
			}
		}
		for _, command := range []work.Command{
			putOf("a", "b"), &work.ClaimTask{Task: task}, &work.DeleteProject{}, &work.WatchProject{},
		} {
			_, err := e.Do(api.Order{Project: project, Agent: stranger, Command: command})
			_, unknown := e.Do(api.Order{
				Project: e.stamp(owner).ID(0), Agent: stranger, Command: command,
			})
			if err == nil || err.Error() != unknown.Error() || codeOf(err) != codeOf(unknown) {
				t.Errorf("%s: %T: %v, of no project %v", what, command, err, unknown)
			}
		}
		if viewsLoaded(e) > 0 || h.touched.Load() != used {
			t.Errorf("%s: a stranger has loaded a project", what)
		}
		// An operator ends what a suspended agent holds, wherever that is.
		mustDo(t, e, project, stranger, &work.ReleaseAll{})
		for agent, at := range map[id.ID]id.ID{member: project, owner: project, stranger: unlisted} {
			if p, err := e.ProjectFor(at, agent); p == nil || err != nil {
				t.Errorf("%s: one who may read it gets %v", what, err)
			}
		}
	}
}

// TestStrangerWaitsForNoWrite sends a command to a PRIVATE project whose owner writes: the refusal
// does not wait until that is durable.
func TestStrangerWaitsForNoWrite(t *testing.T) {
	g := newGroup(t, 1)
	n := g.nodes[0]
	g.elect(n)
	g.deliverAll()
	g.atOnce = true
	owner, stranger := register(t, n.e, "owner"), register(t, n.e, "stranger")
	project := createProject(t, n.e, owner, work.Private)
	g.atOnce = false
	order := api.Order{Project: project, Agent: owner, Command: putOf("w", "1")}
	waits := n.give(1, order)
	order.Agent = stranger
	refused := make(chan error, 1)
	go func() {
		_, err := n.e.Do(order)
		refused <- err
	}()
	select {
	case err := <-refused:
		if codeOf(err) != fault.ProjectNotFound {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the refusal waits for the write of another")
	}
	if waits.answered() {
		t.Error("answered BEFORE anything was durable")
	}
	g.agree(n.propose())
	g.deliverAll()
	if !waits.answered() || waits.err != nil {
		t.Error(waits.err)
	}
}

// TestProjectUnknownToTheIndexIsLoaded makes a project that the index of memberships does not know
// yet.
func TestProjectUnknownToTheIndexIsLoaded(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	saveAll(t, e)
	e.sweep(e.Advance(2 * e.config.PassivateAfter.Milliseconds()))
	h, _ := e.handles.Load(project)
	h.mu.Lock()
	h.mu.stale |= index.ForMemberships
	h.mu.Unlock()
	if p, err := e.ProjectFor(project, owner); p == nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
}

// TestSuspensionEndsTurnsInPassiveProjects suspends an agent that holds the turn of a project which
// became PRIVATE and rests, and claims in others: all of it ends.
func TestSuspensionEndsTurnsInPassiveProjects(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	guest := register(t, e, "guest")
	private := e.stamp(owner).ID(0)
	community := creationOf(private, work.Private)
	community.Kind = work.Community
	mustDo(t, e, private, owner, community)
	mustDo(t, e, private, owner, &work.AddMember{Agent: guest, Role: work.Contributor})
	mustDo(t, e, private, guest, &work.TakeTurn{})
	held := []id.ID{private}
	for range 8 {
		project := createProject(t, e, owner, work.Public)
		task := createTasks(t, e, project, owner, 1)[0]
		mustDo(t, e, project, guest, &work.ClaimTask{Task: task})
		held = append(held, project)
	}
	saveAll(t, e)
	e.sweep(e.clock.Now() + 2*e.config.PassivateAfter.Milliseconds())
	if _, err := e.SuspendAgent(guest.Format(id.Agent), "spam"); err != nil {
		t.Error(err)
	}
	for _, project := range held {
		p := viewOf(t, e, project)
		if _, turn := p.Turn(e.Now()); turn || p.HasClaims(guest) {
			t.Errorf("a suspended agent holds something in %v", project)
		}
	}
}
