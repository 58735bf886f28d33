package api

import (
	"fmt"
	"maps"
	"slices"

	"pws/internal/id"
	"pws/work"
)

// readContribution reads a contribution with its revisions and reviews. Conflicts that an earlier
// merge found are not imported, because the next merge finds them again.
func (i *importer) readContribution(from *Contribution, field string) work.BundledContribution {
	made := work.BundledContribution{
		Record: work.Contribution{
			ID:     i.id(id.Contribution, from.ID, field+".id"),
			Status: work.ParseContributionStatus(from.Status), Note: from.DecisionNote,
		},
		Origin: i.contributionOrigin(from, field),
	}
	i.check(messageCheck, from.DecisionNote, field+".decision_note")
	i.readOutcome(&made.Record, from, field)
	if count := len(from.Revisions); count == 0 || count > work.RevisionsMax {
		i.fault(field+".revisions", fmt.Sprintf("must have 1 to %d items", work.RevisionsMax))
	} else if from.Revisions[count-1].ID != from.CurrentRevisionID {
		i.fault(field+".current_revision_id", "is not the last revision")
	}
	for j := range from.Revisions {
		made.Revisions = append(made.Revisions,
			i.readRevision(from, j, fmt.Sprintf("%s.revisions[%d]", field, j)))
	}
	i.readReviews(&made.Record, from, field)
	return made
}

// readOutcome reads the status of a contribution and the accepted changeset.
func (i *importer) readOutcome(made *work.Contribution, from *Contribution, field string) {
	if made.Status == 0 {
		i.fault(field+".status", isRequired)
	}
	switch accepted := made.Status == work.AcceptedStatus; {
	case accepted && from.AcceptedID == nil:
		i.fault(field+".accepted_changeset_id", isRequired)
	case accepted:
		made.Changeset = i.id(id.Changeset, *from.AcceptedID, field+".accepted_changeset_id")
	case from.AcceptedID != nil:
		i.fault(field+".accepted_changeset_id", "is only allowed with the status ACCEPTED")
	}
	if from.DecisionNote != "" && !made.Status.Final() {
		i.fault(field+".decision_note", "is only allowed with a final status")
	}
}

func (i *importer) readRevision(
	of *Contribution, nth int, field string,
) (made work.BundledRevision) {
	from := &of.Revisions[nth]
	i.check(messageCheck, from.Summary, field+".summary")
	if from.Number != nth+1 {
		i.fault(field+".number", fmt.Sprintf("must be %d: its position in the list", nth+1))
	}
	made.Record = work.Revision{
		ID: i.id(id.Revision, from.ID, field+".id"), Number: nth + 1, Summary: from.Summary,
		Base: i.id(id.Changeset, from.BaseID, field+".base_changeset_id"),
	}
	made.Ops, made.Malformed = i.readOperations(from.Operations, field)
	return made
}

// readReviews reads the reviews of a contribution.
func (i *importer) readReviews(made *work.Contribution, from *Contribution, of string) {
	if len(from.Reviews) > work.ReviewsMax {
		i.fault(of+".reviews", fmt.Sprintf("must have at most %d items", work.ReviewsMax))
		return
	}
	for j := range from.Reviews {
		review, field := &from.Reviews[j], fmt.Sprintf("%s.reviews[%d]", of, j)
		input := CreateReview{
			RevisionID: review.RevisionID, Verdict: review.Verdict, Body: review.Body,
			Comments: review.Comments,
		}
		checkForm(i, field, &input)
		for nth := range input.Comments {
			i.path(input.Comments[nth].Path, fmt.Sprintf("%s.comments[%d].path", field, nth))
		}
		made.Reviews = append(made.Reviews, &work.Review{
			ID:       i.id(id.Review, review.ID, field+".id"),
			Revision: parsed(id.Revision, input.RevisionID),
			Verdict:  work.ParseVerdict(input.Verdict), Binding: review.Binding, Body: input.Body,
			Comments: reviewComments(input.Comments),
		})
	}
	if made.Bytes() > work.ReviewTextBytesMax {
		i.fault(of+".reviews", fmt.Sprintf("must have at most %d bytes of text in total",
			work.ReviewTextBytesMax))
	}
}

// contributionOrigin reads the origin of a contribution: its earlier origin, if it has one, and the
// decision since then.
func (i *importer) contributionOrigin(from *Contribution, of string) work.ContributionOrigin {
	field := of
	known := ContributionOrigin{
		ID: from.ID, ProjectID: i.bundle.Project.ID, Author: from.Author, CreatedAt: from.CreatedAt,
	}
	if earlier := from.Origin; earlier != nil {
		known.Author, known.CreatedAt = earlier.Author, earlier.CreatedAt
		if earlier.DecidedBy != nil || from.DecidedBy == nil {
			known, field = *earlier, field+".origin"
		}
	}
	if known.DecidedBy == nil && from.DecidedBy != nil {
		known.DecidedBy, known.DecidedAt = i.agentNamed(*from.DecidedBy), from.DecidedAt
		known.AcceptedID = from.AcceptedID
	}
	origin := work.ContributionOrigin{
		Record: i.origin(id.Contribution, &RecordOrigin{
			ID: known.ID, Author: known.Author, CreatedAt: known.CreatedAt,
		}, field),
		Project: i.id(id.Project, known.ProjectID, field+".project_id"),
	}
	for j := range from.Revisions[:min(len(from.Revisions), work.RevisionsMax)] {
		one := &from.Revisions[j]
		origin.Revisions = append(origin.Revisions, i.originOf(id.Revision,
			source{one.Origin, one.ID, from.Author, one.CreatedAt},
			fmt.Sprintf("%s.revisions[%d]", of, j)))
	}
	for j := range from.Reviews[:min(len(from.Reviews), work.ReviewsMax)] {
		one := &from.Reviews[j]
		origin.Reviews = append(origin.Reviews, i.originOf(id.Review,
			source{one.Origin, one.ID, one.Author, one.CreatedAt},
			fmt.Sprintf("%s.reviews[%d]", of, j)))
	}
	decider, at, accepted := known.DecidedBy, known.DecidedAt, known.AcceptedID
	final := work.ParseContributionStatus(from.Status).Final()
	switch {
	case decider == nil && final:
		i.fault(of+".decided_by", isRequired)
	case decider != nil && !final:
		i.fault(of+".decided_by", "is only allowed with a final status")
	case decider != nil:
		origin.Decision = work.Origin{
			Agent:  i.id(id.Agent, decider.AgentID, field+".decided_by"),
			Handle: i.handle(decider.Handle, field+".decided_by"),
		}
		if at != nil {
			origin.Decision.CreatedAt = i.time(*at, field+".decided_at")
		}
		if accepted != nil {
			origin.Changeset = i.id(id.Changeset, *accepted, field+".accepted_changeset_id")
		}
	}
	return origin
}

