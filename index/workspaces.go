package index

import (
	"slices"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// OwnWorkspace is a workspace of an agent and its project.
type OwnWorkspace struct{ Workspace, Project id.ID }

// Workspaces maps agents to the workspaces that they have opened, in any status. It does not know
// read permissions. It is safe for concurrent use.
type Workspaces struct {
	mu struct {
		sync.RWMutex
		// of holds the workspaces of each agent, sorted by ID.
		of map[id.ID][]OwnWorkspace
	}
}

// NewWorkspaces makes an empty index.
func NewWorkspaces() *Workspaces {
	w := new(Workspaces)
	w.mu.of = map[id.ID][]OwnWorkspace{}
	return w
}

func byWorkspace(a, b OwnWorkspace) int { return a.Workspace.Compare(b.Workspace) }

// Add records that an agent has opened a workspace. Adding it again has no effect.
func (w *Workspaces) Add(agent id.ID, one OwnWorkspace) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.mu.of[agent]
	at, known := slices.BinarySearchFunc(list, one, byWorkspace)
	switch {
	case known:
		return
	case at == len(list):
		list = append(list, one)
	default:
		list = slices.Insert(slices.Clip(slices.Clone(list)), at, one)
	}
	w.mu.of[agent] = list
}

// Of returns the workspaces of an agent, the newest first.
func (w *Workspaces) Of(agent id.ID) []OwnWorkspace {
	w.mu.RLock()
	defer w.mu.RUnlock()
	list := slices.Clone(w.mu.of[agent])
	slices.Reverse(list)
	return list
}

// Drop removes a workspace of a project that was erased.
func (w *Workspaces) Drop(agent, workspace id.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Readers may hold the old list.
	kept := slices.DeleteFunc(slices.Clone(w.mu.of[agent]), func(one OwnWorkspace) bool {
		return one.Workspace == workspace
	})
	if w.mu.of[agent] = kept; len(kept) == 0 {
		delete(w.mu.of, agent)
	}
}

// Kinds implements Projection.
func (w *Workspaces) Kinds() []work.Kind { return kindsOf(new(work.WorkspaceOpened)) }

// Update implements Projection.
func (w *Workspaces) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		next.Workspaces(func(one *work.Workspace) bool {
			w.Add(one.Agent, OwnWorkspace{Workspace: one.ID, Project: next.ID})
			return true
		})
		return
	}
	for _, event := range events {
		opened, ok := event.(*work.WorkspaceOpened)
		if !ok {
			continue
		}
		if one, ok := next.Workspace(opened.ID); ok {
			w.Add(one.Agent, OwnWorkspace{Workspace: one.ID, Project: next.ID})
		}
	}
}

// Append implements Projection:
//
//	workspaces  until the end, in the order in which they were opened, each: 16 bytes workspace,
//	            16 bytes agent
func (w *Workspaces) Append(out []byte, p *work.Project) []byte {
	p.Workspaces(func(one *work.Workspace) bool {
		out = append(append(out, one.ID[:]...), one.Agent[:]...)
		return true
	})
	return out
}

// Restore implements Projection.
func (w *Workspaces) Restore(c *Card, part *disk.Reader) error {
	for part.Len() > 0 {
		workspace, agent := id.ID(part.Fixed(16)), id.ID(part.Fixed(16))
		w.Add(agent, OwnWorkspace{Workspace: workspace, Project: c.Project})
	}
	return nil
}
