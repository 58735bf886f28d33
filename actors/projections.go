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
	indexes *index.Projections
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
		return &e.projections.indexes.Views
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
	return &e.projections.indexes.Views
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
	e.projections.indexes.Load(h.mu.stale, p)
	h.mu.stale = 0
	if !e.cardsSaved() {
		e.saver.markDirty(h)
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

// cardsTogether is how many bytes of cards a snapshot writes next to each other: a start reads all
// cards, and nothing else of projects.
const cardsTogether = 1 << 20

// cardsWriter collects cards while a snapshot writes projects.
type cardsWriter struct {
	waiting []waitingCard
	bytes   int
}

type waitingCard struct {
	key      string
	position uint64
	card     []byte
}

// saveCard takes the card of a project where it may have changed since it was saved.
func (e *Engine) saveCard(to *cardsWriter, writer *snapshot.Writer, view *published) error {
	key := datadir.CardKey(view.project.ID)
	saved, there := e.snapshot.SectionPosition(key)
	if there && view.cardAt <= saved && e.cardsSaved() {
		return nil
	}
	card := e.projections.indexes.EncodeCard(view.project)
	to.waiting = append(to.waiting, waitingCard{key, view.position, card})
	if to.bytes += len(card); to.bytes < cardsTogether {
		return nil
	}
	return to.flush(writer)
}

// flush writes the cards that wait.
func (c *cardsWriter) flush(writer *snapshot.Writer) error {
	for _, one := range c.waiting {
		if err := writer.Put(one.key, one.position, one.card); err != nil {
			return err
		}
	}
	c.waiting, c.bytes = c.waiting[:0], 0
	return nil
}

// restoreCards reads the saved cards of projects, sorted by ID, into the indexes in which they are
// not stale. Projects whose cards lack parts become stale in these, and those whose cards are
// damaged in all: what a card has is in the project, too.
func (e *Engine) restoreCards(stored []*handle) error {
	if lacking := index.All &^ index.Set(e.projections.saved.Load()); lacking != 0 {
		for _, h := range stored {
			e.markStale(h, lacking)
		}
	}
	allWanted, err := e.matchCards(stored)
	if err != nil {
		return err
	}
	var spoiling sync.Mutex
	spoiled := map[id.ID]error{}
	restore := func(card snapshot.Section) error {
		project, known := datadir.IDOf(string(card.Key)), index.All
		if !allWanted {
			// Not looked up where it changes nothing: handles are all over the memory.
			h, there := e.handles.Load(project)
			if !there || !h.stored.Load() {
				return nil
			}
			known &^= h.mu.stale
		}
		if known == 0 {
			return nil
		}
		if err := e.projections.indexes.Restore(known, project, card.Data); err != nil {
			return cardFault(project, err)
		}
		return nil
	}
	err = e.snapshot.ScanAround(datadir.CardPrefix, datadir.KeyBytes, restore,
		func(key []byte, err error) error {
			spoiling.Lock()
			defer spoiling.Unlock()
			spoiled[datadir.IDOf(string(key))] = err
			return nil
		})
	for project, fault := range spoiled {
		e.replaceCard(project, fault)
	}
	return err
}

// replaceCard has the next snapshot rebuild a damaged card. The indexes load the project where they
// need it. It is called at a start.
func (e *Engine) replaceCard(project id.ID, fault error) {
	h, there := e.handles.Load(project)
	if !there || !h.stored.Load() {
		return
	}
	e.log.Warn("what the indexes have saved of a project is damaged; it is rebuilt from the project",
		"project", project.Format(id.Project), "error", fault)
	if h.mu.tail == nil {
		h.mu.tail = new(logTail)
	}
	h.mu.tail.cardLost = true
	e.markStale(h, index.All)
	e.saver.markDirty(h)
}

// matchCards compares the keys of cards with the projects. All are wanted if no project is stale
// and each card has a project. A project without a card, which is not stale in all indexes, is an
// error.
func (e *Engine) matchCards(stored []*handle) (allWanted bool, err error) {
	allWanted = e.projections.stale.sets.Load() == 0
	missing := func(until int) error {
		for _, h := range stored[:until] {
			if h.mu.stale != index.All {
				return cardFault(h.id, errSectionMissing)
			}
		}
		return nil
	}
	for key := range e.sectionKeys(datadir.CardPrefix) {
		if key == datadir.CardsMark || datadir.IsChunk(key) {
			continue
		}
		project, before := datadir.IDOf(key), 0
		for before < len(stored) && stored[before].id.Compare(project) < 0 {
			before++
		}
		if err := missing(before); err != nil {
			return false, err
		}
		stored = stored[before:]
		if len(stored) > 0 && stored[0].id == project {
			stored = stored[1:]
		} else {
			allWanted = false
		}
	}
	return allWanted, missing(len(stored))
}

func cardFault(project id.ID, err error) error {
	return fmt.Errorf("card of project %s: %w", project.Format(id.Project), err)
}
