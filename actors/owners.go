package actors

import (
	"pws/internal/id"
	"pws/work"
)

// owned is a thing that is reached by its own ID, with its project.
type owned struct {
	thing  id.ID
	handle *handle
}

// Owner implements api.Engine.
func (e *Engine) Owner(thing id.ID) (project id.ID, ok bool) {
	h, ok := e.owners.Get(thing)
	if !ok {
		return id.ID{}, false
	}
	return h.id, true
}

// own takes in what events have made, and keeps it for the next snapshot.
func (e *Engine) own(h *handle, events []work.Event) {
	for _, event := range events {
		if thing, ok := work.Made(event); ok && e.owners.Set(thing, h) {
			e.unsaved.Lock()
			e.unsaved.owned = append(e.unsaved.owned, owned{thing, h})
			e.unsaved.Unlock()
		}
	}
}
