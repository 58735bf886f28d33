package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fxamacker/cbor/v2"

	"pws/api"
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/uploads"
	"pws/work"
)

const (
	// uploadsMax bounds the uploads of all agents, and uploadRoom their files, in bytes.
	uploadsMax = 4096
	uploadRoom = 4 << 30
	// uploadHours is how many times the hourly quota of an agent its parts may take in an hour, with
	// those that it replaces or deletes.
	uploadHours = 2
	// uploadMillis is how long an upload lasts AFTER its last activity.
	uploadMillis = api.UploadSeconds * 1000
)

// uploading keeps all uploads. They are no part of the log: parts are files of their own, and
// temporary.
type uploading struct {
	engine *Engine
	store  *uploads.Store
	// running is held by the one import at a time, because it takes much memory.
	running sync.Mutex
	// creating is held by the one creation at a time.
	creating sync.Mutex
	// mu may be taken while the lock of an upload is held, and not the other way round.
	mu struct {
		sync.Mutex
		of map[id.ID]*upload
	}
}

func newUploading(e *Engine) *uploading {
	ups := &uploading{engine: e}
	ups.mu.of = map[id.ID]*upload{}
	return ups
}

// upload is one upload. What its files say is in the store.
type upload struct {
	record api.UploadRecord
	// givenUp is the sum of the hashes that an entry has given up, AFTER the note was written; nil
	// where there was none.
	givenUp atomic.Pointer[blobs.Hash]
	mu      struct {
		sync.Mutex
		// storing are the parts in the account of the agent.
		storing map[int]storing
		bytes   int64
		// activeAt is the last activity, in Unix milliseconds.
		activeAt int64
		failure  *fault.Error
		// running is set while it is imported. Busy means that nobody may change it; gone that it was
		// removed.
		running          *uploadImport
		busy, done, gone bool
		// noted means that it has a note of contents, which perhaps no project names.
		noted bool
	}
}

// uploadRecord is the form of a record on disk.
type uploadRecord struct {
	Agent     id.ID  `cbor:"1,keyasint"`
	Project   id.ID  `cbor:"2,keyasint"`
	CreatedAt int64  `cbor:"3,keyasint"`
	Body      []byte `cbor:"4,keyasint"`
	// KeyHash and Fingerprint are zero without an Idempotency-Key.
	KeyHash     [16]byte `cbor:"5,keyasint,omitzero"`
	Fingerprint [16]byte `cbor:"6,keyasint,omitzero"`
	// Gone means that it was removed, but for the note of its contents.
	Gone bool `cbor:"7,keyasint,omitempty"`
}

func encodeUpload(record *api.UploadRecord, gone bool) []byte {
	saved := uploadRecord{
		Agent: record.Agent, Project: record.Project, CreatedAt: record.CreatedAt,
		Body: record.Body, Gone: gone,
	}
	if record.Key != nil {
		saved.KeyHash, saved.Fingerprint = record.Key.Hash, record.Key.Fingerprint
	}
	return must(cbor.Marshal(&saved))
}

func decodeUpload(
	upload id.ID, data []byte,
) (record api.UploadRecord, gone bool, err error) {
	var saved uploadRecord
	if err := cbor.Unmarshal(data, &saved); err != nil {
		return record, false, err
	}
	record = api.UploadRecord{
		ID: upload, Agent: saved.Agent, Project: saved.Project, CreatedAt: saved.CreatedAt,
		Body: saved.Body,
	}
	if saved.KeyHash != ([16]byte{}) {
		record.Key = &api.IdempotencyKey{Hash: saved.KeyHash, Fingerprint: saved.Fingerprint}
	}
	return record, saved.Gone, nil
}

// CreateUpload implements api.Uploads.
func (e *Engine) CreateUpload(record api.UploadRecord) (api.UploadState, bool, error) {
	return e.uploading.createUpload(record)
}

// Upload implements api.Uploads.
func (e *Engine) Upload(agent, wanted id.ID) (api.UploadState, error) {
	return e.uploading.upload(agent, wanted)
}

