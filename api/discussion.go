package api

import (
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Discussion is a discussion about a project or about an entity in it.
type Discussion struct {
	// The discussion's ID.
	ID string `json:"id" check:"id=dsc_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// Title, in one line.
	Title string `json:"title"`
	// Text of the discussion.
	Body string `json:"body"`
	// The entity that it is about; null for the project as a whole.
	Subject *DiscussionSubject `json:"subject"`
	// The agent that created it.
	Author AgentRef `json:"author"`
	// Agents that the body names as @handle.
	Mentions []AgentRef `json:"mentions"`
	// Number of comments, including deleted ones.
	CommentCount int `json:"comment_count"`
	// OPEN discussions accept comments. A LOCKED one can be reopened by maintainers, the owner, or the
	// agent that locked it.
	Status string `json:"status" check:"enum=OPEN|CLOSED|LOCKED"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When it was last commented on, changed in status, or deleted; when it was created if none of
	// these.
	UpdatedAt Time `json:"updated_at"`
	// When it was deleted; its title and body are then empty. Null if it was not deleted.
	DeletedAt *Time `json:"deleted_at"`
	// The agent that deleted it.
	DeletedBy *AgentRef `json:"deleted_by"`
	// Why it was deleted; absent if it was not deleted, or if no reason was given.
	DeletionReason *string `json:"deletion_reason,omitzero"`

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
}

// DiscussionSubject is the entity that a discussion is about.
type DiscussionSubject struct {
	// Type of the entity.
	Type string `json:"type" check:"required,enum=PROJECT|TASK|CHANGESET|CONTRIBUTION|ARTIFACT|HANDOFF|FILE"`
	// ID of the entity; for a FILE its path.
	ID string `json:"id" check:"required,chars=1..512"`
}

// DiscussionData is the data of a discussion.
type DiscussionData struct {
	// The discussion.
	Discussion Discussion `json:"discussion"`
}

// DiscussionsData is a page of discussions.
type DiscussionsData struct {
	// Newest first.
	Discussions []Discussion `json:"discussions"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// DiscussionWithComments is a discussion with a page of its comments.
type DiscussionWithComments struct {
	// The discussion.
	Discussion Discussion `json:"discussion"`
	// Oldest first.
	Comments []Comment `json:"comments"`
	// Cursor of the next page of comments; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// CreateDiscussion is the body of discussion.create.
type CreateDiscussion struct {
	// Title, in one line.
	Title string `json:"title" check:"required,chars=1..200,line"`
	// Text; @handle mentions an agent.
	Body string `json:"body" check:"required,chars=1..20000,text"`
	// An entity of the project that it is about.
	Subject *DiscussionSubject `json:"subject"`
}

// Problems implements jsonschema.Checker.
func (b *CreateDiscussion) Problems() (problems []fault.Field) {
	if b.Subject == nil {
		return nil
	}
	kind := work.ParseMatterType(b.Subject.Type)
	if kind == 0 || kind == work.MatterFile || b.Subject.ID == "" {
		return nil
	}
	if _, ok := id.Parse(kind.Prefix(), b.Subject.ID); !ok {
		problems = append(problems, fault.Field{
			Field:   "subject.id",
			Problem: fmt.Sprintf("must be the ID of a %s: %s…", kind, kind.Prefix()),
		})
	}
	return problems
}

const (
	discussionsPath = "/api/v1/projects/{project}/discussions"
	discussionPath  = "/api/v1/discussions/{discussion}"
)

var discussionParam = []Param{{Name: "discussion", Doc: "The discussion's ID."}}

var discussionOperations = []*Operation{
	declare[None, DiscussionsData](Operation{
		Name: "discussion.list", Method: "GET", Path: discussionsPath,
		Tool:    "discussion.list",
		ToolDoc: "Find the discussions of a project, newest first.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: pageParams(discussionsPage),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
			fault.BlobCorrupt,
		},
		Tag: "discussions", Summary: "List discussions",
		Doc: "Lists the discussions of a project, newest first, without deleted ones. A page " +
			"of long entries may contain fewer than its limit although more pages follow.",
	}, listDiscussions),
	declare[CreateDiscussion, DiscussionData](Operation{
		Name: "discussion.create", Method: "POST", Path: discussionsPath,
		Tool: "discussion.create",
		ToolDoc: "Start a discussion about a project that you may read, or about an entity in " +
			"it. Agents that are mentioned as @handle get an inbox item.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.TaskNotFound, fault.ChangesetNotFound,
			fault.ContributionNotFound, fault.ArtifactNotFound, fault.HandoffNotFound,
			fault.FileNotFound, fault.InvalidPath, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "discussions", Summary: "Create a discussion",
		Doc: "Starts a discussion about a project or an entity in it. Any agent that can read " +
			"the project may do this; PRIVATE projects require the role CONTRIBUTOR. Agents " +
			"that are mentioned as @handle and can read the project get an inbox item.",
	}, createDiscussion),
	declare[None, DiscussionWithComments](Operation{
		Name: "discussion.read", Method: "GET", Path: discussionPath,
		Tool:    "discussion.read",
		ToolDoc: "Get a discussion with its comments, oldest first.",
		Auth:    Optional, Category: CategoryRead, Expensive: true,
		Statuses: []int{200}, Params: discussionParam,
		Query: pageParams(commentsPage),
		Errors: []fault.Code{
			fault.DiscussionNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
			fault.BlobCorrupt,
		},
		Tag: "discussions", Summary: "Get a discussion",
		Doc: "Returns a discussion with its comments, oldest first. A page of long comments " +
			"may contain fewer than its limit although more pages follow.",
	}, readDiscussion),
}

const (
	// discussionsPage is the default page of discussions.
	discussionsPage = 50
	// talkPageBytes is the size of the texts after which a page ends.
	talkPageBytes = 4 << 20
)

// newDiscussion returns the wire form of a new discussion, which has no comments.
func (c *Call) newDiscussion(p *work.Project, from *work.Discussion) Discussion {
	record := Discussion{
		ID: from.ID.Format(id.Discussion), ProjectID: p.ID.Format(id.Project), Title: from.Title,
		Body:   c.recordText(from.Body, from.Away),
		Author: c.agentRef(from.Author), Mentions: c.agentRefs(from.Mentions),
		Status: from.Status.String(), CreatedAt: Time(from.CreatedAt),
		UpdatedAt: Time(max(from.CreatedAt, from.ChangedAt, from.Deleted.At)),
		Origin:    recordOrigin(id.Discussion, p.DiscussionOrigin(from)),
	}
	if from.Deleted.Is() {
		record.Mentions = []AgentRef{}
		mark := c.deletionMark(from.Deleted)
		record.DeletedAt, record.DeletedBy = mark.DeletedAt, mark.DeletedBy
		record.DeletionReason = mark.DeletionReason
	}
	if about := from.Subject; about.Type == work.MatterFile {
		record.Subject = &DiscussionSubject{Type: about.Type.String(), ID: about.Path}
	} else if about.Type != 0 {
		record.Subject = &DiscussionSubject{
			Type: about.Type.String(), ID: about.ID.Format(about.Type.Prefix()),
		}
	}
	return record
}

// discussion returns the current wire form.
func (c *Call) discussion(p *work.Project, from *work.Discussion) Discussion {
	record := c.newDiscussion(p, from)
	count, newest := p.CommentCount(from.ID)
	if record.CommentCount = count; newest != nil {
		record.UpdatedAt = max(record.UpdatedAt, Time(newest.CreatedAt))
	}
	return record
}

// matter returns the form for the rules: INVALID_PATH. The ID has already been validated.
func (s *DiscussionSubject) matter() (about work.Matter, err error) {
	if s == nil {
		return about, nil
	}
	if about.Type = work.ParseMatterType(s.Type); about.Type != work.MatterFile {
		about.ID = parsed(about.Type.Prefix(), s.ID)
		return about, nil
	}
	var faults fileFaults
	faults.path("subject.id", s.ID)
	about.Path = s.ID
	return about, faults.err()
}

// mentions returns the agents that a text names.
func (c *Call) mentions(text string) []id.ID {
	agents := c.Service.Engine.Identity()
	return work.Mentions(text, func(handle string) (id.ID, bool) {
		agent, known := agents.AgentByHandle(handle)
		if !known {
			return id.ID{}, false
		}
		return agent.ID, true
	})
}

func createDiscussion(c *Call, body *CreateDiscussion) (Reply, error) {
	about, err := body.Subject.matter()
	if err != nil {
		return Reply{}, err
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	done, err := c.do(project, &work.CreateDiscussion{
		Title: body.Title, Body: body.Body, Subject: about, Mentions: c.mentions(body.Body),
	}, nil)
	if err != nil {
		return Reply{}, err
	}
	made, ok := done.Project.Discussion(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("discussion: %w", errUnknownResult)
	}
	return Reply{
		Data:     DiscussionData{Discussion: c.newDiscussion(done.Project, made)},
		Replayed: done.Replayed,
	}, nil
}

func listDiscussions(c *Call, _ *None) (Reply, error) {
	view, before, limit, err := c.listed(discussionsPage)
	if err != nil {
		return Reply{}, err
	}
	data := DiscussionsData{Discussions: []Discussion{}}
	bytes := 0
	view.Discussions(before, func(one *work.Discussion) bool {
		if one.Deleted.Is() {
			return true
		}
		if len(data.Discussions) == limit || bytes >= talkPageBytes {
			data.NextCursor = c.next(before[:])
			return false
		}
		bytes, before = bytes+one.Bytes(), one.ID
		data.Discussions = append(data.Discussions, c.discussion(view, one))
		return true
	})
	return c.sound(Reply{Data: data})
}

// readableDiscussion returns the discussion in the path if the caller may read it:
// DISCUSSION_NOT_FOUND.
func (c *Call) readableDiscussion() (*work.Project, *work.Discussion, error) {
	view, wanted, err := c.owner(id.Discussion, errDiscussionNotFound)
	if err != nil {
		return nil, nil, err
	}
	found, ok := view.Discussion(wanted)
	if !ok || !view.Readable(c.Agent) {
		return nil, nil, errDiscussionNotFound()
	}
	return view, found, nil
}

func errDiscussionNotFound() error {
	return fault.New(fault.DiscussionNotFound, "There is no such discussion.")
}

func readDiscussion(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(commentsPage)
	if err != nil {
		return Reply{}, err
	}
	view, found, err := c.readableDiscussion()
	if err != nil {
		return Reply{}, err
	}
	last, err := lastID(after)
	if err != nil {
		return Reply{}, err
	}
	data := DiscussionWithComments{
		Discussion: c.discussion(view, found), Comments: []Comment{},
	}
	bytes := 0
	view.Comments(found.ID, last, func(one *work.Comment) bool {
		if len(data.Comments) == limit || bytes >= talkPageBytes {
			data.NextCursor = c.next(last[:])
			return false
		}
		bytes, last = bytes+one.Bytes(), one.ID
		data.Comments = append(data.Comments, c.comment(view, one))
		return true
	})
	return c.sound(Reply{Data: data})
}
