package actors

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// DropProjects removes projects for ever and drops all that is theirs alone from the disk. It
// returns AFTER that; the package doc has the steps. After an error or a crash the note of identity
// stays: the next call, for any project, goes on, and so do dropEnded and the next start. Errors:
// VALIDATION_FAILED, QUOTA_EXCEEDED; those of requireSound, BEFORE anything is noted.
func (e *Engine) DropProjects(notes ...*identity.DropProject) error {
	for _, note := range notes {
		if err := e.requireSound(note.Project); err != nil {
			return err
		}
	}
	for _, note := range notes {
		if _, err := e.OperatorDo(note); err != nil {
			return err
		}
	}
	e.erasing.running.Lock()
	defer e.erasing.running.Unlock()
	return e.erasing.drop()
}

// drop drops the projects that identity has noted. In a group it removes them, and leaves what they
// had to another leader, while a project is damaged here: what that names must stay. The caller
// holds running.
func (r *eraser) drop() error {
	e := r.engine
	notes := e.Identity().Drops()
	if len(notes) == 0 {
		return nil
	}
	if err := r.step("noted"); err != nil {
		return err
	}
	gone := map[id.ID]bool{}
	var damaged error
	for _, note := range notes {
		gone[note.Project] = true
		order := api.Order{
			Project: note.Project, Command: &work.RemoveProject{Reason: note.Reason},
		}
		// One that is removed already does not exist for the command.
		switch _, err := e.Do(order); {
		case err == nil, fault.CodeOf(err) == fault.ProjectNotFound:
		case e.config.SharedJournal && errors.Is(err, api.ErrDamaged):
			damaged = errDamagedHere(note.Project)
		default:
			return err
		}
	}
	if damaged != nil {
		return damaged
	}
	err := r.run([]erasureStep{
		{"removed", e.settleOrders}, {"settled", r.renewLog},
		{"log", func() error { return r.dropContents(gone) }},
		{"contents", func() error { return r.dropManifests(gone) }},
		{"manifests", func() error { return r.eraseProjects(gone) }},
		{"state", func() error { return e.feed.redact(gone) }},
		{"feed", func() error { return e.saver.save(gone, atOnce) }},
		// The files of a generation stay until the second one after it is there.
		{"sections", e.Save},
		{"older sections", func() error { return r.endDrops(gone) }},
	})
	if err != nil {
		return fmt.Errorf("%w; what is left of the project leaves the disk within an hour, at the next "+
			"start, or when it is removed again", err)
	}
	return nil
}

// endDrops says that projects have left the disk.
func (r *eraser) endDrops(gone map[id.ID]bool) error {
	projects := slices.SortedFunc(maps.Keys(gone), id.ID.Compare)
	if err := r.noteDropped(projects); err != nil {
		return err
	}
	_, err := r.engine.OperatorDo(&identity.EndDrops{Projects: projects})
	return err
}

// dropContents drops the contents that only the given projects name.
func (r *eraser) dropContents(gone map[id.ID]bool) error {
	return r.engine.blobs.Drop(func() (hashes []blobs.Hash, err error) {
		only := map[work.Hash]bool{}
		for project := range gone {
			err := r.namedByAll(project, map[work.Hash]bool{},
				func(hash work.Hash) { only[hash] = true })
			if err != nil {
				return nil, err
			}
		}
		// Orders that were in flight may name a content that the store has answered for BEFORE.
		if err := r.engine.settleOrders(); err != nil {
			return nil, err
		}
		// Of a single server a damaged project names nothing (namedByAll).
		if err := r.exceptNamed(gone, only, r.engine.config.SharedJournal); err != nil {
			return nil, err
		}
		for hash := range only {
			hashes = append(hashes, blobs.Hash(hash))
		}
		return hashes, nil
	})
}

// exceptNamed takes out of a set what projects name, but for those to skip. It reads one project
// after the other, and keeps none in memory that was not there. A damaged one is left out, unless
// all are needed: STATE_CONFLICT.
func (r *eraser) exceptNamed(skip map[id.ID]bool, only map[work.Hash]bool, needsAll bool) error {
	seen := map[work.Hash]bool{}
	for _, project := range r.engine.projects() {
		if len(only) == 0 {
			return nil
		}
		if err := r.goOn(); err != nil {
			return err
		}
		if skip[project] {
			continue
		}
		err := r.engine.named(project, seen, func(hash work.Hash) { delete(only, hash) })
		if err != nil && (needsAll || !errors.Is(err, api.ErrDamaged)) {
			return r.engine.remedied(project, err)
		}
	}
	return nil
}

// projects are all projects that exist.
func (e *Engine) projects() (all []id.ID) {
	e.handles.Range(func(project id.ID, _ *handle) bool {
		all = append(all, project)
		return true
	})
	return all
}

