package actors

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"sync/atomic"
	"time"

	"pws/api"
	"pws/blobs"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/uploads"
	"pws/work"
)

// uploadImport implements api.UploadImport.
type uploadImport struct {
	engine *Engine
	upload *upload
	state  api.UploadState
	batch  *blobs.Batch
	// next is the next part to read, content the rest of the current one.
	next    int
	content []byte
	// read is how many bytes were read.
	read  atomic.Int64
	ended bool
}

// beginImport is Engine.BeginImport.
func (ups *uploading) beginImport(agent, wanted id.ID) (api.UploadImport, error) {
	e := ups.engine
	u, err := ups.lockUpload(agent, wanted)
	if err != nil {
		return nil, err
	}
	defer u.mu.Unlock()
	if err := u.requireOpen(); err != nil {
		return nil, err
	}
	if !e.space.roomy(u.mu.bytes) {
		return nil, errDiskReserve()
	}
	if !ups.running.TryLock() {
		return nil, fault.New(fault.RateLimited, "Another upload is being imported.").
			With("reason", "IMPORT_RUNNING").With("retry_after_seconds", 2)
	}
	batch, err := e.blobs.Begin()
	if err != nil {
		ups.running.Unlock()
		return nil, uploadFault(err)
	}
	i := &uploadImport{engine: e, upload: u, batch: batch, state: ups.stateOf(u)}
	u.mu.busy, u.mu.running, u.mu.failure = true, i, nil
	return i, nil
}

// State implements api.UploadImport.
func (i *uploadImport) State() *api.UploadState { return &i.state }

// Read implements api.UploadImport. It holds one part.
func (i *uploadImport) Read(p []byte) (int, error) {
	for len(i.content) == 0 {
		if i.next == len(i.state.Parts) {
			return 0, io.EOF
		}
		number := i.state.Parts[i.next].Number
		i.content = nil
		content, err := i.engine.uploading.store.Read(i.upload.key(), uint32(number))
		if errors.Is(err, uploads.ErrCorrupt) {
			i.engine.log.Error("a part of an upload is damaged", "error", err)
			return 0, fault.Invalid(fault.Field{
				Field: "parts", Problem: fmt.Sprintf("part %d is damaged: send it again", number),
			})
		}
		if err != nil {
			return 0, err
		}
		i.content = content
		i.next++
	}
	n := copy(p, i.content)
	i.content = i.content[n:]
	i.read.Add(int64(n))
	return n, nil
}

// Store implements api.UploadImport.
func (i *uploadImport) Store(hash work.Hash, content []byte) error {
	if err := i.batch.Add(blobs.Hash(hash), content); err != nil {
		return uploadFault(err)
	}
	return nil
}

// Commit implements api.UploadImport. A note of the contents is durable BEFORE they are stored, so
// that a start AFTER a crash finds those that no project names. The contents of an earlier import
// that failed stay in the note until a sweep has dropped them.
func (i *uploadImport) Commit() error {
	e, u := i.engine, i.upload
	u.mu.Lock()
	defer u.mu.Unlock()
	noted := map[work.Hash]bool{}
	if err := e.uploading.readNote(u, noted); err != nil {
		return uploadFault(err)
	}
	count, state := int64(0), e.Identity()
	for hash := range i.batch.Hashes {
		if state.Purged(work.Hash(hash)) {
			return errPurged(work.Hash(hash))
		}
		noted[work.Hash(hash)] = true
		count++
	}
	// The entry of the project counts the contents, so the parts do not count any more.
	u.releaseParts()
	size := i.batch.Bytes() + count*int64(len(blobs.Hash{}))
	if err := e.uploading.requireQuota(u.record.Agent, size); err != nil {
		return err
	}
	if count == 0 {
		return nil
	}
	_, err := e.uploading.store.Put(u.key(), uploads.NoteNumber, e.Now(), hashesOf(noted))
	if err != nil {
		return uploadFault(err)
	}
	u.mu.noted = true
	u.givenUp.Store(nil)
	// All leave the note of what was given up BEFORE they are stored: they are shared one entry after
	// the other, and a Drop must not take those that come later.
	if err := e.erasing.changeGivenUp(nil, i.batch.Hashes); err != nil {
		return uploadFault(err)
	}
	if err := i.batch.Commit(); err != nil {
		return uploadFault(err)
	}
	for hash := range i.batch.Hashes {
		e.corrupted.clear(work.Hash(hash))
	}
	return e.shareContents(u.record.Agent, i.batch.Hashes)
}

