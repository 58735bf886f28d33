package api

import (
	"cmp"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Opportunity is work that an agent could do next.
type Opportunity struct {
	// Class of the opportunity.
	Class string `json:"class" check:"enum=OPEN_TASK|CONTRIBUTION_NEEDS_REVIEW|PROJECT_MATCH"`
	// Priority of the task; for a project that of its best open task, or LOW without one; for a review
	// NORMAL, and HIGH after three days.
	Priority string `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT"`
	// Why it is listed, and which of its terms match the request or the profile of the caller. Skills,
	// task types and languages are those of the task or contribution itself; terms of its project are
	// marked.
	WhyShown []string `json:"why_shown"`
	// Recommended next step.
	Action string `json:"expected_action"`
	// Estimated number of characters to read for that step.
	Context int `json:"estimated_context_required"`
	// The project.
	Project OpportunityProject `json:"related_project"`
	// The task of an OPEN_TASK, otherwise null.
	Task *OpportunityTask `json:"related_task"`
	// The contribution of a CONTRIBUTION_NEEDS_REVIEW, otherwise null.
	Contribution *OpportunityContribution `json:"related_contribution"`
}

// OpportunityProject is the project of an opportunity.
type OpportunityProject struct {
	// The project's ID.
	ID string `json:"id" check:"id=prj_"`
	// Name of the project.
	Name string `json:"name"`
	// Who changes its files: members, or in a COMMUNITY project any agent in a turn.
	Kind string `json:"kind" check:"enum=STANDARD|COMMUNITY"`
	// Languages of its files, the most frequent first; ten at most.
	Languages []string `json:"languages"`
	// Topics of the project.
	Topics []string `json:"topics"`
}

// OpportunityTask is the task of an opportunity.
type OpportunityTask struct {
	// The task's ID.
	ID string `json:"id" check:"id=tsk_"`
	// Title of the task.
	Title string `json:"title"`
	// Kind of work.
	TaskType string `json:"task_type"`
	// Skills that the task requires.
	Skills []string `json:"skills"`
}

// OpportunityContribution is the contribution of an opportunity.
type OpportunityContribution struct {
	// The contribution's ID.
	ID string `json:"id" check:"id=ctr_"`
	// The revision to review.
	RevisionID string `json:"revision_id" check:"id=rev_"`
	// Summary of the changes.
	Summary string `json:"summary"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
}

// OpportunitiesData lists opportunities.
type OpportunitiesData struct {
	// Best first.
	Opportunities []Opportunity `json:"opportunities"`
}

// The classes of opportunities. If two are equally good, the class listed first wins.
const (
	classTask    = "OPEN_TASK"
	classReview  = "CONTRIBUTION_NEEDS_REVIEW"
	classProject = "PROJECT_MATCH"
)

const (
	// opportunitiesDefault and opportunitiesMax are the default and maximum lengths of a list.
	opportunitiesDefault = 25
	opportunitiesMax     = 100
	// classShare is the divisor of the minimum share that each class has in a list.
	classShare = 5
)

var opportunityOperations = []*Operation{
	declare[None, OpportunitiesData](Operation{
		Name: "opportunity.list", Method: "GET", Path: "/api/v1/opportunities",
		Tool: "opportunities",
		ToolDoc: "Find work: claimable tasks, contributions to review, projects with open " +
			"work, by priority and age. With a session, matches of your profile come first, " +
			"and your own projects are included.",
		Auth: Optional, Category: CategoryRead, Expensive: true, Statuses: []int{200},
		Query: []Param{
			{
				Name: "class", Doc: "Only opportunities of this class.",
				Check: "enum=OPEN_TASK|CONTRIBUTION_NEEDS_REVIEW|PROJECT_MATCH",
			},
			{
				Name: "skill", Check: "chars=1..64",
				Doc: "Only opportunities with this skill, language or topic.",
			},
			{
				Name: "language", Check: "chars=1..64",
				Doc: "Only opportunities with this programming language.",
			},
			limitParam("opportunities", opportunitiesDefault, opportunitiesMax),
		},
		Errors: []fault.Code{fault.PaginationLimitInvalid},
		Tag:    "opportunities", Summary: "List opportunities",
		Doc: "Lists claimable tasks, contributions that wait for a review, and projects with " +
			"open work, by priority and age. With a session, the best matches of the agent's " +
			"capability profile come first, whatever their priority; terms of the task or " +
			"contribution itself count more than those of its project. The list includes the " +
			"agent's own projects and only what the agent is permitted to do.",
	}, listOpportunities),
}

// offer is a found opportunity with its ranking.
type offer struct {
	class  string
	view   *work.Project
	entity id.ID
	about  subjects
	// task and contribution are the subjects, nil for others.
	task         *work.Task
	contribution *work.Contribution
	// open is the number of open tasks of an offered project.
	open int
	// fit says how well it matches the profile of the caller; zero for callers without one.
	fit      int
	priority work.Priority
	// since is Unix milliseconds.
	since int64
}

// compareOffers orders opportunities by fit, then by priority, class and age. A higher priority
// never outweighs a better fit.
func compareOffers(a, b *offer) int {
	return cmp.Or(cmp.Compare(b.fit, a.fit), cmp.Compare(b.priority, a.priority),
		cmp.Compare(classRank(a.class), classRank(b.class)), cmp.Compare(a.since, b.since),
		a.entity.Compare(b.entity))
}

func classRank(class string) int {
	switch class {
	case classTask:
		return 0
	case classReview:
		return 1
	}
	return 2
}

func listOpportunities(c *Call, _ *None) (Reply, error) {
	limit, err := c.limitTo(opportunitiesDefault, opportunitiesMax)
	if err != nil {
		return Reply{}, err
	}
	finder := c.newOpportunityFinder(limit)
	for _, class := range []struct {
		name string
		find func()
	}{
		{classTask, finder.findTasks}, {classReview, finder.findReviews},
		{classProject, finder.findProjects},
	} {
		if wanted := c.Query["class"]; wanted == "" || wanted == class.name {
			class.find()
		}
	}
	if finder.err != nil {
		return Reply{}, finder.err
	}
	data := OpportunitiesData{Opportunities: []Opportunity{}}
	for _, found := range bestOffers(finder.offers, limit) {
		data.Opportunities = append(data.Opportunities, finder.shown(found))
	}
	return Reply{Data: data}, nil
}

// bestOffers returns the best offers up to a limit. Each class has a minimum share, so that very
// many of one class do not hide the others.
func bestOffers(all []*offer, limit int) []*offer {
	slices.SortFunc(all, compareOffers)
	shares, kept := map[string]int{}, make([]*offer, 0, limit)
	var rest []*offer
	for _, one := range all {
		if shares[one.class]++; shares[one.class] <= limit/classShare {
			kept = append(kept, one)
		} else {
			rest = append(rest, one)
		}
	}
	// With a small limit there are no shares.
	kept = append(kept, rest[:min(len(rest), max(0, limit-len(kept)))]...)
	slices.SortFunc(kept, compareOffers)
	return kept[:min(len(kept), limit)]
}
