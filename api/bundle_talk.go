package api

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// deletedText stands in a bundle for the text of what was deleted.
const deletedText = "(deleted)"

func (e *export) discussions() {
	for _, one := range oldestFirst(e.view.Discussions) {
		record := e.call.discussion(e.view, one)
		if one.Deleted.Is() {
			// What answers it comes along, so that its place must be there.
			record.Title, record.Body = deletedText, deletedText
		}
		if !e.add(record) {
			return
		}
	}
}

func (e *export) comments() {
	e.view.AllComments(func(one *work.Comment) bool {
		record := e.call.comment(e.view, one)
		if one.Deleted.Is() {
			record.Body = deletedText
		}
		return e.add(record)
	})
}

// readDiscussions reads discussions without those whom they mention: whoever brings a bundle in
// calls nobody.
func (i *importer) readDiscussions() {
	for nth := range i.bundle.Discussions {
		if len(i.faults) >= bundleFaultsMax {
			return
		}
		from, field := &i.bundle.Discussions[nth], fmt.Sprintf("discussions[%d]", nth)
		said := CreateDiscussion{Title: from.Title, Body: from.Body, Subject: from.Subject}
		judge(i, field, &said)
		i.command.Discussions = append(i.command.Discussions, work.Bundled[work.Discussion]{
			Record: work.Discussion{
				ID: i.id(id.Discussion, from.ID, field+".id"), Title: said.Title,
				Body: said.Body, Subject: i.matter(said.Subject, field+".subject.id"),
			},
			Origin: i.originOf(id.Discussion, from.Origin, RecordOrigin{
				ID: from.ID, Author: from.Author, CreatedAt: from.CreatedAt,
			}, field),
		})
	}
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

func (i *importer) readComments() {
	for nth := range i.bundle.Comments {
		if len(i.faults) >= bundleFaultsMax {
			return
		}
		from, field := &i.bundle.Comments[nth], fmt.Sprintf("comments[%d]", nth)
		said := AddComment{Body: from.Body, ReplyToID: from.ReplyToID}
		judge(i, field, &said)
		record := work.Comment{
			ID: i.id(id.Comment, from.ID, field+".id"), Body: said.Body,
			Discussion: i.id(id.Discussion, from.DiscussionID, field+".discussion_id"),
		}
		if said.ReplyToID != nil {
			record.ReplyTo = named(id.Comment, *said.ReplyToID)
		}
		i.command.Comments = append(i.command.Comments, work.Bundled[work.Comment]{
			Record: record,
			Origin: i.originOf(id.Comment, from.Origin, RecordOrigin{
				ID: from.ID, Author: from.Author, CreatedAt: from.CreatedAt,
			}, field),
		})
	}
}

// addTalk adds discussions and comments, which stand in the order of the bundle.
func addTalk(ids *idMap, bundled *work.ImportProject, p *work.Project) {
	for nth, one := range oldestFirst(p.Discussions) {
		ids.add(id.Discussion, bundled.Discussions[nth].Record.ID, one.ID)
	}
	nth := 0
	p.AllComments(func(one *work.Comment) bool {
		ids.add(id.Comment, bundled.Comments[nth].Record.ID, one.ID)
		nth++
		return !ids.full
	})
}