// PutUploadPart implements api.Uploads.
func (e *Engine) PutUploadPart(
	agent, wanted id.ID, number int, content []byte,
) (api.UploadPart, error) {
	return e.uploading.putPart(agent, wanted, number, content)
}

// DeleteUpload implements api.Uploads.
func (e *Engine) DeleteUpload(agent, wanted id.ID) error {
	return e.uploading.deleteUpload(agent, wanted)
}

// BeginImport implements api.Uploads.
func (e *Engine) BeginImport(agent, wanted id.ID) (api.UploadImport, error) {
	return e.uploading.beginImport(agent, wanted)
}

// openUploads finds the uploads of earlier runs. It runs AFTER the projects are known: an upload
// whose project exists was imported.
func (ups *uploading) openUploads() (err error) {
	e := ups.engine
	ups.store, err = uploads.Open(uploads.Options{
		Dir: filepath.Join(e.config.Dir, datadir.UploadsName), BytesMax: uploadRoom, Room: e.space.room,
	})
	if err != nil {
		return err
	}
	for _, damage := range ups.store.Damage() {
		e.log.Error("a part of an upload is damaged and was removed", "error", damage)
	}
	for _, key := range ups.store.Keys() {
		if err := ups.restoreUpload(key); err != nil {
			return err
		}
	}
	return nil
}

func (ups *uploading) restoreUpload(key uploads.Key) error {
	e := ups.engine
	store := ups.store
	data, err := store.Read(key, uploads.RecordNumber)
	record, gone, derr := decodeUpload(id.ID(key), data)
	if err = errors.Join(err, derr); err != nil {
		e.log.Error("an upload is damaged and was removed", "error", err)
		return store.Remove(key)
	}
	u := newUpload(record)
	u.mu.gone = gone
	for _, part := range store.Parts(key) {
		s := storing{bytes: int64(part.Size), now: part.At}
		// What was accepted stays accepted.
		if err := e.accounts.reservePart(&s, record.Agent, nil); err != nil {
			return err
		}
		u.mu.storing[int(part.Number)] = s
		u.mu.bytes += s.bytes
		u.mu.activeAt = max(u.mu.activeAt, part.At)
	}
	stored, _ := store.Part(key, uploads.RecordNumber)
	note, noted := store.Part(key, uploads.NoteNumber)
	u.mu.activeAt, u.mu.noted = max(u.mu.activeAt, stored.At, note.At), noted
	ups.mu.of[record.ID] = u
	if _, made := e.handles.Load(record.Project); made {
		ups.endUpload(u)
	}
	return nil
}

func newUpload(record api.UploadRecord) *upload {
	u := &upload{record: record}
	u.mu.storing, u.mu.activeAt = map[int]storing{}, record.CreatedAt
	return u
}

func (u *upload) key() uploads.Key { return uploads.Key(u.record.ID) }

// lockUpload returns an upload with its lock held: UPLOAD_NOT_FOUND.
func (ups *uploading) lockUpload(agent, wanted id.ID) (*upload, error) {
	ups.mu.Lock()
	u := ups.mu.of[wanted]
	ups.mu.Unlock()
	if u != nil && u.record.Agent == agent {
		u.mu.Lock()
		if !u.mu.gone && !u.expired(ups.engine.Now()) {
			return u, nil
		}
		u.mu.Unlock()
	}
	return nil, fault.New(fault.UploadNotFound, "There is no such upload.")
}

// expired reports whether the time of an upload is over. Its lock is held.
func (u *upload) expired(now int64) bool {
	return !u.mu.busy && now >= u.mu.activeAt+uploadMillis
}

// requireOpen refuses to change an upload that is imported: UPLOAD_NOT_OPEN. Its lock is held.
func (u *upload) requireOpen() error {
	if status := u.status(); u.mu.busy || status == api.UploadDone {
		return fault.New(fault.UploadNotOpen,
			"The upload is already being imported or has been imported.").
			With("status", string(status))
	}
	return nil
}

func (u *upload) status() api.UploadStatus {
	switch {
	case u.mu.done:
		return api.UploadDone
	case u.mu.busy:
		return api.UploadImporting
	case u.mu.failure != nil:
		return api.UploadFailed
	}
	return api.UploadOpen
}

