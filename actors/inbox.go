package actors

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pws/identity"
	"pws/index"
	"pws/index/feed"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// Inbox implements api.Engine.
func (e *Engine) Inbox(agent id.ID) (items []index.InboxItem, head uint64) {
	return e.inbox.Items(agent)
}

// toldBy is whom the event of a number in its entry concerns.
func toldBy(event work.Event, number int, project, by id.ID, now int64) (all []index.Told) {
	for _, notice := range work.Notices(event, by) {
		item := index.InboxItem{
			Place: identity.Place{Nth: feed.At(0, number, 0).Nth}, At: now, Kind: notice.Kind,
			Project: project, Actor: by, Subject: notice.Subject, Part: notice.Part,
		}
		if notice.Kind == work.NoticeClaimExpired {
			// Whoever came by notes it; it is the holder's claim that ran out.
			item.Actor = notice.Agent
		}
		all = append(all, index.Told{Agent: notice.Agent, InboxItem: item})
	}
	return all
}

// toldByAll is whom the events of an entry concern.
func toldByAll(events []work.Event, project, by id.ID, now int64) (all []index.Told) {
	for number, event := range events {
		all = append(all, toldBy(event, number, project, by, now)...)
	}
	return all
}

// followMarks tells the inbox what agents did with their items.
func (e *Engine) followMarks(position uint64, events []identity.Event) {
	for _, event := range events {
		if marked, ok := event.(*identity.InboxMarked); ok {
			e.inbox.Mark(position, marked)
		}
	}
}

// keepInbox takes in what an entry behind the snapshot tells agents, or what they did with it. What
// was saved of an agent may have the entry already, whatever was saved of the project has.
func (e *Engine) keepInbox(in *replayed) error {
	var told []index.Told
	for number, stored := range in.entry.events {
		if in.entry.target == targetIdentity {
			if stored.kind != uint16(identity.KindInboxMarked) {
				continue
			}
			event, err := identity.DecodeEvent(stored.kind, stored.data)
			if err != nil {
				return err
			}
			e.followMarks(in.position, []identity.Event{event})
			continue
		}
		if !work.GivesNotices(work.Kind(stored.kind)) {
			continue
		}
		event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
		if err != nil {
			return err
		}
		told = append(told,
			toldBy(event, number, in.entry.id, in.entry.agent, in.entry.now)...)
	}
	e.inbox.Tell(in.position, told)
	return nil
}

// saveInboxes writes what agents are told of whose inboxes have changed.
func (e *Engine) saveInboxes(writer *snapshot.Writer, changed map[id.ID]struct{}) error {
	for agent := range changed {
		items, head := e.inbox.Saved(agent)
		if err := writer.Put(inboxKey(agent), head, encodeInbox(items)); err != nil {
			return err
		}
	}
	return nil
}

// restoreInboxes reads what snapshots have saved, BEFORE the log behind is read.
func (e *Engine) restoreInboxes() error {
	for key := range e.sectionKeys(inboxPrefix) {
		data, position, _, err := e.snapshot.Read(key)
		if err != nil {
			return err
		}
		agent := id.ID([]byte(key[1:]))
		items, err := decodeInbox(data)
		if err != nil {
			return fmt.Errorf("inbox of agent %s: %w", agent.Format(id.Agent), err)
		}
		e.inbox.Restore(agent, items, position)
	}
	return nil
}

const inboxPrefix = "j"

func inboxKey(agent id.ID) string { return inboxPrefix + string(agent[:]) }

// inboxVersion is the first byte of what an agent is told of, as it is saved:
//
//	version  1 byte
//	items    until the end, the oldest first, each: uvarint entry, uvarint number in the entry,
//	         uvarint Unix milliseconds, 1 byte kind, 1 byte 1 where it is archived, 16 bytes each
//	         project and actor, 1 byte type and 16 bytes ID of its subject, 16 bytes part
const inboxVersion = 1

func encodeInbox(items []index.InboxItem) []byte {
	size := 1 + len(items)*(3+4*len(id.ID{})+3*binary.MaxVarintLen64)
	out := append(make([]byte, 0, size), inboxVersion)
	for at := range items {
		item := &items[at]
		out = binary.AppendUvarint(out, item.Place.Entry)
		out = binary.AppendUvarint(out, uint64(item.Place.Nth))
		out = binary.AppendUvarint(out, uint64(item.At))
		archived := byte(0)
		if item.Archived {
			archived = 1
		}
		out = append(out, byte(item.Kind), archived)
		out = append(append(out, item.Project[:]...), item.Actor[:]...)
		out = append(append(out, byte(item.Subject.Type)), item.Subject.ID[:]...)
		out = append(out, item.Part[:]...)
	}
	return out
}

