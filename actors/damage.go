package actors

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
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

// damages are the projects that were found damaged since the start, each with the first fault.
type damages struct {
	mu sync.Mutex
	of map[id.ID]error
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
	e.projections.of.Listing.Set(index.Position{Millis: createdAt, ID: h.id}, false)
	position, _ := e.snapshot.SectionPosition(datadir.ProjectKey(h.id))
	if tail := h.waiting(); len(tail) > 0 {
		position = tail[len(tail)-1].position
	}
	e.log.Warn("a damaged project is removed; contents that it alone names stay in the packs, and "+
		"what its members stored still counts", "project", h.id.Format(id.Project))
	return &published{project: work.StandIn(h.id, createdAt), position: position, cardAt: position}
}

// note keeps the first fault of a project, and reports whether it is the first.
func (d *damages) note(project id.ID, err error) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.of[project]; known {
		return false
	}
	if d.of == nil {
		d.of = map[id.ID]error{}
	}
	d.of[project] = err
	return true
}

// clear forgets a project that was read.
func (d *damages) clear(project id.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, project)
}

func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.of)
}

// fault is that of the first of the damaged projects, with their number; nil where there is none.
func (d *damages) fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.of) == 0 {
		return nil
	}
	var all []id.ID
	for project := range d.of {
		all = append(all, project)
	}
	first := slices.MinFunc(all, id.ID.Compare)
	return fmt.Errorf("%d damaged: %w", len(all), d.of[first])
}
