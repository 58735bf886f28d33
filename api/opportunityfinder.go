package api

import (
	"slices"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// The limits of one search for opportunities. The indexes return the best candidates first, so
// the candidates beyond a limit are worse than those found.
const (
	// finderProjectsMax is the maximum number of projects that one request reads, because each
	// may have to be loaded.
	finderProjectsMax = 200
	// finderAsked is the number of candidates for a requested word, finderWord for a word of a
	// profile, and finderOwn from the caller's own projects.
	finderAsked = 1000
	finderWord  = 40
	finderOwn   = 400
	// finderProjects and finderWordProjects are the same limits for projects.
	finderProjects     = 100
	finderWordProjects = 10
	// finderOffers is the number of projects with OPEN tasks among which candidates are chosen.
	finderOffers = 1000
	// finderTasksEach is the number of tasks that are found in each project at first. Only if those
	// of all projects together are too few, more are.
	finderTasksEach = 10
	// finderReadEach is the maximum number of tasks that are read in a project to find some that do
	// not wait for others, finderReadMax that of one request.
	finderReadEach = 20_000
	finderReadMax  = 100_000
	// reviewHighMillis is the age from which on a review has a high priority.
	reviewHighMillis = 3 * 24 * 3600 * 1000
)

// opportunityFinder is one search for opportunities.
type opportunityFinder struct {
	call            *Call
	limit           int
	skill, language string
	words           map[string]*profileTerm
	// wanted are the words to search for: the requested ones, or else those of the profile.
	wanted []string
	asked  bool
	// views are the projects that were read, nil for unavailable ones.
	views map[id.ID]*candidateProject
	seen  map[id.ID]bool
	// read counts the tasks that were read to find some that do not wait.
	read int
	// cut means that a project has more tasks than were asked for.
	cut bool
	// offers are the found opportunities. They are rendered later, because most of them are
	// never shown.
	offers []*offer
	err    error
}

// candidateProject is a project with its subjects.
type candidateProject struct {
	*work.Project
	// about holds languages and topics, topics only the topics, and neutral the topics that are
	// not names of languages.
	about, topics, neutral subjects
	// claims and reviews mean that the caller may claim its tasks, and review.
	claims, reviews bool
}

func (c *Call) newOpportunityFinder(limit int) *opportunityFinder {
	h := &opportunityFinder{
		call: c, limit: limit, words: c.profileTerms(), views: map[id.ID]*candidateProject{},
		seen: map[id.ID]bool{}, skill: index.FoldTerm(c.Query["skill"]),
		language: index.FoldTerm(c.Query["language"]),
	}
	for _, word := range []string{h.skill, h.language} {
		if word != "" {
			h.wanted, h.asked = append(h.wanted, word), true
		}
	}
	if !h.asked {
		h.wanted = strongest(h.words)
	}
	return h
}

// each returns the number of candidates for each word.
func (h *opportunityFinder) each(ofProfile int) int {
	if h.asked {
		return finderAsked
	}
	return ofProfile
}

// view returns the live view of a project where work can be done. It is nil if the caller may
// not see the project or is blocked in it, or if the limit of projects is reached.
func (h *opportunityFinder) view(project id.ID) *candidateProject {
	known, looked := h.views[project]
	if looked || h.err != nil || len(h.views) >= finderProjectsMax {
		return known
	}
	agent := h.call.Agent
	view, err := Intact(h.call.Service.Engine.Project(project))
	h.err = err
	if view != nil && view.Status == work.Active && proposed(view, agent) {
		known = &candidateProject{Project: view, claims: true, reviews: true}
		h.note(&known.topics, aboutProjectTopic, view.Topics...)
		h.note(&known.about, aboutProjectLanguage, view.Languages()...)
		known.about.merge(known.topics)
		known.neutral = slices.DeleteFunc(slices.Clone(known.topics), func(s subject) bool {
			return work.IsLanguage(s.word)
		})
		if h.call.Session != nil {
			known.claims = work.MayClaim.Require(view, agent) == nil
			known.reviews = work.MayContribute.Require(view, agent) == nil
		}
	}
	h.views[project] = known
	return known
}

// proposed reports whether a project is one to propose to an agent. A blocked agent may do nothing
// in it that an opportunity names.
func proposed(view *work.Project, agent id.ID) bool {
	_, blocked := view.Block(agent)
	return !blocked && view.Readable(agent) &&
		(view.Visibility == work.Public || view.IsMember(agent))
}

// add adds an opportunity if it matches what was requested, or if nothing specific was
// requested.
func (h *opportunityFinder) add(found offer) {
	if !h.fits(found.about) {
		return
	}
	available, _ := availableFor(h.words, found.class)
	found.fit = h.worth(found.about) + available
	h.offers = append(h.offers, &found)
}

// findTasks finds tasks that the caller may claim now.
func (h *opportunityFinder) findTasks() {
	before := len(h.offers)
	h.findTasksEach(finderTasksEach)
	if h.cut && len(h.offers)-before < h.limit {
		h.findTasksEach(h.limit)
	}
	if h.call.Session == nil {
		return
	}
	own := h.call.ownWork()
	for _, project := range own[:min(len(own), finderProjects)] {
		h.tasksOf(project, finderOwn)
	}
}

// findTasksEach finds up to most tasks of each of the best public projects.
func (h *opportunityFinder) findTasksEach(most int) {
	tasks, now := h.tasks()
	for _, word := range h.wanted {
		for _, project := range h.offered(word, h.each(finderWord)) {
			h.tasksWith(project, most, word)
		}
		for _, project := range tasks.Working(word, now, h.each(finderWordProjects)) {
			h.tasksOf(project, most)
		}
	}
	if !h.asked {
		for _, project := range h.offered("", min(2*h.limit, finderProjectsMax)) {
			h.tasksOf(project, most)
		}
	}
}

// offered returns up to most public projects that have OPEN tasks with a term, shared by owner. The
// empty term matches all.
func (h *opportunityFinder) offered(term string, most int) []id.ID {
	tasks, now := h.tasks()
	places, _ := tasks.Offered(term, now, finderOffers)
	places = h.call.sharedPlaces(places)
	projects := make([]id.ID, min(most, len(places)))
	for i := range projects {
		projects[i] = places[i].Project
	}
	return projects
}

// tasks are the index of tasks, which also knows what their projects are about, and the time of the
// question.
func (h *opportunityFinder) tasks() (*index.Tasks, int64) {
	engine := h.call.Service.Engine
	return engine.Indexes(index.ForTasks | index.ForSubjects).Tasks, engine.Now()
}

// tasksWith finds up to most tasks of a project that can be claimed and have a term.
func (h *opportunityFinder) tasksWith(project id.ID, most int, term string) {
	view := h.view(project)
	if view == nil {
		return
	}
	tasks, now := h.tasks()
	for _, task := range tasks.With(project, term, now, h.readLeft()) {
		h.read++
		if t, ok := view.Task(task, h.call.Now); ok && !h.take(view, t, &most) {
			return
		}
	}
}

// readLeft is the number of tasks that may be read in another project.
func (h *opportunityFinder) readLeft() int { return min(finderReadEach, finderReadMax-h.read) }

// tasksOf finds up to most tasks of a project that can be claimed. A project in which all wait for
// others is no longer offered.
func (h *opportunityFinder) tasksOf(project id.ID, most int) {
	view := h.view(project)
	if view == nil {
		return
	}
	left, before, whole := h.readLeft(), most, true
	view.OpenTasks(h.call.Now, func(t *work.Task) bool {
		if left--; left < 0 {
			whole = false
			return false
		}
		h.read++
		return h.take(view, t, &most)
	})
	if whole && most == before {
		tasks, _ := h.tasks()
		tasks.Park(project, view.Revision, h.call.Now)
	}
}

// take evaluates a task if it can be claimed and counts it. It reports whether to go on.
func (h *opportunityFinder) take(view *candidateProject, t *work.Task, most *int) bool {
	if t.Status != work.TaskOpen || t.Claim != nil || view.Waits(t) {
		return true
	}
	if *most == 0 {
		h.cut = true
		return false
	}
	*most--
	if !h.seen[t.ID] {
		h.seen[t.ID] = true
		h.task(view, t)
	}
	return true
}

// task evaluates one task that can be claimed.
func (h *opportunityFinder) task(view *candidateProject, t *work.Task) {
	if !view.claims {
		return
	}
	var about subjects
	h.note(&about, aboutSkill, t.Spec.Skills...)
	h.note(&about, aboutType, t.Spec.Type)
	for _, file := range t.Spec.RelatedFiles {
		h.note(&about, aboutLanguage, work.LanguageOf(file))
	}
	if namesLanguage(&t.Spec) {
		about.merge(view.neutral)
	} else {
		about.merge(view.about)
	}
	h.add(offer{
		class: classTask, view: view.Project, entity: t.ID, about: about, task: t,
		priority: t.Spec.Priority, since: t.CreatedAt,
	})
}

// namesLanguage reports whether a task itself names a language, by a skill or by its related
// files. The languages of its project do not count for such a task.
func namesLanguage(spec *work.TaskSpec) bool {
	return slices.ContainsFunc(spec.Skills, func(skill string) bool {
		return work.IsLanguage(index.FoldTerm(skill))
	}) || slices.ContainsFunc(spec.RelatedFiles, func(file string) bool {
		return work.LanguageOf(file) != ""
	})
}

// findReviews finds contributions that the caller may review and has not reviewed.
func (h *opportunityFinder) findReviews() {
	reviews := h.call.Service.Engine.Indexes(index.ForReviews).Reviews
	agent := h.call.Agent
	for _, word := range h.wanted {
		for _, place := range reviews.Public(word, agent, h.each(finderWord)) {
			h.review(place.Project, place.Contribution)
		}
	}
	// The index has no separate list for contributions that match by their project and not by
	// their files.
	before := len(h.offers)
	for _, place := range reviews.Public("", agent, finderAsked) {
		if h.review(place.Project, place.Contribution); len(h.offers) >= before+2*h.limit {
			break
		}
	}
	if h.call.Session == nil {
		return
	}
	for _, place := range reviews.Own(agent, finderOwn) {
		h.review(place.Project, place.Contribution)
	}
}

// review evaluates one contribution.
func (h *opportunityFinder) review(project, contribution id.ID) {
	if h.seen[contribution] {
		return
	}
	h.seen[contribution] = true
	view, agent := h.view(project), h.call.Agent
	if view == nil {
		return
	}
	c, ok := view.Contribution(contribution)
	if !ok || c.Status != work.SubmittedStatus {
		return
	}
	revision := view.CurrentRevision(c)
	if h.call.Session != nil && (c.Author == agent || !view.reviews ||
		slices.ContainsFunc(c.Reviews, func(r *work.Review) bool {
			return r.Author == agent && r.Revision == revision.ID
		})) {
		return
	}
	var about subjects
	for i := range revision.Files {
		h.note(&about, aboutLanguage, work.LanguageOf(revision.Files[i].Path))
	}
	about.merge(view.topics)
	found := offer{
		class: classReview, view: view.Project, entity: c.ID, about: about, contribution: c,
		priority: work.PriorityNormal, since: revision.CreatedAt,
	}
	if h.call.Now-revision.CreatedAt >= reviewHighMillis {
		found.priority = work.PriorityHigh
	}
	h.add(found)
}

// findProjects finds projects that the caller is not a member of.
func (h *opportunityFinder) findProjects() {
	tasks, now := h.tasks()
	subjects := h.call.Service.Engine.Indexes(index.ForSubjects).Subjects
	for _, word := range h.wanted {
		for _, project := range tasks.Working(word, now, h.each(finderWordProjects)) {
			h.project(project)
		}
		for _, project := range subjects.Find(word, h.each(finderWordProjects)) {
			h.project(project)
		}
		for _, project := range h.offered(word, h.each(finderWordProjects)) {
			h.project(project)
		}
	}
	if h.asked {
		return
	}
	for _, project := range tasks.Working("", now, finderProjects) {
		h.project(project)
	}
}

// project evaluates one project: one with open work, or one that matches.
func (h *opportunityFinder) project(project id.ID) {
	if h.seen[project] {
		return
	}
	h.seen[project] = true
	view := h.view(project)
	if view == nil || view.Visibility != work.Public || view.IsMember(h.call.Agent) {
		return
	}
	found := offer{
		class: classProject, view: view.Project, entity: view.ID, about: slices.Clone(view.about),
		priority: work.PriorityLow, since: view.CreatedAt,
		open: view.TaskCount(work.TaskOpen, h.call.Now),
	}
	looked := 0
	view.OpenTasks(h.call.Now, func(t *work.Task) bool {
		if !view.Waits(t) {
			found.priority = max(found.priority, t.Spec.Priority)
			h.note(&found.about, aboutOpenTask, t.Spec.Skills...)
		}
		looked++
		return looked < finderTasksEach
	})
	if h.asked || found.open > 0 || h.worth(found.about) > 0 {
		h.add(found)
	}
}
