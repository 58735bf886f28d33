package work

import (
	"fmt"

	"pws/internal/id"
)

// importDiscussions keeps the discussions. A discussion whose subject was not imported becomes one
// about the project.
func (b *bundleImport) importDiscussions() {
	if len(b.Discussions) > DiscussionsMax {
		b.fault("discussions", fmt.Sprintf("must have at most %d items", DiscussionsMax))
		return
	}
	for nth := range b.Discussions {
		from, field := &b.Discussions[nth].Record, indexed("discussions", nth)
		if _, known := b.discussions[from.ID]; known {
			b.fault(field+".id", duplicated)
		}
		discussion := *from
		discussion.ID = b.next()
		discussion.Author, discussion.CreatedAt = b.stamp.Agent, b.stamp.Now
		if !b.mapMatter(&discussion.Subject) {
			b.fault(field+".subject.id", "names no entity of the bundle")
		}
		b.discussions[from.ID] = discussion.ID
		b.texts += discussion.Bytes()
		b.event.Discussions = append(b.event.Discussions, &discussion)
		b.event.Imported.Discussions = append(b.event.Imported.Discussions,
			b.Discussions[nth].Origin)
	}
}

// mapMatter replaces the ID of a subject in the bundle with its new ID. A file may have been
// deleted since.
func (b *bundleImport) mapMatter(about *Matter) (known bool) {
	switch about.Type {
	case MatterProject:
		known = about.ID == b.Source
		about.ID = b.ID
	case MatterTask:
		about.ID, known = b.tasks[about.ID]
	case MatterChangeset:
		about.ID, known = b.sameChangeset(about.ID)
	case MatterHandoff:
		about.ID, known = b.handoffs[about.ID]
	case MatterArtifact:
		about.ID, known = b.artifacts[about.ID]
	case MatterContribution:
		about.ID, known = b.contributions[about.ID]
	case MatterFile:
		return true
	default:
		*about = Matter{}
		return true
	}
	if about.ID.IsZero() {
		*about = Matter{}
	}
	return known
}

// importComments keeps the comments, each after the one that it replies to.
func (b *bundleImport) importComments() {
	if len(b.Comments) > CommentsMax {
		b.fault("comments", fmt.Sprintf("must have at most %d items", CommentsMax))
		return
	}
	made := make(map[id.ID]*Comment, len(b.Comments))
	for nth := range b.Comments {
		from, field := &b.Comments[nth].Record, indexed("comments", nth)
		if made[from.ID] != nil {
			b.fault(field+".id", duplicated)
		}
		comment := *from
		comment.ID, comment.Author, comment.CreatedAt = b.next(), b.stamp.Agent, b.stamp.Now
		discussion, known := b.discussions[from.Discussion]
		if comment.Discussion = discussion; !known {
			b.fault(field+".discussion_id", "names no discussion of the bundle")
		}
		if !from.ReplyTo.IsZero() {
			answered := made[from.ReplyTo]
			if answered == nil || answered.Discussion != discussion {
				b.fault(field+".reply_to_id", "names no earlier comment of the discussion")
			} else {
				comment.ReplyTo = answered.ID
			}
		}
		made[from.ID] = &comment
		b.texts += comment.Bytes()
		b.event.Comments = append(b.event.Comments, &comment)
		b.event.Imported.Comments = append(b.event.Imported.Comments, b.Comments[nth].Origin)
	}
}
