package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// WorkSession is a period of one agent's work in a project.
type WorkSession struct {
	// The work session's ID.
	ID string `json:"id" check:"id=wks_"`
	// The project that it belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that works in it.
	Agent AgentRef `json:"agent"`
	// ACTIVE until 300 seconds after the last write, then IDLE; ENDED is final.
	Status string `json:"status" check:"enum=ACTIVE|IDLE|ENDED"`
	// When the first write opened it.
	StartedAt Time `json:"started_at"`
	// Time of the last write.
	LastActiveAt Time `json:"last_active_at"`
	// When it ended; null while it is open.
	EndedAt *Time `json:"ended_at"`
	// Changesets that it published: the newest 200, in order.
	ChangesetIDs []string `json:"changeset_ids" each:"id=chg_"`
	// Tasks that it created, claimed, changed or released: the newest 200, in order.
	TaskIDs []string `json:"task_ids" each:"id=tsk_"`
	// Summary given at the end, or that of the newest checkpoint.
	Summary string `json:"summary"`
	// The handoff that was created at the end.
	HandoffID *string `json:"handoff_id" check:"id=hnd_"`
}

// WorkSessionData is the data of a work session.
type WorkSessionData struct {
	// The work session.
	WorkSession WorkSession `json:"work_session"`
}

// WorkSessionsData is a page of work sessions.
type WorkSessionsData struct {
	// Newest first.
	WorkSessions []WorkSession `json:"work_sessions"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// EndWorkSession is the body of session.end.
type EndWorkSession struct {
	// Summary of the work.
	Summary string `json:"summary" check:"chars=0..4000,text"`
	// The handoff that was created for it.
	HandoffID string `json:"handoff_id" check:"id=hnd_"`
}

// workSessionsPage is the default page of work sessions.
const workSessionsPage = 50

var workSessionOperations = []*Operation{
	declare[None, WorkSessionsData](Operation{
		Name: "work_session.list", Method: "GET", Path: "/api/v1/projects/{project}/work-sessions",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(workSessionsPage), Param{
			Name: "status", Check: "enum=ACTIVE|IDLE|ENDED", Doc: "Only work sessions with " +
				"this status.",
		}),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "work_sessions", Summary: "List work sessions",
		Doc: "Lists the work sessions of a project, newest first. Of ended ones, the newest " +
			"1000 are kept.",
	}, listWorkSessions),
	declare[EndWorkSession, WorkSessionData](Operation{
		Name: "session.end", Method: "POST", Path: "/api/v1/sessions/{session}/end",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params:       []Param{{Name: "session", Doc: "The work session's ID."}},
		BodyOptional: true,
		Errors:       []fault.Code{fault.SessionNotFound, fault.Forbidden, fault.HandoffNotFound},
		Tag:          "work_sessions", Summary: "End a work session",
		Doc: "Ends the caller's work session in a project; its next write there opens another " +
			"one. Ending an ended work session changes nothing.",
	}, endWorkSession),
}

// workSession returns the wire form, with the status at a time.
func (c *Call) workSession(p *work.Project, from *work.WorkSession, now int64) WorkSession {
	record := WorkSession{
		ID: from.ID.Format(id.WorkSession), ProjectID: p.ID.Format(id.Project),
		Agent: c.agentRef(from.Agent), Status: from.Status(now).String(),
		StartedAt: Time(from.StartedAt), LastActiveAt: Time(from.LastActiveAt),
		EndedAt:      timeOrNil(from.EndedAt),
		ChangesetIDs: []string{}, TaskIDs: taskIDs(newest(from.Tasks)),
		Summary: from.Summary, HandoffID: idOrNil(id.Handoff, from.Handoff),
	}
	for _, sequence := range newest(from.Changesets) {
		record.ChangesetIDs = append(record.ChangesetIDs, p.Step(sequence).ID.Format(id.Changeset))
	}
	return record
}

// newest returns the end of a list, as many elements as a work session names.
func newest[T any](list []T) []T { return list[max(0, len(list)-work.WorkSessionItemsMax):] }

func listWorkSessions(c *Call, _ *None) (Reply, error) {
	view, before, limit, err := c.listed(workSessionsPage)
	if err != nil {
		return Reply{}, err
	}
	wanted := c.Query["status"]
	data := WorkSessionsData{WorkSessions: []WorkSession{}}
	var last id.ID
	for _, session := range view.WorkSessions() {
		if !before.IsZero() && session.ID.Compare(before) >= 0 ||
			wanted != "" && session.Status(c.Now).String() != wanted {
			continue
		}
		if len(data.WorkSessions) == limit {
			data.NextCursor = c.next(last[:])
			break
		}
		last = session.ID
		data.WorkSessions = append(data.WorkSessions, c.workSession(view, session, c.Now))
	}
	return Reply{Data: data}, nil
}

func endWorkSession(c *Call, body *EndWorkSession) (Reply, error) {
	project, session, err := c.owner(id.WorkSession, errWorkSessionNotFound)
	if err != nil {
		return Reply{}, err
	}
	command := &work.EndWorkSession{Session: session, Summary: body.Summary}
	if body.HandoffID != "" {
		command.Handoff = parsed(id.Handoff, body.HandoffID)
		if command.Handoff.IsZero() {
			// The zero ID would mean no handoff, and its successor does not exist either.
			command.Handoff = command.Handoff.Next()
		}
	}
	return c.answer(project.ID, command, func(p *work.Project, _ work.Result) (Reply, error) {
		ended, ok := p.WorkSession(session)
		if !ok {
			return Reply{}, errUnknownResult
		}
		return Reply{Data: WorkSessionData{WorkSession: c.workSession(p, ended, c.Now)}}, nil
	})
}

// errWorkSessionNotFound is the error that the rules return too.
func errWorkSessionNotFound() error {
	return fault.New(fault.SessionNotFound, "There is no such work session.")
}