// stateOf is the upload at this moment. Its lock is held.
func (ups *uploading) stateOf(u *upload) api.UploadState {
	state := api.UploadState{
		UploadRecord: u.record, Status: u.status(), ActiveAt: u.mu.activeAt, Failure: u.mu.failure,
	}
	if u.mu.running != nil {
		state.Read = u.mu.running.read.Load()
	}
	for _, part := range ups.store.Parts(u.key()) {
		state.Parts = append(state.Parts, partOf(part))
	}
	return state
}

func partOf(part uploads.Part) api.UploadPart {
	return api.UploadPart{Number: int(part.Number), Size: part.Size, SHA256: part.SHA256}
}

// createUpload is Engine.CreateUpload.
func (ups *uploading) createUpload(record api.UploadRecord) (api.UploadState, bool, error) {
	ups.creating.Lock()
	defer ups.creating.Unlock()
	if known := ups.uploadOfKey(&record); known != nil {
		defer known.mu.Unlock()
		if known.record.Key.Fingerprint != record.Key.Fingerprint {
			return api.UploadState{}, false, fault.New(
				fault.IdempotencyKeyReused, "The key was used for another request.")
		}
		return ups.stateOf(known), true, nil
	}
	if err := ups.requireUploads(record.Agent); err != nil {
		return api.UploadState{}, false, err
	}
	if !ups.engine.space.roomy(0) {
		return api.UploadState{}, false, errDiskReserve()
	}
	u := newUpload(record)
	_, err := ups.store.Put(
		u.key(), uploads.RecordNumber, record.CreatedAt, encodeUpload(&record, false))
	if err != nil {
		return api.UploadState{}, false, uploadFault(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	ups.mu.Lock()
	defer ups.mu.Unlock()
	ups.mu.of[record.ID] = u
	return ups.stateOf(u), false, nil
}

// allUploads returns the uploads of an agent, or of all for the zero ID, and how many there are in
// total.
func (ups *uploading) allUploads(agent id.ID) (found []*upload, all int) {
	ups.mu.Lock()
	defer ups.mu.Unlock()
	for _, u := range ups.mu.of {
		if agent.IsZero() || u.record.Agent == agent {
			found = append(found, u)
		}
	}
	return found, len(ups.mu.of)
}

// uploadOfKey returns the upload that an Idempotency-Key has made, with its lock held; nil if there
// is none.
func (ups *uploading) uploadOfKey(record *api.UploadRecord) *upload {
	if record.Key == nil {
		return nil
	}
	own, _ := ups.allUploads(record.Agent)
	for _, u := range own {
		if u.record.Key == nil || u.record.Key.Hash != record.Key.Hash {
			continue
		}
		u.mu.Lock()
		if !u.mu.gone && !u.expired(ups.engine.Now()) {
			return u
		}
		u.mu.Unlock()
	}
	return nil
}

// requireUploads refuses an upload too many: QUOTA_EXCEEDED. The caller holds creating.
func (ups *uploading) requireUploads(agent id.ID) error {
	now := ups.engine.Now()
	own, all := ups.allUploads(agent)
	oldest := now
	var open []string
	for _, u := range own {
		u.mu.Lock()
		if !u.mu.done && !u.mu.gone && !u.expired(now) {
			open = append(open, u.record.ID.Format(id.Upload))
			oldest = min(oldest, u.mu.activeAt)
		}
		u.mu.Unlock()
	}
	slices.Sort(open)
	switch {
	case len(open) >= api.UploadsPerAgentMax:
		return errUploads("uploads_of_agent", api.UploadsPerAgentMax).
			With("upload_ids", open).
			With("retry_after_seconds", max(1, int((oldest+uploadMillis-now)/1000)))
	case all >= uploadsMax:
		return errUploads("uploads_of_server", uploadsMax)
	}
	return nil
}

func errUploads(quota string, limit int) *fault.Error {
	return fault.New(fault.QuotaExceeded, "Too many uploads are open.").
		With("quota", quota).With("limit", limit)
}

// upload is Engine.Upload.
func (ups *uploading) upload(agent, wanted id.ID) (api.UploadState, error) {
	u, err := ups.lockUpload(agent, wanted)
	if err != nil {
		return api.UploadState{}, err
	}
	defer u.mu.Unlock()
	return ups.stateOf(u), nil
}

// putPart is Engine.PutUploadPart.
func (ups *uploading) putPart(
	agent, wanted id.ID, number int, content []byte,
) (api.UploadPart, error) {
	e := ups.engine
	u, err := ups.lockUpload(agent, wanted)
	if err != nil {
		return api.UploadPart{}, err
	}
	defer u.mu.Unlock()
	if err := u.requireOpen(); err != nil {
		return api.UploadPart{}, err
	}
	earlier, replaced := u.mu.storing[number]
	bytes := u.mu.bytes + int64(len(content)) - earlier.bytes
	switch {
	case bytes > api.UploadBytesMax:
		return api.UploadPart{}, work.ErrStored("upload_bytes", api.UploadBytesMax)
	case !e.space.roomy(int64(len(content))):
		return api.UploadPart{}, errDiskReserve()
	}
	now, limits := e.Now(), e.storedLimits(agent, u.record.Project)
	if err := e.accounts.receive(agent, int64(len(content)), now, limits.AgentHour); err != nil {
		return api.UploadPart{}, err
	}
	s := storing{bytes: int64(len(content)), now: now}
	if replaced {
		earlier.releasePart()
		u.mu.bytes -= earlier.bytes
		delete(u.mu.storing, number)
	}
	err = e.accounts.reservePart(&s, agent, &limits)
	if err != nil {
		ups.countParts(u)
		return api.UploadPart{}, err
	}
	part, err := ups.store.Put(u.key(), uint32(number), now, content)
	if err != nil {
		s.releasePart()
		// A part that could not be replaced may be gone.
		ups.countParts(u)
		return api.UploadPart{}, uploadFault(err)
	}
	u.mu.storing[number], u.mu.bytes = s, bytes
	u.mu.activeAt, u.mu.failure = now, nil
	return partOf(part), nil
}

// deleteUpload is Engine.DeleteUpload.
func (ups *uploading) deleteUpload(agent, wanted id.ID) error {
	u, err := ups.lockUpload(agent, wanted)
	if err != nil {
		return err
	}
	defer u.mu.Unlock()
	if u.mu.busy {
		return u.requireOpen()
	}
	return ups.removeUpload(u)
}

// removeUpload removes an upload, or only its parts while it has a note of contents: the next sweep
// drops those first. Its lock is held.
func (ups *uploading) removeUpload(u *upload) error {
	if u.mu.noted {
		if u.mu.gone {
			return nil
		}
		_, err := ups.store.Put(u.key(), uploads.RecordNumber, u.record.CreatedAt,
			encodeUpload(&u.record, true))
		if err != nil {
			return uploadFault(err)
		}
		u.mu.gone = true
		u.releaseParts()
		return nil
	}
	if err := ups.store.Remove(u.key()); err != nil {
		return uploadFault(err)
	}
	u.releaseParts()
	u.mu.gone = true
	ups.mu.Lock()
	defer ups.mu.Unlock()
	delete(ups.mu.of, u.record.ID)
	return nil
}

// releaseParts takes the parts off the account of the agent. The lock is held.
func (u *upload) releaseParts() {
	for number, s := range u.mu.storing {
		s.releasePart()
		delete(u.mu.storing, number)
	}
	u.mu.bytes = 0
}

func errDiskReserve() error {
	return fault.New(fault.StorageUnavailable, "The disk is nearly full. Writes are refused; reads "+
		"still work.").
		With("reason", reasonReserve).With("retry_after_seconds", 30)
}

// uploadFault is what a caller learns of files that could not be written.
func uploadFault(err error) error {
	switch {
	case errors.Is(err, uploads.ErrFull):
		return work.ErrStored("upload_bytes_of_server", uploadRoom)
	case disk.IsFull(err):
		return errDiskReserve()
	}
	return fmt.Errorf("upload: %w", err)
}
