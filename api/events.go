package api

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pws/api/jsonschema"
	"pws/index"
	"pws/index/feed"
	"pws/index/wake"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Activities are the events of all projects, and the inboxes that are made of them.
type Activities interface {
	// Activity reads what happened, after it contains what was published, or after a second has
	// gone; then there is more. Errors: feed.Expired. Records are checked in the live view.
	Activity(query ActivityQuery) (ActivityPage, error)
	// NewestActivity yields what happened in some projects before a position, the newest first.
	// It waits as Activity does.
	NewestActivity(
		before feed.Position, projects []id.ID, yield func(*feed.Record) feed.Step,
	) error
	// Inbox returns the notifications of an agent that need no watch, the oldest first, up to an
	// entry of the log, and that entry. Items are checked in the live view.
	Inbox(agent id.ID) (items []index.InboxItem, head uint64)
	// WaitActivity makes a waiter for the activity of one project, or, for the zero ID, for all
	// that an agent may be notified of. A waiter that is made BEFORE reading misses no activity.
	WaitActivity(project, agent id.ID) *wake.Waiter
	// EventID is the public ID of an activity of an entry of that time; EventPosition leads back, and
	// ok is false for IDs that were not made so.
	EventID(at feed.Position, millis int64) id.ID
	EventPosition(evt id.ID) (at feed.Position, millis int64, ok bool)
}

// ActivityQuery and ActivityPage are a question to the feed and its answer.
type (
	ActivityQuery = feed.Query
	ActivityPage  = feed.Page
)

// Event is an event of a project.
type Event struct {
	// The event's unique ID. IDs have no order.
	ID string `json:"id" check:"id=evt_"`
	// Event type: an entity and what happened to it.
	Type string `json:"type"`
	// The project in which it happened.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that caused it; for an expired claim its holder.
	Actor AgentRef `json:"actor"`
	// What it is about.
	Subject EventSubject `json:"subject"`
	// Additional data by name: IDs, numbers and words. References to projects that the caller may not
	// read now are omitted.
	Data Raw `json:"data"`
	// When it happened.
	CreatedAt Time `json:"created_at"`
}

// EventSubject is the entity that an event is about.
type EventSubject struct {
	// Type of the entity: PROJECT, CHANGESET, TASK, HANDOFF, CHECKPOINT, WORKSPACE, CONTRIBUTION,
	// ARTIFACT, IMPORT, RELATION, DISCUSSION, COMMENT, VERIFICATION or AGENT.
	Type string `json:"type"`
	// ID of what it is about.
	ID string `json:"id"`
}

// EventsData is a page of events.
type EventsData struct {
	// Events after the cursor, oldest first.
	Events []Event `json:"events"`
	// Cursor for the next request, to be sent as after; also set if there are no new events.
	NextCursor string `json:"next_cursor"`
	// Whether to request the next page at once; an empty page can be followed by more.
	HasMore bool `json:"has_more"`
}

const (
	eventsPage = 100
	// eventsReadMax is the maximum number of records that one request reads, eventsBatch how
	// many it reads at a time.
	eventsReadMax = 2000
	eventsBatch   = 200
)

var eventOperations = []*Operation{
	declare[None, EventsData](Operation{
		Name: "events.poll", Method: "GET", Path: "/api/v1/events",
		Tool: "events.poll",
		ToolDoc: "Get events since a cursor, each once and in order, of one project or all that " +
			"you may read. A cursor that is too old is refused; continue with oldest_cursor.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Query: []Param{
			{
				Name: "after", Raw: true,
				Doc: "next_cursor of a response with the same filters; starts at the oldest " +
					"kept event if absent.",
			},
			limitParam("events", eventsPage, limitMax),
			{
				Name: "project", Check: "chars=1..40",
				Doc: "Only events of this project.",
			},
			{
				Name: "wait", Integer: true, Check: "min=0,max=" + strconv.Itoa(eventsWaitMax),
				Doc: fmt.Sprintf("How many seconds to wait for an event if there is none: 0 to "+
					"%d, 0 if absent. Measured in real time.", eventsWaitMax),
			},
			{
				Name: "type", Check: "enum=" + strings.Join(work.ActivityTypes(), "|"),
				Doc: "Only events of this type.",
			},
			{
				Name: "since", Check: "time",
				Doc: "Only events that happened at this RFC 3339 time or later; starts with the " +
					"oldest kept event if that is later.",
			},
		},
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Streams: true, Tag: "events", Summary: "Poll events",
		Doc: "Returns events since a cursor, each exactly once and in order: in one project, " +
			"or in all PUBLIC projects and those that the caller is a member of. Events that " +
			"the caller may not see now are omitted. Cursors stay valid across restarts. A " +
			"cursor older than the oldest kept event is refused with the reason EXPIRED; " +
			"continue with oldest_cursor. The service keeps a number of newest events of all " +
			"projects and, for longer, the newest of each project: requests with project go " +
			"back further. With wait, the service holds an empty response until " +
			"the first event or until the time is over. Accept: text/event-stream returns the " +
			"same events as an endless stream of Server-Sent Events: id is a cursor, event the " +
			"type, data the event. Last-Event-ID resumes after a cursor; a heartbeat, each 15 s " +
			"without events, has an id alone.",
	}, pollEvents),
}

