package actors

import (
	"errors"
	"fmt"
	"math"

	"pws/api"
	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

var errUnknownOutcome = errors.New("the command has an unknown result")

// OperatorAsk gives a command of an operator to identity and returns AFTER it is durable.
func (e *Engine) OperatorAsk(command identity.Command) (identity.Result, error) {
	done, err := e.DoIdentity(identityOrderOf(command))
	return done.Result, err
}

// OperatorDo is OperatorAsk for the commands that only operators have.
func (e *Engine) OperatorDo(command identity.Command) (*identity.ActionDone, error) {
	done, err := e.OperatorAsk(command)
	if err != nil {
		return nil, err
	}
	result, ok := done.(*identity.ActionDone)
	if !ok {
		return nil, errUnknownOutcome
	}
	return result, nil
}

// SuspendAgent suspends an agent. It returns AFTER the sessions of the agent have ended and its
// claims and turns are free. After a crash in between, the next start frees them, and after an
// error the next sweep. Errors: AGENT_NOT_FOUND, VALIDATION_FAILED.
func (e *Engine) SuspendAgent(ref, reason string) (*identity.ActionDone, error) {
	suspended, err := e.OperatorDo(&identity.SuspendAgent{Agent: ref, Reason: reason})
	if err != nil {
		return nil, err
	}
	return suspended, e.freeAgent(suspended.Agent.ID)
}

// freeSuspended frees what suspended agents hold: the process may have died between a suspension
// and that.
func (e *Engine) freeSuspended() {
	for agent := range e.Identity().SuspendedAgents() {
		if err := e.freeAgent(agent); err != nil {
			e.log.Warn("cannot free the claims of a suspended agent",
				"agent", agent.Format(id.Agent), "error", err)
		}
	}
}

// freeAgent releases the claims and turns of a suspended agent. An order that a project decided
// BEFORE the suspension was published is still counted by its handle, or is in the indexes; later
// ones are refused (projectActor.run). AFTER an error, the next sweep tries again, unless a project
// is damaged.
func (e *Engine) freeAgent(agent id.ID) error {
	projects, failed := e.heldByAgent(agent)
	for project := range projects {
		if err := e.releaseAll(project, agent); err != nil {
			failed = append(failed, inProject(project, err))
		}
	}
	for _, err := range failed {
		if !errors.Is(err, api.ErrDamaged) {
			e.suspendedHold.Store(true)
		}
	}
	return errors.Join(failed...)
}

// inProject adds to an error the project that it is about.
func inProject(project id.ID, err error) error {
	return fmt.Errorf("%s: %w", project.Format(id.Project), err)
}

// heldByAgent are the projects in which an agent may have a claim or a turn, and the errors of
// those that cannot be looked at. A damaged one is logged and left out.
func (e *Engine) heldByAgent(agent id.ID) (projects map[id.ID]struct{}, failed []error) {
	projects = map[id.ID]struct{}{}
	e.handles.Range(func(project id.ID, h *handle) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mu.inFlight > 0 {
			projects[project] = struct{}{}
		}
		return true
	})
	look := func(
		project id.ID, read func(id.ID) (*work.Project, error), holds func(*work.Project) bool,
	) {
		p, err := read(project)
		switch {
		case errors.Is(err, api.ErrDamaged):
			e.log.Warn("cannot see whether a suspended agent holds something in a damaged project",
				"project", project.Format(id.Project), "error", err)
		case err != nil:
			failed = append(failed, inProject(project, err))
		case p != nil && holds(p):
			projects[project] = struct{}{}
		}
	}
	views := e.Indexes(index.ForTasks | index.ForWorkspaces)
	var after index.Expiry
	for {
		claimed, next := views.Tasks.Due(math.MaxInt64, after, expireRoundMax)
		if len(claimed) == 0 {
			break
		}
		for _, project := range claimed {
			look(project, e.Project, func(p *work.Project) bool { return p.HasClaims(agent) })
		}
		after = next
	}
	for _, own := range views.Workspaces.Of(agent) {
		look(own.Project, e.Summary, func(p *work.Project) bool {
			turn, held := p.Turn(e.Now())
			return held && turn.Agent == agent
		})
	}
	return projects, failed
}

// releaseAll frees what an agent holds in a project. One order releases a bounded number of claims.
func (e *Engine) releaseAll(project, agent id.ID) error {
	for {
		order := api.Order{Project: project, Agent: agent, Command: new(work.ReleaseAll)}
		done, err := e.Do(order)
		if err != nil {
			return err
		}
		if done.Project == nil || !done.Project.HasLiveClaims(agent, e.Now()) {
			return nil
		}
	}
}

// releases reports whether a command is sent on behalf of a suspended agent.
func releases(command work.Command) bool {
	_, releases := command.(*work.ReleaseAll)
	return releases
}
