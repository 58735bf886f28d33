package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Comment is a comment in a discussion. It never changes until it is deleted.
type Comment struct {
	ID         id.ID  `cbor:"1,keyasint"`
	Discussion id.ID  `cbor:"2,keyasint"`
	Author     id.ID  `cbor:"3,keyasint"`
	Body       string `cbor:"4,keyasint"`
	// ReplyTo is an earlier comment of the same discussion; zero for none.
	ReplyTo id.ID `cbor:"5,keyasint,omitzero"`
	// Mentions are the agents that the body names, in the order of the body.
	Mentions []id.ID `cbor:"6,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"7,keyasint"`
	// Away has a long body, nil if it is here.
	Away *Away `cbor:"8,keyasint,omitempty"`
	// Deleted is zero unless the comment was deleted.
	Deleted Deletion `cbor:"30,keyasint,omitzero"`
}

// Bytes returns the size of the text.
func (c *Comment) Bytes() int { return len(c.Body) + c.Away.bytes() }

func (c *Comment) ident() id.ID { return c.ID }

// sound reports whether a saved comment is valid.
func (c *Comment) sound() bool {
	return c != nil && c.Away.sound() && len(c.Mentions) <= MentionsMax
}

// comments holds all comments of a project in the order of their IDs, which is also the order
// within each discussion.
type comments struct {
	recordList[*Comment]
	of treeSet[commented]
}

// commented is a comment with its number in its discussion, from 1.
type commented struct {
	comment *Comment
	number  int
}

var byDiscussion = inOrder(func(a, b commented) bool {
	if by := a.comment.Discussion.Compare(b.comment.Discussion); by != 0 {
		return by < 0
	}
	return a.comment.ID.Compare(b.comment.ID) < 0
})

// last returns the newest comment of a discussion.
func (c *comments) last(discussion id.ID) (newest commented, ok bool) {
	if c.of.tree == nil {
		return newest, false
	}
	end := commented{comment: &Comment{ID: lastID, Discussion: discussion}}
	c.of.tree.Descend(end, func(one commented) bool {
		if one.comment.Discussion == discussion {
			newest, ok = one, true
		}
		return false
	})
	return newest, ok
}

// enter adds a new comment to the index by discussion.
func (c *comments) enter(one *Comment) {
	newest, _ := c.last(one.Discussion)
	c.of.set(commented{one, newest.number + 1}, byDiscussion)
}

// replace replaces a comment with a new version.
func (c *comments) replace(old, next *Comment) {
	if was, ok := c.of.tree.Get(commented{comment: old}); ok {
		c.of.set(commented{next, was.number}, byDiscussion)
	}
}

// Comment finds a comment by ID.
func (p *Project) Comment(wanted id.ID) (*Comment, bool) { return p.comments.get(wanted) }

// Comments yields the comments of a discussion after an ID, the oldest first. A zero ID yields all
// of them.
func (p *Project) Comments(discussion, after id.ID, yield func(*Comment) bool) {
	if p.comments.of.tree == nil {
		return
	}
	pivot := commented{comment: &Comment{ID: after, Discussion: discussion}}
	p.comments.of.tree.Ascend(pivot, func(one commented) bool {
		if one.comment.ID == after {
			return true
		}
		return one.comment.Discussion == discussion && yield(one.comment)
	})
}

// AllComments yields the comments of all discussions, the oldest first.
func (p *Project) AllComments(yield func(*Comment) bool) {
	for nth := range p.comments.len() {
		if !yield(p.comments.at(nth)) {
			return
		}
	}
}

// CommentCount returns the number of comments of a discussion and the newest of them, nil if there
// is none.
func (p *Project) CommentCount(discussion id.ID) (count int, newest *Comment) {
	if last, ok := p.comments.last(discussion); ok {
		return last.number, last.comment
	}
	return 0, nil
}

// fits reports whether the discussion of a comment exists, and the comment that it replies to,
// if any, is in the same discussion.
func (p *Project) fits(c *Comment) bool {
	if _, ok := p.Discussion(c.Discussion); !ok {
		return false
	}
	if c.ReplyTo.IsZero() {
		return true
	}
	answered, ok := p.Comment(c.ReplyTo)
	return ok && answered.Discussion == c.Discussion && answered.ID.Compare(c.ID) < 0
}

// mentioned returns the agents that can read the project, each once, at most MentionsMax.
func (p *Project) mentioned(agents []id.ID) (mentions []id.ID) {
	for _, agent := range agents {
		if len(mentions) == MentionsMax {
			break
		}
		if p.Readable(agent) && !slices.Contains(mentions, agent) {
			mentions = append(mentions, agent)
		}
	}
	return mentions
}

