package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/id"
	"pws/work"
)

// acceptance is the merge of the current revision of a contribution with the head, nil where there
// is none.
func (w *world) acceptance(contribution id.ID) *work.MergePlan {
	c, ok := w.project.Contribution(contribution)
	if !ok {
		return nil
	}
	plan, err := w.project.PlanAcceptance(w.project.CurrentRevision(c), w.read, nil)
	if err != nil {
		panic(err)
	}
	return plan
}

// contributionCommand reads the words of a line about contributions; nil for other commands.
func (s *script) contributionCommand(words []string) work.Command {
	arguments := words[1:]
	switch words[0] {
	case "wsubmit":
		return &work.SubmitWorkspace{Workspace: s.workspace(arguments[0]), Summary: arguments[1]}
	case "review":
		command := &work.ReviewContribution{
			Contribution: s.contribution(arguments[0]), Revision: s.revision(arguments[0]),
			Verdict: work.ParseVerdict(arguments[1]),
		}
		if body, given := option(arguments, "body"); given {
			command.Body = body
		}
		if bytes, given := option(arguments, "bytes"); given {
			count, _ := strconv.Atoi(bytes)
			command.Body = strings.Repeat("b", count)
		}
		if paths, given := option(arguments, "at"); given {
			for line, path := range strings.Split(paths, ",") {
				command.Comments = append(command.Comments, work.ReviewComment{
					Path: path, Line: line, Body: "here",
				})
			}
		}
		return command
	case "accept":
		command := &work.AcceptContribution{
			Contribution: s.contribution(arguments[0]), Revision: s.revision(arguments[0]),
		}
		command.Message, _ = option(arguments, "message")
		if _, without := option(arguments, "plan"); !without {
			command.Plan = s.acceptance(command.Contribution)
		}
		return command
	case "reject":
		command := &work.RejectContribution{
			Contribution: s.contribution(arguments[0]), Reason: "no",
		}
		if strings.Contains(arguments[0], ".") {
			command.Revision = s.revision(arguments[0])
		}
		return command
	case "withdraw":
		return &work.WithdrawContribution{Contribution: s.contribution(arguments[0])}
	}
	return nil
}

// contribution is the nth contribution as c1, c2 and so on, also where a revision follows; another
// word is an ID that no project has.
func (s *script) contribution(word string) (found id.ID) {
	name, _, _ := strings.Cut(word, ".")
	found = agent("no " + word)
	n, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if list := s.contributions(); err == nil && n > 0 && n <= len(list) {
		found = list[n-1].ID
	}
	return found
}

// contributions are all, the oldest first.
func (s *script) contributions() (list []*work.Contribution) {
	if s.project == nil {
		return nil
	}
	s.project.Contributions(id.ID{}, func(c *work.Contribution) bool {
		list = append([]*work.Contribution{c}, list...)
		return true
	})
	return list
}

// revision is the mth revision of the nth contribution as cn.m.
func (s *script) revision(word string) id.ID {
	_, number, _ := strings.Cut(word, ".")
	c, ok := s.project.Contribution(s.contribution(word))
	if m, err := strconv.Atoi(number); ok && err == nil && m > 0 && m <= len(c.Revisions) {
		return c.Revisions[m-1]
	}
	return agent("no " + word)
}

// contributionName is the reverse of contribution and of revision; empty where there is none.
func (s *script) contributionName(wanted id.ID) string {
	all := s.contributions()
	for n, c := range all {
		if c.ID == wanted {
			return fmt.Sprint("c", n+1)
		}
	}
	for n, c := range all {
		if r, ok := s.project.RevisionOf(c, wanted); ok {
			return fmt.Sprintf("c%d.%d", n+1, r.Number)
		}
		if _, ok := c.Review(wanted); ok {
			return "a review"
		}
	}
	return ""
}

