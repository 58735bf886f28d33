package actors

import (
	"maps"
	"slices"

	"pws/internal/id"
)

// changes is what one snapshot has to save.
type changes struct {
	handles []*handle
	agents  map[id.ID]struct{}
	reports map[id.ID]struct{}
	// operator says that what operators have set changed.
	operator bool
	// inboxes are the agents whose inboxes changed.
	inboxes map[id.ID]struct{}
	// accounts are those that changed.
	accounts []*account
	// gone are projects whose earlier sections leave the files of the snapshot.
	gone map[id.ID]bool
	// identity is the state that agents and reports belong to: it and they are taken in one moment,
	// for one that changes later is in the next list. It is nil where nothing changed.
	identity *publishedIdentity
	// recent are the contents that are packed first, by agent.
	recent map[id.ID]int64
	// complete says that no project was stale, so that those whose cards lack parts are in the lists.
	complete bool
	// fault is an error of a step while the lists were taken.
	fault error
}

func (s *saver) markDirty(h *handle) {
	if h.dirty.Swap(true) {
		return
	}
	s.dirty.Lock()
	s.dirty.handles = append(s.dirty.handles, h)
	s.dirty.Unlock()
}

// drainDirty takes the lists of what changed. The log's position was read BEFORE, so that all it
// covers is in these lists or in the snapshot already.
func (s *saver) drainDirty() changes {
	e := s.engine
	complete := e.projections.allKnown()
	s.dirty.Lock()
	taken := changes{handles: s.dirty.handles, complete: complete}
	s.dirty.handles = nil
	s.dirty.Unlock()
	// What fails here is only noted: the lists are given back where the save ends.
	taken.fault = s.hook.after("projects")
	// A start reads what belongs to many projects from sections in the order of their keys faster.
	slices.SortFunc(taken.handles, func(a, b *handle) int { return a.id.Compare(b.id) })
	for _, h := range taken.handles {
		h.dirty.Store(false)
	}
	taken.note(s.hook.after("marks of projects"))
	taken.inboxes = e.inbox.DrainDirty()
	taken.note(s.hook.after("inboxes"))
	taken.accounts = e.accounts.drainDirty()
	taken.note(s.hook.after("accounts"))
	s.takeIdentity(&taken)
	taken.note(s.hook.after("identity"))
	return taken
}

func (s *saver) takeIdentity(taken *changes) {
	cell := &s.engine.identity
	cell.dirty.Lock()
	defer cell.dirty.Unlock()
	if cell.dirty.any {
		taken.agents, taken.identity = cell.dirty.agents, cell.view.Load()
		taken.reports, taken.operator = cell.dirty.reports, cell.dirty.operator
	}
	cell.dirty.agents, cell.dirty.reports = nil, nil
	cell.dirty.operator, cell.dirty.any = false, false
}

// note keeps the first error.
func (c *changes) note(err error) {
	if c.fault == nil {
		c.fault = err
	}
}

func (s *saver) requeueDirty(taken changes) {
	e := s.engine
	for _, h := range taken.handles {
		s.markDirty(h)
	}
	e.inbox.RequeueDirty(taken.inboxes)
	e.accounts.requeueDirty(taken.accounts)
	e.recents.requeue(taken.recent)
	cell := &e.identity
	cell.dirty.Lock()
	defer cell.dirty.Unlock()
	cell.dirty.any = cell.dirty.any || taken.identity != nil
	cell.dirty.operator = cell.dirty.operator || taken.operator
	if cell.dirty.agents == nil {
		cell.dirty.agents = map[id.ID]struct{}{}
	}
	if cell.dirty.reports == nil {
		cell.dirty.reports = map[id.ID]struct{}{}
	}
	maps.Copy(cell.dirty.agents, taken.agents)
	maps.Copy(cell.dirty.reports, taken.reports)
}
