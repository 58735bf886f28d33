package api

import (
	"errors"
	"slices"

	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// ClaimNext is the body of task.claim_next.
type ClaimNext struct {
	// The project to claim in; all projects that the caller may claim in if absent.
	ProjectID string `json:"project_id" check:"chars=1..64"`
	// Skills of the caller: a task matches if it requires no others. Any task matches if absent.
	Skills []string `json:"skills" check:"items=0..100" each:"chars=1..64"`
	// Only tasks of this type.
	TaskType string `json:"task_type" check:"chars=0..64"`
}

const (
	// claimTriesMax is the maximum number of projects in which one request tries to claim.
	claimTriesMax = 200
	// ownWorkMax is the maximum number of the caller's projects that one request reads.
	ownWorkMax = 200
	// ownTasksMax is the maximum number of OPEN tasks of those projects that one request looks at, to
	// find one that the caller can claim.
	ownTasksMax = 20_000
)

func errNoTaskFits() error { return fault.New(fault.TaskNotFound, "No open task matches.") }

// errNoTaskFound is errNoTaskFits where not all tasks were looked at.
func errNoTaskFound() error {
	return fault.New(fault.TaskNotFound, "None of the open tasks that were looked at matches; there "+
		"are more. Name a project or a type of tasks.")
}

func claimNext(c *Call, body *ClaimNext) (Reply, error) {
	command := &work.ClaimNext{Skills: body.Skills, Type: body.TaskType}
	if body.ProjectID != "" {
		project, ok := id.Parse(id.Project, body.ProjectID)
		if !ok {
			return Reply{}, fault.NoProject()
		}
		return c.claimIn(project, command)
	}
	search := claimSearch{call: c, command: command, tried: map[id.ID]bool{}}
	if c.Idempotency == nil {
		return search.run()
	}
	// The key belongs to no project before one is chosen, so no mailbox serializes its requests.
	key := c.Idempotency.Hash
	if _, busy := c.Service.choosing.LoadOrStore(key, true); busy {
		return Reply{}, fault.New(fault.IdempotencyInProgress, "The first request is still "+
			"running.").
			With("retry_after_seconds", 1)
	}
	defer c.Service.choosing.Delete(key)
	chosen, err := c.chosenBefore()
	if err != nil {
		return Reply{}, err
	}
	if chosen.IsZero() {
		return search.run()
	}
	reply, err := c.claimIn(chosen, command)
	if fault.CodeOf(err) == fault.ProjectNotFound {
		return Reply{}, errNoTaskFits()
	}
	return reply, err
}

// claimIn claims the best task of one project.
func (c *Call) claimIn(project id.ID, command *work.ClaimNext) (Reply, error) {
	return c.claiming(project, func(elsewhere int) (Reply, error) {
		counted := *command
		counted.Elsewhere = elsewhere
		return c.answer(project, &counted, c.claimed(201))
	})
}

// chosenBefore returns the project in which an earlier request with this key has claimed a task;
// zero if there is none. Only the latest choice can have led to a claim, because each choice is
// stored BEFORE its claim and AFTER the previous one failed: IDEMPOTENCY_KEY_REUSED.
func (c *Call) chosenBefore() (id.ID, error) {
	key := c.Idempotency
	record, known := c.Service.Engine.Identity().StoredResult(c.Agent, key.Hash, c.Now)
	if !known {
		return id.ID{}, nil
	}
	if err := record.Check(key.Fingerprint); err != nil {
		return id.ID{}, err
	}
	chosen, ok := record.Choice()
	if !ok {
		return id.ID{}, errUnknownResult
	}
	view, err := c.Service.Engine.Project(chosen)
	if err != nil || view == nil || !view.HasResult(key.Hash) {
		return id.ID{}, err
	}
	return chosen, nil
}

// note stores the choice of a project for repeats of the key.
func (c *Call) note(project id.ID) error {
	if c.Idempotency == nil {
		return nil
	}
	_, err := c.doIdentity(IdentityOrder{Agent: c.Agent, Command: &identity.NoteChoice{
		Caller: c.caller(), Key: c.Idempotency.Hash, Fingerprint: c.Idempotency.Fingerprint,
		Choice: project,
	}})
	return err
}

// claimSearch tries to claim in one project after another, starting with the best task.
// Published views show where to try; the project decides.
type claimSearch struct {
	call    *Call
	command *work.ClaimNext
	// own holds the caller's projects that are not PUBLIC, each with its best matching task, the
	// best first.
	own   []index.TaskPlace
	tried map[id.ID]bool
	reply Reply
	// full is the QUOTA_EXCEEDED of a project in which the caller is not a member; inAll means that
	// it is the quota for all such projects.
	full  error
	inAll bool
	// more means that there are tasks that were not looked at.
	more bool
	// err ends the search.
	err error
}

// run claims a task. If no project has a task for the caller, it returns QUOTA_EXCEEDED if a quota
// of the caller was the reason, else TASK_NOT_FOUND.
func (s *claimSearch) run() (Reply, error) {
	s.findOwn()
	if s.err != nil {
		return Reply{}, s.err
	}
	if goOn := s.public(); goOn {
		s.ownBefore(index.TaskPosition{})
	}
	if s.err == nil && s.reply.Data == nil {
		switch {
		case s.full != nil:
			s.err = s.full
		case s.more:
			s.err = errNoTaskFound()
		default:
			s.err = errNoTaskFits()
		}
	}
	return s.reply, s.err
}

// findOwn finds the best matching task in each of the caller's own projects, among their first
// ownTasksMax tasks.
func (s *claimSearch) findOwn() {
	c, looked := s.call, 0
	projects := c.ownWork()
	for _, project := range projects[:min(len(projects), ownWorkMax)] {
		view, err := Intact(c.Service.Engine.Project(project))
		if err != nil {
			s.err = err
			return
		}
		if view == nil || view.Status != work.Active || s.command.Authorize(view, c.Agent) != nil {
			continue
		}
		view.OpenTasks(c.Now, func(t *work.Task) bool {
			if looked++; looked > ownTasksMax {
				return false
			}
			fits := s.fits(view, t)
			if fits {
				s.own = append(s.own, index.TaskPlace{TaskPosition: placeOf(t), Project: project})
			}
			return !fits
		})
	}
	slices.SortFunc(s.own, func(a, b index.TaskPlace) int {
		return a.Compare(b.TaskPosition)
	})
}

// ownWork names the caller's own projects that have OPEN tasks and are not PUBLIC, that with the
// best task first.
func (c *Call) ownWork() []id.ID {
	engine := c.Service.Engine
	return engine.Indexes(index.ForTasks).Tasks.Own(c.Agent, engine.Now())
}

func (s *claimSearch) fits(view *work.Project, t *work.Task) bool {
	return s.command.Fits(t) && !view.Waits(t)
}

func placeOf(t *work.Task) index.TaskPosition {
	return index.TaskPosition{Priority: t.Spec.Priority, Task: t.ID}
}

// public tries the PUBLIC projects, and the caller's own projects with a better task before
// them. It reports whether to continue.
func (s *claimSearch) public() (goOn bool) {
	goOn = true
	look := func(place index.TaskPlace) bool {
		if s.tried[place.Project] {
			return true
		}
		view, t, err := s.call.publicTask(place, work.TaskOpen)
		if err != nil {
			s.err, goOn = err, false
			return false
		}
		if t == nil || !s.fits(view, t) {
			return true
		}
		goOn = s.ownBefore(placeOf(t)) && s.try(place.Project)
		return goOn
	}
	if kind := s.command.Type; index.FoldTerm(kind) != "" {
		s.more = !s.call.typedPlaces(kind, look)
	} else {
		s.more = !s.call.publicPlaces(work.TaskOpen, index.TaskPosition{}, look)
	}
	return goOn
}

// ownBefore tries the caller's own projects whose task comes before a place; for the zero place,
// all remaining ones. It reports whether to continue.
func (s *claimSearch) ownBefore(place index.TaskPosition) (goOn bool) {
	all := place == index.TaskPosition{}
	for len(s.own) > 0 && (all || s.own[0].Compare(place) < 0) {
		next := s.own[0].Project
		s.own = s.own[1:]
		if !s.tried[next] && !s.try(next) {
			return false
		}
	}
	return true
}

// try claims in one project. It reports whether to continue, which is the case if the project
// has no task for the caller after all.
func (s *claimSearch) try(project id.ID) (goOn bool) {
	if len(s.tried) == claimTriesMax {
		s.err = errNoTaskFound()
		return false
	}
	s.tried[project] = true
	if s.inAll {
		guest, err := s.call.isGuest(project)
		if s.err = err; guest || err != nil {
			return err == nil
		}
	}
	if s.err = s.call.note(project); s.err != nil {
		return false
	}
	s.reply, s.err = s.call.claimIn(project, s.command)
	var refusal *fault.Error
	switch fault.CodeOf(s.err) {
	case fault.QuotaExceeded:
		s.full = s.err
		if errors.As(s.err, &refusal) {
			s.inAll = refusal.Details["quota"] == work.QuotaClaimsInAll
		}
		s.reply, s.err = Reply{}, nil
		return true
	case fault.TaskNotFound, fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived,
		fault.Forbidden:
		s.reply, s.err = Reply{}, nil
		return true
	}
	return false
}
