package work_test

import (
	"fmt"
	"strings"

	"pws/internal/id"
	"pws/work"
	"pws/work/edit"
)

// moderator draws commands for a project with guests, some of whom are blocked. Each text that it
// writes occurs once.
type moderator struct {
	source
	w     *world
	texts int
}

func (m *moderator) secret() string {
	m.texts++
	return fmt.Sprintf("%s-%d.", secret, m.texts)
}

func (m *moderator) someone() id.ID {
	blocks := m.w.project.Blocks()
	if len(blocks) > 0 && m.source(10) == 0 {
		return blocks[m.source(len(blocks))].Agent
	}
	return agent([]string{"ann", "eve", "mal", "bob", "carl", "ann"}[m.source(6)])
}

// command draws a command and who sends it.
func (m *moderator) command() (who id.ID, command work.Command) {
	p := m.w.project
	who = m.someone()
	if p.End() != nil && m.source(2) == 0 {
		return []id.ID{p.Owner, p.Owner, who}[m.source(3)], new(work.RestoreProject)
	}
	if p.Status == work.Archived && m.source(2) == 0 {
		return p.Owner, &work.UpdateProject{Status: work.Active}
	}
	switch kind := m.source(20); {
	case kind < 3:
		return m.moderation(who)
	case kind < 5:
		return m.deletion(who)
	case kind < 8:
		return who, m.record()
	case kind < 15:
		return m.inWorkspace(who)
	case kind < 18:
		return p.Owner, m.files()
	}
	command = m.source.command(m.w)
	if _, expires := command.(*work.ExpireClaims); expires {
		who = id.ID{}
	}
	return who, command
}

// moderation blocks, unblocks, ends the turn, deletes the project, or lets someone claim a task.
func (m *moderator) moderation(who id.ID) (id.ID, work.Command) {
	other := agent([]string{"eve", "mal", "dora", "bob"}[m.source(4)])
	switch m.source(9) {
	case 8:
		return []id.ID{m.w.project.Owner, who}[m.source(2)], &work.DeleteProject{IfMatch: anyState}
	case 0:
		return agent("ann"), &work.BlockAgent{Agent: other, Reason: m.secret()}
	case 1:
		return agent("ann"), &work.UnblockAgent{Agent: other}
	case 2:
		return who, new(work.EndTurn)
	}
	return who, &work.ClaimTask{Task: m.task(m.w)}
}

// record writes something that can be deleted.
func (m *moderator) record() work.Command {
	switch m.source(5) {
	case 0:
		left := work.Continuation{
			Summary: m.secret(), Blockers: []string{m.secret()},
			Decisions: []work.Note{{Text: m.secret(), Reason: m.secret()}},
		}
		if m.source(3) == 0 {
			left.NextActions = []string{m.secret() + strings.Repeat("n", 3000)}
		}
		return &work.CreateHandoff{Continuation: left}
	case 1:
		finding := work.Finding{
			Entity: m.w.project.Entity(), Kind: work.VerificationKind(1 + m.source(2)),
			Outcome: work.Outcome(1 + m.source(3)), Summary: m.secret(), Method: m.secret(),
			Evidence: []string{m.secret()}, Source: m.secret(), Reference: m.secret(),
		}
		if m.source(3) == 0 {
			head := m.w.project.Head().ID
			finding.Entity = work.Entity{Type: work.EntityChangeset, ID: head}
		}
		return &work.CreateVerification{Finding: finding}
	case 2:
		return &work.CreateDiscussion{Title: m.secret(), Body: m.secret()}
	}
	return &work.AddComment{Discussion: m.discussion(), Body: m.secret()}
}

func (m *moderator) discussion() (found id.ID) {
	nth := m.source(3)
	m.w.project.Discussions(id.ID{}, func(d *work.Discussion) bool {
		found = d.ID
		nth--
		return nth >= 0
	})
	return found
}

func (m *moderator) contribution() *work.Contribution {
	all := contributionsOf(m.w.project)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1-m.source(min(3, len(all)))]
}

// deletion deletes a record: half of the time its author sends the command.
func (m *moderator) deletion(who id.ID) (id.ID, work.Command) {
	p, reason := m.w.project, m.secret()
	by := func(author id.ID) id.ID { return []id.ID{p.Owner, author, who}[m.source(3)] }
	switch m.source(6) {
	case 0:
		if all := p.Handoffs(); len(all) > 0 {
			one := all[len(all)-1-m.source(min(3, len(all)))]
			return by(one.Author), &work.DeleteHandoff{Handoff: one.ID, Reason: reason}
		}
	case 1:
		if all := recordsOf(p); len(all) > 0 {
			one := all[len(all)-1-m.source(min(4, len(all)))]
			return by(one.Author), &work.DeleteVerification{Verification: one.ID, Reason: reason}
		}
	case 2:
		if one, ok := p.Discussion(m.discussion()); ok {
			return by(one.Author), &work.DeleteDiscussion{Discussion: one.ID, Reason: reason}
		}
	case 3:
		if _, one := p.CommentCount(m.discussion()); one != nil {
			return by(one.Author), &work.DeleteComment{
				Discussion: one.Discussion, Comment: one.ID, Reason: reason,
			}
		}
	case 4:
		for _, c := range contributionsOf(p) {
			if one := undeletedReview(c); one != nil {
				return by(one.Author), &work.DeleteReview{
					Contribution: c.ID, Review: one.ID, Reason: reason,
				}
			}
		}
	}
	if c := m.contribution(); c != nil && m.source(3) == 0 {
		return by(c.Author), &work.DeleteContribution{Contribution: c.ID, Reason: reason}
	}
	return who, m.record()
}

