package index

import (
	"encoding/binary"
	"sync"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// Watched is a project that an agent watches.
type Watched struct {
	Project id.ID
	// Since is Unix milliseconds.
	Since int64
}

// watch is one agent that watches one project.
type watch struct {
	agent id.ID
	Watched
}

func byAgent(a, b watch) bool {
	if by := a.agent.Compare(b.agent); by != 0 {
		return by < 0
	}
	return a.Project.Compare(b.Project) < 0
}

// Watches maps agents to the projects that they watch. It does not know read permissions: an agent
// that may no longer read a project still watches it. It is safe for concurrent use.
type Watches struct {
	mu struct {
		sync.RWMutex
		order sorted.Set[watch]
	}
}

// NewWatches makes an empty index.
func NewWatches() *Watches {
	w := new(Watches)
	w.mu.order = sorted.By(byAgent, sorted.Degree).New()
	return w
}

// Set records that an agent watches a project from a given time on.
func (w *Watches) Set(agent id.ID, watched Watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.order.Set(watch{agent, watched})
}

// Drop records that an agent no longer watches a project.
func (w *Watches) Drop(agent, project id.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.order.Delete(watch{agent, Watched{Project: project}})
}

// Of returns the projects that an agent watches, sorted by ID.
func (w *Watches) Of(agent id.ID) (found []Watched) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	w.mu.order.Ascend(watch{agent: agent}, func(one watch) bool {
		if one.agent == agent {
			found = append(found, one.Watched)
		}
		return one.agent == agent
	})
	return found
}

// Watching reports whether an agent watches a project.
func (w *Watches) Watching(agent, project id.ID) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, known := w.mu.order.Get(watch{agent, Watched{Project: project}})
	return known
}

// Kinds implements Projection.
func (w *Watches) Kinds() []work.Kind {
	return kindsOf(new(work.ProjectWatched), new(work.ProjectUnwatched))
}

// Update implements Projection.
func (w *Watches) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		next.Watchers(func(one work.Watcher) bool {
			w.Set(one.Agent, Watched{Project: next.ID, Since: one.Since})
			return true
		})
		return
	}
	for _, event := range events {
		switch event := event.(type) {
		case *work.ProjectWatched:
			if since, watching := next.Watch(event.Agent); watching {
				w.Set(event.Agent, Watched{Project: next.ID, Since: since})
			}
		case *work.ProjectUnwatched:
			w.Drop(event.Agent, next.ID)
		}
	}
}

// Append implements Projection:
//
//	watchers  until the end, sorted by ID, each: 16 bytes agent, uvarint Unix milliseconds since
//	          when
func (w *Watches) Append(out []byte, p *work.Project) []byte {
	p.Watchers(func(one work.Watcher) bool {
		out = binary.AppendUvarint(append(out, one.Agent[:]...), uint64(one.Since))
		return true
	})
	return out
}

// Restore implements Projection.
func (w *Watches) Restore(c *Card, part *disk.Reader) error {
	for part.Len() > 0 {
		agent, since := id.ID(part.Fixed(16)), int64(part.Uvarint())
		w.Set(agent, Watched{Project: c.Project, Since: since})
	}
	return nil
}
