package work_test

import (
	"fmt"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// forkQuery answers the lines about forks: "fork @n VISIBILITY [REUSE]" continues in the fork,
// "origin?" prints its source, "heritage?" its inherited authors.
func (s *script) forkQuery(who id.ID, words []string) (string, bool) {
	switch words[0] {
	case "fork":
		return s.fork(who, words[1:]), true
	case "origin?":
		return s.origin(), true
	case "heritage?":
		var list []string
		for _, one := range s.project.TopAuthors(10) {
			list = append(list, fmt.Sprintf("%s=%d+%d", name(one.Agent), one.Changesets, one.Inherited))
		}
		return strings.Join(list, " "), true
	}
	return "", false
}

func (s *script) fork(who id.ID, words []string) string {
	if err := work.MayReuse.Require(s.project, who); err != nil {
		s.seen[fault.CodeOf(err)] = true
		return s.refusal(err)
	}
	command := forkOf(s.project, s.changeset(words[0]), s.project.ID.Next())
	command.About.Visibility, command.About.Reuse = work.ParseVisibility(words[1]), 0
	if len(words) > 2 {
		command.About.Reuse = work.ParseReuse(words[2])
	}
	forked := newWorld()
	forked.now, forked.steps = s.now, s.steps+1000
	if _, err := forked.do(who, command); err != nil {
		s.seen[fault.CodeOf(err)] = true
		return s.refusal(err)
	}
	s.world = forked
	return "created @1"
}

func (s *script) origin() string {
	from, ok := s.project.ForkedFrom()
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%s %s %d files", name(from.Project), s.project.Head().Source,
		from.Tree().FilesCount())
}
