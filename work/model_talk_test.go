package work_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// talkModel is what agents have said of a project, the oldest first, and who watches it.
type talkModel struct {
	discussions []*work.Discussion
	comments    []*work.Comment
	watchers    map[id.ID]int64
}

// observe notes what a command that was carried out has said. The project is the one behind it.
func (m *talkModel) observe(
	p *work.Project, who id.ID, command work.Command, about id.ID, now int64,
) {
	readers := func(agents []id.ID) (mentions []id.ID) {
		for _, agent := range agents {
			if p.Readable(agent) && !slices.Contains(mentions, agent) {
				mentions = append(mentions, agent)
			}
		}
		return mentions
	}
	switch command := command.(type) {
	case *work.CreateDiscussion:
		m.discussions = append(m.discussions, &work.Discussion{
			ID: about, Author: who, Title: command.Title, Body: command.Body,
			Subject: command.Subject, Mentions: readers(command.Mentions), CreatedAt: now,
		})
	case *work.AddComment:
		m.comments = append(m.comments, &work.Comment{
			ID: about, Discussion: command.Discussion, Author: who, Body: command.Body,
			ReplyTo: command.ReplyTo, Mentions: readers(command.Mentions), CreatedAt: now,
		})
	case *work.WatchProject:
		if m.watchers == nil {
			m.watchers = map[id.ID]int64{}
		}
		m.watchers[who] = now
	case *work.UnwatchProject:
		delete(m.watchers, who)
	}
}

// compare walks over everything, of one discussion from a place in between.
func (m *talkModel) compare(p *work.Project, draw source) error {
	var found []*work.Discussion
	p.Discussions(id.ID{}, func(d *work.Discussion) bool { found = append(found, d); return true })
	slices.Reverse(found)
	if diff := cmp.Diff(m.discussions, found); diff != "" {
		return fmt.Errorf("the discussions: %s", diff)
	}
	for _, discussion := range m.discussions {
		var want []*work.Comment
		for _, one := range m.comments {
			if one.Discussion == discussion.ID {
				want = append(want, one)
			}
		}
		count, newest := p.CommentCount(discussion.ID)
		if count != len(want) || count > 0 && newest.ID != want[count-1].ID {
			return fmt.Errorf("%d comments, the newest is %v, want %d", count, newest, len(want))
		}
		var after id.ID
		if from := draw(len(want) + 1); from > 0 {
			after, want = want[from-1].ID, append([]*work.Comment(nil), want[from:]...)
		}
		var said []*work.Comment
		p.Comments(discussion.ID, after, func(c *work.Comment) bool {
			said = append(said, c)
			return true
		})
		if diff := cmp.Diff(want, said); diff != "" {
			return fmt.Errorf("the comments: %s", diff)
		}
	}
	watchers := map[id.ID]int64{}
	p.Watchers(func(one work.Watcher) bool { watchers[one.Agent] = one.Since; return true })
	if !maps.Equal(watchers, m.watchers) || p.WatchersCount() != len(watchers) {
		return fmt.Errorf("the watchers are %v, want %v", watchers, m.watchers)
	}
	return nil
}

// talkCommand is one of discussions, comments and watches.
func (draw source) talkCommand(w *world) work.Command {
	var opened []id.ID
	w.project.Discussions(id.ID{}, func(d *work.Discussion) bool {
		opened = append(opened, d.ID)
		return len(opened) < 3
	})
	mentions := []id.ID{draw.agent(), draw.agent(), agent("eve")}[:draw(4)]
	switch kind := draw(8); {
	case kind == 0:
		return new(work.UnwatchProject)
	case kind < 3:
		return new(work.WatchProject)
	case kind < 5 || len(opened) == 0:
		command := &work.CreateDiscussion{Title: "t", Body: draw.text(), Mentions: mentions}
		switch draw(4) {
		case 0:
			command.Subject = work.Matter{Type: work.MatterFile, Path: draw.path()}
		case 1:
			head := w.project.Head().ID
			command.Subject = work.Matter{Type: work.MatterChangeset, ID: head}
		case 2:
			command.Subject = work.Matter{Type: work.MatterTask, ID: agent("no task")}
		}
		return command
	}
	command := &work.AddComment{
		Discussion: opened[draw(len(opened))], Body: draw.text(), Mentions: mentions,
	}
	w.project.Comments(opened[draw(len(opened))], id.ID{}, func(c *work.Comment) bool {
		command.ReplyTo = c.ID
		return draw(2) == 0
	})
	return command
}
