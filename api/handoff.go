package api

import (
	"encoding/binary"
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Handoff is the record of a handoff. It never changes until it is deleted.
type Handoff struct {
	// The handoff's ID.
	ID string `json:"id" check:"id=hnd_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that created it.
	Author AgentRef `json:"author"`
	// The work session in which it was created.
	WorkSessionID string `json:"work_session_id" check:"id=wks_"`
	// The head at that time.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// The previous handoff; null for the first.
	PreviousHandoffID *string `json:"previous_handoff_id" check:"id=hnd_"`
	// Where the work stands, in a few sentences.
	Summary string `json:"summary"`
	// What has been done.
	CompletedWork []string `json:"completed_work"`
	// What was decided, and why.
	Decisions []DecisionNote `json:"decisions"`
	// What was tried and did not work, and why.
	FailedApproaches []FailureNote `json:"failed_approaches"`
	// What keeps the work from continuing.
	Blockers []string `json:"blockers"`
	// What the author took for granted without checking.
	Assumptions []string `json:"assumptions"`
	// What the work depends on outside this project.
	Dependencies []string `json:"dependencies"`
	// Questions that are not answered yet.
	OpenQuestions []string `json:"open_questions"`
	// Next actions, the first to do first.
	NextActions []string `json:"next_actions"`
	// Related tasks.
	TaskIDs []string `json:"task_ids" each:"id=tsk_"`
	// What may still go wrong.
	ResidualRisks []string `json:"residual_risks"`
	// Paths that changed since the previous handoff, at most 200.
	ChangedFiles []string `json:"changed_files"`
	// When it was created.
	CreatedAt Time `json:"created_at"`

	DeletionMark

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
}

// HandoffData is the data of a handoff.
type HandoffData struct {
	// The handoff.
	Handoff Handoff `json:"handoff"`
}

// HandoffsData is a page of handoffs.
type HandoffsData struct {
	// Newest first.
	Handoffs []Handoff `json:"handoffs"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// CreateHandoff is the body of handoff.create.
type CreateHandoff struct {
	// Where the work stands.
	Summary string `json:"summary" check:"required,chars=1..4000,text"`
	HandoffLists
}

// HandoffLists holds the content of a handoff except its summary.
type HandoffLists struct {
	// What was done.
	CompletedWork []string `json:"completed_work" check:"items=0..100" each:"chars=1..2000,text"`
	// Decisions: texts, or objects with decision and rationale.
	Decisions []DecisionNote `json:"decisions" check:"items=0..100"`
	// Failed approaches: texts, or objects with approach and reason.
	FailedApproaches []FailureNote `json:"failed_approaches" check:"items=0..100"`
	// What stops the work.
	Blockers []string `json:"blockers" check:"items=0..100" each:"chars=1..2000,text"`
	// Taken for granted.
	Assumptions []string `json:"assumptions" check:"items=0..100" each:"chars=1..2000,text"`
	// Needed from outside.
	Dependencies []string `json:"dependencies" check:"items=0..100" each:"chars=1..2000,text"`
	// Not answered yet.
	OpenQuestions []string `json:"open_questions" check:"items=0..100" each:"chars=1..2000,text"`
	// Next actions, the first to do first.
	NextActions []string `json:"next_actions" check:"items=0..100" each:"chars=1..2000,text"`
	// Related tasks of the project.
	TaskIDs []string `json:"task_ids" check:"items=0..100" each:"id=tsk_"`
	// What may go wrong.
	ResidualRisks []string `json:"residual_risks" check:"items=0..100" each:"chars=1..2000,text"`
}

var handoffParams = append(projectParam[:1:1], Param{Name: "handoff", Doc: "The handoff's ID."})

const handoffsPath = "/api/v1/projects/{project}/handoffs"

var handoffOperations = []*Operation{
	declare[None, HandoffsData](Operation{
		Name: "handoff.list", Method: "GET", Path: handoffsPath,
		Auth: Optional, Category: CategoryRead, Expensive: true,
		Statuses: []int{200}, Params: projectParam,
		Query: pageParams(handoffsPage),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
			fault.BlobCorrupt,
		},
		Tag: "handoffs", Summary: "List handoffs",
		Doc: "Lists the handoffs of a project, newest first, without deleted ones. A page of " +
			"long entries may contain fewer than its limit although more pages follow.",
	}, listHandoffs),
	declare[CreateHandoff, HandoffData](Operation{
		Name: "handoff.create", Method: "POST", Path: handoffsPath,
		Tool: "handoff.create", Core: true,
		ToolDoc: "Create a handoff before you stop: completed work, decisions, failed " +
			"approaches, next actions. It is immutable; the agent that resumes the project " +
			"reads it first.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.Forbidden,
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "handoffs", Summary: "Create a handoff",
		Doc: "Creates an immutable summary of the work for the agent that continues it: " +
			"completed work, decisions, failed approaches, next actions.",
	}, createHandoff),
	declare[None, HandoffData](Operation{
		Name: "handoff.read", Method: "GET", Path: handoffsPath + "/{handoff}",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: handoffParams,
		Errors: []fault.Code{fault.ProjectNotFound, fault.HandoffNotFound, fault.BlobCorrupt},
		Tag:    "handoffs", Summary: "Get a handoff",
		Doc: "Returns one handoff.",
	}, readHandoff),
}

const (
	// handoffsPage is the default page of handoffs.
	handoffsPage = 50
	// handoffsPageBytes is the size of the texts after which a page ends.
	handoffsPageBytes = 4 << 20
)

// whole returns a handoff with the texts that are stored away. They are empty if an operator has
// removed them. Errors: BLOB_CORRUPT.
func (c *Call) whole(from *work.Handoff) (*work.Handoff, error) {
	if from.Away == nil {
		return from, nil
	}
	content, err := c.Service.Engine.Blob(from.Away.Hash)
	switch {
	case fault.CodeOf(err) == fault.ContentRemoved:
		return from, nil
	case err != nil:
		return nil, err
	}
	return from.WithTexts(content)
}

// wholeHandoff returns the wire form of a handoff with its texts. Errors: BLOB_CORRUPT.
func (c *Call) wholeHandoff(p *work.Project, from *work.Handoff) (Handoff, error) {
	from, err := c.whole(from)
	if err != nil {
		return Handoff{}, err
	}
	return c.handoff(p, from), nil
}

// writtenHandoff is wholeHandoff for the answer to a write that has been done. If the texts cannot
// be read, it has what stays with the record: the damage was logged, and reading the handoff
// reports it. While an answer is rendered that the log does not have yet, texts are left out.
func (c *Call) writtenHandoff(p *work.Project, from *work.Handoff) Handoff {
	if from.Away != nil && c.leavesOut {
		c.leftOut = true
		bare := *from
		bare.Continuation.Summary = ""
		return c.handoff(p, &bare)
	}
	if whole, err := c.whole(from); err == nil {
		from = whole
	}
	return c.handoff(p, from)
}

// handoff returns the wire form of a handoff that has its texts.
func (c *Call) handoff(p *work.Project, from *work.Handoff) Handoff {
	made := Handoff{
		ID: from.ID.Format(id.Handoff), ProjectID: p.ID.Format(id.Project),
		Author:        c.agentRef(from.Author),
		WorkSessionID: from.WorkSession.Format(id.WorkSession),
		ChangesetID:   from.Changeset.Format(id.Changeset),
		TaskIDs:       taskIDs(from.Continuation.Tasks), CreatedAt: Time(from.CreatedAt),
		PreviousHandoffID: idOrNil(id.Handoff, from.Previous),
		DeletionMark:      c.deletionMark(from.Deleted),
		Origin:            recordOrigin(id.Handoff, p.HandoffOrigin(from)),
	}
	made.setTexts(from)
	return made
}

// setTexts sets the texts, which are those that may be stored away.
func (h *Handoff) setTexts(from *work.Handoff) {
	said := &from.Continuation
	h.Summary, h.CompletedWork = said.Summary, orEmpty(said.CompletedWork)
	h.Decisions = decisionNotes(said.Decisions)
	h.FailedApproaches = failureNotes(said.FailedApproaches)
	h.Blockers, h.Assumptions = orEmpty(said.Blockers), orEmpty(said.Assumptions)
	h.Dependencies, h.OpenQuestions = orEmpty(said.Dependencies), orEmpty(said.OpenQuestions)
	h.NextActions, h.ResidualRisks = orEmpty(said.NextActions), orEmpty(said.ResidualRisks)
	h.ChangedFiles = orEmpty(from.ChangedFiles)
}

// continuation returns the stored form of a handoff. Its task IDs have already been validated.
func (l *HandoffLists) continuation(summary string) work.Continuation {
	return work.Continuation{
		Summary: summary, CompletedWork: l.CompletedWork,
		Decisions:        decisionItems(l.Decisions),
		FailedApproaches: failureItems(l.FailedApproaches),
		Blockers:         l.Blockers, Assumptions: l.Assumptions, Dependencies: l.Dependencies,
		OpenQuestions: l.OpenQuestions, NextActions: l.NextActions, ResidualRisks: l.ResidualRisks,
		Tasks: parseTaskIDs(l.TaskIDs),
	}
}

func listHandoffs(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(handoffsPage)
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	handoffs := view.Handoffs()
	if after != nil {
		if len(after) != 4 {
			return Reply{}, errCursorInvalid()
		}
		handoffs = handoffs[:min(len(handoffs), int(binary.BigEndian.Uint32(after)))]
	}
	data := HandoffsData{Handoffs: make([]Handoff, 0, min(limit, len(handoffs)))}
	bytes := 0
	for i := len(handoffs) - 1; i >= 0; i-- {
		if handoffs[i].Deleted.Is() {
			continue
		}
		if len(data.Handoffs) == limit || bytes >= handoffsPageBytes {
			data.NextCursor = c.next(binary.BigEndian.AppendUint32(nil, uint32(i+1)))
			break
		}
		bytes += handoffs[i].Bytes()
		handoff, err := c.wholeHandoff(view, handoffs[i])
		if err != nil {
			return Reply{}, err
		}
		data.Handoffs = append(data.Handoffs, handoff)
	}
	return Reply{Data: data}, nil
}

func createHandoff(c *Call, body *CreateHandoff) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.CreateHandoff{Continuation: body.continuation(body.Summary)}
	done, err := c.do(project, command, nil)
	if err != nil {
		return Reply{}, err
	}
	handoff, ok := done.Project.Handoff(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("handoff: %w", errUnknownResult)
	}
	made, err := c.wholeHandoff(done.Project, handoff)
	if err != nil {
		return Reply{}, fmt.Errorf("handoff: %v", err)
	}
	return Reply{Data: HandoffData{Handoff: made}, Replayed: done.Replayed}, nil
}

func readHandoff(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if wanted, ok := id.Parse(id.Handoff, c.Param("handoff")); ok {
		if handoff, found := view.Handoff(wanted); found {
			whole, err := c.wholeHandoff(view, handoff)
			return Reply{Data: HandoffData{Handoff: whole}}, err
		}
	}
	return Reply{}, fault.New(fault.HandoffNotFound, "There is no such handoff.")
}
