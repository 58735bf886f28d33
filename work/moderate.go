package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// DiscussionStatus says whether a discussion accepts comments.
type DiscussionStatus uint8

// The statuses of a discussion. A closed or locked discussion accepts no comments until it is
// opened again. Only maintainers, the owner and the agent that locked a discussion may open it
// again.
const (
	DiscussionOpen DiscussionStatus = iota
	DiscussionClosed
	DiscussionLocked
)

var discussionStatusNames = [...]string{"OPEN", "CLOSED", "LOCKED"}

// String is the name on the wire.
func (s DiscussionStatus) String() string { return discussionStatusNames[s] }

// ParseDiscussionStatus reads the name on the wire.
func ParseDiscussionStatus(name string) (status DiscussionStatus, ok bool) {
	at := slices.Index(discussionStatusNames[:], name)
	return DiscussionStatus(max(0, at)), at >= 0
}

// requireOpen checks that a discussion accepts comments: DISCUSSION_CLOSED.
func (d *Discussion) requireOpen() error {
	status := d.Status.String()
	if d.Deleted.Is() {
		status = "DELETED"
	} else if d.Status == DiscussionOpen {
		return nil
	}
	return fault.New(fault.DiscussionClosed, "The discussion does not accept comments.").
		With("status", status)
}

// SetDiscussion opens, closes or locks a discussion.
type SetDiscussion struct {
	Discussion id.ID
	Status     DiscussionStatus
}

// Authorize accepts the author, maintainers and the owner. It returns DISCUSSION_NOT_FOUND and
// ROLE_REQUIRED.
func (c *SetDiscussion) Authorize(p *Project, agent id.ID) error {
	return authorizeDiscussion(p, c.Discussion, agent)
}

func authorizeDiscussion(p *Project, discussion, agent id.ID) error {
	if err := readableOr(p, agent, errDiscussionNotFound()); err != nil {
		return err
	}
	d, ok := p.Discussion(discussion)
	if !ok {
		return errDiscussionNotFound()
	}
	return p.moderates(d.Author, agent, errDiscussionNotFound())
}