// eventFilter says which events are requested; zero fields match all.
type eventFilter struct {
	project id.ID
	kind    work.ActivityType
	// since is in Unix milliseconds. Cursors are not bound to it.
	since int64
	// own leaves out projects that the caller neither is a member of nor watches. Cursors are not
	// bound to it.
	own bool
	// write appends an event to a stream for the web page; nil for the usual form.
	write func(to []byte, record *feed.Record, seen *access) ([]byte, error)
}

// eventFilter reads the filters: PROJECT_NOT_FOUND.
func (c *Call) eventFilter() (filter eventFilter, err error) {
	filter.kind = work.ParseActivityType(c.Query["type"])
	if since, sent := c.Query["since"]; sent {
		var at Time
		// The parameter was already validated.
		if err := at.UnmarshalJSON(strconv.AppendQuote(nil, since)); err != nil {
			return filter, err
		}
		filter.since = max(int64(at), 1)
	}
	text, sent := c.Query["project"]
	if !sent {
		return filter, nil
	}
	var ok bool
	if filter.project, ok = id.Parse(id.Project, text); ok {
		ok, err = c.Service.Engine.Readable(filter.project, c.Agent)
	}
	if err == nil && !ok {
		err = fault.NoProject()
	}
	return filter, err
}

// binding returns the text that binds cursors to the filter.
func (f *eventFilter) binding() string {
	return "events\x00" + string(f.project[:]) + "\x00" + f.kind.String()
}

// eventCursorBytes is the length of a position in a cursor: the entry and the number in the
// entry.
const eventCursorBytes = 8 + 2

// eventCursor makes the cursor for the events after a position.
func (c *Call) eventCursor(filter *eventFilter, at feed.Position) string {
	payload := binary.BigEndian.AppendUint64(make([]byte, 0, eventCursorBytes), at.Entry)
	payload = binary.BigEndian.AppendUint16(payload, at.Nth)
	return c.Service.cursors.Encode(filter.binding(), payload)
}

// eventPosition decodes what eventCursor encoded: PAGINATION_CURSOR_INVALID.
func (c *Call) eventPosition(filter *eventFilter, text string) (at feed.Position, err error) {
	payload, err := c.Service.cursors.Decode(filter.binding(), text)
	if err == nil && len(payload) != eventCursorBytes {
		err = errCursorInvalid()
	}
	if err != nil {
		return at, err
	}
	at.Entry = binary.BigEndian.Uint64(payload)
	at.Nth = binary.BigEndian.Uint16(payload[8:])
	return at, nil
}

// eventsExpired returns the error for a position after which records have been dropped.
func (c *Call) eventsExpired(filter *eventFilter, expired feed.Expired) error {
	return fault.New(fault.PaginationCursorInvalid,
		"The events after this cursor are no longer kept.").
		With("reason", "EXPIRED").With("oldest_cursor", c.eventCursor(filter, expired.Oldest))
}

func pollEvents(c *Call, _ *None) (Reply, error) {
	limit, err := c.limit(eventsPage)
	if err != nil {
		return Reply{}, err
	}
	filter, err := c.eventFilter()
	if err != nil {
		return Reply{}, err
	}
	text, sent := c.Query["after"]
	if c.Streams && c.LastEventID != "" {
		text, sent = c.LastEventID, true
	}
	var after feed.Position
	if sent {
		if after, err = c.eventPosition(&filter, text); err != nil {
			return Reply{}, err
		}
	}
	if c.Streams {
		return c.streamEvents(filter, after)
	}
	if wait := c.eventsWait(); wait > 0 {
		return c.awaitEvents(filter, after, limit, wait)
	}
	found, err := c.eventsAfter(&filter, after, limit)
	if err != nil {
		return Reply{}, err
	}
	return c.eventsReply(&filter, &found), nil
}

// eventsReply returns the found events as a page.
func (c *Call) eventsReply(filter *eventFilter, found *foundEvents) Reply {
	return Reply{Data: EventsData{
		Events: found.events, NextCursor: c.eventCursor(filter, found.next), HasMore: found.more,
	}}
}

// foundEvents holds the events after a position.
type foundEvents struct {
	events []Event
	// places are the positions of the events.
	places []feed.Position
	// written are the events in the form of filter.write, instead of events and places.
	written []byte
	count   int
	// next is the position to continue at; more means that it is worth continuing at once.
	next feed.Position
	more bool
}