// contributionQuery answers lines about contributions that only look.
func (s *script) contributionQuery(words []string) (string, bool) {
	switch words[0] {
	case "contribution?":
		c, ok := s.project.Contribution(s.contribution(words[1]))
		if !ok {
			return "nothing", true
		}
		return s.showContribution(c), true
	case "revision?":
		c, _ := s.project.Contribution(s.contribution(words[1]))
		r, _ := s.project.RevisionOf(c, s.revision(words[1]))
		return s.showRevision(r), true
	case "changes?":
		c, _ := s.project.Contribution(s.contribution(words[1]))
		r, _ := s.project.RevisionOf(c, s.revision(words[1]))
		list := []string{}
		for _, change := range s.project.RevisionChanges(r) {
			list = append(list, s.showChange(change))
		}
		return orNothing(list), true
	case "attribution?":
		c, _ := s.project.Contribution(s.contribution(words[1]))
		list := []string{}
		for _, one := range c.Attribution() {
			list = append(list, one.Role.String()+"="+name(one.Agent))
		}
		return orNothing(list), true
	case "revise":
		return s.revise(s.workspace(words[1]), words[2]), true
	case "praise":
		return s.praise(words[1], words[2]), true
	case "pending?":
		return fmt.Sprint(s.project.PendingContributions()), true
	case "authors?":
		list := []string{}
		for _, one := range s.project.TopAuthors(9) {
			list = append(list, fmt.Sprintf("%s=%d", name(one.Agent), one.Changesets))
		}
		return orNothing(list), true
	}
	return "", false
}

func (s *script) showContribution(c *work.Contribution) string {
	text := fmt.Sprintf("%s %s %s revision=%d", name(c.Author), s.workspaceName(c.Workspace),
		c.Status, s.project.CurrentRevision(c).Number)
	for _, review := range c.Reviews {
		text += " ; " + name(review.Author) + " " + review.Verdict.String()
		if review.Binding {
			text += " binding"
		}
		if review.Revision != c.Current() {
			text += " stale"
		}
		for _, comment := range review.Comments {
			text += fmt.Sprintf(" %s:%d", comment.Path, comment.Line)
		}
	}
	if !c.DecidedBy.IsZero() {
		text += fmt.Sprintf(" ; by %s note=%s", name(c.DecidedBy), c.Note)
	}
	if !c.Changeset.IsZero() {
		text += " " + s.number(c.Changeset)
	}
	return text + s.showConflicts(c.Conflicts)
}

func (s *script) showRevision(r *work.Revision) string {
	text := fmt.Sprintf("%d base=%s %s", r.Number, s.number(r.Base), r.Summary)
	for _, op := range s.project.RevisionOperations(r) {
		text += " ; " + op.Action.String()
		if op.From != "" {
			text += " " + op.From
		}
		text += fmt.Sprintf(" %s %s was %s", op.Path, s.text(op.Blob), s.text(op.Before))
	}
	return text
}

func (s *script) showChange(change work.Change) string {
	text := change.Action.String()
	if change.From != "" {
		text += " " + change.From
	}
	text += " " + change.Path
	if change.Old != nil {
		text += fmt.Sprintf(" %s/%d", s.text(*change.Old), change.OldSize)
	}
	if change.New != nil {
		text += fmt.Sprintf(" to %s/%d", s.text(*change.New), change.NewSize)
	}
	return text + " ;"
}

// revise submits many revisions, each with a file more.
func (s *script) revise(workspace id.ID, count string) string {
	n, _ := strconv.Atoi(count)
	w, _ := s.project.Workspace(workspace)
	for i := range n {
		for _, command := range []work.Command{
			&work.WriteWorkspaceFile{
				Workspace: workspace, Path: fmt.Sprint("revised/", i), Blob: s.content(`"r"`),
				ContentType: "text/plain",
			},
			&work.SubmitWorkspace{Workspace: workspace, Summary: "one more"},
		} {
			if _, err := s.do(w.Agent, command); err != nil {
				return s.refusal(err)
			}
		}
	}
	return "ok"
}

// praise leaves many reviews of a revision.
func (s *script) praise(revision, count string) string {
	n, _ := strconv.Atoi(count)
	for nth := range n {
		_, err := s.do(agent(fmt.Sprint("fan", nth/20)), &work.ReviewContribution{
			Contribution: s.contribution(revision), Revision: s.revision(revision),
			Verdict: work.VerdictApprove,
		})
		if err != nil {
			return s.refusal(err)
		}
	}
	return "ok"
}
