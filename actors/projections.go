package actors

import (
	"fmt"
	"sync"
	"sync/atomic"

	"pws/api"
	"pws/index"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// projections are the indexes over projects, and the projects that they do not know yet.
type projections struct {
	of *index.Projections
	// saved are the indexes of which the snapshot has the parts of all projects: an older program
	// has not saved those of newer indexes. It is written by saves, one at a time.
	saved atomic.Uint32
	stale struct {
		// sets has all that any handle in the list is stale in, and possibly more.
		sets atomic.Uint32
		// failed says that a stale project could not be loaded, so that it has no complete card.
		failed atomic.Bool
		sync.Mutex
		handles []*handle
	}
}

// allKnown reports whether the indexes know all projects.
func (p *projections) allKnown() bool {
	return p.stale.sets.Load() == 0 && !p.stale.failed.Load()
}

// fresh gives the indexes to one who asks those of a set, AFTER the projects that are stale in them
// were loaded. A project that cannot be loaded is left out; its fault is logged and answered where
// the project itself is asked for.
func (e *Engine) fresh(of index.Set) *index.Projections {
	stale := &e.projections.stale
	if stale.sets.Load()&uint32(of) == 0 {
		return e.projections.of
	}
	stale.Lock()
	defer stale.Unlock()
	var due, rest []*handle
	sets := index.Set(0)
	for _, h := range stale.handles {
		h.mu.Lock()
		if h.mu.stale&of != 0 {
			due = append(due, h)
		} else if h.mu.stale != 0 {
			rest, sets = append(rest, h), sets|h.mu.stale
		}
		h.mu.Unlock()
	}
	_ = inParallel(len(due), func(at int) error {
		h := due[at]
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, err := e.load(h); err != nil {
			stale.failed.Store(true)
		}
		return nil
	})
	stale.handles = rest
	stale.sets.Store(uint32(sets))
	return e.projections.of
}

// markStale notes at a start that a project has to be loaded before the indexes of a set know it.
func (e *Engine) markStale(h *handle, in index.Set) {
	if in == 0 {
		return
	}
	stale := &e.projections.stale
	if h.mu.stale == 0 {
		stale.handles = append(stale.handles, h)
	}
	h.mu.stale |= in
	stale.sets.Store(stale.sets.Load() | uint32(in))
}

// takeIn gives the first state of a loaded project to the indexes that do not know it, BEFORE
// anybody can publish another. The handle's lock is held.
func (e *Engine) takeIn(h *handle, p *work.Project) {
	if h.mu.stale == 0 {
		return
	}
	e.projections.of.Load(h.mu.stale, p)
	h.mu.stale = 0
	if !e.cardsSaved() {
		e.markDirty(h)
	}
}

// PublicTasks implements api.Engine.
func (e *Engine) PublicTasks(
	status work.TaskStatus, after api.TaskPosition, limit int,
) []api.TaskPlace {
	tasks := e.fresh(index.ForTasks).Tasks
	places := tasks.Public(status, e.Now(), index.TaskPosition(after), limit)
	found := make([]api.TaskPlace, len(places))
	for at, place := range places {
		found[at] = api.TaskPlace{
			TaskPosition: api.TaskPosition(place.TaskPosition), Project: place.Project,
		}
	}
	return found
}

// OwnWork implements api.Engine.
func (e *Engine) OwnWork(agent id.ID) []id.ID {
	return e.fresh(index.ForTasks).Tasks.Own(agent, e.Now())
}

// SkilledTasks implements api.Engine.
func (e *Engine) SkilledTasks(term string, limit int) []index.TaskPlace {
	tasks := e.fresh(index.ForTasks | index.ForSubjects).Tasks
	return tasks.Skilled(index.FoldTerm(term), e.Now(), limit)
}

// WorkingProjects implements api.Engine.
func (e *Engine) WorkingProjects(term string, limit int) []id.ID {
	tasks := e.fresh(index.ForTasks | index.ForSubjects).Tasks
	return tasks.Working(index.FoldTerm(term), e.Now(), limit)
}

// ProjectsAbout implements api.Engine.
func (e *Engine) ProjectsAbout(term string, limit int) []id.ID {
	return e.fresh(index.ForSubjects).Subjects.Find(index.FoldTerm(term), limit)
}

// WaitingReviews implements api.Engine.
func (e *Engine) WaitingReviews(term string, agent id.ID, limit int) []index.ReviewPlace {
	return e.fresh(index.ForReviews).Reviews.Public(index.FoldTerm(term), agent, limit)
}

// OwnReviews implements api.Engine.
func (e *Engine) OwnReviews(agent id.ID, limit int) []index.ReviewPlace {
	return e.fresh(index.ForReviews).Reviews.Own(agent, limit)
}

// Known implements api.Engine.
func (e *Engine) Known(agent id.ID) []index.Known {
	return e.fresh(index.ForProfiles).Profiles.Of(agent)
}

// Linked implements api.Engine.
func (e *Engine) Linked(link index.Link, after id.ID, limit int) []id.ID {
	return e.fresh(index.ForLinks).Links.Projects(link, after, limit)
}

// CountLinked implements api.Engine.
func (e *Engine) CountLinked(link index.Link, agent id.ID) int {
	return e.fresh(index.ForLinks).Links.Count(link, agent)
}

// Watched implements api.Engine.
func (e *Engine) Watched(agent id.ID) []index.Watched {
	return e.fresh(index.ForWatches).Watches.Of(agent)
}

// Watching implements api.Engine.
func (e *Engine) Watching(agent, project id.ID) bool {
	return e.fresh(index.ForWatches).Watches.Watching(agent, project)
}

// WorkspacesOf implements api.Engine.
func (e *Engine) WorkspacesOf(agent id.ID) []index.OwnWorkspace {
	return e.fresh(index.ForWorkspaces).Workspaces.Of(agent)
}

// CountPublic implements api.Engine.
func (e *Engine) CountPublic() (projects, tasks int) {
	of := e.fresh(index.ForListing | index.ForTasks)
	return of.Listing.Len(), of.Tasks.CountPublic(work.TaskOpen, e.Now())
}

// cardsMark is the key of a section that names the indexes whose parts are in the cards of ALL
// projects: 2 bytes, the set, big-endian.
const cardsMark = "s"

func cardKey(project id.ID) string { return "s" + string(project[:]) }

func (e *Engine) cardsSaved() bool { return index.Set(e.projections.saved.Load()) == index.All }

// readCardsMark reads what the snapshot says of its cards.
func (e *Engine) readCardsMark() error {
	data, _, there, err := e.snapshot.Read(cardsMark)
	if err == nil && there {
		if len(data) != 2 {
			return fmt.Errorf("the mark of the cards has %d bytes", len(data))
		}
		e.projections.saved.Store(uint32(data[0])<<8 | uint32(data[1]))
	}
	return err
}

// saveCardsMark notes that the cards of all projects are complete.
func (e *Engine) saveCardsMark(writer *snapshot.Writer, position uint64) error {
	return writer.Put(cardsMark, position, []byte{byte(index.All >> 8), byte(index.All & 0xff)})
}

// saveCard writes the card of a project where it may have changed since it was saved.
func (e *Engine) saveCard(writer *snapshot.Writer, view *published) error {
	key := cardKey(view.project.ID)
	saved, there := e.snapshot.SectionPosition(key)
	if there && view.cardAt <= saved && e.cardsSaved() {
		return nil
	}
	return writer.Put(key, view.position, e.projections.of.EncodeCard(view.project))
}

// restoreCards reads the saved cards into the indexes that are not stale. Projects whose cards lack
// parts become stale in these.
func (e *Engine) restoreCards() error {
	lacking := index.All &^ index.Set(e.projections.saved.Load())
	var handles []*handle
	e.handles.Range(func(_ id.ID, h *handle) bool {
		if h.stored.Load() {
			e.markStale(h, lacking)
			handles = append(handles, h)
		}
		return true
	})
	return inParallel(len(handles), func(at int) error { return e.restoreCard(handles[at]) })
}

func (e *Engine) restoreCard(h *handle) error {
	known := index.All &^ h.mu.stale
	if known == 0 {
		return nil
	}
	card, _, there, err := e.snapshot.Read(cardKey(h.id))
	if err == nil && !there {
		err = errSectionMissing
	}
	if err == nil {
		err = e.projections.of.Restore(known, h.id, card)
	}
	if err != nil {
		return fmt.Errorf("card of project %s: %w", h.id.Format(id.Project), err)
	}
	return nil
}

// checkSavedCard compares a saved project with its card.
func (r *rebuilder) checkSavedCard(name string, p *work.Project) {
	if !r.engine.cardsSaved() {
		// The next save writes it anew.
		return
	}
	card, _, _, err := r.engine.snapshot.Read(cardKey(p.ID))
	if err != nil {
		// A damaged section is known already.
		return
	}
	differ, err := r.engine.projections.of.Compare(card, p)
	if err != nil {
		r.damage.addf("%s: its card: %w", name, err)
	} else if differ != 0 {
		r.damage.addf("%s: its card has other %s than the project", name, differ)
	}
}

// checkCards finds cards of projects that are not saved themselves.
func (r *rebuilder) checkCards() {
	for key := range r.engine.sectionKeys(cardsMark) {
		if key == cardsMark {
			continue
		}
		project := id.ID([]byte(key[1:]))
		if _, saved := r.engine.snapshot.SectionPosition(headKey(project)); !saved {
			r.damage.addf("project %s: its card is saved, and there is no section of it",
				project.Format(id.Project))
		}
	}
}
