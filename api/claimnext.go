package api

import (
	"slices"

	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// ClaimNext is the body of task.claim_next.
type ClaimNext struct {
	ProjectID string   `json:"project_id" check:"chars=1..64" doc:"The project to claim in; all projects that the caller may claim in if absent."`
	Skills    []string `json:"skills" check:"items=0..100" each:"chars=1..64" doc:"Skills of the caller: a task matches if it requires no others. Any task matches if absent."`
	TaskType  string   `json:"task_type" check:"chars=0..64" doc:"Only tasks of this type."`
}

const (
	// claimTriesMax is in how many projects one request tries to claim.
	claimTriesMax = 200
	// ownWorkMax is how many projects of the caller one request looks into.
	ownWorkMax = 200
)

func errNoTaskFits() error { return fault.New(fault.TaskNotFound, "No open task matches.") }

func claimNext(c *Call, body *ClaimNext) (Reply, error) {
	command := &work.ClaimNext{Skills: body.Skills, Type: body.TaskType}
	if body.ProjectID != "" {
		project, ok := id.Parse(id.Project, body.ProjectID)
		if !ok {
			return Reply{}, errProjectNotFound()
		}
		return c.answer(project, command, c.claimed(201))
	}
	search := claimSearch{call: c, command: command, tried: map[id.ID]bool{}}
	if c.Idempotency == nil {
		return search.run()
	}
	// The key belongs to no project before one is chosen, so no mailbox orders its requests.
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
	reply, err := c.answer(chosen, command, c.claimed(201))
	if fault.CodeOf(err) == fault.ProjectNotFound {
		return Reply{}, errNoTaskFits()
	}
	return reply, err
}

// chosenBefore is the project in which an earlier request with this key has claimed a task; zero
// where none has. Only the latest choice can have led to a claim, for each one is noted BEFORE the
// claim and AFTER the one before was refused: IDEMPOTENCY_KEY_REUSED.
func (c *Call) chosenBefore() (id.ID, error) {
	key := c.Idempotency
	record, known := c.Service.Engine.Identity().Replay(c.Agent, key.Hash, c.Now)
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
	if err != nil || view == nil || !keeps(view, key.Hash) {
		return id.ID{}, err
	}
	return chosen, nil
}

// keeps reports whether a project has a result for a key. The newest are looked at first.
func keeps(p *work.Project, key [16]byte) bool {
	first, end := p.IdempotentRange()
	for nth := end; nth > first; nth-- {
		if record, ok := p.IdempotentAt(nth - 1); ok && record.Key == key {
			return true
		}
	}
	return false
}

// note keeps the choice of a project for repeats of the key.
func (c *Call) note(project id.ID) error {
	if c.Idempotency == nil {
		return nil
	}
	_, err := c.Service.Engine.DoIdentity(IdentityOrder{Agent: c.Agent, Command: &identity.NoteChoice{
		Caller: c.caller(), Key: c.Idempotency.Hash, Fingerprint: c.Idempotency.Fingerprint,
		Choice: project,
	}})
	return err
}

// claimSearch tries to claim in one project after another, that with the best task first. Views
// say where it is worth to try; the project decides.
type claimSearch struct {
	call    *Call
	command *work.ClaimNext
	// own are projects that are not PUBLIC with their best task that fits, the best first.
	own   []index.TaskPlace
	tried map[id.ID]bool
	reply Reply
	// err is what ends the search.
	err error
}

// run refuses with TASK_NOT_FOUND where no project has a task for the caller.
func (s *claimSearch) run() (Reply, error) {
	s.findOwn()
	if s.err != nil {
		return Reply{}, s.err
	}
	if goOn := s.public(); goOn {
		s.ownBefore(index.TaskPosition{})
	}
	if s.err == nil && s.reply.Data == nil {
		s.err = errNoTaskFits()
	}
	return s.reply, s.err
}

// findOwn finds the best task that fits in each of the caller's own projects.
func (s *claimSearch) findOwn() {
	c := s.call
	projects := c.ownWork()
	for _, project := range projects[:min(len(projects), ownWorkMax)] {
		view, err := c.Service.Engine.Project(project)
		if err != nil {
			s.err = err
			return
		}
		if view == nil || view.Status != work.Active || s.command.Authorize(view, c.Agent) != nil {
			continue
		}
		view.OpenTasks(c.Now, func(t *work.Task) bool {
			fits := s.fits(view, t)
			if fits {
				s.own = append(s.own, index.TaskPlace{TaskPosition: placeOf(t), Project: project})
			}
			return !fits
		})
	}
	slices.SortFunc(s.own, func(a, b index.TaskPlace) int {
		return compareRank(a.TaskPosition, b.TaskPosition)
	})
}

// ownWork names the caller's own projects that have OPEN tasks and are not PUBLIC, that with the
// best task first.
func (c *Call) ownWork() []id.ID {
	engine := c.Service.Engine
	return engine.Indexes(index.ForTasks).Tasks.Own(c.Agent, engine.Now())
}

func (s *claimSearch) fits(view *work.Project, t *work.Task) bool {
	return s.command.Fits(t) && len(view.Unmet(t)) == 0
}

func placeOf(t *work.Task) index.TaskPosition {
	return index.TaskPosition{Priority: t.Spec.Priority, Task: t.ID}
}

// compareRank orders tasks as they should be taken.
func compareRank(a, b index.TaskPosition) int {
	if a.Priority != b.Priority {
		return int(b.Priority) - int(a.Priority)
	}
	return a.Task.Compare(b.Task)
}

// public goes through the PUBLIC projects, and through the caller's own where they have a better
// task. It reports whether the search goes on.
func (s *claimSearch) public() (goOn bool) {
	goOn = true
	s.call.publicPlaces(work.TaskOpen, index.TaskPosition{}, func(place index.TaskPlace) bool {
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
	})
	return goOn
}

// ownBefore tries the caller's own projects whose task comes before a place; all that are left for
// the zero place.
func (s *claimSearch) ownBefore(place index.TaskPosition) (goOn bool) {
	all := place == index.TaskPosition{}
	for len(s.own) > 0 && (all || compareRank(s.own[0].TaskPosition, place) < 0) {
		next := s.own[0].Project
		s.own = s.own[1:]
		if !s.tried[next] && !s.try(next) {
			return false
		}
	}
	return true
}

// try claims in one project. Where the project has nothing for the caller after all, the search
// goes on.
func (s *claimSearch) try(project id.ID) (goOn bool) {
	if len(s.tried) == claimTriesMax {
		s.err = errNoTaskFits()
		return false
	}
	s.tried[project] = true
	if s.err = s.call.note(project); s.err != nil {
		return false
	}
	s.reply, s.err = s.call.answer(project, s.command, s.call.claimed(201))
	switch fault.CodeOf(s.err) {
	case fault.TaskNotFound, fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived:
		s.reply, s.err = Reply{}, nil
		return true
	}
	return false
}