// requireQuota refuses what a new project would store: QUOTA_EXCEEDED.
func (ups *uploading) requireQuota(agent id.ID, bytes int64) error {
	e := ups.engine
	limits := e.storedLimits(agent, id.ID{})
	var none *work.Project
	if err := none.RequireStored(agent, bytes, limits.Project); err != nil {
		return err
	}
	s := storing{bytes: bytes, now: e.Now()}
	if err := e.accounts.reserve(&s, agent, &limits); err != nil {
		return err
	}
	s.release()
	return nil
}

// End implements api.UploadImport.
func (i *uploadImport) End(result error) {
	if i.ended {
		return
	}
	i.ended = true
	e, u := i.engine, i.upload
	i.batch.Abort()
	i.content = nil
	e.uploading.running.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.busy, u.mu.running = false, nil
	u.mu.activeAt = e.Now()
	if result == nil {
		e.uploading.endUpload(u)
		return
	}
	if !errors.As(result, &u.mu.failure) {
		u.mu.failure = fault.New(fault.Internal, "The import failed.")
	}
	e.uploading.countParts(u)
}

// countParts counts the parts in the account of the agent again. Its lock is held.
func (ups *uploading) countParts(u *upload) {
	for _, part := range ups.store.Parts(u.key()) {
		if _, counted := u.mu.storing[int(part.Number)]; counted {
			continue
		}
		s := storing{bytes: int64(part.Size), now: part.At}
		// Without limits nothing is refused.
		_ = ups.engine.accounts.reservePart(&s, u.record.Agent, nil)
		u.mu.storing[int(part.Number)] = s
		u.mu.bytes += s.bytes
	}
}

// endUpload gives the room of an upload back whose project exists. Its lock is held, or nobody else
// knows it. The time of its last activity is durable BEFORE the parts are removed, which have it
// after a crash: repeats of the finish are answered for an hour.
func (ups *uploading) endUpload(u *upload) {
	u.mu.done, u.mu.noted = true, false
	u.releaseParts()
	if stored, _ := ups.store.Part(u.key(), uploads.RecordNumber); stored.At < u.mu.activeAt {
		_, err := ups.store.Put(u.key(), uploads.RecordNumber, u.mu.activeAt,
			encodeUpload(&u.record, u.mu.gone))
		if err != nil {
			ups.engine.log.Warn("cannot store when an upload was imported; it may expire too early",
				"error", err)
		}
	}
	if err := ups.store.RemoveParts(u.key()); err != nil {
		ups.engine.log.Error("cannot remove the parts of an upload; they are removed when it expires",
			"error", err)
	}
}

// sweepUploads removes the uploads that have expired, and contents that were stored for projects
// that were never made.
func (ups *uploading) sweepUploads() {
	e := ups.engine
	all, _ := ups.allUploads(id.ID{})
	err := ups.dropNoted(all)
	for _, u := range all {
		u.mu.Lock()
		if !u.mu.busy && (u.mu.gone || u.expired(e.Now())) {
			err = errors.Join(err, ups.removeUpload(u))
		}
		u.mu.Unlock()
	}
	// What a start finds left is removed then.
	if err != nil && e.erasing.goOn() == nil {
		e.log.Error("cannot remove what is left of an upload; the next sweep tries again",
			"error", err)
	}
}

// uploadLoop sweeps uploads. Looking for the projects that name a content takes long where there
// are many.
func (ups *uploading) uploadLoop() {
	e := ups.engine
	defer e.stopped.Done()
	tick := time.NewTicker(e.config.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-tick.C:
			ups.sweepUploads()
		}
	}
}