// Decide returns DISCUSSION_NOT_FOUND, PROJECT_ARCHIVED, DISCUSSION_CLOSED for a deleted
// discussion, and ROLE_REQUIRED for an author whose discussion another agent has locked.
func (c *SetDiscussion) Decide(p *Project, stamp Stamp) (Decision, error) {
	d, ok := p.Discussion(c.Discussion)
	if !ok {
		return Decision{}, errDiscussionNotFound()
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	if d.Deleted.Is() {
		return Decision{}, d.requireOpen()
	}
	result := Result{Subject: c.Discussion}
	if d.Status == c.Status && !c.takesOver(p, d, stamp.Agent) {
		return Decision{Result: result}, nil
	}
	if d.Status == DiscussionLocked && d.ChangedBy != stamp.Agent {
		if err := MayModerate.Require(p, stamp.Agent); err != nil {
			return Decision{}, err
		}
	}
	set := &DiscussionSet{Discussion: c.Discussion, Status: c.Status}
	return Decision{Events: []Event{set}, Result: result}, nil
}

// takesOver reports whether a maintainer locks a discussion that its author has locked, so that the
// author cannot open it again.
func (c *SetDiscussion) takesOver(p *Project, d *Discussion, agent id.ID) bool {
	return c.Status == DiscussionLocked && MayModerate.Require(p, agent) == nil &&
		MayModerate.Require(p, d.ChangedBy) != nil
}

// DiscussionSet is the event of a changed status of a discussion.
type DiscussionSet struct {
	Discussion id.ID            `cbor:"1,keyasint"`
	Status     DiscussionStatus `cbor:"2,keyasint,omitempty"`
}

func (e *DiscussionSet) apply(p *Project, at Moment) {
	old, _ := p.Discussion(e.Discussion)
	next := *old
	next.Status, next.ChangedBy, next.ChangedAt = e.Status, at.Agent, at.Now
	p.addDiscussion(&next)
}

// DeleteDiscussion deletes the text of a discussion and leaves a mark. Comments of others stay.
type DeleteDiscussion struct {
	Discussion id.ID
	Reason     string
}

// Authorize accepts the author, maintainers and the owner. It returns DISCUSSION_NOT_FOUND and
// ROLE_REQUIRED.
func (c *DeleteDiscussion) Authorize(p *Project, agent id.ID) error {
	return authorizeDiscussion(p, c.Discussion, agent)
}

// Decide returns DISCUSSION_NOT_FOUND, PROJECT_ARCHIVED. Deleting a deleted one changes nothing.
func (c *DeleteDiscussion) Decide(p *Project, _ Stamp) (Decision, error) {
	d, ok := p.Discussion(c.Discussion)
	if !ok {
		return Decision{}, errDiscussionNotFound()
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	decision := Decision{Result: Result{Subject: c.Discussion}}
	if !d.Deleted.Is() {
		decision.Events = []Event{&DiscussionDeleted{
			Discussion: c.Discussion, Reason: c.Reason, Author: d.Author,
		}}
	}
	return decision, nil
}

// DiscussionDeleted is the event of a discussion that was deleted.
type DiscussionDeleted struct {
	Discussion id.ID  `cbor:"1,keyasint"`
	Reason     string `cbor:"2,keyasint,omitempty"`
	// Author is the author of the discussion. Older events do not name it; they have no activity.
	Author id.ID `cbor:"3,keyasint,omitzero"`
}

func (e *DiscussionDeleted) apply(p *Project, at Moment) {
	old, _ := p.Discussion(e.Discussion)
	next := *old
	next.Title, next.Body, next.Away, next.Subject = "", "", nil, Matter{}
	p.leave(old.Away)
	next.Deleted = deletion(at, e.Reason)
	p.addDiscussion(&next)
}

// DeleteComment deletes the text of a comment and leaves a mark.
type DeleteComment struct {
	Discussion, Comment id.ID
	Reason              string
}

// Authorize accepts the author, maintainers and the owner. It returns DISCUSSION_NOT_FOUND,
// COMMENT_NOT_FOUND and ROLE_REQUIRED.
func (c *DeleteComment) Authorize(p *Project, agent id.ID) error {
	if err := readableOr(p, agent, errDiscussionNotFound()); err != nil {
		return err
	}
	comment, err := c.comment(p)
	if err != nil {
		return err
	}
	return p.moderates(comment.Author, agent, errDiscussionNotFound())
}

func (c *DeleteComment) comment(p *Project) (*Comment, error) {
	if _, ok := p.Discussion(c.Discussion); !ok {
		return nil, errDiscussionNotFound()
	}
	comment, ok := p.Comment(c.Comment)
	if !ok || comment.Discussion != c.Discussion {
		return nil, fault.New(fault.CommentNotFound, "The discussion has no such comment.")
	}
	return comment, nil
}

// Decide returns DISCUSSION_NOT_FOUND, COMMENT_NOT_FOUND, PROJECT_ARCHIVED. Deleting a deleted one
// changes nothing.
func (c *DeleteComment) Decide(p *Project, _ Stamp) (Decision, error) {
	comment, err := c.comment(p)
	if err != nil {
		return Decision{}, err
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	decision := Decision{Result: Result{Subject: c.Comment}}
	if !comment.Deleted.Is() {
		decision.Events = []Event{&CommentDeleted{
			Discussion: c.Discussion, Comment: c.Comment, Reason: c.Reason,
			Author: comment.Author,
		}}
	}
	return decision, nil
}

// CommentDeleted is the event of a comment that was deleted.
type CommentDeleted struct {
	Discussion id.ID  `cbor:"1,keyasint"`
	Comment    id.ID  `cbor:"2,keyasint"`
	Reason     string `cbor:"3,keyasint,omitempty"`
	// Author is the author of the comment. Older events do not name it; they have no activity.
	Author id.ID `cbor:"4,keyasint,omitzero"`
}

func (e *CommentDeleted) apply(p *Project, at Moment) {
	old, _ := p.Comment(e.Comment)
	next := *old
	next.Body, next.Away, next.Deleted = "", nil, deletion(at, e.Reason)
	p.leave(old.Away)
	p.replaceComment(&next)
}
