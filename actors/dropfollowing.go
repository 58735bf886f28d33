package actors

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

var (
	// errDropsDue says that a server does not know yet what others have dropped.
	errDropsDue = errors.New("actors: this server may have contents that others have dropped")
	// errHashesCut is about hashes in a question or an entry, and about the answer to such a question.
	errHashesCut = errors.New("actors: the hashes, or the answer about them, are cut off")
)

// noteErasures reports whether something was erased elsewhere and has to be erased here, too. It
// returns AFTER the note of that is durable, and is called BEFORE the events are. AFTER they are
// published, followErasures has to be woken, which looks for the work in what is published.
func (r *eraser) noteErasures(events []identity.Event) (due bool, err error) {
	var ended []id.ID
	for _, event := range events {
		switch event := event.(type) {
		case *identity.ContentErased:
			due = true
		case *identity.ProjectDropEnded:
			ended = append(ended, event.Project)
		}
	}
	if len(ended) == 0 || !r.followsDrops() {
		return due, nil
	}
	return true, r.changeErasure(func(note *datadir.Erasure) {
		note.Due = note.Due || slices.ContainsFunc(ended, func(project id.ID) bool {
			return !slices.Contains(note.Dropped, project)
		})
	})
}

// followsDrops reports whether this server can find out what others have dropped. A single server
// does it by its projects alone: it may go on from the data of a member.
func (r *eraser) followsDrops() bool {
	return r.engine.config.AskHeld != nil || !r.engine.config.SharedJournal
}

// noteDropped notes that this server has dropped what projects had, BEFORE others learn of it.
func (r *eraser) noteDropped(projects []id.ID) error {
	if !r.followsDrops() {
		return nil
	}
	return r.changeErasure(func(note *datadir.Erasure) { note.Dropped = projects })
}

// changeErasure changes the file that says what is due.
func (r *eraser) changeErasure(change func(note *datadir.Erasure)) error {
	r.noted.Lock()
	defer r.noted.Unlock()
	note, err := datadir.ReadErasure(r.engine.config.Dir)
	if err != nil {
		return err
	}
	before := note
	change(&note)
	r.noted.count++
	if note.Due == before.Due && slices.Equal(note.Dropped, before.Dropped) &&
		bytes.Equal(note.GivenUp, before.GivenUp) {
		return nil
	}
	return note.Write(r.engine.config.Dir)
}

// dropsDue reports whether contents may be here that others have dropped, and how often that was
// noted.
func (r *eraser) dropsDue() (bool, int, error) {
	r.noted.Lock()
	defer r.noted.Unlock()
	note, err := datadir.ReadErasure(r.engine.config.Dir)
	return note.Due, r.noted.count, err
}

// dropFollowed drops what only removed projects had, where another server led when they were
// removed: the contents that it lacks, or those that nobody names where this one has left the group
// or was made of a backup of a member. The steps are those of drop, without entries of the log.
func (r *eraser) dropFollowed() error {
	e := r.engine
	r.running.Lock()
	defer r.running.Unlock()
	due, count, err := r.dropsDue()
	if err != nil || !due || !r.followsDrops() {
		return err
	}
	unwanted := r.droppedElsewhere
	if !e.config.SharedJournal {
		unwanted = r.unreferenced
	}
	gone := map[id.ID]bool{}
	for _, project := range e.projects() {
		if err := r.goOn(); err != nil {
			return err
		}
		p, err := api.Intact(e.Summary(project))
		if err != nil {
			return err
		}
		if p != nil && p.Erased() {
			gone[project] = true
		}
	}
	dropped := 0
	err = r.run([]erasureStep{
		{"drop followed", r.renewLogFollowed},
		{"log", func() error {
			return e.blobs.Drop(func() (hashes []blobs.Hash, err error) {
				hashes, err = unwanted(gone)
				dropped = len(hashes)
				return hashes, err
			})
		}},
		{"contents", func() error { return e.feed.redact(gone) }},
		{"feed", func() error { return e.saver.save(gone, atOnce) }},
		// The files of a generation stay until the second one after it is there.
		{"sections", e.Save},
	})
	if err != nil {
		return err
	}
	e.log.Info("what only removed projects had has left the disk of this server", "contents", dropped)
	err = r.changeErasure(func(note *datadir.Erasure) {
		// What was noted since may have come too late for this time.
		note.Due = r.noted.count != count
	})
	if err == nil {
		r.wake()
	}
	return err
}