// eventsAfter finds up to limit events after a position, within the limits of one request. The
// zero position is before the oldest kept record. Errors: PAGINATION_CURSOR_INVALID with the
// reason EXPIRED.
func (c *Call) eventsAfter(
	filter *eventFilter, after feed.Position, limit int,
) (found foundEvents, err error) {
	found = foundEvents{events: []Event{}, next: after, more: true}
	access := c.accessFor(filter)
	for looked := 0; looked < eventsReadMax; looked += eventsBatch {
		page, err := c.Service.Engine.Activity(ActivityQuery{
			After: found.next, Since: filter.since, Project: filter.project, Limit: eventsBatch,
		})
		var expired feed.Expired
		if errors.As(err, &expired) {
			return found, c.eventsExpired(filter, expired)
		}
		if err != nil {
			return found, err
		}
		for i := range page.Records {
			if found.count == limit || len(found.written) >= EventStreamChunkBytes {
				return found, nil
			}
			record := &page.Records[i]
			found.next = record.Position
			if filter.kind != 0 && record.Activity.Type != filter.kind || record.At < filter.since {
				continue
			}
			seen, err := access.sees(record)
			if err == nil && seen {
				seen, err = filter.follows(record, access)
			}
			if err == nil && seen {
				err = c.keep(filter, &found, record, access)
			}
			if err != nil {
				return found, err
			}
		}
		if found.next = page.Next; !page.More {
			found.more = false
			break
		}
		if len(page.Records) == 0 {
			break
		}
	}
	return found, nil
}

// keep adds an event that the caller may see.
func (c *Call) keep(
	filter *eventFilter, found *foundEvents, record *feed.Record, access *access,
) (err error) {
	found.count++
	if filter.write != nil {
		found.written, err = filter.write(found.written, record, access)
		return err
	}
	found.events = append(found.events, c.event(record, access))
	found.places = append(found.places, record.Position)
	return nil
}

// access caches, for one request, what the caller can read of other projects.
type access struct {
	call *Call
	// named means that the caller has named the project, and may then see UNLISTED ones too.
	named bool
	known map[id.ID]*work.Project
}

// access is of a caller that has not named the project.
func (c *Call) access() *access { return &access{call: c, known: map[id.ID]*work.Project{}} }

// accessNamed is of a caller that has named the project.
func (c *Call) accessNamed() *access {
	access := c.access()
	access.named = true
	return access
}

// accessFor is of a caller that has named the project of a filter, if it has one.
func (c *Call) accessFor(filter *eventFilter) *access {
	if filter.project.IsZero() {
		return c.access()
	}
	return c.accessNamed()
}

// project returns a project that the caller may read now, nil for others.
func (s *access) project(project id.ID) (*work.Project, error) {
	view, asked := s.known[project]
	if asked {
		return view, nil
	}
	view, err := Intact(s.call.Service.Engine.Summary(project))
	if err != nil {
		return nil, err
	}
	if view != nil && !view.Readable(s.call.Agent) {
		view = nil
	}
	s.known[project] = view
	return view, nil
}

// sees reports whether the caller may see a record. Only members see records of an UNLISTED
// project that they have not named.
func (s *access) sees(record *feed.Record) (bool, error) {
	agent := s.call.Agent
	view, err := s.project(record.Project)
	if err != nil || view == nil || !view.ActivityVisible(&record.Activity, agent) {
		return false, err
	}
	if !s.named && view.Visibility != work.Public &&
		(agent.IsZero() || !view.IsMember(agent)) {
		return false, nil
	}
	if !record.Activity.Type.NeedsOther() {
		return true, nil
	}
	other, err := s.project(record.Activity.Other)
	return other != nil, err
}

// event returns the wire form of a record that the caller may see.
func (c *Call) event(record *feed.Record, access *access) Event {
	activity := &record.Activity
	return Event{
		ID:        c.Service.Engine.EventID(record.Position, record.At).Format(id.ActivityEvent),
		Type:      activity.Type.String(),
		ProjectID: record.Project.Format(id.Project),
		Actor:     c.agentRef(activity.Actor),
		Subject: EventSubject{
			Type: activity.Subject.Type.String(),
			ID:   activity.Subject.ID.Format(activity.Subject.Type.Prefix()),
		},
		Data:      c.eventData(activity, access),
		CreatedAt: Time(record.At),
	}
}

// eventData returns the facts as a JSON object. Facts about another project are included only if
// the caller may read it now; if it cannot be loaded, they are omitted.
func (c *Call) eventData(activity *work.Activity, access *access) Raw {
	data := append(make([]byte, 0, 64), '{')
	for _, fact := range activity.Facts {
		if fact.Name.OfOther() {
			if other, err := access.project(activity.Other); err != nil || other == nil {
				continue
			}
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		data = append(jsonschema.AppendString(data, fact.Name.Key()), ':')
		switch {
		case fact.Name.Number():
			data = strconv.AppendInt(data, fact.Number, 10)
		case fact.Name.Prefix() != "":
			data = append(fact.ID.Append(append(data, '"'), fact.Name.Prefix()), '"')
		default:
			data = jsonschema.AppendString(data, fact.Text)
		}
	}
	return append(data, '}')
}
