package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// deletion reads the words of a line that deletes a record: its name, a reason, and for a
// contribution the version that it must have.
func (s *script) deletion(words []string) work.Command {
	reason, _ := option(words, "reason")
	name := words[0]
	of, _, ofContribution := strings.Cut(name, "/")
	switch {
	case ofContribution:
		return &work.DeleteReview{
			Contribution: s.contribution(of), Review: s.review(name), Reason: reason,
		}
	case name[0] == 'v':
		return &work.DeleteVerification{Verification: s.record(name), Reason: reason}
	case name[0] == 'h':
		return &work.DeleteHandoff{Handoff: s.handoff(name), Reason: reason}
	case name[0] == 'd':
		return &work.DeleteDiscussion{Discussion: s.discussion(name), Reason: reason}
	case name[0] == 'k':
		in := said(s.talk(true), "d1", "d")
		if comment, ok := s.project.Comment(s.comment(name)); ok {
			in = comment.Discussion
		}
		return &work.DeleteComment{Discussion: in, Comment: s.comment(name), Reason: reason}
	}
	command := &work.DeleteContribution{Contribution: s.contribution(name), Reason: reason}
	if version, given := option(words, "match"); given {
		command.Match = func(_ *work.Project, c *work.Contribution) error {
			if fmt.Sprint(c.Version) != version {
				return fault.New(fault.PreconditionFailed, "Another version.")
			}
			return nil
		}
	}
	return command
}

// review is the mth review of the nth contribution as cn/m.
func (s *script) review(word string) id.ID {
	name, number, _ := strings.Cut(word, "/")
	c, ok := s.project.Contribution(s.contribution(name))
	if m, err := strconv.Atoi(number); ok && err == nil && m > 0 && m <= len(c.Reviews) {
		return c.Reviews[m-1].ID
	}
	return agent("no " + word)
}

// deletionQuery answers lines that ask for the marks of deleted records, or of a deleted project.
func (s *script) deletionQuery(words []string) (string, bool) {
	if words[0] != "marks?" {
		return s.endQuery(words)
	}
	list := []string{}
	mark := func(name string, of work.Deletion) {
		if of.Is() {
			list = append(list, fmt.Sprintf("%s:%s@%d:%s", name, by(of), of.At-testNow, of.Reason))
		}
	}
	for _, one := range s.records() {
		mark(s.recordName(one.ID), one.Deleted)
	}
	for _, one := range s.project.Handoffs() {
		mark(s.handoffName(one.ID), one.Deleted)
	}
	for _, one := range s.contributions() {
		mark(s.contributionName(one.ID), one.Deleted)
		for nth, review := range one.Reviews {
			mark(fmt.Sprintf("%s/%d", s.contributionName(one.ID), nth+1), review.Deleted)
		}
	}
	for _, one := range s.talk(true) {
		found, _ := s.project.Discussion(one)
		mark(s.talkName(one), found.Deleted)
	}
	for _, one := range s.talk(false) {
		found, _ := s.project.Comment(one)
		mark(s.talkName(one), found.Deleted)
	}
	return orNothing(list), true
}

func by(mark work.Deletion) string { return name(mark.By) }
