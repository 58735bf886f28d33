package work_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pws/internal/id"
	"pws/work"
)

// talkCommand reads the words of a line about discussions and watches; nil for other
// commands. A discussion is dn, a comment kn.
func (s *script) talkCommand(words []string) work.Command {
	mentions := func() (agents []id.ID) {
		if list, given := option(words, "mention"); given {
			for _, name := range strings.Split(list, ",") {
				agents = append(agents, agent(name))
			}
		}
		return agents
	}
	switch words[0] {
	case "discuss":
		command := &work.CreateDiscussion{
			Title: "t", Body: words[1], Mentions: mentions(), Subject: s.matter(words),
		}
		if size, given := option(words, "size"); given {
			command.Body = sized(size)
		}
		return command
	case "comment":
		command := &work.AddComment{
			Discussion: s.discussion(words[1]), Body: words[2], Mentions: mentions(),
		}
		if answered, given := option(words, "reply"); given {
			command.ReplyTo = s.comment(answered)
		}
		return command
	case "watch":
		return new(work.WatchProject)
	case "unwatch":
		return new(work.UnwatchProject)
	}
	return nil
}

// matter reads about=TYPE:NAME, the name being that of the tables.
func (s *script) matter(words []string) (about work.Matter) {
	text, given := option(words, "about")
	if !given {
		return about
	}
	kind, name, _ := strings.Cut(text, ":")
	about.Type = work.ParseMatterType(kind)
	switch about.Type {
	case work.MatterFile:
		about.Path = name
	case work.MatterTask:
		about.ID = s.task(name)
	case work.MatterProject:
		about.ID = agent(name)
	case work.MatterChangeset:
		if about.ID = agent("no changeset"); s.changeset(name) != nil {
			about.ID = s.changeset(name).ID
		}
	case work.MatterContribution:
		about.ID = s.contribution(name)
	case work.MatterArtifact:
		about.ID = s.artifactID(name)
	default:
		about.ID = agent(name)
	}
	return about
}

// talk are the IDs of all discussions, or of all comments, the oldest first.
func (s *script) talk(discussions bool) (all []id.ID) {
	if s.project == nil {
		return nil
	}
	if !discussions {
		s.project.AllComments(func(c *work.Comment) bool { all = append(all, c.ID); return true })
		return all
	}
	s.project.Discussions(id.ID{}, func(d *work.Discussion) bool {
		all = append(all, d.ID)
		return true
	})
	slices.Reverse(all)
	return all
}

func said(all []id.ID, word, prefix string) id.ID {
	n, err := strconv.Atoi(strings.TrimPrefix(word, prefix))
	if err != nil || n < 1 || n > len(all) {
		return agent("no " + prefix)
	}
	return all[n-1]
}

func (s *script) discussion(word string) id.ID { return said(s.talk(true), word, "d") }

func (s *script) comment(word string) id.ID { return said(s.talk(false), word, "k") }

// talkName is the name of a discussion or of a comment, empty for other records.
func (s *script) talkName(wanted id.ID) string {
	if s.project == nil {
		return ""
	}
	if s.project.Has(id.Discussion, wanted) {
		return fmt.Sprint("d", slices.Index(s.talk(true), wanted)+1)
	}
	if s.project.Has(id.Comment, wanted) {
		return fmt.Sprint("k", slices.Index(s.talk(false), wanted)+1)
	}
	return ""
}

func names(agents []id.ID) string {
	list := make([]string, len(agents))
	for i, one := range agents {
		list[i] = name(one)
	}
	return strings.Join(list, ",")
}

// talkQuery answers lines that only look, or that fill the project.
func (s *script) talkQuery(words []string) (string, bool) {
	list := []string{}
	switch words[0] {
	case "discussions?":
		s.project.Discussions(id.ID{}, func(d *work.Discussion) bool {
			count, _ := s.project.CommentCount(d.ID)
			list = append(list, fmt.Sprintf("%s=%d", s.talkName(d.ID), count))
			return true
		})
	case "comments?":
		s.project.Comments(s.discussion(words[1]), id.ID{}, func(c *work.Comment) bool {
			list = append(list, s.talkName(c.ID))
			return true
		})
	case "show-comment":
		c, ok := s.project.Comment(s.comment(words[1]))
		if !ok {
			return "nothing", true
		}
		return fmt.Sprintf("%s in=%s reply=%s mentions=%s by=%s at=%d", c.Body,
			s.talkName(c.Discussion), s.talkName(c.ReplyTo), names(c.Mentions), name(c.Author),
			c.CreatedAt-testNow), true
	case "watchers?":
		s.project.Watchers(func(one work.Watcher) bool {
			list = append(list, fmt.Sprintf("%s@%d", name(one.Agent), one.Since-testNow))
			return true
		})
	case "fill-discussions":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command {
			return &work.CreateDiscussion{Title: "t", Body: "b"}
		}), true
	case "fill-comments":
		count, _ := strconv.Atoi(words[1])
		first := s.discussion("d1")
		return s.repeat(count, func() work.Command {
			return &work.AddComment{Discussion: first, Body: "b"}
		}), true
	case "updated?":
		return fmt.Sprint(s.project.UpdatedAt - testNow), true
	default:
		return "", false
	}
	return orNothing(list), true
}