func decodeInbox(data []byte) (items []index.InboxItem, err error) {
	r := disk.NewReader(data)
	if version := r.Byte(); version != inboxVersion {
		return nil, fmt.Errorf("version %d is unknown", version)
	}
	last := identity.Place{}
	for r.Len() > 0 {
		var item index.InboxItem
		entry, nth := r.Uvarint(), r.Uvarint()
		item.Place = identity.Place{Entry: entry, Nth: uint16(nth)}
		item.At = int64(r.Uvarint())
		item.Kind, item.Archived = work.NoticeKind(r.Byte()), r.Byte() == 1
		item.Project, item.Actor = id.ID(r.Fixed(16)), id.ID(r.Fixed(16))
		item.Subject.Type = work.SubjectType(r.Byte())
		item.Subject.ID, item.Part = id.ID(r.Fixed(16)), id.ID(r.Fixed(16))
		if nth > 1<<16-1 || item.Place.Compare(last) <= 0 || !item.Kind.Given() ||
			!item.Subject.Type.Known() {
			return nil, errors.New("an item that cannot be")
		}
		items, last = append(items, item), item.Place
	}
	if r.Failed() || len(items) > index.InboxItemsMax {
		return nil, errors.New("it ends too soon or too late")
	}
	return items, nil
}

// toldCheck is an item of a saved or replayed inbox, without its place.
type toldCheck struct {
	agent, actor, part id.ID
	kind               work.NoticeKind
	subject            work.Subject
	at                 int64
}

func toldCheckOf(one *index.Told) toldCheck {
	return toldCheck{one.Agent, one.Actor, one.Part, one.Kind, one.Subject, one.At}
}

// collectInbox sorts the items of all agents by project, for projects are checked one by one.
func (r *rebuilder) collectInbox() {
	r.told, r.full = map[id.ID][]toldCheck{}, map[id.ID]bool{}
	for _, agent := range r.engine.inbox.Agents() {
		items, _ := r.engine.inbox.Saved(agent)
		r.full[agent] = len(items) == index.InboxItemsMax
		for _, item := range items {
			one := toldCheckOf(&index.Told{Agent: agent, InboxItem: item})
			r.told[item.Project] = append(r.told[item.Project], one)
		}
	}
}

// checkInbox compares what agents are told of a project with what the project says. What is said in
// discussions is there in full, so that both have to be the same; of what else agents are told the
// project has no whole record, and it has to fit what there is.
func (r *rebuilder) checkInbox(name string, p *work.Project, missing map[id.ID]bool) {
	if r.told == nil {
		return
	}
	told := r.told[p.ID]
	delete(r.told, p.ID)
	talk := talkOf(p)
	for _, one := range told {
		r.checkAgent(name, "told in an inbox", one.agent, missing)
		r.checkAgent(name, "actor in an inbox", one.actor, missing)
		fits := one.fits(p)
		if one.kind == work.NoticeMention || one.kind == work.NoticeReply {
			_, fits = talk[one]
			delete(talk, one)
		}
		if !fits {
			r.damage.addf("%s: agent %s is told %s of %s, and that is not so", name,
				one.agent.Format(id.Agent), one.kind,
				one.subject.ID.Format(one.subject.Type.Prefix()))
		}
	}
	for one := range talk {
		if !r.full[one.agent] {
			r.damage.addf("%s: the inbox of agent %s lacks the %s of %s", name,
				one.agent.Format(id.Agent), one.kind,
				one.subject.ID.Format(one.subject.Type.Prefix()))
		}
	}
}

// checkStrays finds items of projects that are not there.
func (r *rebuilder) checkStrays() {
	for project, told := range r.told {
		if _, saved := r.engine.snapshot.SectionPosition(headKey(project)); saved {
			// It cannot be read, which is known already.
			continue
		}
		r.damage.addf("project %s: inboxes tell of it %d times, and there is no section of it",
			project.Format(id.Project), len(told))
	}
}

// talkOf is what agents are told of the discussions of a project.
func talkOf(p *work.Project) map[toldCheck]struct{} {
	all := map[toldCheck]struct{}{}
	add := func(event work.Event, by id.ID, now int64) {
		for _, one := range toldBy(event, 0, p.ID, by, now) {
			all[toldCheckOf(&one)] = struct{}{}
		}
	}
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		add(&work.DiscussionCreated{ID: d.ID, Mentions: d.Mentions}, d.Author, d.CreatedAt)
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool {
			said := &work.CommentAdded{
				ID: c.ID, Mentions: c.Mentions, DiscussionAuthor: d.Author,
			}
			if answered, ok := p.Comment(c.ReplyTo); ok {
				said.ReplyAuthor = answered.Author
			}
			add(said, c.Author, c.CreatedAt)
			return true
		})
		return true
	})
	return all
}

// fits reports whether a project has what an agent is told of.
func (t *toldCheck) fits(p *work.Project) bool {
	if t.kind == work.NoticeClaimExpired {
		_, ok := p.Task(t.subject.ID, asStored)
		return ok && t.agent == t.actor
	}
	c, ok := p.Contribution(t.subject.ID)
	if !ok {
		return false
	}
	if t.kind == work.NoticeReviewRequested {
		revision, ok := p.RevisionOf(c, t.part)
		return ok && revision.CreatedAt == t.at && c.Author == t.actor
	}
	review, ok := c.Review(t.part)
	return c.Author == t.agent &&
		(t.part.IsZero() || ok && review.Author == t.actor && review.CreatedAt == t.at)
}
