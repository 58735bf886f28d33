package actors

import (
	"pws/identity"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

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

// dayCheck is one count of one agent's inbox.
type dayCheck struct {
	agent id.ID
	count index.InboxCount
}

func dayCheckOf(one *toldCheck) dayCheck {
	item := index.InboxItem{Actor: one.actor, Kind: one.kind, At: one.at}
	return dayCheck{one.agent, index.CountOf(&item)}
}

// collectInbox sorts the items of all agents by project, for projects are checked one by one.
func (r *rebuilder) collectInbox() {
	r.told, r.full = map[id.ID][]toldCheck{}, map[id.ID]bool{}
	r.ofDay = map[dayCheck]int{}
	for _, agent := range r.engine.inbox.Agents() {
		saved, _ := r.engine.inbox.Saved(agent)
		talk := 0
		keys := map[toldCheck]bool{}
		for _, item := range saved.Items {
			one := toldCheckOf(&index.Told{Agent: agent, InboxItem: item})
			if item.Kind.Room() == work.RoomKeys {
				r.checkKeyItem(&one, item.Project, keys)
				continue
			}
			r.told[item.Project] = append(r.told[item.Project], one)
			r.ofDay[dayCheckOf(&one)]++
			if item.Kind.Room() == work.RoomTalk {
				talk++
			}
		}
		// Older versions kept all kinds in one room, which never gets smaller.
		r.full[agent] = talk == index.InboxItemsMax || len(saved.Items) >= index.InboxItemsMax
	}
}

// checkKeyItem finds an item of a key that was never so, or stands there twice. A key without an
// item is no damage: older versions gave none.
func (r *rebuilder) checkKeyItem(one *toldCheck, project id.ID, known map[toldCheck]bool) {
	if !r.agents {
		return
	}
	fits := false
	if agent, ok := r.engine.Identity().Agent(one.agent); ok && !known[*one] {
		fits = project.IsZero() && one.fitsKey(agent)
	}
	known[*one] = true
	if !fits {
		r.damage.addf("agent %s is told %s of %s, and that is not so", one.agent.Format(id.Agent),
			one.kind, one.subject.ID.Format(id.Key))
	}
}

// fitsKey reports whether the agent's key was added, or revoked, when it is told so. The key that
// an agent begins with was not added.
func (t *toldCheck) fitsKey(agent *identity.Agent) bool {
	key, ok := agent.Key(t.subject.ID)
	if !ok || t.subject.Type != work.SubjectKey || t.actor != agent.ID || !t.part.IsZero() {
		return false
	}
	if t.kind == work.NoticeKeyRevoked {
		return !key.Active() && key.RevokedAt == t.at
	}
	return key.CreatedAt == t.at && key.ID != agent.Keys()[0].ID
}

// mayLack reports whether an inbox need not hold an item of a discussion: newer ones pushed it out,
// or the day had as many of its kind and author as become items.
func (r *rebuilder) mayLack(one *toldCheck) bool {
	return r.full[one.agent] || r.ofDay[dayCheckOf(one)] >= one.kind.PerDay()
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
		if !r.mayLack(&one) {
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
	if t.kind == work.NoticeMemberAdded {
		// The agent may have left since.
		return t.subject == work.Subject{Type: work.SubjectProject, ID: p.ID}
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
