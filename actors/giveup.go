package actors

import (
	"bytes"
	"errors"
	"iter"
	"maps"
	"slices"

	"pws/api"
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// Contents that an import has shared with the other servers of a group, and that no project came to
// name, are given up by an entry. Each server, the leader too, notes durably what is given up when
// it has the entry, and drops what no project names. Contents that are shared again leave the note:
// a project may come to name them.

// GiveUp appends the entry for contents that an upload has noted, where this server leads. No
// import runs at the same time, and the orders of earlier ones have ended: what was shared in front
// of the entry is named in front of it, or never. It reports false where an import runs. Errors:
// those of settleOrders and of appendContents.
func (e *Engine) GiveUp(upload id.ID, hashes []byte) (done bool, err error) {
	if len(hashes)%len(work.Hash{}) != 0 {
		return false, errHashesCut
	}
	if e.leading() == 0 || !e.uploading.running.TryLock() {
		return false, nil
	}
	defer e.uploading.running.Unlock()
	if err := e.settleOrders(); err != nil {
		return false, err
	}
	entry := e.contentsEntry(id.ID{})
	entry.ID, entry.Result = upload, hashes
	if err := e.appendContents(entry); err != nil {
		return false, err
	}
	return true, e.erasing.noteContents(entry)
}

// giveUpNoted has the contents in the note of an upload be given up, and reports whether the note
// is not needed any more. One that does not lead asks the leader, and keeps the note until it has
// the entry. The upload is busy.
func (ups *uploading) giveUpNoted(u *upload) (done bool, err error) {
	e := ups.engine
	noted := map[work.Hash]bool{}
	u.mu.Lock()
	err = ups.readNote(u, noted)
	u.mu.Unlock()
	if err != nil || len(noted) == 0 {
		return err == nil, err
	}
	hashes := hashesOf(noted)
	if u.isGivenUp(hashes) {
		return true, nil
	}
	if e.leading() == 0 {
		if e.config.AskGiveUp != nil {
			e.config.AskGiveUp(u.record.ID, hashes)
		}
		return u.isGivenUp(hashes), nil
	}
	return e.GiveUp(u.record.ID, hashes)
}

// isGivenUp reports whether the last entry that has given up contents of the upload names just
// those of its note, given by hashesOf. One that names a part of them leaves the rest to another.
func (u *upload) isGivenUp(note []byte) bool {
	sum := u.givenUp.Load()
	return sum != nil && *sum == blobs.Sum(note)
}

// hashesOf are the hashes of a set, one behind the other, in order: equal sets are equal notes.
func hashesOf(set map[work.Hash]bool) []byte {
	sorted := slices.SortedFunc(maps.Keys(set), func(a, b work.Hash) int {
		return bytes.Compare(a[:], b[:])
	})
	hashes := make([]byte, 0, len(set)*len(work.Hash{}))
	for _, hash := range sorted {
		hashes = append(hashes, hash[:]...)
	}
	return hashes
}

// setOf is the set of hashes that are one behind the other.
func setOf(hashes []byte) map[work.Hash]bool {
	const size = len(work.Hash{})
	set := make(map[work.Hash]bool, len(hashes)/size)
	for ; len(hashes) >= size; hashes = hashes[size:] {
		set[work.Hash(hashes)] = true
	}
	return set
}

// noteContents notes what an entry of contents gives up. What the entry brings leaves the note
// BEFORE it is stored: either a Drop has begun BEFORE that, which keeps it then, or the Drop does
// not find it in the note. The note is durable when noteContents returns.
func (r *eraser) noteContents(entry *datadir.Entry) error {
	e := r.engine
	hashes := entry.Result
	if len(hashes)%len(work.Hash{}) != 0 {
		return errHashesCut
	}
	brought := func(yield func(blobs.Hash) bool) {
		for i := range entry.Blobs {
			if !yield(blobs.Hash(entry.Blobs[i].Hash)) {
				return
			}
		}
	}
	given := setOf(hashes)
	if err := r.changeGivenUp(given, brought); err != nil || len(given) == 0 {
		return err
	}
	r.wake()
	e.uploading.mu.Lock()
	defer e.uploading.mu.Unlock()
	if u := e.uploading.mu.of[entry.ID]; u != nil {
		sum := blobs.Sum(hashesOf(given))
		u.givenUp.Store(&sum)
	}
	return nil
}

// changeGivenUp adds contents to the note of what was given up, and takes others out of it.
func (r *eraser) changeGivenUp(given map[work.Hash]bool, kept iter.Seq[blobs.Hash]) error {
	if len(given) == 0 {
		if noted, _, err := r.givenUp(); err != nil || len(noted) == 0 {
			return err
		}
	}
	return r.changeErasure(func(note *datadir.Erasure) {
		left := setOf(note.GivenUp)
		maps.Copy(left, given)
		for hash := range kept {
			delete(left, work.Hash(hash))
		}
		note.GivenUp = hashesOf(left)
	})
}

// givenUp are the contents that were given up, and how often that was noted.
func (r *eraser) givenUp() (map[work.Hash]bool, int, error) {
	r.noted.Lock()
	defer r.noted.Unlock()
	note, err := datadir.ReadErasure(r.engine.config.Dir)
	return setOf(note.GivenUp), r.noted.count, err
}

// dropGivenUp drops the contents that were given up and that no project names. While a project is
// damaged here nobody knows what it names: the note stays until the next entry or the next start.
func (r *eraser) dropGivenUp() error {
	e := r.engine
	r.running.Lock()
	defer r.running.Unlock()
	only, count, err := r.givenUp()
	if err != nil || len(only) == 0 {
		return err
	}
	held := false
	for hash := range only {
		is, err := e.blobs.Holds(blobs.Hash(hash))
		if err != nil {
			return err
		}
		held = held || is
	}
	if held {
		// BEFORE the snapshot: each try would save one.
		if damaged, err := r.anyDamaged(); err != nil || damaged {
			return err
		}
		// What is still in the log gets into a pack, and a start does not find it in the log any more.
		if err := e.Save(); err != nil {
			return err
		}
		err := e.blobs.Drop(func() (_ []blobs.Hash, err error) {
			if only, count, err = r.givenUp(); err != nil {
				return nil, err
			}
			return r.unnamed(only)
		})
		if err != nil {
			return err
		}
	}
	err = r.changeErasure(func(note *datadir.Erasure) {
		// What was noted since may have come too late for this time.
		if r.noted.count == count {
			note.GivenUp = nil
		} else {
			r.wake()
		}
	})
	return err
}

// anyDamaged reports whether a project is damaged that a group needs to know all of. It reads all
// projects, and keeps none in memory that was not there. Of a single server damaged projects name
// nothing (namedByAll).
func (r *eraser) anyDamaged() (bool, error) {
	e := r.engine
	if !e.config.SharedJournal {
		return false, nil
	}
	for _, project := range e.projects() {
		if err := r.goOn(); err != nil {
			return false, err
		}
		h, ok := e.handles.Load(project)
		if !ok {
			continue
		}
		_, err := e.look(h)
		if errors.Is(err, api.ErrDamaged) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
