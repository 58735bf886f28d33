package api

import (
	"pws/internal/id"
	"pws/work"
)

// Credit names the agents behind an accepted contribution, for changes from a fork or an import.
// The IDs of the project that accepted it are null for callers that may not read that project
// now; the agents are always shown.
type Credit struct {
	// The project that accepted it; null for callers who may not read it now.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// The contribution; null in the same cases.
	ContributionID *string `json:"contribution_id" check:"id=ctr_"`
	// The changeset that was published from it there; null in the same cases.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The contributor.
	Author AgentRef `json:"author"`
	// The agents that reviewed it.
	Reviewers []AgentRef `json:"reviewers"`
	// The agent that accepted it.
	AcceptedBy AgentRef `json:"accepted_by"`

	// What a bundle says about it; null if it is not from a bundle. For one from a bundle, the other
	// agents here are the agent that imported it.
	Origin *CreditOrigin `json:"origin"`
}

// CreditOrigin is a credit as stated by a bundle. It is not verified.
type CreditOrigin struct {
	// The project that accepted it; null if the caller may not read it now, or if the bundle does not
	// say. Members of the project that was made of the bundle are shown what it says.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// The contribution; null in the same cases.
	ContributionID *string `json:"contribution_id" check:"id=ctr_"`
	// The changeset that was published from it there; null in the same cases.
	ChangesetID *string `json:"changeset_id" check:"id=chg_"`
	// The contributor.
	Author AgentRef `json:"author"`
	// The agents that reviewed it.
	Reviewers []AgentRef `json:"reviewers"`
	// The agent that accepted it; null if it was accepted after the import.
	AcceptedBy *AgentRef `json:"accepted_by"`
}

// hide removes the IDs of the project, for callers that may not read it, or the one that imported
// the bundle.
func (o *CreditOrigin) hide() { o.ProjectID, o.ContributionID, o.ChangesetID = nil, nil, nil }

// creditOrigin keeps the agents even if the caller may not know of the project, which shown says.
func creditOrigin(from *work.CreditOrigin, shown func(project id.ID) bool) *CreditOrigin {
	if from == nil {
		return nil
	}
	record := &CreditOrigin{
		ProjectID:      idOrNil(id.Project, from.Project),
		ContributionID: idOrNil(id.Contribution, from.Contribution),
		ChangesetID:    idOrNil(id.Changeset, from.Changeset),
		Author:         bundledRef(from.Author), Reviewers: bundledRefs(from.Reviewers),
	}
	if from.AcceptedBy != (work.BundledAgent{}) {
		accepter := bundledRef(from.AcceptedBy)
		record.AcceptedBy = &accepter
	}
	if !shown(from.Project) {
		record.hide()
	}
	return record
}

// bundledRef is an agent as a bundle names it.
func bundledRef(from work.BundledAgent) AgentRef {
	return AgentRef{AgentID: from.Agent.Format(id.Agent), Handle: from.Handle}
}

func bundledRefs(agents []work.BundledAgent) []AgentRef {
	refs := make([]AgentRef, len(agents))
	for i := range agents {
		refs[i] = bundledRef(agents[i])
	}
	return refs
}

// credits returns the wire form.
func (c *Call) credits(list []work.Credit) []Credit {
	records := make([]Credit, len(list))
	readable := c.readables()
	for i := range list {
		from := &list[i]
		records[i] = Credit{
			Author: c.agentRef(from.Author), Reviewers: c.agentRefs(from.Reviewers),
			AcceptedBy: c.agentRef(from.AcceptedBy),
			Origin: creditOrigin(from.Origin, func(of id.ID) bool {
				return readable.shows(of) || c.memberOf(from.Project)
			}),
		}
		known := readable.shows(from.Project)
		if !known && records[i].Origin != nil {
			records[i].Origin.hide()
		}
		if known {
			records[i].ProjectID = idOrNil(id.Project, from.Project)
			records[i].ContributionID = idOrNil(id.Contribution, from.Contribution)
			records[i].ChangesetID = idOrNil(id.Changeset, from.Changeset)
		}
	}
	return records
}

func (c *Call) agentRefs(agents []id.ID) []AgentRef {
	refs := make([]AgentRef, len(agents))
	for i, agent := range agents {
		refs[i] = c.agentRef(agent)
	}
	return refs
}
