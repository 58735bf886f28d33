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
	// claimTriesMax is the maximum number of projects in which one request tries to claim. Each try
	// is stored, and is made only where the published view has a task that the caller may claim and
	// that no other request is about to get, as long as there is such a project.
	claimTriesMax = 200
	// claimFirst is the number of public projects that are looked at first. If they have no task for
	// the caller, claimProjectsMax others are chosen among claimOffersMax, shared by owner: most
	// requests need no more than the first.
	claimFirst       = 32
	claimProjectsMax = 200
	claimOffersMax   = 10_000
	// claimSkillsMax is the maximum number of skills for which public projects are looked for by
	// their tasks' terms, if the best public projects have no task for the caller.
	claimSkillsMax = 20
	// ownWorkMax is the maximum number of the caller's projects that one request reads, shared by
	// owner.
	ownWorkMax = 200
	// claimTasksMax is the maximum number of OPEN tasks that one request looks at, claimOwnerMax of
	// those in the projects of one owner.
	claimTasksMax = 100_000
	claimOwnerMax = 20_000
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
		c.named = project
		return c.claimIn(project, command)
	}
	search := c.newClaimSearch(command)
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
	now     int64
	// found holds the projects with a task for the caller that were not tried yet, each with the
	// best, the best first.
	found []index.TaskPlace
	// late are those in which other requests are about to get all tasks for the caller. They are
	// tried when there is nothing else, because these requests may fail.
	late []id.ID
	// known are the projects that were looked at. looked counts the tasks that were looked at, and
	// ofOwner those of each owner of projects.
	known   map[id.ID]bool
	looked  int
	ofOwner map[id.ID]int
	tries   int
	reply   Reply
	// full is the QUOTA_EXCEEDED of a project in which the caller is not a member; inAll means that
	// it is the quota for all such projects.
	full  error
	inAll bool
	// more means that there are tasks that were not looked at.
	more bool
	// over means that the search has ended, with a claim or with err.
	over bool
	err  error
}

func (c *Call) newClaimSearch(command *work.ClaimNext) *claimSearch {
	return &claimSearch{
		call: c, command: command, now: c.Service.Engine.Now(), known: map[id.ID]bool{},
		ofOwner: map[id.ID]int{},
	}
}

