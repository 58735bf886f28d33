package actors

import (
	"fmt"

	"pws/identity"
	"pws/index"
	"pws/index/feed"
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
		if notice.Subject == (work.Subject{Type: work.SubjectProject}) {
			item.Subject.ID = project
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

// followAgents tells the inbox what an entry of identity says: what agents did with their items,
// and changes of their keys. Events that say nothing of it may be nil.
func (e *Engine) followAgents(position uint64, now int64, events []identity.Event) {
	var told []index.Told
	registered := false
	for number, event := range events {
		switch event := event.(type) {
		case *identity.AgentRegistered:
			registered = true
		case *identity.InboxMarked:
			e.inbox.Mark(position, event)
		case *identity.KeyAdded:
			// The key that an agent begins with is no change.
			if !registered {
				told = append(told,
					toldOfKey(work.NoticeKeyAdded, event.Agent, event.Key, number, now))
			}
		case *identity.KeyRevoked:
			told = append(told,
				toldOfKey(work.NoticeKeyRevoked, event.Agent, event.Key, number, now))
		}
	}
	e.inbox.Tell(position, told)
}

// toldOfKey tells an agent of its key, also where it did it itself: it may have been somebody else
// with a credential of the agent's.
func toldOfKey(kind work.NoticeKind, agent, key id.ID, number int, now int64) index.Told {
	return index.Told{Agent: agent, InboxItem: index.InboxItem{
		Place: identity.Place{Nth: feed.At(0, number, 0).Nth}, At: now, Kind: kind,
		Actor: agent, Subject: work.Subject{Type: work.SubjectKey, ID: key},
	}}
}

// keepAgents takes in an entry of identity behind the snapshot.
func (e *Engine) keepAgents(in *replayed) error {
	events := make([]identity.Event, len(in.entry.events))
	for number, stored := range in.entry.events {
		switch identity.Kind(stored.kind) {
		case identity.KindAgentRegistered, identity.KindInboxMarked, identity.KindKeyAdded,
			identity.KindKeyRevoked:
			event, err := identity.DecodeEvent(stored.kind, stored.data)
			if err != nil {
				return err
			}
			events[number] = event
		}
	}
	e.followAgents(in.position, in.entry.now, events)
	return nil
}

// keepInbox takes in what an entry behind the snapshot tells agents, or what they did with it. What
// was saved of an agent may have the entry already, whatever was saved of the project has.
func (e *Engine) keepInbox(in *replayed) error {
	if in.entry.target == targetIdentity {
		return e.keepAgents(in)
	}
	var told []index.Told
	for number, stored := range in.entry.events {
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
		saved, head := e.inbox.Saved(agent)
		if err := writer.Put(inboxKey(agent), head, encodeInbox(saved)); err != nil {
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
		saved, err := decodeInbox(data)
		if err != nil {
			return fmt.Errorf("inbox of agent %s: %w", agent.Format(id.Agent), err)
		}
		e.inbox.Restore(agent, saved, position)
	}
	return nil
}

const inboxPrefix = "j"

func inboxKey(agent id.ID) string { return inboxPrefix + string(agent[:]) }
