package api

import (
	"strings"
	"unicode/utf8"

	"pws/index/feed"
	"pws/internal/id"
	"pws/work"
)

// beginningChars is the maximum length of a preview or a title.
const beginningChars = 200

// inboxItem returns the wire form of an item that the caller may see. Its texts come from the
// live view.
func (c *Call) inboxItem(one *boxed) (InboxItem, error) {
	event := c.Service.Engine.EventID(feed.Position(one.Place), one.At)
	item := InboxItem{
		ID:   event.Format(id.InboxItem),
		Kind: InboxKind(one.Kind.String()), Status: one.mark.Status.String(),
		Actor: c.agentRef(one.Actor),
		Subject: InboxSubject{
			Type: one.Subject.Type.String(),
			ID:   one.Subject.ID.Format(one.Subject.Type.Prefix()),
		},
		CreatedAt: Time(one.At), ReadAt: timeOrNil(one.mark.ReadAt),
	}
	if one.Project.IsZero() {
		item.Subject.Title, item.Preview = c.keyTexts(one)
		return item, nil
	}
	item.ProjectID = idOrNil(id.Project, one.Project)
	item.EventID = idOrNil(id.ActivityEvent, event)
	view, err := Intact(c.Service.Engine.Project(one.Project))
	if err != nil {
		return InboxItem{}, err
	}
	// The project existed a moment ago and may have been hidden since. The item then has no
	// texts.
	ended := one.Kind == work.NoticeProjectDeleted
	if view == nil || !view.Readable(c.Agent) && (!ended || !view.EndedFor(c.Agent, c.Now)) {
		return item, nil
	}
	title, text := c.subjectTexts(view, one)
	item.Subject.Title = beginning(title)
	if one.watched != 0 {
		text = one.watched.String() + ": " + text
	}
	item.Preview = beginning(text)
	return item, nil
}

// beginning returns the beginning of a text on one line, at most beginningChars.
func beginning(text string) string {
	// A character has at most four bytes, and rarely is more than half of a text spaces.
	if most := 8 * beginningChars; len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= beginningChars {
		return text
	}
	return string([]rune(text)[:beginningChars-1]) + "…"
}

// subjectTexts returns the title of an item's subject and the text to preview.
func (c *Call) subjectTexts(view *work.Project, one *boxed) (title, text string) {
	subject := one.Subject.ID
	switch one.Subject.Type {
	case work.SubjectTask:
		if t, ok := view.Task(subject, c.Now); ok {
			text = t.Spec.Title
			if one.Kind == work.NoticeClaimExpired {
				text = "The claim ran out; the task is " + t.Status.String() + " now."
			}
			return t.Spec.Title, text
		}
	case work.SubjectContribution:
		if contribution, ok := view.Contribution(subject); ok {
			return contributionTexts(view, contribution, one)
		}
	case work.SubjectDiscussion:
		if d, ok := view.Discussion(subject); ok {
			return d.Title, c.recordText(d.Body, d.Away)
		}
	case work.SubjectComment:
		if comment, ok := view.Comment(subject); ok {
			d, _ := view.Discussion(comment.Discussion)
			return d.Title, c.recordText(comment.Body, comment.Away)
		}
	case work.SubjectProject:
		switch one.Kind {
		case work.NoticeMemberAdded:
			return view.Name, memberText(view.RoleOf(c.Agent))
		case work.NoticeProjectHidden:
			return view.Name, hiddenText(view)
		case work.NoticeProjectShown:
			return view.Name, "An operator of the service shows the project again."
		case work.NoticeProjectDeleted:
			return view.Name, endText(view)
		}
	case work.SubjectAgent:
		return c.handle(subject), c.handle(subject)
	}
	return c.recordTexts(view, one.Subject)
}

// hiddenText says why a project is hidden.
func hiddenText(view *work.Project) string {
	if hidden := view.Moderation(); hidden != nil {
		return "An operator of the service has hidden the project: " + hidden.Reason
	}
	return "An operator of the service had hidden the project; it is shown again."
}

// keyTexts returns the fingerprint of a key and what happened to it.
func (c *Call) keyTexts(one *boxed) (title, text string) {
	key, ok := c.Service.Engine.Identity().Key(one.Subject.ID)
	if !ok {
		return "", ""
	}
	title = key.Fingerprint()
	switch {
	case one.Kind == work.NoticeKeyRevoked:
		return title, "The key was revoked, and every session that it opened has ended."
	case !key.Active():
		return title, "The key was added; it is REVOKED now."
	}
	return title, "The key was added. Revoke it if you do not know it."
}

// memberText says which role a new member has.
func memberText(role work.Role) string {
	if role == work.NoRole {
		return "You are not a member any more."
	}
	return "You are a member with the role " + role.String() + "."
}

// contributionTexts returns the texts for an item about a contribution: the summary for a review
// request, the text of a review, and otherwise the decision.
func contributionTexts(
	view *work.Project, of *work.Contribution, one *boxed,
) (title, text string) {
	summary := view.CurrentRevision(of).Summary
	if one.Kind == work.NoticeReviewRequested {
		if revision, ok := view.RevisionOf(of, one.Part); ok {
			return summary, revision.Summary
		}
	}
	switch one.Kind {
	case work.NoticeContributionDecided, work.NoticeReviewed:
	default:
		return summary, summary
	}
	if one.Kind == work.NoticeReviewed && one.Part.IsZero() {
		return summary, "CONFLICT: it does not merge with the head; refresh the workspace."
	}
	text = of.Status.String()
	said := of.Note + of.Deleted.Reason
	if review, ok := of.Review(one.Part); ok {
		text, said = review.Verdict.String(), review.Body
	}
	if said != "" {
		text += ": " + said
	}
	return summary, text
}

// recordTexts returns the texts for the other records of a project. A record without texts has
// those of the project.
func (c *Call) recordTexts(view *work.Project, subject work.Subject) (title, text string) {
	switch subject.Type {
	case work.SubjectChangeset:
		changeset, ok := view.Changeset(subject.ID)
		if !ok {
			break
		}
		if message := c.recordText(changeset.Message, changeset.Away); message != "" {
			first, _, _ := strings.Cut(message, "\n")
			return first, message
		}
	case work.SubjectHandoff:
		if handoff, ok := view.Handoff(subject.ID); ok && handoff.Continuation.Summary != "" {
			return handoff.Continuation.Summary, handoff.Continuation.Summary
		}
	case work.SubjectArtifact:
		if artifact, ok := view.Artifact(subject.ID); ok {
			return artifact.Name, artifact.Description
		}
	case work.SubjectVerification:
		if record, ok := view.Verification(subject.ID); ok && record.Finding.Summary != "" {
			return record.Finding.Summary, record.Finding.Summary
		}
	}
	return view.Name, view.Name
}