// run claims a task. If no project has a task for the caller, it returns QUOTA_EXCEEDED if a quota
// of the caller was the reason, else TASK_NOT_FOUND.
func (s *claimSearch) run() (Reply, error) {
	s.own(s.call.ownWork())
	s.public()
	if s.tryBefore(index.TaskPosition{}); s.more && !s.over {
		s.own(s.call.memberWork())
		s.tryBefore(index.TaskPosition{})
	}
	for i := 0; i < len(s.late) && !s.over; i++ {
		s.tryOrDefer(s.late[i], false)
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

// ownWork names the caller's own projects that have OPEN tasks and are not PUBLIC. Those that the
// caller owns come first, the others are shared by owner, those of one with the best task first.
func (c *Call) ownWork() []id.ID {
	engine := c.Service.Engine
	return c.shared(engine.Indexes(index.ForTasks).Tasks.Own(c.Agent, engine.Now()))
}

// memberWork names the ACTIVE projects of the caller with unfinished tasks in the same way.
func (c *Call) memberWork() []id.ID {
	of := c.Service.Engine.Indexes(index.ForTasks | index.ForMemberships)
	projects := of.Memberships.AtLeast(c.Agent, work.Reader)
	return c.shared(slices.DeleteFunc(projects, func(one id.ID) bool { return !of.Tasks.Has(one) }))
}

// shared sorts projects with index.ShareByOwner.
func (c *Call) shared(projects []id.ID) []id.ID {
	owners := c.ownersOf(projects)
	return index.ShareByOwner(projects, c.Agent, func(one id.ID) id.ID { return owners[one] })
}

func (c *Call) ownersOf(projects []id.ID) map[id.ID]id.ID {
	list := c.Service.Engine.Indexes(index.ForMemberships).Memberships.Owners(projects)
	owners := make(map[id.ID]id.ID, len(projects))
	for i, project := range projects {
		owners[project] = list[i]
	}
	return owners
}

// own looks at projects of the caller.
func (s *claimSearch) own(projects []id.ID) {
	looked := 0
	for _, project := range projects {
		if s.over || s.known[project] {
			continue
		}
		if looked++; looked > ownWorkMax {
			s.more = true
			return
		}
		s.look(project)
	}
}

// public looks at PUBLIC projects in the order of their best tasks. It tries those with a task for
// the caller BEFORE it looks at projects without a better one.
func (s *claimSearch) public() {
	tasks := s.call.Service.Engine.Indexes(index.ForTasks).Tasks
	term := index.FoldTerm(s.command.Type)
	places, more := tasks.Offered(term, s.now, claimFirst)
	s.lookAt(places)
	if !more || s.over {
		return
	}
	places, more = tasks.Offered(term, s.now, claimOffersMax)
	places = slices.DeleteFunc(places, func(one index.TaskPlace) bool { return s.known[one.Project] })
	if s.more = s.more || more || len(places) > claimProjectsMax; len(places) > claimProjectsMax {
		places = s.chosen(places)
	}
	if s.lookAt(places); !s.more {
		return
	}
	// The best projects may all ask for other skills.
	for _, skill := range s.command.Skills[:min(len(s.command.Skills), claimSkillsMax)] {
		if s.tryBefore(index.TaskPosition{}); s.over {
			return
		}
		places, _ := tasks.Offered(index.FoldTerm(skill), s.now, claimFirst)
		s.lookAt(places)
	}
}

// chosen chooses claimProjectsMax of more places: first projects in which no other request is
// claiming, shared by owner.
func (s *claimSearch) chosen(places []index.TaskPlace) []index.TaskPlace {
	var free, busy []index.TaskPlace
	for _, place := range places {
		if s.call.Service.underWay.busy(place.Project) {
			busy = append(busy, place)
		} else {
			free = append(free, place)
		}
	}
	shared := append(s.call.sharedPlaces(free), s.call.sharedPlaces(busy)...)[:claimProjectsMax]
	slices.SortFunc(shared, func(a, b index.TaskPlace) int { return a.Compare(b.TaskPosition) })
	return shared
}

// sharedPlaces sorts the places of projects with index.ShareByOwner.
func (c *Call) sharedPlaces(places []index.TaskPlace) []index.TaskPlace {
	projects := make([]id.ID, len(places))
	for i := range places {
		projects[i] = places[i].Project
	}
	owners := c.ownersOf(projects)
	return index.ShareByOwner(places, c.Agent, func(one index.TaskPlace) id.ID {
		return owners[one.Project]
	})
}

func (s *claimSearch) lookAt(places []index.TaskPlace) {
	for _, place := range places {
		if s.tryBefore(place.TaskPosition); s.over {
			return
		}
		if !s.known[place.Project] {
			s.look(place.Project)
		}
	}
}

// look finds the best task for the caller in a project where it may claim.
func (s *claimSearch) look(project id.ID) {
	s.known[project] = true
	view, err := s.open(project)
	if err != nil {
		s.err, s.over = err, true
	}
	if view == nil {
		return
	}
	waiting, whole := true, true
	left := min(claimTasksMax-s.looked, claimOwnerMax-s.ofOwner[view.Owner])
	looked := 0
	view.OpenTasks(s.now, func(t *work.Task) bool {
		if looked == left {
			whole, s.more = false, true
			return false
		}
		looked++
		if view.Waits(t) {
			return true
		}
		if waiting = false; !s.command.Fits(t) {
			return true
		}
		s.add(index.TaskPlace{TaskPosition: placeOf(t), Project: project})
		return false
	})
	s.looked += looked
	s.ofOwner[view.Owner] += looked
	if waiting && whole {
		s.call.Service.Engine.Indexes(index.ForTasks).Tasks.Park(project, view.Revision, s.now)
	}
}

// open returns the view of a project in which the caller may claim; nil for others.
func (s *claimSearch) open(project id.ID) (*work.Project, error) {
	agent := s.call.Agent
	view, err := Intact(s.call.Service.Engine.Project(project))
	if err != nil {
		return nil, err
	}
	if view == nil || view.Status != work.Active || s.command.Authorize(view, agent) != nil ||
		view.Visibility != work.Public && !view.IsMember(agent) {
		return nil, nil
	}
	if _, blocked := view.Block(agent); blocked {
		return nil, nil
	}
	return view, nil
}

// hasMore reports whether a project has more tasks for the caller than a number.
func (s *claimSearch) hasMore(project id.ID, than int) (more bool) {
	view, err := s.open(project)
	if err != nil || view == nil {
		return false
	}
	looked := 0
	view.OpenTasks(s.now, func(t *work.Task) bool {
		if looked++; looked > claimOwnerMax {
			return false
		}
		if !view.Waits(t) && s.command.Fits(t) {
			than--
		}
		more = than < 0
		return !more
	})
	return more
}

func placeOf(t *work.Task) index.TaskPosition {
	return index.TaskPosition{Priority: t.Spec.Priority, Task: t.ID}
}

func (s *claimSearch) add(place index.TaskPlace) {
	at, _ := slices.BinarySearchFunc(s.found, place, func(a, b index.TaskPlace) int {
		return a.Compare(b.TaskPosition)
	})
	s.found = slices.Insert(s.found, at, place)
}

// tryBefore tries the projects whose task comes before a place; for the zero place, all of them.
func (s *claimSearch) tryBefore(place index.TaskPosition) {
	all := place == index.TaskPosition{}
	for !s.over && len(s.found) > 0 && (all || s.found[0].Compare(place) < 0) {
		next := s.found[0].Project
		s.found = s.found[1:]
		s.tryOrDefer(next, true)
	}
}

// tryOrDefer tries a project, or, if it may be deferred, tries it at the end because other requests
// are about to get all tasks for the caller.
func (s *claimSearch) tryOrDefer(project id.ID, deferrable bool) {
	underWay := &s.call.Service.underWay
	ahead := underWay.enter(project)
	defer underWay.leave(project)
	if deferrable && ahead > 0 && !s.hasMore(project, ahead) {
		s.late = append(s.late, project)
		return
	}
	s.over = !s.try(project)
}

// try claims in one project. It reports whether to continue, which is the case if the project
// has no task for the caller after all.
func (s *claimSearch) try(project id.ID) (goOn bool) {
	if s.inAll {
		guest, err := s.call.isGuest(project)
		if s.err = err; guest || err != nil {
			return err == nil
		}
	}
	if s.tries++; s.tries > claimTriesMax {
		s.err = errNoTaskFound()
		return false
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
