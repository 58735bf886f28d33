package api

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// The bounds of one search for opportunities. Candidates come from the indexes in the order of
// their worth, so that what lies beyond is worth less than what was found.
const (
	// huntProjectsMax is how many projects one request looks into, for each may have to be loaded.
	huntProjectsMax = 200
	// huntAsked candidates are taken for a word that was asked for, huntWord for one of a profile, and
	// huntOwn from the caller's own projects.
	huntAsked = 1000
	huntWord  = 40
	huntOwn   = 400
	// huntProjects and huntWordProjects are the same for projects.
	huntProjects     = 100
	huntWordProjects = 10
	// huntTasksEach is how many tasks of a project are looked at that was found for its language.
	huntTasksEach = 20
	// reviewHighMillis is after how long a review has a high priority.
	reviewHighMillis = 3 * 24 * 3600 * 1000
)

// hunt is one search for opportunities.
type hunt struct {
	call            *Call
	limit           int
	skill, language string
	words           map[string]*interest
	// wanted are the words to look for: those that were asked for, or else of the profile.
	wanted []string
	asked  bool
	// views are the projects that were looked into, nil where there is none.
	views  map[id.ID]*work.Project
	seen   map[id.ID]bool
	offers []*offer
	err    error
}

func (c *Call) newHunt(limit int) *hunt {
	h := &hunt{
		call: c, limit: limit, words: c.interests(), views: map[id.ID]*work.Project{},
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

// each is how many candidates are taken for one of the words to look for.
func (h *hunt) each(ofProfile int) int {
	if h.asked {
		return huntAsked
	}
	return ofProfile
}

// view is the live view of a project where work can be done, nil where the caller may not know of
// it, or more projects were looked into than may be.
func (h *hunt) view(project id.ID) *work.Project {
	view, known := h.views[project]
	if known || h.err != nil || len(h.views) >= huntProjectsMax {
		return view
	}
	view, h.err = h.call.Service.Engine.Project(project)
	if view != nil && (!view.Readable(h.call.Agent) || view.Status != work.Active) {
		view = nil
	}
	if view != nil && view.Visibility != work.Public && view.RoleOf(h.call.Agent) == work.NoRole {
		view = nil
	}
	h.views[project] = view
	return view
}

// add takes in an opportunity where it is what was asked for, or else anything at all.
func (h *hunt) add(found *offer, about subjects) {
	why, ok := about.filtered(h.skill, h.language)
	if !ok {
		return
	}
	points, fits := about.matched(h.words)
	more, available := availableFor(h.words, found.Class)
	found.points = points + more + int(found.priority)
	found.Priority = found.priority.String()
	found.WhyShown = slices.Concat(found.WhyShown, why, fits, available)
	h.offers = append(h.offers, found)
}

// findTasks looks for tasks that the caller may claim now.
func (h *hunt) findTasks() {
	engine := h.call.Service.Engine
	for _, word := range h.wanted {
		for _, place := range engine.SkilledTasks(word, h.each(huntWord)) {
			h.task(place.Project, place.Task)
		}
		for _, project := range engine.WorkingProjects(word, h.each(huntWordProjects)) {
			h.tasksOf(project, huntTasksEach)
		}
	}
	if !h.asked {
		before := len(h.offers)
		h.call.publicPlaces(work.TaskOpen, TaskPosition{}, func(place TaskPlace) bool {
			h.task(place.Project, place.Task)
			return len(h.offers) < before+2*h.limit
		})
	}
	if h.call.Session == nil {
		return
	}
	own := engine.OwnWork(h.call.Agent)
	for _, project := range own[:min(len(own), huntProjects)] {
		h.tasksOf(project, huntOwn)
	}
}

func (h *hunt) tasksOf(project id.ID, most int) {
	view := h.view(project)
	if view == nil {
		return
	}
	view.OpenTasks(h.call.Now, func(t *work.Task) bool {
		h.task(project, t.ID)
		most--
		return most > 0
	})
}

// task looks at one task.
func (h *hunt) task(project, task id.ID) {
	if h.seen[task] {
		return
	}
	h.seen[task] = true
	view := h.view(project)
	if view == nil {
		return
	}
	t, ok := view.Task(task, h.call.Now)
	if !ok || t.Status != work.TaskOpen || t.Claim != nil || len(view.Unmet(t)) > 0 {
		return
	}
	if h.call.Session != nil && work.MayClaim.Require(view, h.call.Agent) != nil {
		return
	}
	var about subjects
	about.add(aboutSkill, t.Spec.Skills...)
	about.add(aboutType, t.Spec.Type)
	for _, file := range t.Spec.RelatedFiles {
		about.add(aboutLanguage, work.LanguageOf(file))
	}
	h.aboutProject(&about, view)
	name := t.ID.Format(id.Task)
	found := h.offerOf(classTask, view, t.ID)
	found.priority, found.since = t.Spec.Priority, t.CreatedAt
	found.WhyShown = append([]string{fmt.Sprintf(
		"an open task of priority %s that nobody works on and that waits for no other",
		t.Spec.Priority)}, found.WhyShown...)
	found.Action = "Claim it: POST /api/v1/tasks/" + name + "/claim"
	found.Context += utf8.RuneCountInString(t.Spec.Description) + h.sizes(view, t.Spec.RelatedFiles)
	found.Task = &OpportunityTask{
		ID: name, Title: t.Spec.Title, TaskType: t.Spec.Type, Skills: orEmpty(t.Spec.Skills),
	}
	h.add(found, about)
}

// aboutProject adds what a project is about.
func (h *hunt) aboutProject(about *subjects, view *work.Project) {
	about.add(aboutLanguage, view.Languages()...)
	about.add(aboutTopic, view.Topics...)
}

// offerOf is an opportunity in a project, with what all of them tell.
func (h *hunt) offerOf(class string, view *work.Project, thing id.ID) *offer {
	languages := view.Languages()
	found := &offer{thing: thing, Opportunity: Opportunity{
		Class: class,
		Project: OpportunityProject{
			ID: view.ID.Format(id.Project), Name: view.Name, Kind: view.Kind.String(),
			Languages: languages[:min(len(languages), 10)], Topics: orEmpty(view.Topics),
		},
		// A resume tells of everything, as shortly as it has to.
		Context: min(resumeCharsDefault, resumeCharsMin+int(view.FilesBytes())),
	}}
	if role := view.RoleOf(h.call.Agent); role != work.NoRole {
		found.WhyShown = []string{"you are " + role.String() + " of the project"}
	}
	return found
}

// sizes adds up the files at paths.
func (h *hunt) sizes(view *work.Project, paths []string) (bytes int) {
	for _, one := range paths {
		if file, ok := view.File(one); ok {
			bytes += file.Size
		}
	}
	return bytes
}

// findReviews looks for contributions that the caller may review and has not.
func (h *hunt) findReviews() {
	engine, agent := h.call.Service.Engine, h.call.Agent
	for _, word := range h.wanted {
		for _, place := range engine.WaitingReviews(word, agent, h.each(huntWord)) {
			h.review(place.Project, place.Contribution)
		}
	}
	// What fits a project, and not the files, has no place of its own in the index.
	before := len(h.offers)
	for _, place := range engine.WaitingReviews("", agent, huntAsked) {
		if h.review(place.Project, place.Contribution); len(h.offers) >= before+2*h.limit {
			break
		}
	}
	if h.call.Session == nil {
		return
	}
	for _, place := range engine.OwnReviews(agent, huntOwn) {
		h.review(place.Project, place.Contribution)
	}
}

// review looks at one contribution.
func (h *hunt) review(project, contribution id.ID) {
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
	if h.call.Session != nil && (c.Author == agent || work.MayContribute.Require(view, agent) != nil ||
		slices.ContainsFunc(c.Reviews, func(r *work.Review) bool {
			return r.Author == agent && r.Revision == revision.ID
		})) {
		return
	}
	var about subjects
	size := 0
	for at := range revision.Files {
		about.add(aboutLanguage, work.LanguageOf(revision.Files[at].Path))
	}
	revision.Contents(func(_ string, _ work.Hash, bytes int) { size += bytes })
	about.add(aboutTopic, view.Topics...)
	found := h.offerOf(classReview, view, c.ID)
	found.priority, found.since = work.PriorityNormal, revision.CreatedAt
	if h.call.Now-revision.CreatedAt >= reviewHighMillis {
		found.priority = work.PriorityHigh
	}
	name := c.ID.Format(id.Contribution)
	found.WhyShown = append([]string{fmt.Sprintf(
		"revision %d of a contribution that waits for a review", revision.Number)},
		found.WhyShown...)
	found.Action = "Read it: GET /api/v1/contributions/" + name +
		", and review its revision: POST /api/v1/contributions/" + name + "/reviews"
	found.Context += size
	found.Contribution = &OpportunityContribution{
		ID: name, RevisionID: revision.ID.Format(id.Revision), Summary: revision.Summary,
		Author: h.call.agentRef(c.Author),
	}
	h.add(found, about)
}

// findProjects looks for projects that the caller is no member of.
func (h *hunt) findProjects() {
	engine := h.call.Service.Engine
	for _, word := range h.wanted {
		for _, project := range engine.WorkingProjects(word, h.each(huntWordProjects)) {
			h.project(project)
		}
		for _, project := range engine.ProjectsAbout(word, h.each(huntWordProjects)) {
			h.project(project)
		}
		for _, place := range engine.SkilledTasks(word, h.each(huntWordProjects)) {
			h.project(place.Project)
		}
	}
	if h.asked {
		return
	}
	for _, project := range engine.WorkingProjects("", huntProjects) {
		h.project(project)
	}
}

// project looks at one project: one with open work, or one that fits.
func (h *hunt) project(project id.ID) {
	if h.seen[project] {
		return
	}
	h.seen[project] = true
	view := h.view(project)
	if view == nil || view.Visibility != work.Public || view.RoleOf(h.call.Agent) != work.NoRole {
		return
	}
	var about subjects
	h.aboutProject(&about, view)
	found := h.offerOf(classProject, view, view.ID)
	found.priority, found.since = work.PriorityLow, view.CreatedAt
	open, looked := view.TaskCount(work.TaskOpen, h.call.Now), 0
	view.OpenTasks(h.call.Now, func(t *work.Task) bool {
		if len(view.Unmet(t)) == 0 {
			found.priority = max(found.priority, t.Spec.Priority)
			about.add(aboutSkill, t.Spec.Skills...)
		}
		looked++
		return looked < huntTasksEach
	})
	points, _ := about.matched(h.words)
	if !h.asked && open == 0 && points == 0 {
		return
	}
	why := "a public project that fits"
	name := view.ID.Format(id.Project)
	found.Action = "Read its resume: GET /api/v1/projects/" + name + "/resume, and contribute"
	if open > 0 {
		why = fmt.Sprintf("a public project with open tasks: %d", open)
		found.Action = "Read its resume: GET /api/v1/projects/" + name +
			"/resume, and claim one of its tasks"
	}
	found.WhyShown = append([]string{why}, found.WhyShown...)
	h.add(found, about)
}
