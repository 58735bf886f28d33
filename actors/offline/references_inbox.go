package offline

import (
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// itemCheck is an item of a saved or replayed inbox as verify compares it, without its place.
type itemCheck struct {
	agent, actor, part id.ID
	kind               work.NoticeKind
	subject            work.Subject
	at                 int64
}

func itemCheckOf(one *index.Delivery) itemCheck {
	return itemCheck{one.Agent, one.Actor, one.Part, one.Kind, one.Subject, one.At}
}

// dayCheck is one count of one agent's inbox.
type dayCheck struct {
	agent id.ID
	count index.InboxCount
}

func dayCheckOf(one *itemCheck) dayCheck {
	item := index.InboxItem{Actor: one.actor, Kind: one.kind, At: one.at}
	return dayCheck{one.agent, index.CountOf(&item)}
}

// collectInbox groups the items of all agents by project, for projects are checked one by one.
func (r *references) collectInbox() {
	r.items, r.full = map[id.ID][]itemCheck{}, map[id.ID]bool{}
	r.ofDay = map[dayCheck]int{}
	for _, agent := range r.inbox.Agents() {
		saved, _ := r.inbox.Saved(agent)
		talk := 0
		keys := map[itemCheck]bool{}
		for _, item := range saved.Items {
			one := itemCheckOf(&index.Delivery{Agent: agent, InboxItem: item})
			if item.Kind.Class() == work.ClassKeys {
				r.checkKeyItem(&one, item.Project, keys)
				continue
			}
			r.items[item.Project] = append(r.items[item.Project], one)
			r.ofDay[dayCheckOf(&one)]++
			if item.Kind.Class() == work.ClassTalk {
				talk++
			}
		}
		// Older versions kept all kinds in one room, which never gets smaller.
		r.full[agent] = talk == index.InboxItemsMax || len(saved.Items) >= index.InboxItemsMax
	}
}

// checkKeyItem finds an item of a key that the agent's record contradicts, or that is there twice.
// A key without an item is no damage: older versions made none.
func (r *references) checkKeyItem(one *itemCheck, project id.ID, known map[itemCheck]bool) {
	if !r.agents {
		return
	}
	fits := false
	if agent, ok := r.states.Identity().Agent(one.agent); ok && !known[*one] {
		fits = project.IsZero() && one.fitsKey(agent)
	}
	known[*one] = true
	if !fits {
		r.damage.addf("the inbox of agent %s has %s of %s, which is not so", one.agent.Format(id.Agent),
			one.kind, one.subject.ID.Format(id.Key))
	}
}

// fitsKey reports whether the agent's key was added, or revoked, at the time of the item. The key
// that an agent begins with was not added.
func (i *itemCheck) fitsKey(agent *identity.Agent) bool {
	key, ok := agent.Key(i.subject.ID)
	if !ok || i.subject.Type != work.SubjectKey || i.actor != agent.ID || !i.part.IsZero() {
		return false
	}
	if i.kind == work.NoticeKeyRevoked {
		return !key.Active() && key.RevokedAt == i.at
	}
	return key.CreatedAt == i.at && key.ID != agent.Keys()[0].ID
}

// mayLack reports whether an inbox need not hold an item of a discussion: newer ones pushed it out,
// or the day had as many of its kind and author as become items.
func (r *references) mayLack(one *itemCheck) bool {
	return r.full[one.agent] || r.ofDay[dayCheckOf(one)] >= one.kind.PerDay()
}

// checkInbox compares the inbox items of a project with the project. A project keeps its
// discussions in full, so their items have to be exactly those that follow from them. Of other
// items the project has no complete record: they must not contradict it.
func (r *references) checkInbox(name string, p *work.Project, missing map[id.ID]bool) {
	if r.items == nil {
		return
	}
	items := r.items[p.ID]
	delete(r.items, p.ID)
	talk := r.talkOf(p)
	for _, one := range items {
		r.checkAgent(name, "owner of an inbox", one.agent, missing)
		r.checkAgent(name, "actor in an inbox", one.actor, missing)
		fits := one.fits(p)
		if one.kind == work.NoticeMention || one.kind == work.NoticeReply {
			_, fits = talk[one]
			delete(talk, one)
		}
		if !fits {
			r.damage.addf("%s: the inbox of agent %s has %s of %s, which is not so", name,
				one.agent.Format(id.Agent), one.kind,
				one.subject.ID.Format(one.subject.Type.Prefix()))
		}
	}
	for one := range talk {
		if !r.mayLack(&one) {
			r.damage.addf("%s: the inbox of agent %s lacks the %s of %s", name,
				one.agent.Format(id.Agent), one.kind,
				one.subject.ID.Format(one.subject.Type.Prefix()))
		}
	}
}

// checkOrphans finds items of projects that do not exist.
func (r *references) checkOrphans() {
	for project, items := range r.items {
		if _, saved := r.saved.SectionPosition(datadir.ProjectKey(project)); saved {
			// It cannot be read, which is known already.
			continue
		}
		r.damage.addf("project %s: inboxes have %d items of it, and it has no section",
			project.Format(id.Project), len(items))
	}
}

// talkOf are the inbox items that follow from the discussions of a project.
func (r *references) talkOf(p *work.Project) map[itemCheck]struct{} {
	all := map[itemCheck]struct{}{}
	add := func(event work.Event, by id.ID, now int64) {
		for _, one := range r.states.Deliveries(event, p.ID, by, now) {
			all[itemCheckOf(&one)] = struct{}{}
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

// fits reports whether a project does not contradict an item.
func (i *itemCheck) fits(p *work.Project) bool {
	if i.kind == work.NoticeClaimExpired {
		_, ok := p.Task(i.subject.ID, work.AsStored)
		return ok && i.agent == i.actor
	}
	switch i.kind {
	case work.NoticeProjectHidden, work.NoticeProjectShown:
		return i.subject == work.Subject{Type: work.SubjectProject, ID: p.ID} && i.agent == i.actor
	case work.NoticeMemberAdded, work.NoticeProjectDeleted:
		// The agent may have left since, and the project may have been restored.
		return i.subject == work.Subject{Type: work.SubjectProject, ID: p.ID}
	}
	c, ok := p.Contribution(i.subject.ID)
	if !ok {
		return false
	}
	if i.kind == work.NoticeReviewRequested {
		revision, ok := p.RevisionOf(c, i.part)
		return ok && revision.CreatedAt == i.at && c.Author == i.actor
	}
	review, ok := c.Review(i.part)
	return c.Author == i.agent &&
		(i.part.IsZero() || ok && review.Author == i.actor && review.CreatedAt == i.at)
}
