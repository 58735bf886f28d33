package actors

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"pws/api"
	"pws/blobs"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// damages are the projects or the contents that were found damaged since the start, each with the
// first fault.
type damages[K comparable] struct {
	mu sync.Mutex
	of map[K]error
	// some is whether there are any, for those who read what is not damaged.
	some atomic.Bool
}

// note keeps the first fault of one, and reports whether it is the first.
func (d *damages[K]) note(one K, failed error) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.of[one]; known {
		return false
	}
	if d.of == nil {
		d.of = map[K]error{}
	}
	d.of[one] = failed
	d.some.Store(true)
	return true
}

// clear forgets those that were read, or were purged.
func (d *damages[K]) clear(all ...K) {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range all {
		delete(d.of, one)
	}
	d.some.Store(len(d.of) > 0)
}

// all are those that are noted, in no order.
func (d *damages[K]) all() []K {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.of))
}

func (d *damages[K]) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.of)
}

// isDamage reports whether an error of reading a project is about its data. All others may go away
// by themselves: those of the system, but for a sector that cannot be read, and of the server.
func isDamage(err error) bool {
	var refusal *fault.Error
	var system syscall.Errno
	switch {
	case err == nil, errors.As(err, &refusal):
		return false
	case errors.Is(err, snapshot.ErrClosed), errors.Is(err, blobs.ErrClosed),
		errors.Is(err, fs.ErrClosed):
		return false
	case errors.As(err, &system):
		return system == syscall.EIO
	}
	return true
}

// damaged marks the error of reading a project whose data is damaged: api.ErrDamaged. The first one
// of each project is noted and logged. It returns all other errors as they are.
func (e *Engine) damaged(project id.ID, err error) error {
	if !isDamage(err) || errors.Is(err, api.ErrDamaged) {
		return err
	}
	err = fmt.Errorf("%s: %w: %w", project.Format(id.Project), api.ErrDamaged, err)
	if e.damages.note(project, err) {
		e.log.Error("a project is damaged; lists leave it out, and others are not affected",
			"project", project.Format(id.Project), "error", err)
	}
	return err
}

// errDamagedHere refuses what a server of a group must not do without a project that is damaged on
// it, and intact on others: STATE_CONFLICT.
func errDamagedHere(project id.ID) error {
	return fault.New(fault.StateConflict, "A project is damaged on this member, which does not know "+
		"what belongs to it. Transfer leadership to a member without damage (pws cluster transfer), "+
		"repeat this there, and replace this member.").With("project_id", project.Format(id.Project))
}

// ofLeader replaces the error of a project that is damaged here, where this server leads a group.
// Others have the project, and follow what the leader has done without it.
func (e *Engine) ofLeader(project id.ID, err error) error {
	if e.config.SharedJournal && errors.Is(err, api.ErrDamaged) {
		return errDamagedHere(project)
	}
	return err
}

// remedied replaces the error of a damaged project by one that names the remedy: STATE_CONFLICT. It
// is for operators.
func (e *Engine) remedied(project id.ID, err error) error {
	if e.config.SharedJournal || !errors.Is(err, api.ErrDamaged) {
		return e.ofLeader(project, err)
	}
	return fault.New(fault.StateConflict, "The project is damaged and cannot be read. It can be "+
		"removed (pws admin remove).").With("project_id", project.Format(id.Project))
}

// requireSound refuses, in a group, to go on while one of some projects is damaged here. It reads
// all of them. Errors: those of errNotLeading and errDamagedHere.
func (e *Engine) requireSound(projects ...id.ID) error {
	if !e.config.SharedJournal {
		return nil
	}
	if e.leading() == 0 {
		return e.errNotLeading()
	}
	for _, project := range projects {
		h, ok := e.handles.Load(project)
		if !ok {
			continue
		}
		if _, err := e.look(h); err != nil {
			return e.ofLeader(project, err)
		}
	}
	return nil
}

// requireApplied refuses to renew the log while it has to keep entries of a damaged project:
// STATE_CONFLICT. Errors of the system are returned as they are.
func (e *Engine) requireApplied() (err error) {
	e.handles.Range(func(project id.ID, h *handle) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.waiting()) == 0 {
			return true
		}
		if _, err = e.load(h); errors.Is(err, api.ErrDamaged) {
			remedy := "remove it (pws admin remove)"
			if e.config.SharedJournal {
				remedy = "transfer leadership to a member without damage (pws cluster transfer), and " +
					"replace this one"
			}
			err = fault.New(fault.StateConflict, "The log keeps entries of a damaged project, and "+
				"nothing can leave it: "+remedy+".").With("project_id", project.Format(id.Project))
		}
		return err == nil
	})
	return err
}

