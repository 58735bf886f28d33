package actors

import (
	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
)

// sharedEntryBytes is about how large the entries of shared contents are.
const sharedEntryBytes = 4 << 20

// shareContents gives contents, which this server has in a pack, to the other servers of the
// journal, in entries of contents alone. It returns AFTER they are durable, so an entry that names
// them comes behind. A single server does nothing. A content that a Drop has taken since it was
// stored is refused; one that is found stays. Errors: STORAGE_UNAVAILABLE, RATE_LIMITED.
func (e *Engine) shareContents(agent id.ID, hashes func(yield func(blobs.Hash) bool)) error {
	if !e.config.SharedJournal {
		return nil
	}
	entry, size := e.contentsEntry(agent), 0
	for hash := range hashes {
		if !e.blobs.Has(hash) {
			return errContentsRemoved()
		}
		content, err := e.blobs.Get(hash)
		if err != nil {
			return err
		}
		if size > 0 && size+len(content) > sharedEntryBytes {
			if err := e.appendContents(entry); err != nil {
				return err
			}
			entry, size = e.contentsEntry(agent), 0
		}
		entry.Blobs = append(entry.Blobs, datadir.Blob{Hash: hash, Content: content})
		size += len(content)
	}
	if size == 0 {
		return nil
	}
	return e.appendContents(entry)
}

func (e *Engine) contentsEntry(agent id.ID) *datadir.Entry {
	return &datadir.Entry{Target: datadir.TargetContents, Now: e.Now(), Agent: agent}
}

// appendContents returns AFTER the entry is durable. Its contents are not given up any more BEFORE
// that.
func (e *Engine) appendContents(entry *datadir.Entry) error {
	if len(entry.Blobs) > 0 {
		if err := e.erasing.noteContents(entry); err != nil {
			return err
		}
	}
	done := make(contentsDone, 1)
	err := e.journal.Append(e.leading(), journal.Entry{Payload: entry.Encode()}, done)
	if err == nil {
		err = <-done
	}
	if err != nil {
		return e.storageFault(err)
	}
	return nil
}

// contentsDone receives the outcome of an entry of contents.
type contentsDone chan error

// Committed implements journal.Committed.
func (d contentsDone) Committed(_ uint64, err error) { d <- err }