// file is a file that exists, if there is one.
func (m *moderator) file() (found string) {
	nth := m.source(4)
	m.w.project.Files("", func(f work.FileInfo) bool {
		found = f.Path
		nth--
		return nth >= 0
	})
	return found
}

func undeletedReview(c *work.Contribution) *work.Review {
	for _, review := range c.Reviews {
		if !review.Deleted.Is() {
			return review
		}
	}
	return nil
}

// files is a change of files: edits, whole folders, or the undoing of an earlier change.
func (m *moderator) files() work.Command {
	p, editor := m.w.project, work.NewEditor(m.w.read)
	edits := []edit.Edit{{Old: fmt.Sprint(m.source(4)), New: fmt.Sprint(m.source(4)), All: true}}
	switch m.source(10) {
	case 0, 3:
		return work.EditFile{Path: m.file(), Edits: edits}.Apply(p, editor)
	case 1, 2:
		c := p.Head()
		if m.source(2) == 0 {
			c = p.ChangesetNumber(uint32(1 + m.source(p.ChangesetsCount())))
		}
		plan, err := p.PlanReversal(c, m.w.read, nil)
		if err != nil {
			panic(err)
		}
		return &work.RevertChangeset{Changeset: c.ID, Plan: plan}
	case 4, 5, 6, 7:
		return &work.PutFile{Path: m.path(), Blob: *m.content(), ContentType: "text/plain"}
	}
	command := &work.PublishChangeset{Base: p.Head().ID, Message: "several"}
	for range 1 + m.source(2) {
		step := m.operation()
		switch folder := []string{"a", "a/b", "c", "e"}[m.source(4)]; m.source(4) {
		case 0:
			step = work.Operation{Action: work.Modify, Path: m.file(), Edits: edits}
		case 1:
			step = work.Operation{Action: work.Delete, Path: folder, Folder: true}
		case 2:
			step = work.Operation{
				Action: work.Rename, Path: folder, NewPath: fmt.Sprint("g-", m.source(3)),
				Folder: true,
			}
		}
		command.Operations = append(command.Operations, step)
	}
	command.Operations = p.EditOperations(command.Operations, editor)
	return command
}

// inWorkspace is a step on the way from a workspace to a changeset. Most go with the workspace's
// author.
func (m *moderator) inWorkspace(who id.ID) (id.ID, work.Command) {
	p := m.w.project
	open := p.OpenWorkspacesOf(who, m.w.now)
	if len(open) == 0 {
		if p.Kind == work.Community {
			return who, &work.TakeTurn{}
		}
		if m.source(3) > 0 {
			return who, new(work.OpenWorkspace)
		}
		return m.decision(who)
	}
	space := open[m.source(len(open))]
	switch kind := m.source(12); {
	case kind < 6 && len(space.Files) < 2:
		return who, &work.WriteWorkspaceFile{
			Workspace: space.ID, Path: m.path(), Blob: *m.content(), ContentType: "text/plain",
		}
	case kind < 6 && p.Kind == work.Community:
		return who, &work.SubmitTurn{Summary: "submitted", Plan: m.w.plan(space)}
	case kind < 6:
		return who, &work.SubmitWorkspace{Workspace: space.ID, Summary: m.secret()}
	case kind == 6:
		return who, &work.DeleteWorkspaceFile{Workspace: space.ID, Path: m.path()}
	case kind == 10:
		return who, &work.RenameWorkspaceFile{
			Workspace: space.ID, Path: m.file(), NewPath: m.path(),
		}
	case kind == 7:
		return who, &work.RefreshWorkspace{Workspace: space.ID, Plan: m.w.plan(space)}
	case kind == 8:
		return []id.ID{who, p.Owner}[m.source(2)], &work.CloseWorkspace{Workspace: space.ID}
	case kind == 9 && p.Kind == work.Community:
		return who, &work.TakeTurn{Plan: m.w.plan(p.CommunityWorkspace(who, m.w.now))}
	}
	return m.decision(who)
}

// decision reviews a contribution or decides on it.
func (m *moderator) decision(who id.ID) (id.ID, work.Command) {
	p, c := m.w.project, m.contribution()
	if c == nil {
		return who, m.record()
	}
	switch m.source(6) {
	case 0:
		revision := p.CurrentRevision(c)
		plan, err := p.PlanAcceptance(revision, m.w.read, nil)
		if err != nil {
			panic(err)
		}
		return p.Owner, &work.AcceptContribution{
			Contribution: c.ID, Revision: revision.ID, Plan: plan,
		}
	case 1:
		return p.Owner, &work.RejectContribution{Contribution: c.ID, Reason: m.secret()}
	case 2:
		return c.Author, &work.WithdrawContribution{Contribution: c.ID, Reason: m.secret()}
	}
	review := &work.ReviewContribution{
		Contribution: c.ID, Revision: c.Current(), Verdict: work.Verdict(1 + m.source(3)),
		Body: m.secret(),
	}
	if files := p.CurrentRevision(c).Files; len(files) > 0 {
		review.Comments = []work.ReviewComment{{Path: files[0].Path, Body: m.secret()}}
	}
	return who, review
}
