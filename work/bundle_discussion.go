package work

import "pws/internal/id"

// importDiscussions keeps the discussions. A discussion whose subject was not imported becomes one
// about the project. The file of a subject may have been deleted since. The importer counts as the
// agent that closed, locked or deleted it, because the agent of the bundle may not exist here.
func (b *bundleImport) importDiscussions() {
	b.event.Discussions, b.event.Imported.Discussions = importRecords(
		b, id.Discussion, "discussions", DiscussionsMax, b.Discussions,
		func(made *Discussion, fresh id.ID, field string) bool {
			made.ID, made.Author, made.CreatedAt = fresh, b.stamp.Agent, b.stamp.Now
			if made.Status != DiscussionOpen {
				made.ChangedBy, made.ChangedAt = b.stamp.Agent, b.stamp.Now
			}
			b.markDeleted(&made.Deleted)
			about := &made.Subject
			if kind := about.Type.Prefix(); kind != "" {
				about.ID = b.subject(kind, about.ID, field+".subject.id")
				if about.ID.IsZero() {
					*about = Matter{}
				}
			}
			b.texts += made.Bytes()
			return true
		})
}

// markDeleted makes the mark of a deletion one by the importer.
func (b *bundleImport) markDeleted(mark *Deletion) {
	if mark.Is() {
		*mark = Deletion{By: b.stamp.Agent, At: b.stamp.Now}
	}
}

// importComments keeps the comments, each after the one that it replies to.
func (b *bundleImport) importComments() {
	earlier := make(map[id.ID]*Comment, len(b.Comments))
	b.event.Comments, b.event.Imported.Comments = importRecords(
		b, id.Comment, "comments", CommentsMax, b.Comments,
		func(made *Comment, fresh id.ID, field string) bool {
			old := made.ID
			made.ID, made.Author, made.CreatedAt = fresh, b.stamp.Agent, b.stamp.Now
			made.Discussion = b.named(id.Discussion, made.Discussion, field+".discussion_id")
			b.markDeleted(&made.Deleted)
			if !made.ReplyTo.IsZero() {
				answered := earlier[made.ReplyTo]
				if answered == nil || answered.Discussion != made.Discussion {
					b.fault(field+".reply_to_id", "names no earlier comment of the discussion")
				} else {
					made.ReplyTo = answered.ID
				}
			}
			earlier[old] = made
			b.texts += made.Bytes()
			return true
		})
}
