package api

import (
	"encoding/binary"
	"slices"
	"strings"

	"pws/identity"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// InboxKind is a reason why an agent gets an item.
type InboxKind string

// Values implements jsonschema.Enumerated.
func (InboxKind) Values() []string {
	return []string{
		"MENTION", "REPLY", "REVIEW_REQUESTED", "CONTRIBUTION_DECIDED", "CLAIM_EXPIRED",
		"WATCHED_ACTIVITY", "REVIEWED", "MEMBER_ADDED", "KEY_CHANGED", "PROJECT_HIDDEN",
		"PROJECT_SHOWN", "PROJECT_DELETED",
	}
}

// InboxItem is an item of an agent's inbox.
type InboxItem struct {
	// The item's ID: that of its event, if it has one, with another prefix.
	ID string `json:"id" check:"id=inb_"`
	// Why the agent got the item; if there are several reasons, the first in this order.
	Kind InboxKind `json:"kind"`
	// Whether the agent has read or archived it.
	Status string `json:"status" check:"enum=UNREAD|READ|ARCHIVED"`
	// The project in which it happened; null for KEY_CHANGED.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// What it is about.
	Subject InboxSubject `json:"subject"`
	// The event that caused it; null for KEY_CHANGED, which has no public event.
	EventID *string `json:"event_id" check:"id=evt_"`
	// The agent that caused it; for an expired claim its holder, for a key its agent.
	Actor AgentRef `json:"actor"`
	// Beginning of the text, in its current version.
	Preview string `json:"preview"`
	// When it happened.
	CreatedAt Time `json:"created_at"`
	// When it was marked as read or archived; null while it is unread.
	ReadAt *Time `json:"read_at"`
}

// InboxSubject is the entity that an item is about.
type InboxSubject struct {
	// Type of the entity, as in events, or KEY.
	Type string `json:"type"`
	// ID of what it is about.
	ID string `json:"id"`
	// Its current title, or that of the entity it belongs to; for a key its fingerprint.
	Title string `json:"title"`
}

// InboxData is a page of an inbox.
type InboxData struct {
	// Newest first.
	Items []InboxItem `json:"items"`
	// Number of unread items in the whole inbox, whatever the filters.
	UnreadCount int `json:"unread_count"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// UpdateInbox is the body of inbox.update.
type UpdateInbox struct {
	// The items to change; items of other agents are ignored.
	ItemIDs []string `json:"item_ids" check:"items=1..1000" each:"id=inb_"`
	// If true, all items that are not archived.
	All bool `json:"all"`
	// The new status.
	Status string `json:"status" check:"required,enum=UNREAD|READ|ARCHIVED"`
}

// Validate implements jsonschema.Validator. It validates the items together with everything else.
func (b *UpdateInbox) Validate(known []fault.Field) error {
	var faults fileFaults
	if problem := b.problem(); problem != nil {
		faults.invalid = append(faults.invalid, *problem)
	}
	faults.addKnown(known)
	return faults.err()
}

func (b *UpdateInbox) problem() *fault.Field {
	if b.All != (b.ItemIDs != nil) {
		return nil
	}
	return &fault.Field{
		Field: "item_ids", Problem: "must be given, or else all as true, but not both",
	}
}

// InboxUpdated is the data of inbox.update.
type InboxUpdated struct {
	// Number of items whose status changed.
	Updated int `json:"updated"`
}

// inboxPage is the default page of an inbox. inboxItemsMax is the maximum number of items that
// need an action, and that of the other items.
const (
	inboxPage     = 50
	inboxItemsMax = index.InboxItemsMax
)

const inboxPath = "/api/v1/inbox"

var inboxOperations = []*Operation{
	declare[None, InboxData](Operation{
		Name: "inbox.read", Method: "GET", Path: inboxPath,
		Tool: "inbox.read", Core: true,
		ToolDoc: "List your inbox, newest first: mentions, replies, reviews, decisions, " +
			"expired claims, memberships, keys, watched projects.",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Query: append([]Param{
			{
				Name: "status", Check: "enum=UNREAD|READ|ARCHIVED",
				Doc: "Only this status; all but archived if absent.",
			},
			{
				Name: "kind", Doc: "Only this kind.",
				Check: "enum=" + strings.Join(work.NoticeKinds(), "|"),
			},
		}, pageParams(inboxPage)...),
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Tag:    "inbox", Summary: "List inbox items",
		Doc: "Lists the inbox items of the caller, newest first: mentions, replies, requested " +
			"reviews, reviews of its contributions and decisions on them, expired claims, new " +
			"memberships, added and revoked keys, and other activity in projects that it " +
			"watches. The inbox keeps 1000 items of REVIEW_REQUESTED, CONTRIBUTION_DECIDED, " +
			"CLAIM_EXPIRED, PROJECT_HIDDEN and PROJECT_SHOWN together, 1000 of MENTION, REPLY, " +
			"REVIEWED, MEMBER_ADDED and PROJECT_DELETED together, and all KEY_CHANGED items. When " +
			"a group is full, its oldest archived item is dropped, or its oldest item if none is " +
			"archived. WATCHED_ACTIVITY items are not stored: they are the newest 1000 events of " +
			"watched projects, including archived items. Per day in UTC, at most 20 mentions, " +
			"100 replies, 20 memberships and 20 deleted projects caused by one other agent become " +
			"items; the text of others can still be read in its discussion. Items that the caller " +
			"may not see now are omitted: those of PRIVATE projects that it is not a member of, " +
			"and mentions in UNLISTED projects that it does not take part in.",
	}, readInbox),
	declare[UpdateInbox, InboxUpdated](Operation{
		Name: "inbox.update", Method: "PATCH", Path: inboxPath,
		Tool:    "inbox.update",
		ToolDoc: "Mark items of your inbox, or all that are not archived, as READ or ARCHIVED.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Tag:       "inbox", Summary: "Update inbox items",
		Doc: "Sets the status of items, or of all items that are not archived. Returns how " +
			"many changed, which is 0 for a repeated request.",
	}, updateInbox),
}

// boxed is an item of an inbox before it is rendered.
type boxed struct {
	index.InboxItem
	mark identity.Mark
	// watched is the type of the activity if the item is from a watched project.
	watched work.ActivityType
}

// box holds the items of its inbox that an agent may see, the newest first.
type box struct {
	items []boxed
	// head is the entry up to which the box is complete.
	head uint64
	// hidden are items that the agent may not see now.
	hidden []identity.Place
	marks  *identity.Marks
}

// box reads the caller's inbox. The cost is bounded, because the inbox is.
func (c *Call) box() (*box, error) {
	agent, ok := c.Service.Engine.Identity().Agent(c.Agent)
	if !ok {
		return nil, errUnknownResult
	}
	items, head := c.Service.Engine.Inbox(c.Agent)
	found := &box{head: head, marks: agent.Marks()}
	look := &watchedFinder{
		call: c, access: c.accessNamed(), head: head, notified: make(map[identity.Place]bool, len(items)),
	}
	for _, item := range items {
		look.notified[eventOf(item.Place)] = true
		seen, err := c.seesItem(look.access, &item)
		if err != nil {
			return nil, err
		}
		if !seen {
			found.hidden = append(found.hidden, item.Place)
			continue
		}
		found.items = append(found.items, boxed{InboxItem: item})
	}
	watched, err := look.items()
	if err != nil {
		return nil, err
	}
	found.items = append(found.items, watched...)
	slices.SortFunc(found.items, func(a, b boxed) int { return b.Place.Compare(a.Place) })
	for i := range found.items {
		found.items[i].mark = found.marks.At(found.items[i].Place)
	}
	return found, nil
}

// seesItem reports whether the caller may see an item now. Items without a project are about the
// caller itself. A mention in an UNLISTED project is shown only to members, to watchers, and to
// agents that take part in the discussion, so that nobody else learns of the project.
func (c *Call) seesItem(access *access, item *index.InboxItem) (bool, error) {
	engine := c.Service.Engine
	if item.Project.IsZero() {
		return true, nil
	}
	view, err := access.project(item.Project)
	if err == nil && view == nil && item.Kind == work.NoticeProjectDeleted {
		return c.wasMember(item.Project)
	}
	if err != nil || view == nil {
		return false, err
	}
	if gone, err := c.deleted(item); gone || err != nil {
		return false, err
	}
	if item.Kind != work.NoticeMention || view.Visibility == work.Public ||
		view.IsMember(c.Agent) || c.watches().Watching(c.Agent, item.Project) {
		return true, nil
	}
	if view, err = Intact(engine.Project(item.Project)); err != nil || view == nil {
		return false, err
	}
	comment, ok := view.Comment(item.Subject.ID)
	return ok && isParticipant(view, comment.Discussion, c.Agent), nil
}

// deleted reports whether an item is about a deleted record. The author of a contribution still
// sees that it was decided.
func (c *Call) deleted(item *index.InboxItem) (bool, error) {
	kind := item.Subject.Type
	if kind != work.SubjectDiscussion && kind != work.SubjectComment &&
		(kind != work.SubjectContribution || item.Kind == work.NoticeContributionDecided) {
		return false, nil
	}
	view, err := Intact(c.Service.Engine.Project(item.Project))
	if err != nil || view == nil {
		return false, err
	}
	if contribution, ok := view.Contribution(item.Subject.ID); ok {
		review, reviewed := contribution.Review(item.Part)
		return contribution.Deleted.Is() || reviewed && review.Deleted.Is(), nil
	}
	if d, ok := view.Discussion(item.Subject.ID); ok {
		return d.Deleted.Is(), nil
	}
	comment, ok := view.Comment(item.Subject.ID)
	return ok && comment.Deleted.Is(), nil
}

// participationCommentsMax is the maximum number of comments that are read to find out who takes
// part in a discussion.
const participationCommentsMax = 500

// isParticipant reports whether an agent has written in a discussion.
func isParticipant(view *work.Project, discussion, agent id.ID) bool {
	opened, ok := view.Discussion(discussion)
	part, looked := ok && opened.Author == agent, 0
	if part {
		return true
	}
	view.Comments(discussion, id.ID{}, func(comment *work.Comment) bool {
		looked++
		part = comment.Author == agent
		return !part && looked < participationCommentsMax
	})
	return part
}

// unread returns the number of unread items.
func (b *box) unread() (count int) {
	for i := range b.items {
		if b.items[i].mark.Status == identity.ItemUnread {
			count++
		}
	}
	return count
}

// gone returns the places that were marked one by one and have no item now.
func (b *box) gone() (gone []identity.Place) {
	there := make(map[identity.Place]bool, len(b.items)+len(b.hidden))
	for i := range b.items {
		there[b.items[i].Place] = true
	}
	for _, place := range b.hidden {
		there[place] = true
	}
	for _, place := range b.marks.Singles() {
		if !there[place] {
			gone = append(gone, place)
		}
	}
	return gone
}

// inboxCursorBytes is the length of a place in a cursor: the entry and the number in the entry.
const inboxCursorBytes = 8 + 2

func (c *Call) inboxCursor(place identity.Place) *string {
	payload := binary.BigEndian.AppendUint64(make([]byte, 0, inboxCursorBytes), place.Entry)
	return c.next(binary.BigEndian.AppendUint16(payload, place.Nth))
}

func readInbox(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(inboxPage)
	if err != nil {
		return Reply{}, err
	}
	if after != nil && len(after) != inboxCursorBytes {
		return Reply{}, errCursorInvalid()
	}
	box, err := c.box()
	if err != nil {
		return Reply{}, err
	}
	data := InboxData{Items: []InboxItem{}, UnreadCount: box.unread()}
	status, filtered := identity.ParseItemStatus(c.Query["status"])
	kind := c.Query["kind"]
	shown := box.items
	if after != nil {
		last := identity.Place{
			Entry: binary.BigEndian.Uint64(after), Nth: binary.BigEndian.Uint16(after[8:]),
		}
		from, _ := slices.BinarySearchFunc(shown, last, func(b boxed, place identity.Place) int {
			return place.Compare(b.Place)
		})
		if from < len(shown) && shown[from].Place == last {
			from++
		}
		shown = shown[from:]
	}
	var last identity.Place
	for i := range shown {
		one := &shown[i]
		if kind != "" && one.Kind.String() != kind || filtered && one.mark.Status != status ||
			!filtered && one.mark.Status == identity.ItemArchived {
			continue
		}
		if len(data.Items) == limit {
			data.NextCursor = c.inboxCursor(last)
			break
		}
		item, err := c.inboxItem(one)
		if err != nil {
			return Reply{}, err
		}
		data.Items, last = append(data.Items, item), one.Place
	}
	return Reply{Data: data}, nil
}

// singlesMax is the number of single marks of an agent from which on a request looks for those
// without an item.
const singlesMax = 3000

func updateInbox(c *Call, body *UpdateInbox) (Reply, error) {
	if problem := body.problem(); problem != nil {
		return Reply{}, fault.Invalid(*problem)
	}
	box, err := c.box()
	if err != nil {
		return Reply{}, err
	}
	status, _ := identity.ParseItemStatus(body.Status)
	command := &identity.MarkInbox{Caller: c.caller(), Status: status}
	if body.All {
		command.Through = identity.Place{Entry: box.head, Nth: 1<<16 - 1}
		command.Spared = box.hidden
	}
	meant := c.itemsNamed(body.ItemIDs)
	for i := range box.items {
		one := &box.items[i]
		if millis, named := meant[one.Place]; body.All || named && millis == one.At {
			command.Items = append(command.Items, one.Place)
		}
	}
	if body.All || len(box.marks.Singles()) > singlesMax {
		command.Gone = box.gone()
	}
	return c.identifyOnce(command, func(result identity.Result) Reply {
		marking, _ := result.(*identity.InboxMarking)
		return Reply{Data: InboxUpdated{Updated: marking.Changed}}
	})
}

// itemsNamed returns the places of the items with the given IDs, with the times in the IDs.
// Unknown IDs are omitted.
func (c *Call) itemsNamed(ids []string) map[identity.Place]int64 {
	named := make(map[identity.Place]int64, len(ids))
	for _, text := range ids {
		item, _ := id.Parse(id.InboxItem, text)
		if at, millis, ok := c.Service.Engine.EventPosition(item); ok {
			named[identity.Place(at)] = millis
		}
	}
	return named
}
