package index

import (
	"slices"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Kinds implements Projection.
func (r *Reviews) Kinds() []work.Kind {
	return kindsOf(
		new(work.ContributionSubmitted), new(work.RevisionSubmitted),
		new(work.ContributionReviewed), new(work.ContributionConflicted),
		new(work.ContributionAccepted), new(work.ContributionRejected),
		new(work.ContributionWithdrawn), new(work.ReviewDeleted), new(work.ContributionDeleted),
		new(work.ProjectImported), new(work.ProjectUpdated),
		new(work.MemberAdded), new(work.MemberChanged), new(work.MemberRemoved),
		new(work.ProjectDeleted), new(work.ProjectRestored),
	)
}

// Update implements Projection.
func (r *Reviews) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		r.Replace(next.ID, ReviewsOf(next))
		return
	}
	audience := before.Version != next.Version
	for _, event := range events {
		contribution, ok := contributionOf(event)
		if !ok {
			continue
		}
		c, _ := next.Contribution(contribution)
		if entry, waits := reviewEntry(next, c); waits {
			audience = r.Put(next.ID, entry) || audience
		} else {
			r.Drop(next.ID, contribution)
		}
	}
	if audience && next.PendingContributions() > 0 {
		r.SetAudience(next.ID, next.Visibility == work.Public, membersOf(next))
	}
}

// contributionOf returns the contribution that an event concerns.
func contributionOf(event work.Event) (contribution id.ID, ok bool) {
	switch event := event.(type) {
	case *work.ContributionSubmitted:
		return event.ID, true
	case *work.RevisionSubmitted:
		return event.Contribution, true
	case *work.ContributionReviewed:
		return event.Contribution, true
	case *work.ContributionConflicted:
		return event.Contribution, true
	case *work.ContributionAccepted:
		return event.Contribution, true
	case *work.ContributionRejected:
		return event.Contribution, true
	case *work.ContributionWithdrawn:
		return event.Contribution, true
	case *work.ReviewDeleted:
		return event.Contribution, true
	case *work.ContributionDeleted:
		return event.Contribution, true
	}
	return id.ID{}, false
}

// reviewEntry returns the entry of a contribution; waits is false if it does not wait for a review.
func reviewEntry(p *work.Project, c *work.Contribution) (entry ReviewEntry, waits bool) {
	if c.Status != work.SubmittedStatus {
		return entry, false
	}
	var languages []string
	for _, file := range revisionPaths(p, c) {
		languages = append(languages, work.LanguageOf(file))
	}
	return ReviewEntry{
		Contribution: c.ID, Author: c.Author, Terms: MakeTerms(languages...),
	}, true
}

// ReviewsOf returns the contributions to a project that wait for a review.
func ReviewsOf(p *work.Project) (all ProjectReviews) {
	if p.PendingContributions() == 0 {
		return all
	}
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		if entry, waits := reviewEntry(p, c); waits {
			all.Entries = append(all.Entries, entry)
		}
		return true
	})
	if slices.Reverse(all.Entries); len(all.Entries) > 0 {
		all.Public, all.Members = p.Visibility == work.Public, membersOf(p)
	}
	return all
}

// Append implements Projection:
//
//	reviews  until the end, each: 16 bytes contribution, 16 bytes author, terms: uvarint length, then
//	         the bytes of Terms.String
func (r *Reviews) Append(out []byte, p *work.Project) []byte {
	return appendReviews(out, ReviewsOf(p).Entries)
}

func appendReviews(out []byte, entries []ReviewEntry) []byte {
	for i := range entries {
		entry := &entries[i]
		out = append(append(out, entry.Contribution[:]...), entry.Author[:]...)
		out = appendText(out, entry.Terms.String())
	}
	return out
}

// Restore implements Projection.
func (r *Reviews) Restore(c *Card, part *disk.Reader) error {
	all := ProjectReviews{Public: c.Visibility == work.Public, Members: c.Members}
	for part.Len() > 0 {
		all.Entries = append(all.Entries, ReviewEntry{
			Contribution: id.ID(part.Fixed(16)), Author: id.ID(part.Fixed(16)),
			Terms: JoinedTerms(part.Text()),
		})
	}
	r.Replace(c.Project, all)
	return nil
}