// notedMax is the number of contents from which a sweep leaves further notes to the next one.
const notedMax = 1 << 18

// dropNoted drops the contents in the notes of uploads that no project names, or in a group has
// them be given up. The uploads are busy until that is done.
func (ups *uploading) dropNoted(all []*upload) error {
	e := ups.engine
	only := map[work.Hash]bool{}
	var noted []*upload
	var errs []error
	for _, u := range all {
		u.mu.Lock()
		if u.mu.noted && !u.mu.busy && len(only) < notedMax {
			if err := ups.readNote(u, only); err != nil {
				errs = append(errs, err)
			} else if u.mu.noted {
				u.mu.busy = true
				noted = append(noted, u)
			}
		}
		u.mu.Unlock()
	}
	if len(noted) == 0 {
		return errors.Join(errs...)
	}
	var dropped error
	if !e.config.SharedJournal {
		dropped = e.erasing.dropUnnamed(only)
		errs = append(errs, dropped)
	}
	for _, u := range noted {
		done := dropped == nil
		if e.config.SharedJournal {
			var err error
			done, err = ups.giveUpNoted(u)
			errs = append(errs, err)
		}
		u.mu.Lock()
		u.mu.busy = false
		if done {
			errs = append(errs, ups.removeNote(u))
		}
		u.mu.Unlock()
	}
	return errors.Join(errs...)
}

// readNote adds the contents in the note of an upload, if it has one. Its lock is held. A note that
// is damaged names nothing: what it named stays on the disk.
func (ups *uploading) readNote(u *upload, into map[work.Hash]bool) error {
	if !u.mu.noted {
		return nil
	}
	note, err := ups.store.Read(u.key(), uploads.NoteNumber)
	switch {
	case errors.Is(err, uploads.ErrNotFound):
		u.mu.noted = false
		return nil
	case errors.Is(err, uploads.ErrCorrupt):
		ups.engine.log.Error("the note of an upload is damaged and is removed; contents of projects "+
			"that were never made may stay on the disk", "error", err)
		return ups.removeNote(u)
	case err != nil:
		return err
	}
	maps.Copy(into, setOf(note))
	return nil
}

// removeNote removes the note of an upload. Its lock is held.
func (ups *uploading) removeNote(u *upload) error {
	if err := ups.store.RemoveNote(u.key()); err != nil {
		return err
	}
	u.mu.noted = false
	return nil
}

// dropUnnamed drops those of some contents that unnamed returns.
func (r *eraser) dropUnnamed(only map[work.Hash]bool) error {
	r.running.Lock()
	defer r.running.Unlock()
	return r.engine.blobs.Drop(func() ([]blobs.Hash, error) { return r.unnamed(only) })
}

// unnamed are those of some contents that no project names, and those that were purged; a Drop has
// begun. A project may come to name a content by an entry whose outcome was unknown: nothing is
// dropped unless everything that may take effect is known here.
func (r *eraser) unnamed(only map[work.Hash]bool) (unnamed []blobs.Hash, err error) {
	e := r.engine
	if e.leading() != 0 {
		// Where this server does not lead any more, their outcomes are in the log.
		err = e.settleOrders()
	}
	if err == nil {
		err = e.requireWhole()
	}
	if err != nil {
		return nil, err
	}
	state := e.Identity()
	for hash := range only {
		if state.Purged(hash) {
			unnamed = append(unnamed, blobs.Hash(hash))
			delete(only, hash)
		}
	}
	if err := r.exceptNamed(nil, only, e.config.SharedJournal); err != nil {
		return nil, err
	}
	for hash := range only {
		unnamed = append(unnamed, blobs.Hash(hash))
	}
	return unnamed, nil
}

// requireWhole checks that this server knows all entries that were appended to the journal until
// now.
func (e *Engine) requireWhole() error {
	if failure := e.failure.Load(); failure != nil {
		return *failure
	}
	mark, err := e.BeginRead()
	if err != nil {
		return err
	}
	return e.EndRead(mark)
}
