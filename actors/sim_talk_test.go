package actors

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// talkCommand is a random command about discussions and watches, and who gives it.
func (s *simulation) talkCommand(p *work.Project) (command work.Command, who id.ID) {
	who = s.agents[s.pick(len(s.agents))].session.AgentID
	other := s.agents[s.pick(len(s.agents))].session.AgentID
	var newest *work.Discussion
	p.Discussions(id.ID{}, func(d *work.Discussion) bool { newest = d; return s.pick(2) == 0 })
	switch kind := s.pick(7); {
	case kind == 0:
		return new(work.UnwatchProject), who
	case kind < 3:
		return new(work.WatchProject), who
	case kind == 3 || newest == nil:
		return &work.CreateDiscussion{
			Title: fmt.Sprint("step ", s.steps), Body: "why", Mentions: []id.ID{other},
			Subject: work.Matter{Type: work.MatterChangeset, ID: p.Head().ID},
		}, who
	}
	said := &work.AddComment{
		Discussion: newest.ID, Body: fmt.Sprint("step ", s.steps), Mentions: []id.ID{other},
	}
	if _, last := p.CommentCount(newest.ID); last != nil && s.pick(2) == 0 {
		said.ReplyTo = last.ID
	}
	return said, who
}