// replaced is a state that takes the place of a damaged project: of one that was removed, by an
// entry that waits, or is being removed by this server, which serves alone. Errors: the given one.
// The handle's lock is held.
func (e *Engine) replaced(h *handle, failed error) (*published, error) {
	tail := h.waiting()
	for i := range tail {
		in, err := tail[i].decode()
		if err != nil || !in.removes() {
			continue
		}
		view := e.standIn(h)
		view.position = in.position - 1
		err = view.applyTail(tail[i:], e.trees, e.projections.indexes)
		return view, e.damaged(h.id, err)
	}
	if e.config.SharedJournal || !e.Identity().Dropping(h.id) {
		return nil, failed
	}
	return e.standIn(h), nil
}

// loadStandIn has a stand-in take the place of a damaged project that the next entry removes.
func (e *Engine) loadStandIn(h *handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.view.Load() == nil {
		e.takeLoaded(h, e.standIn(h))
	}
}

// standIn takes the place of a damaged project that is being removed: it needs no state for that.
// What the entries behind the sections say is left out. It leaves the listing here: no event says
// that it was there. The handle's lock is held.
func (e *Engine) standIn(h *handle) *published {
	createdAt := h.id.Millis()
	card, _, there, err := e.snapshot.Read(datadir.CardKey(h.id))
	if err == nil && there {
		if at, err := index.CreatedOf(h.id, card); err == nil {
			createdAt = at
		}
	}
	e.projections.indexes.Listing.Set(index.Position{Millis: createdAt, ID: h.id}, false)
	position, _ := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
	if tail := h.waiting(); len(tail) > 0 {
		position = tail[len(tail)-1].position
	}
	what := "a damaged project is removed; contents that it alone names stay in the packs, and " +
		"what its members stored still counts"
	if e.config.SharedJournal {
		what = "a project that is damaged here was removed"
	}
	e.log.Warn(what, "project", h.id.Format(id.Project))
	return &published{project: work.StandIn(h.id, createdAt), position: position, cardAt: position}
}

// Damaged counts the projects and the contents that were found damaged since the start.
func (e *Engine) Damaged() int { return e.damages.count() + e.corrupted.count() }

// corruptedMax bounds the contents that are counted.
const corruptedMax = 1 << 16

// content reads a stored content, and notes whether it fits its hash. One that only the cache has
// intact is as damaged as before. Other servers are asked for a damaged one (repairLoop). Errors:
// those of blobs.
func (e *Engine) content(hash work.Hash) ([]byte, error) {
	content, err := e.blobs.Get(blobs.Hash(hash))
	switch {
	case errors.Is(err, blobs.ErrCorrupt):
		if e.corrupted.count() < corruptedMax && e.corrupted.note(hash, err) {
			e.repairing.wake()
		}
	case err == nil && !e.blobs.Damaged(blobs.Hash(hash)):
		e.corrupted.clear(hash)
	}
	return content, err
}

// store adds a content of an entry of the log to the store. A damaged one is repaired by that.
func (e *Engine) store(position uint64, hash work.Hash, content []byte) {
	e.blobs.Add(position, blobs.Hash(hash), content)
	if !e.blobs.Damaged(blobs.Hash(hash)) {
		e.corrupted.clear(hash)
	}
}

// damagedOf are those of some contents that are damaged here.
func (e *Engine) damagedOf(contents []work.Blob) (damaged []work.Blob) {
	for i := range contents {
		if e.blobs.Damaged(blobs.Hash(contents[i].Hash)) {
			damaged = append(damaged, contents[i])
		}
	}
	return damaged
}

// contentFault is what health says of damaged contents, nil where there are none.
func (e *Engine) contentFault() error {
	if count := e.corrupted.count(); count > 0 {
		return fmt.Errorf("damaged contents: %d", count)
	}
	return nil
}

// projectFault is the fault of the first of the damaged projects, with their number; nil where
// there is none.
func (e *Engine) projectFault() error {
	d := &e.damages
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.of) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(d.of)), id.ID.Compare)
	return fmt.Errorf("%d damaged: %w", len(d.of), d.of[first])
}
