package actors

import (
	"fmt"
	"sync"
	"sync/atomic"

	"pws/index"
	"pws/internal/datadir"
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

// Indexes implements api.Engine. The projects that are stale in the indexes of the set are loaded
// BEFORE it returns. A project that cannot be loaded is left out; its fault is logged, and answered
// where the project itself is asked for.
func (e *Engine) Indexes(of index.Set) *index.Views {
	stale := &e.projections.stale
	if stale.sets.Load()&uint32(of) == 0 {
		return &e.projections.of.Views
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
	return &e.projections.of.Views
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

func (e *Engine) cardsSaved() bool { return index.Set(e.projections.saved.Load()) == index.All }

// readCardsMark reads what the snapshot says of its cards.
func (e *Engine) readCardsMark() error {
	data, _, there, err := e.snapshot.Read(datadir.CardsMark)
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
	all := []byte{byte(index.All >> 8), byte(index.All & 0xff)}
	return writer.Put(datadir.CardsMark, position, all)
}

// saveCard writes the card of a project where it may have changed since it was saved.
func (e *Engine) saveCard(writer *snapshot.Writer, view *published) error {
	key := datadir.CardKey(view.project.ID)
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
	card, _, there, err := e.snapshot.Read(datadir.CardKey(h.id))
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
