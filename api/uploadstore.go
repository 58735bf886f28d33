package api

import (
	"crypto/sha256"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// The limits of uploads.
const (
	// UploadsPerAgentMax is the number of uploads of one agent that are not imported yet.
	UploadsPerAgentMax = 4
	// UploadPartsMax is the number of parts, and UploadBytesMax the size of all parts of an upload.
	UploadPartsMax = 1024
	UploadBytesMax = 1 << 30
	// UploadPartBytesMax is the size of a part.
	UploadPartBytesMax = RequestBytesMax
	// UploadSeconds is how long an upload lasts AFTER its last activity.
	UploadSeconds = 3600
)

// Uploads are bundles that arrive in parts. An upload that does not exist, has expired or belongs
// to another agent is UPLOAD_NOT_FOUND in all methods.
type Uploads interface {
	// CreateUpload makes an upload durably, or returns the one that the same key has made. Errors:
	// QUOTA_EXCEEDED, IDEMPOTENCY_KEY_REUSED, STORAGE_UNAVAILABLE.
	CreateUpload(record UploadRecord) (state UploadState, replayed bool, err error)
	// Upload returns the state of an upload.
	Upload(agent, upload id.ID) (UploadState, error)
	// PutUploadPart stores a part durably, in place of an earlier one with the number. The content is
	// not kept. Errors: UPLOAD_NOT_OPEN, QUOTA_EXCEEDED, STORAGE_UNAVAILABLE.
	PutUploadPart(agent, upload id.ID, number int, content []byte) (UploadPart, error)
	// DeleteUpload removes an upload. Errors: UPLOAD_NOT_OPEN.
	DeleteUpload(agent, upload id.ID) error
	// BeginImport begins the import of an upload; nothing else changes it until the end. One import
	// runs at a time. Errors: UPLOAD_NOT_OPEN, RATE_LIMITED.
	BeginImport(agent, upload id.ID) (UploadImport, error)
}

// UploadRecord is what is known of an upload from the start.
type UploadRecord struct {
	// ID is that of the upload, and Project that of the project to be made.
	ID, Project, Agent id.ID
	// CreatedAt is Unix milliseconds.
	CreatedAt int64
	// Key is nil without an Idempotency-Key.
	Key *IdempotencyKey
	// Body is the request that made it, as JSON.
	Body []byte
}

// UploadStatus is the status of an upload.
type UploadStatus string

// The statuses.
const (
	UploadOpen      UploadStatus = "OPEN"
	UploadImporting UploadStatus = "IMPORTING"
	UploadDone      UploadStatus = "DONE"
	UploadFailed    UploadStatus = "FAILED"
)

// UploadState is an upload at one moment.
type UploadState struct {
	UploadRecord
	Status UploadStatus
	// Parts are in the order of their numbers. They are gone when the upload is DONE.
	Parts []UploadPart
	// ActiveAt is the last activity, in Unix milliseconds.
	ActiveAt int64
	// Failure is why the last import failed, nil if it did not.
	Failure *fault.Error
	// Read is how much of the parts the running import has read, in bytes.
	Read int64
}

// UploadPart is a part as it is stored.
type UploadPart struct {
	Number int
	// Size is in bytes, without a content coding.
	Size   int
	SHA256 [sha256.Size]byte
}

// UploadImport is an import that runs. It has one user at a time.
type UploadImport interface {
	// State is the upload when the import began.
	State() *UploadState
	// Read reads all parts, one after the other. Damage of a part is VALIDATION_FAILED.
	Read(p []byte) (int, error)
	// Store stores a content, which is not kept. It is part of the service AFTER Commit. Errors:
	// STORAGE_UNAVAILABLE.
	Store(hash work.Hash, content []byte) error
	// Commit makes the stored contents durable. The project that names them has to be made BEFORE the
	// end, or they are removed again. Errors: QUOTA_EXCEEDED, STORAGE_UNAVAILABLE.
	Commit() error
	// End ends the import with its result: nil if the project was made. It may be called again.
	End(result error)
}
