package api

import (
	"pws/internal/id"
	"pws/work"
)

// deletedText replaces the text of deleted discussions and comments in a bundle, removedText one
// that an operator has removed.
const (
	deletedText = "(deleted)"
	removedText = "(removed)"
)

// bodyOr returns a body, or what stands for it in a bundle if an operator has removed it.
func bodyOr(body string, away *work.Away) string {
	if away != nil && body == "" {
		return removedText
	}
	return body
}

// discussion renders a discussion. A deleted one keeps its place, because its comments remain.
func (e *export) discussion(p *work.Project, one *work.Discussion) Discussion {
	record := e.call.discussion(p, one)
	e.fail(e.call.textFault)
	record.Body = bodyOr(record.Body, one.Away)
	if one.Deleted.Is() {
		record.Title, record.Body = deletedText, deletedText
		record.DeletionReason = nil
	}
	if about := &one.Subject; e.contributionDeleted(about.ID) || e.handoffDeleted(about.ID) {
		record.Subject = nil
	}
	return record
}

func (e *export) comments() {
	e.view.AllComments(func(one *work.Comment) bool {
		record := e.call.comment(e.view, one)
		e.fail(e.call.textFault)
		record.Body = bodyOr(record.Body, one.Away)
		if one.Deleted.Is() {
			record.Body, record.DeletionReason = deletedText, nil
		}
		return e.add(record)
	})
}

// readDiscussion reads a discussion without its mentions, because an import notifies nobody.
func (i *importer) readDiscussion(from *Discussion, field string) (work.Discussion, source) {
	input := CreateDiscussion{Title: from.Title, Body: from.Body, Subject: from.Subject}
	checkForm(i, field, &input)
	// A bundle without the status has an open discussion.
	status, _ := work.ParseDiscussionStatus(from.Status)
	record := work.Discussion{
		ID: i.id(id.Discussion, from.ID, field+".id"), Title: from.Title, Body: from.Body,
		Subject: i.matter(from.Subject, field+".subject.id"), Status: status,
		Deleted: deletionOf(from.DeletedAt),
	}
	if record.Deleted.Is() {
		record.Title, record.Body, record.Subject = "", "", work.Matter{}
	}
	return record, source{from.Origin, from.ID, from.Author, from.CreatedAt}
}

// deletionOf is the mark of a deletion in a bundle. The import makes it one by the importer: the
// agent of the bundle may not exist here.
func deletionOf(at *Time) (mark work.Deletion) {
	if at != nil {
		mark.At = max(1, int64(*at))
	}
	return mark
}

func (i *importer) matter(from *DiscussionSubject, field string) (about work.Matter) {
	if from == nil {
		return about
	}
	about.Type = work.ParseMatterType(from.Type)
	switch about.Type {
	case 0:
	case work.MatterFile:
		i.path(from.ID, field)
		about.Path = from.ID
	default:
		about.ID = parsed(about.Type.Prefix(), from.ID)
	}
	return about
}

func (i *importer) readComment(from *Comment, field string) (work.Comment, source) {
	checkForm(i, field, &AddComment{Body: from.Body, ReplyToID: from.ReplyToID})
	record := work.Comment{
		ID: i.id(id.Comment, from.ID, field+".id"), Body: from.Body,
		Discussion: i.id(id.Discussion, from.DiscussionID, field+".discussion_id"),
		Deleted:    deletionOf(from.DeletedAt),
	}
	if record.Deleted.Is() {
		record.Body = ""
	}
	if from.ReplyToID != nil {
		record.ReplyTo = named(id.Comment, *from.ReplyToID)
	}
	return record, source{from.Origin, from.ID, from.Author, from.CreatedAt}
}
