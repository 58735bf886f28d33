package actors

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

// createCommunity makes a project that is written to in turns.
func (s *simulation) createCommunity(owner id.ID) id.ID {
	project, content := s.e.stamp(owner).ID(0), blobOf("community")
	mustDo(s.t, s.e, project, owner, &work.CreateProject{
		ID: project, Kind: work.Community, About: work.About{
			Name: "community", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT",
		},
		Files: []work.Operation{{
			Action: work.Create, Path: "a/0", Content: &content, ContentType: "text/plain",
		}},
	})
	return project
}

// space is a workspace that is not over, mostly the last one; nil where there is none.
func (s *simulation) space(p *work.Project) (drawn *work.Workspace) {
	p.Workspaces(func(w *work.Workspace) bool {
		if !w.Status.Final() && (drawn == nil || s.pick(3) > 0) {
			drawn = w
		}
		return true
	})
	return drawn
}

func (s *simulation) plan(p *work.Project, w *work.Workspace) *work.MergePlan {
	if w == nil {
		return nil
	}
	plan, err := p.PlanMerge(w, s.e.Blob, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

// spaceCommand is a random command about workspaces, turns and contributions, and who gives it,
// mostly the author.
func (s *simulation) spaceCommand(p *work.Project) (command work.Command, who id.ID) {
	w := s.space(p)
	who = s.agents[s.pick(len(s.agents))].session.AgentID
	if w == nil || s.pick(12) == 0 {
		if p.Kind == work.Community {
			return &work.TakeTurn{Plan: s.plan(p, p.CommunityWorkspace(who, 0))}, who
		}
		return new(work.OpenWorkspace), who
	}
	if s.pick(8) > 0 {
		who = w.Agent
	}
	path := fmt.Sprintf("%c/%d", 'a'+s.pick(3), s.pick(4))
	switch kind := s.pick(14); {
	case kind < 5:
		content := blobOf(fmt.Sprintf("line %d\nline\nline %d\n", s.pick(3), s.steps))
		return &work.WriteWorkspaceFile{
			Workspace: w.ID, Path: path, Blob: content, ContentType: "text/plain",
		}, who
	case kind == 5:
		return &work.DeleteWorkspaceFile{Workspace: w.ID, Path: path}, who
	case kind == 6:
		moved := fmt.Sprint("space/", s.pick(9))
		return &work.RenameWorkspaceFile{Workspace: w.ID, Path: path, NewPath: moved}, who
	case kind < 9:
		return &work.RefreshWorkspace{Workspace: w.ID, Plan: s.plan(p, w)}, who
	case p.Kind == work.Community && kind < 11:
		return &work.TakeTurn{Plan: s.plan(p, p.CommunityWorkspace(who, 0))}, who
	case p.Kind == work.Community:
		submit := &work.SubmitTurn{Summary: "done"}
		if turn, held := p.Turn(s.e.Now()); held {
			w, _ = p.Workspace(turn.Workspace)
			who, submit.Plan = turn.Agent, s.plan(p, w)
		}
		return submit, who
	case kind < 11:
		return &work.SubmitWorkspace{Workspace: w.ID, Summary: "done"}, who
	}
	return s.decision(p, who)
}

// decision is one on the newest contribution.
func (s *simulation) decision(p *work.Project, who id.ID) (work.Command, id.ID) {
	var newest *work.Contribution
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		newest = c
		return false
	})
	if newest == nil {
		return new(work.OpenWorkspace), who
	}
	switch s.pick(5) {
	case 0:
		return &work.RejectContribution{Contribution: newest.ID, Reason: "no"}, p.Owner
	case 1:
		return &work.WithdrawContribution{Contribution: newest.ID, Reason: "no"}, newest.Author
	case 2:
		return &work.ReviewContribution{
			Contribution: newest.ID, Revision: newest.Current(), Verdict: work.VerdictApprove,
		}, who
	}
	plan, err := p.PlanAcceptance(p.CurrentRevision(newest), s.e.Blob, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &work.AcceptContribution{
		Contribution: newest.ID, Revision: newest.Current(), Plan: plan,
	}, p.Owner
}

// checkReach fails a simulation that has hardly tried what it should.
func (s *simulation) checkReach() {
	spaces, over, contributions, decided := 0, 0, 0, 0
	for _, project := range s.projects {
		p := viewOf(s.t, s.e, project)
		p.Workspaces(func(w *work.Workspace) bool {
			spaces++
			if w.Status.Final() {
				over++
			}
			return true
		})
		p.Contributions(id.ID{}, func(c *work.Contribution) bool {
			contributions++
			if c.Status.Final() {
				decided++
			}
			return true
		})
	}
	s.t.Logf("%d workspaces, %d over, %d contributions, %d decided, %d of %d projects of bundles",
		spaces, over, contributions, decided, s.copies, len(s.projects))
	if spaces < 5 || over+contributions == 0 {
		s.t.Error("too little was tried to be a test")
	}
}
