package index

import (
	"slices"
	"sync"

	"pws/internal/id"
)

// OwnWorkspace is a workspace of an agent, and the project that it is in.
type OwnWorkspace struct{ Workspace, Project id.ID }

// Workspaces leads from agents to the workspaces that they have opened, whatever became of those.
// It does not know who may read what. It is safe for concurrent use.
type Workspaces struct {
	mu struct {
		sync.RWMutex
		// of holds the workspaces of each agent in the order of their IDs. A list that was given out is
		// not written any more, but behind its end.
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

// Add says that an agent has opened a workspace. Saying it again changes nothing.
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

// Of names the workspaces of an agent, the newest first.
func (w *Workspaces) Of(agent id.ID) []OwnWorkspace {
	w.mu.RLock()
	defer w.mu.RUnlock()
	list := slices.Clone(w.mu.of[agent])
	slices.Reverse(list)
	return list
}
