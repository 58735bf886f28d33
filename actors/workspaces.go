package actors

import (
	"fmt"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// WorkspacesOf implements api.Engine.
func (e *Engine) WorkspacesOf(agent id.ID) []index.OwnWorkspace { return e.workspaces.Of(agent) }

// followWorkspaces tells the index who has opened a workspace.
func (e *Engine) followWorkspaces(p *work.Project, event work.Event) {
	if opened, ok := event.(*work.WorkspaceOpened); ok {
		if w, ok := p.Workspace(opened.ID); ok {
			e.workspaces.Add(w.Agent, index.OwnWorkspace{Workspace: w.ID, Project: p.ID})
		}
	}
}

// restoreWorkspaces reads whose workspaces snapshots have saved, BEFORE the log behind is read.
// They are chunks of the projects, so that nothing is saved twice.
func (e *Engine) restoreWorkspaces() error {
	for key := range e.sectionKeys(string(rune(work.WorkspaceChunk))) {
		data, _, _, err := e.snapshot.Read(key)
		if err != nil {
			return err
		}
		project := id.ID([]byte(key[1 : 1+len(id.ID{})]))
		list, err := work.DecodeWorkspaceAgents(data)
		if err != nil {
			return fmt.Errorf("workspaces of project %s: %w", project.Format(id.Project), err)
		}
		for _, one := range list {
			e.workspaces.Add(one.Agent, index.OwnWorkspace{
				Workspace: one.Workspace, Project: project,
			})
		}
	}
	return nil
}

// keepWorkspaces takes in what an entry behind the snapshot says of opened workspaces.
func (e *Engine) keepWorkspaces(in *replayed) error {
	for _, stored := range in.entry.events {
		if work.Kind(stored.kind) != work.KindWorkspaceOpened {
			continue
		}
		event, err := work.DecodeEvent(work.KindWorkspaceOpened, stored.data)
		if err != nil {
			return err
		}
		if opened, ok := event.(*work.WorkspaceOpened); ok {
			e.workspaces.Add(in.entry.agent, index.OwnWorkspace{
				Workspace: opened.ID, Project: in.entry.id,
			})
		}
	}
	return nil
}
