package actors

import (
	"fmt"

	"pws/identity"
	"pws/index"
	"pws/index/feed"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// Inbox implements api.Engine.
func (e *Engine) Inbox(agent id.ID) (items []index.InboxItem, head uint64) {
	return e.inbox.Items(agent)
}

// deliveriesOf are the inbox items of an event, whose number in its entry is given.
func deliveriesOf(
	event work.Event, number int, project, by id.ID, now int64,
) (all []index.Delivery) {
	for _, notice := range work.Notices(event, by) {
		item := index.InboxItem{
			Place: identity.Place{Nth: feed.At(0, number, 0).Nth}, At: now, Kind: notice.Kind,
			Project: project, Actor: by, Subject: notice.Subject, Part: notice.Part,
		}
		if notice.Subject == (work.Subject{Type: work.SubjectProject}) {
			item.Subject.ID = project
		}
		if notice.Kind == work.NoticeClaimExpired || by.IsZero() {
			// The event has the agent whose command noted the expiry; the item names the holder.
			item.Actor = notice.Agent
		}
		all = append(all, index.Delivery{Agent: notice.Agent, InboxItem: item})
	}
	return all
}

// deliveriesOfEntry are the inbox items of all events of an entry.
func deliveriesOfEntry(
	events []work.Event, project, by id.ID, now int64,
) (all []index.Delivery) {
	for number, event := range events {
		all = append(all, deliveriesOf(event, number, project, by, now)...)
	}
	return all
}

// deliverIdentity passes an entry of identity to the inbox: the marks that agents set on their
// items, and changes of their keys. Other events may be nil.
func (e *Engine) deliverIdentity(position uint64, now int64, events []identity.Event) {
	var deliveries []index.Delivery
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
				deliveries = append(deliveries,
					keyDelivery(work.NoticeKeyAdded, event.Agent, event.Key, number, now))
			}
		case *identity.KeyRevoked:
			deliveries = append(deliveries,
				keyDelivery(work.NoticeKeyRevoked, event.Agent, event.Key, number, now))
		}
	}
	e.inbox.Deliver(position, deliveries)
}

// keyDelivery is the item of a change of an agent's key. The agent receives it also where it made
// the change itself, for it may have been somebody else with a credential of the agent's.
func keyDelivery(kind work.NoticeKind, agent, key id.ID, number int, now int64) index.Delivery {
	return index.Delivery{Agent: agent, InboxItem: index.InboxItem{
		Place: identity.Place{Nth: feed.At(0, number, 0).Nth}, At: now, Kind: kind,
		Actor: agent, Subject: work.Subject{Type: work.SubjectKey, ID: key},
	}}
}

// replayAgents passes an entry of identity behind the snapshot to the inbox.
func (e *Engine) replayAgents(in *replayed) error {
	events := make([]identity.Event, len(in.entry.Events))
	for number, stored := range in.entry.Events {
		switch identity.Kind(stored.Kind) {
		case identity.KindAgentRegistered, identity.KindInboxMarked, identity.KindKeyAdded,
			identity.KindKeyRevoked:
			event, err := identity.DecodeEvent(stored.Kind, stored.Data)
			if err != nil {
				return err
			}
			events[number] = event
		}
	}
	e.deliverIdentity(in.position, in.entry.Now, events)
	return nil
}

// replayInbox passes an entry behind the snapshot to the inbox. The saved inbox of an agent may
// have the entry already, whether the saved project has it or not.
func (e *Engine) replayInbox(in *replayed) error {
	if in.entry.Target == datadir.TargetIdentity {
		return e.replayAgents(in)
	}
	var deliveries []index.Delivery
	for number, stored := range in.entry.Events {
		if !work.GivesNotices(work.Kind(stored.Kind)) {
			continue
		}
		event, err := work.DecodeEvent(work.Kind(stored.Kind), stored.Data)
		if err != nil {
			return err
		}
		deliveries = append(deliveries,
			deliveriesOf(event, number, in.entry.ID, in.entry.Agent, in.entry.Now)...)
	}
	e.inbox.Deliver(in.position, deliveries)
	return nil
}

// saveInboxes writes the inboxes that have changed.
func (e *Engine) saveInboxes(writer *snapshot.Writer, changed map[id.ID]struct{}) error {
	for agent := range changed {
		saved, head := e.inbox.Saved(agent)
		if err := writer.Put(datadir.InboxKey(agent), head, encodeInbox(saved)); err != nil {
			return err
		}
	}
	return nil
}

// restoreInboxes reads the saved inboxes, BEFORE the log behind the snapshot is read.
func (e *Engine) restoreInboxes() error {
	err := e.snapshot.Scan(datadir.InboxPrefix, datadir.KeyBytes, func(s snapshot.Section) error {
		agent := datadir.IDOf(string(s.Key))
		saved, err := decodeInbox(s.Data)
		if err != nil {
			return fmt.Errorf("inbox of agent %s: %w", agent.Format(id.Agent), err)
		}
		e.inbox.Restore(agent, saved, s.Position)
		return nil
	})
	// The newest entries that the snapshot covers may be in nobody's inbox.
	e.inbox.Deliver(e.snapshot.Position(), nil)
	return err
}
