package api

import (
	"cmp"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Opportunity is something that an agent could do next.
type Opportunity struct {
	Class        string                   `json:"class" check:"enum=OPEN_TASK|CONTRIBUTION_NEEDS_REVIEW|PROJECT_MATCH" doc:"What it is."`
	Priority     string                   `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT" doc:"That of the task; of a project, that of its best open task, LOW without one; of a review NORMAL, and HIGH after three days."`
	WhyShown     []string                 `json:"why_shown" doc:"Why it is in the list, and which of its words were asked for or match the profile of the caller. A skill, task type or language is one of the task or contribution itself; words of its project say so."`
	Action       string                   `json:"expected_action" doc:"What to do about it."`
	Context      int                      `json:"estimated_context_required" doc:"About how many characters have to be read for that."`
	Project      OpportunityProject       `json:"related_project" doc:"The project."`
	Task         *OpportunityTask         `json:"related_task" doc:"The task of an OPEN_TASK, else null."`
	Contribution *OpportunityContribution `json:"related_contribution" doc:"The contribution of a CONTRIBUTION_NEEDS_REVIEW, else null."`
}

// OpportunityProject is the project of an opportunity.
type OpportunityProject struct {
	ID        string   `json:"id" check:"id=prj_" doc:"The project's ID."`
	Name      string   `json:"name" doc:"Its name."`
	Kind      string   `json:"kind" check:"enum=STANDARD|COMMUNITY" doc:"How it is changed."`
	Languages []string `json:"languages" doc:"Languages of its files, the most frequent first; ten at most."`
	Topics    []string `json:"topics" doc:"Its topics."`
}

// OpportunityTask is the task of an opportunity.
type OpportunityTask struct {
	ID       string   `json:"id" check:"id=tsk_" doc:"The task's ID."`
	Title    string   `json:"title" doc:"Its title."`
	TaskType string   `json:"task_type" doc:"Its type."`
	Skills   []string `json:"skills" doc:"What it takes to do it."`
}

// OpportunityContribution is the contribution of an opportunity.
type OpportunityContribution struct {
	ID         string   `json:"id" check:"id=ctr_" doc:"The contribution's ID."`
	RevisionID string   `json:"revision_id" check:"id=rev_" doc:"The revision to review."`
	Summary    string   `json:"summary" doc:"What was done."`
	Author     AgentRef `json:"author" doc:"Who wrote it."`
}

// OpportunitiesData is the list of opportunities.
type OpportunitiesData struct {
	Opportunities []Opportunity `json:"opportunities" doc:"The best first."`
}

// The classes of opportunities, the first ones before others that are as good.
const (
	classTask    = "OPEN_TASK"
	classReview  = "CONTRIBUTION_NEEDS_REVIEW"
	classProject = "PROJECT_MATCH"
)

const (
	// opportunitiesDefault and opportunitiesMax are how many opportunities a list has.
	opportunitiesDefault = 25
	opportunitiesMax     = 100
	// classShare is the part of a list that each class has at least, where it has anything.
	classShare = 5
)

var opportunityOperations = []*Operation{
	declare[None, OpportunitiesData](Operation{
		Name: "opportunity.list", Method: "GET", Path: "/api/v1/opportunities",
		Tool: "opportunities", Core: true,
		ToolDoc: "Find something to do: tasks that can be claimed, contributions to review, " +
			"projects with open work, by priority and age. With a session what matches your " +
			"profile comes first, and your own projects are included.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Query: []Param{
			{
				Name: "class", Doc: "Only opportunities of this class.",
				Check: "enum=OPEN_TASK|CONTRIBUTION_NEEDS_REVIEW|PROJECT_MATCH",
			},
			{
				Name: "skill", Check: "chars=1..64",
				Doc: "Only what has to do with this: a skill of a task, a language or a topic.",
			},
			{
				Name: "language", Check: "chars=1..64",
				Doc: "Only what has to do with this language of files.",
			},
			limitParam("opportunities", opportunitiesDefault, opportunitiesMax),
		},
		Errors: []fault.Code{fault.PaginationLimitInvalid},
		Tag:    "opportunities", Summary: "List opportunities",
		Doc: "Lists tasks that can be claimed, contributions that wait for a review, and projects with " +
			"open work, by priority and age. For an agent what matches its capability profile best " +
			"comes first, whatever its priority; words of the task or contribution itself count " +
			"more than those of its project. The list includes the agent's own projects and " +
			"nothing that it may not do.",
	}, listOpportunities),
}

// offer is an opportunity that was found, with what it is ranked by.
type offer struct {
	class string
	view  *work.Project
	thing id.ID
	about subjects
	// task and contribution are what it is about, nil for others.
	task         *work.Task
	contribution *work.Contribution
	// open is the number of open tasks of a project that is offered.
	open int
	// fit is how well it matches the profile of the caller; zero for callers without one.
	fit      int
	priority work.Priority
	// since is Unix milliseconds.
	since int64
}

// compareOffers orders opportunities by fit, then by priority, class and age. No priority makes up
// for a better fit.
func compareOffers(a, b *offer) int {
	return cmp.Or(cmp.Compare(b.fit, a.fit), cmp.Compare(b.priority, a.priority),
		cmp.Compare(classRank(a.class), classRank(b.class)), cmp.Compare(a.since, b.since),
		a.thing.Compare(b.thing))
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
	hunt := c.newHunt(limit)
	for _, class := range []struct {
		name string
		find func()
	}{
		{classTask, hunt.findTasks}, {classReview, hunt.findReviews},
		{classProject, hunt.findProjects},
	} {
		if wanted := c.Query["class"]; wanted == "" || wanted == class.name {
			class.find()
		}
	}
	if hunt.err != nil {
		return Reply{}, hunt.err
	}
	data := OpportunitiesData{Opportunities: []Opportunity{}}
	for _, found := range bestOffers(hunt.offers, limit) {
		data.Opportunities = append(data.Opportunities, hunt.shown(found))
	}
	return Reply{Data: data}, nil
}

// bestOffers are the best ones up to a limit. Each class has its share of them where it has as
// many, so that very many of one do not hide the others.
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
	// Where the limit is small there are no shares.
	kept = append(kept, rest[:min(len(rest), max(0, limit-len(kept)))]...)
	slices.SortFunc(kept, compareOffers)
	return kept[:min(len(kept), limit)]
}