// readInherited reads the credits and authors that the project of the bundle had inherited.
func (i *importer) readInherited() {
	i.command.Inherited = i.creditOrigins(
		i.bundle.Provenance.Inherited, "provenance.inherited_contributions")
	i.readInheritedAuthors()
}

// creditOrigins reads at most CreditsMax credits.
func (i *importer) creditOrigins(list []Credit, field string) (made []work.CreditOrigin) {
	if len(list) > work.CreditsMax {
		i.fault(field, fmt.Sprintf("must have at most %d items", work.CreditsMax))
	}
	for j := range list[:min(len(list), work.CreditsMax)] {
		made = append(made, i.creditOrigin(&list[j], fmt.Sprintf("%s[%d]", field, j)))
	}
	return made
}

func (i *importer) creditOrigin(from *Credit, field string) work.CreditOrigin {
	origin := from.Origin
	if origin == nil {
		origin = &CreditOrigin{
			ProjectID: from.ProjectID, ContributionID: from.ContributionID,
			ChangesetID: from.ChangesetID, Author: from.Author, Reviewers: from.Reviewers,
			AcceptedBy: &from.AcceptedBy,
		}
	}
	made := work.CreditOrigin{
		Author:       i.agent(&origin.Author, field+".author"),
		Reviewers:    i.agents(origin.Reviewers, field),
		Project:      i.idOrZero(id.Project, origin.ProjectID, field+".project_id"),
		Contribution: i.idOrZero(id.Contribution, origin.ContributionID, field+".contribution_id"),
		Changeset:    i.idOrZero(id.Changeset, origin.ChangesetID, field+".changeset_id"),
	}
	if origin.AcceptedBy != nil {
		made.AcceptedBy = i.agent(origin.AcceptedBy, field+".accepted_by")
	}
	return made
}

// agents reads at most ReviewsMax agents.
func (i *importer) agents(list []AgentRef, field string) []work.BundledAgent {
	if len(list) > work.ReviewsMax {
		i.fault(field+".reviewers", fmt.Sprintf("must have at most %d items", work.ReviewsMax))
		return nil
	}
	made := make([]work.BundledAgent, len(list))
	for j := range list {
		made[j] = i.agent(&list[j], fmt.Sprintf("%s.reviewers[%d]", field, j))
	}
	return made
}

func (i *importer) agent(from *AgentRef, field string) work.BundledAgent {
	return work.BundledAgent{
		Agent:  i.id(id.Agent, from.AgentID, field+".agent_id"),
		Handle: i.handle(from.Handle, field+".handle"),
	}
}

// ofFork reports whether a changeset is the first one of a fork, which has no author.
func (o *ChangesetOrigin) ofFork() bool {
	return o.SourceType == SourceType(work.SourceFork.String())
}

// changesetsMax is the maximum number of changesets of an agent in a bundle.
const changesetsMax = 1 << 31

// readInheritedAuthors counts the changesets of each author that the history does not have.
// Changesets from an earlier bundle are in the authors of that bundle and in the history.
func (i *importer) readInheritedAuthors() {
	counts := map[work.BundledAgent]int{}
	read := func(list []AuthorCount, name string, count func(*AuthorCount) int) {
		if len(list) > work.InheritedAuthorsMax {
			i.fault("provenance."+name,
				fmt.Sprintf("must have at most %d items", work.InheritedAuthorsMax))
			return
		}
		for j := range list {
			field := fmt.Sprintf("provenance.%s[%d]", name, j)
			changesets := count(&list[j])
			if changesets < 0 || changesets > changesetsMax {
				i.fault(field, fmt.Sprintf("must be from 0 to %d", changesetsMax))
			}
			counts[i.agent(&list[j].Agent, field+".agent")] += changesets
		}
	}
	read(i.bundle.Provenance.Authors, "authors", func(a *AuthorCount) int { return a.Inherited })
	read(i.bundle.Provenance.Bundled, "bundle_authors", func(a *AuthorCount) int {
		return a.Changesets
	})
	for nth := range i.bundle.History {
		if origin := i.bundle.History[nth].Origin; origin != nil && !origin.ofFork() {
			counts[work.BundledAgent{
				Agent: parsed(id.Agent, origin.Author.AgentID), Handle: origin.Author.Handle,
			}]--
		}
	}
	for _, agent := range slices.SortedFunc(maps.Keys(counts), work.BundledAgent.Compare) {
		if count := min(counts[agent], changesetsMax); count > 0 {
			i.command.InheritedAuthors = append(i.command.InheritedAuthors,
				work.BundledAuthor{Agent: agent, Changesets: uint32(count)}) // #nosec G115 -- bounded
		}
	}
}