// named yields the contents that a project names or has named, but not those of trees that were
// seen. Errors: api.ErrDamaged.
func (e *Engine) named(
	project id.ID, seen map[work.Hash]bool, yield func(work.Hash),
) error {
	h, ok := e.handles.Load(project)
	if !ok {
		return nil
	}
	p, err := e.look(h)
	if err != nil || p == nil {
		return err
	}
	p.Contents(func(root work.Hash) bool {
		known := seen[root]
		seen[root] = true
		return known
	}, yield)
	p.PastContents(yield)
	return nil
}

// namedByAll is named for the server that decides what nobody names. Of a single server a damaged
// project names nothing: nobody can read by it any more. In a group it is an error, that of
// errDamagedHere.
func (r *eraser) namedByAll(
	project id.ID, seen map[work.Hash]bool, yield func(work.Hash),
) error {
	e := r.engine
	err := e.named(project, seen, yield)
	if errors.Is(err, api.ErrDamaged) && !e.config.SharedJournal {
		return nil
	}
	return e.ofLeader(project, err)
}

// dropManifests drops the manifests of trees that only the given projects began with: first the
// parts, then the roots, so that what is left of one after a crash is still found.
func (r *eraser) dropManifests(gone map[id.ID]bool) error {
	e := r.engine
	var roots []blobs.Hash
	err := e.blobs.Drop(func() (parts []blobs.Hash, err error) {
		if err := e.settleOrders(); err != nil {
			return nil, err
		}
		only, others, err := r.manifests(gone, e.config.SharedJournal)
		if err != nil {
			return nil, err
		}
		for root, chunks := range only {
			if _, shared := others[root]; shared {
				continue
			}
			roots = append(roots, blobs.Hash(root))
			for _, chunk := range chunks {
				parts = append(parts, blobs.Hash(chunk))
			}
		}
		kept := map[blobs.Hash]bool{}
		if len(parts) > 0 {
			for _, chunks := range others {
				for _, chunk := range chunks {
					kept[blobs.Hash(chunk)] = true
				}
			}
		}
		return slices.DeleteFunc(parts, func(h blobs.Hash) bool { return kept[h] }), nil
	})
	if err != nil {
		return err
	}
	return e.blobs.Drop(func() ([]blobs.Hash, error) {
		if err := e.settleOrders(); err != nil {
			return nil, err
		}
		_, others, err := r.manifests(gone, e.config.SharedJournal)
		return slices.DeleteFunc(roots, func(h blobs.Hash) bool {
			_, shared := others[work.Hash(h)]
			return shared
		}), err
	})
}

// manifests returns the roots of the trees that projects began with and the hashes of their chunks:
// those of the given projects, and those of all others. Only the records of the projects are read.
// Damaged projects are left out, unless all are needed: STATE_CONFLICT.
func (r *eraser) manifests(
	gone map[id.ID]bool, needsAll bool,
) (only, others map[work.Hash][]work.Hash, err error) {
	e := r.engine
	only, others = map[work.Hash][]work.Hash{}, map[work.Hash][]work.Hash{}
	for _, project := range e.projects() {
		if err := r.goOn(); err != nil {
			return nil, nil, err
		}
		into := others
		if gone[project] {
			into = only
		}
		p, err := e.Summary(project)
		if !needsAll {
			p, err = api.Intact(p, err)
		}
		if err != nil {
			return nil, nil, e.remedied(project, err)
		}
		if p == nil {
			continue
		}
		fork, forked := p.ForkedFrom()
		if !forked {
			continue
		}
		if _, known := into[fork.Root]; known {
			continue
		}
		chunks, err := work.ReadTreeParts(fork.Root, e.trees.content)
		if errors.Is(err, blobs.ErrNotFound) && gone[project] {
			continue
		}
		if err != nil && !isDamage(err) {
			return nil, nil, err
		}
		// Nobody can read the parts by a root that is damaged.
		into[fork.Root] = chunks
	}
	return only, others, nil
}

// eraseProjects empties the states of removed projects.
func (r *eraser) eraseProjects(gone map[id.ID]bool) error {
	for project := range gone {
		_, err := r.engine.Do(api.Order{Project: project, Command: new(work.EraseProject)})
		if err != nil && fault.CodeOf(err) != fault.ProjectNotFound {
			return err
		}
	}
	return nil
}

// requireSource refuses to copy the contents of a project that was deleted or removed since its
// view was read: PROJECT_NOT_FOUND. Orders that are in flight when a project is removed end BEFORE
// its contents are dropped. Errors: those of Summary.
func (e *Engine) requireSource(command work.Command) error {
	source, copies := work.SourceOf(command)
	if !copies {
		return nil
	}
	p, err := e.Summary(source)
	if err != nil || p == nil || !p.Removed() && p.End() == nil {
		return err
	}
	return fault.NoProject()
}