// droppedElsewhere are the contents in packs that another server has dropped. Drop has begun
// BEFORE, so what entries bring that are followed from now on stays. The other one answers by a
// state that has all that this one has followed. This one then waits until it has followed all that
// the answers know: an entry that names a content without bringing it is about a project that has
// named it before, or a content that was brought for it, and then the other one has it, too.
func (r *eraser) droppedElsewhere(gone map[id.ID]bool) ([]blobs.Hash, error) {
	e := r.engine
	ctx, cancel := e.untilStop()
	defer cancel()
	lacks := map[work.Hash]bool{}
	err := e.blobs.Packed(func(hashes []blobs.Hash) error {
		question := make([]byte, 0, len(hashes)*len(blobs.Hash{}))
		for _, h := range hashes {
			question = append(question, h[:]...)
		}
		held, err := e.config.AskHeld(ctx, question)
		if err != nil {
			return fmt.Errorf("what other servers have: %w", err)
		}
		if len(held) != len(hashes) {
			return errHashesCut
		}
		for i, h := range hashes {
			if held[i] == 0 {
				lacks[work.Hash(h)] = true
			}
		}
		return nil
	})
	if err != nil || len(lacks) == 0 {
		return nil, err
	}
	if err := e.requireWhole(); err != nil {
		return nil, err
	}
	// A server whose disk has lost contents must not have them be dropped elsewhere: the other one has
	// what a project names that is damaged here.
	if err := r.exceptReferenced(gone, lacks, false); err != nil {
		return nil, err
	}
	hashes := make([]blobs.Hash, 0, len(lacks))
	for hash := range lacks {
		hashes = append(hashes, blobs.Hash(hash))
	}
	return hashes, nil
}

// exceptReferenced is exceptNamed, and takes out the manifests of the trees that projects began
// with, too.
func (r *eraser) exceptReferenced(
	skip map[id.ID]bool, only map[work.Hash]bool, needsAll bool,
) error {
	if err := r.exceptNamed(skip, only, needsAll); err != nil {
		return err
	}
	_, others, err := r.manifests(skip, needsAll)
	if err != nil {
		return err
	}
	for root, chunks := range others {
		delete(only, root)
		for _, chunk := range chunks {
			delete(only, chunk)
		}
	}
	return nil
}

// unreferencedStep is how many contents unreferenced looks for at a time: each time it reads all
// projects.
const unreferencedStep = 1 << 20

// unreferenced are the contents in packs that nothing names: no project, no manifest, and no note
// of an upload. The contents of a damaged project are not known, so that nothing is dropped BEFORE
// it is removed.
func (r *eraser) unreferenced(gone map[id.ID]bool) (hashes []blobs.Hash, err error) {
	e := r.engine
	only := map[work.Hash]bool{}
	look := func() error {
		err := r.exceptNoted(only)
		// An order that was in flight may name a content of which the store has answered for BEFORE.
		// One that has ended an upload has named what was in its note.
		if err == nil {
			err = e.settleOrders()
		}
		if err == nil {
			err = r.exceptReferenced(gone, only, true)
		}
		for hash := range only {
			hashes = append(hashes, blobs.Hash(hash))
		}
		clear(only)
		return err
	}
	if err := e.requireWhole(); err != nil {
		return nil, err
	}
	err = e.blobs.Packed(func(some []blobs.Hash) error {
		for _, h := range some {
			only[work.Hash(h)] = true
		}
		if len(only) < unreferencedStep {
			return nil
		}
		return look()
	})
	if err == nil {
		err = look()
	}
	return hashes, err
}

// exceptNoted takes what the notes of uploads name out of a set.
func (r *eraser) exceptNoted(only map[work.Hash]bool) error {
	all, _ := r.engine.uploading.allUploads(id.ID{})
	noted := map[work.Hash]bool{}
	for _, u := range all {
		u.mu.Lock()
		err := r.engine.uploading.readNote(u, noted)
		u.mu.Unlock()
		if err != nil {
			return err
		}
	}
	for hash := range noted {
		delete(only, hash)
	}
	return nil
}

// HeldOf says of each of some contents, given by their hashes one behind the other, by a byte of 1
// that it is stored here, by 0 that it is not. The state is at least as new as the question.
// Errors: those of BeginRead; errDropsDue.
func (e *Engine) HeldOf(hashes []byte) ([]byte, error) {
	const size = len(blobs.Hash{})
	if len(hashes)%size != 0 {
		return nil, errHashesCut
	}
	mark, err := e.BeginRead()
	if err != nil {
		return nil, err
	}
	if due, _, err := e.erasing.dropsDue(); err != nil || due {
		return nil, errors.Join(err, errDropsDue)
	}
	held := make([]byte, 0, len(hashes)/size)
	for ; len(hashes) > 0; hashes = hashes[size:] {
		is, err := e.blobs.Holds(blobs.Hash(hashes[:size]))
		if err != nil {
			return nil, err
		}
		held = append(held, 0)
		if is {
			held[len(held)-1] = 1
		}
	}
	return held, e.EndRead(mark)
}
