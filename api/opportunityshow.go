package api

import (
	"fmt"
	"unicode/utf8"

	"pws/internal/id"
	"pws/work"
)

// shown returns the wire form of a found opportunity.
func (h *opportunityFinder) shown(found *offer) Opportunity {
	view := found.view
	languages := view.Languages()
	shown := Opportunity{
		Class: found.class, Priority: found.priority.String(),
		Project: OpportunityProject{
			ID: view.ID.Format(id.Project), Name: view.Name, Kind: view.Kind.String(),
			Languages: languages[:min(len(languages), 10)], Topics: orEmpty(view.Topics),
		},
		// A resume covers everything, however short it must be.
		Context: min(resumeCharsDefault, resumeCharsMin+int(view.FilesBytes())),
	}
	switch found.class {
	case classTask:
		shown.ofTask(view, found.task)
	case classReview:
		shown.ofReview(h.call, view, found.contribution)
	default:
		shown.ofProject(view, found.open)
	}
	if role := view.RoleOf(h.call.Agent); role != work.NoRole {
		shown.WhyShown = append(shown.WhyShown, "you are "+role.String()+" of the project")
	}
	_, available := availableFor(h.words, found.class)
	shown.WhyShown = append(append(shown.WhyShown, h.why(found.about)...), available...)
	return shown
}

func (o *Opportunity) ofTask(view *work.Project, t *work.Task) {
	name := t.ID.Format(id.Task)
	o.WhyShown = []string{fmt.Sprintf(
		"an open task of priority %s that nobody works on and that waits for no other",
		t.Spec.Priority)}
	o.Action = "Claim it: POST /api/v1/tasks/" + name + "/claim"
	o.Context += utf8.RuneCountInString(t.Spec.Description)
	if away := t.Spec.Away; away != nil {
		// Bytes are as many as characters, or more.
		o.Context += away.Description.Bytes
	}
	for _, path := range t.Spec.RelatedFiles {
		if file, ok := view.File(path); ok {
			o.Context += file.Size
		}
	}
	o.Task = &OpportunityTask{
		ID: name, Title: t.Spec.Title, TaskType: t.Spec.Type, Skills: orEmpty(t.Spec.Skills),
	}
}

func (o *Opportunity) ofReview(c *Call, view *work.Project, of *work.Contribution) {
	name, revision := of.ID.Format(id.Contribution), view.CurrentRevision(of)
	o.WhyShown = []string{fmt.Sprintf("revision %d of a contribution that waits for a review",
		revision.Number)}
	o.Action = "Read it: GET /api/v1/contributions/" + name +
		", and review its revision: POST /api/v1/contributions/" + name + "/reviews"
	revision.Contents(func(_ string, _ work.Hash, bytes int) { o.Context += bytes })
	o.Contribution = &OpportunityContribution{
		ID: name, RevisionID: revision.ID.Format(id.Revision), Summary: revision.Summary,
		Author: c.agentRef(of.Author),
	}
}

func (o *Opportunity) ofProject(view *work.Project, open int) {
	resume := "Read its resume: GET /api/v1/projects/" + view.ID.Format(id.Project) + "/resume"
	if open > 0 {
		o.WhyShown = []string{fmt.Sprintf("a public project with open tasks: %d", open)}
		o.Action = resume + ", and claim one of its tasks"
		return
	}
	o.WhyShown, o.Action = []string{"a public project that fits"}, resume+", and contribute"
}