// AddComment adds a comment to a discussion.
type AddComment struct {
	Discussion id.ID
	Body       string
	// ReplyTo is a comment of that discussion; zero for none.
	ReplyTo id.ID
	// Mentions are the agents that the body names.
	Mentions []id.ID
}

// Authorize accepts every agent that may see the project, and only contributors of a PRIVATE one.
// It returns DISCUSSION_NOT_FOUND and ROLE_REQUIRED.
func (c *AddComment) Authorize(p *Project, agent id.ID) error {
	return MayContribute.requireOr(p, agent, errDiscussionNotFound())
}

// Decide returns DISCUSSION_NOT_FOUND, PROJECT_ARCHIVED, DISCUSSION_CLOSED, QUOTA_EXCEEDED, and
// VALIDATION_FAILED if ReplyTo is not a comment of the discussion.
func (c *AddComment) Decide(p *Project, stamp Stamp) (Decision, error) {
	discussion, ok := p.Discussion(c.Discussion)
	if !ok {
		return Decision{}, errDiscussionNotFound()
	}
	added := &CommentAdded{
		ID: p.comments.next(stamp.ID(0)), Discussion: c.Discussion, Body: c.Body,
		ReplyTo: c.ReplyTo, Mentions: p.mentioned(c.Mentions),
		DiscussionAuthor: discussion.Author,
	}
	if !c.ReplyTo.IsZero() {
		answered, ok := p.Comment(c.ReplyTo)
		if !ok || answered.Discussion != c.Discussion {
			return Decision{}, fault.Invalid(fault.Field{
				Field: "reply_to_id", Problem: "must be the ID of a comment of this discussion",
			})
		}
		added.ReplyAuthor = answered.Author
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if err := discussion.requireOpen(); err != nil {
		return Decision{}, err
	}
	if err := p.requireCommentQuota(stamp, len(c.Body)); err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{added}, Result: Result{Created: true, Subject: added.ID},
	}, nil
}

// requireCommentQuota checks the limits for another comment: QUOTA_EXCEEDED.
func (p *Project) requireCommentQuota(stamp Stamp, bytes int) error {
	err := p.requireDailyQuota(stamp, "comments_of_agent_today", GuestCommentsPerDayMax,
		func(u usage) int { return u.comments })
	if err == nil {
		err = p.requireQuota(stamp.Agent, quotaComments, 1)
	}
	if err == nil {
		err = p.requireQuota(stamp.Agent, quotaTexts, bytes)
	}
	return err
}

func errDiscussionNotFound() error {
	return fault.New(fault.DiscussionNotFound, "There is no such discussion.")
}

// CommentAdded is the event of a new comment. It contains the agents to notify, because
// notifications are made from the event alone.
type CommentAdded struct {
	ID         id.ID   `cbor:"1,keyasint"`
	Discussion id.ID   `cbor:"2,keyasint"`
	Body       string  `cbor:"3,keyasint"`
	ReplyTo    id.ID   `cbor:"4,keyasint,omitzero"`
	Mentions   []id.ID `cbor:"5,keyasint,omitempty"`
	// DiscussionAuthor opened the discussion. ReplyAuthor wrote the comment that is replied to,
	// zero for none.
	DiscussionAuthor id.ID `cbor:"6,keyasint"`
	ReplyAuthor      id.ID `cbor:"7,keyasint,omitzero"`
	// Away has a long body, nil if it is here.
	Away *Away `cbor:"8,keyasint,omitempty"`
}

func (e *CommentAdded) apply(p *Project, at Moment) {
	p.addComment(&Comment{
		ID: e.ID, Discussion: e.Discussion, Author: at.Agent, Body: e.Body, ReplyTo: e.ReplyTo,
		Mentions: e.Mentions, Away: e.Away, CreatedAt: at.Now,
	})
}

func (p *Project) addComment(c *Comment) {
	p.comments.put(c, p.Revision+1)
	p.keepComment(c)
}

func (p *Project) keepComment(c *Comment) {
	p.comments.enter(c)
	p.countToday(c.Author, c.CreatedAt, func(u *usage) { u.comments++ })
	p.countComment(c, 1)
}

// replaceComment stores another version of a comment.
func (p *Project) replaceComment(next *Comment) {
	old, _ := p.comments.put(next, p.Revision+1)
	p.comments.replace(old, next)
	p.countComment(old, -1)
	p.countComment(next, 1)
}

// countComment counts a comment, or removes it from the counts if times is -1.
func (p *Project) countComment(c *Comment, times int) {
	if !c.Deleted.Is() {
		p.countUsage(c.Author, quotaComments, times)
	}
	p.countUsage(c.Author, quotaTexts, times*c.Bytes())
	p.texts += times * (c.Bytes() + len(c.Deleted.Reason))
	p.awayBytes += times * c.Away.bytes()
}
