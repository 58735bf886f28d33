package actors

import (
	"context"
	"fmt"

	"pws/blobs"
	"pws/work"
)

const (
	// repairBytes is about how much of what others have sent is stored at a time.
	repairBytes = 16 << 20
	// repairFaultsMax is the number of contents that nobody sends AFTER which a repair tries again
	// later.
	repairFaultsMax = 16
)

// errOtherContent says that another server has sent something else.
var errOtherContent = fmt.Errorf("%w: another server has sent another content", blobs.ErrCorrupt)

// repairLoop gets contents from other servers that are damaged here, when a read has found that.
func (e *Engine) repairLoop() {
	e.whenWoken(e.repairing, func(err error) {
		e.log.Warn("damaged contents cannot be repaired now; this server tries again", "error", err)
	}, e.repairContents)
}

// untilStop is a context that ends with the engine.
func (e *Engine) untilStop() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-e.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// repairContents stores again what other servers have of the contents that are damaged here. The
// error is that of one that none of them has sent.
func (e *Engine) repairContents() error {
	if e.config.AskContent == nil {
		return nil
	}
	ctx, cancel := e.untilStop()
	defer cancel()
	var got []work.Blob
	var failed error
	bytes, faults := 0, 0
	for _, hash := range e.corrupted.all() {
		if !e.repairable(hash) {
			continue
		}
		content, err := e.config.AskContent(ctx, hash[:])
		if err == nil && work.Hash(blobs.Sum(content)) != hash {
			err = errOtherContent
		}
		if err != nil {
			failed = fmt.Errorf("content %x: %w", hash, err)
			if faults++; faults == repairFaultsMax {
				break
			}
			continue
		}
		got = append(got, work.Blob{Hash: hash, Content: content})
		if bytes += len(content); bytes < repairBytes {
			continue
		}
		if err := e.storeRepaired(got); err != nil {
			return err
		}
		got, bytes = nil, 0
	}
	if err := e.storeRepaired(got); err != nil {
		return err
	}
	return failed
}

// repairable reports whether a content is damaged here and still needed. It forgets one that was
// dropped since, or was repaired otherwise.
func (e *Engine) repairable(hash work.Hash) bool {
	h := blobs.Hash(hash)
	held, err := e.blobs.Holds(h)
	if err == nil && !held || !e.blobs.Damaged(h) {
		e.corrupted.clear(hash)
		return false
	}
	return !e.Identity().Purged(hash)
}

// storeRepaired stores contents in a pack of their own. Nothing is erased at the same time, and
// what was erased since does not come back.
func (e *Engine) storeRepaired(got []work.Blob) error {
	if len(got) == 0 {
		return nil
	}
	e.erasing.running.Lock()
	defer e.erasing.running.Unlock()
	batch, err := e.blobs.Begin()
	if err != nil {
		return err
	}
	defer batch.Abort()
	var hashes []work.Hash
	for _, one := range got {
		if !e.repairable(one.Hash) {
			continue
		}
		if err := batch.Add(blobs.Hash(one.Hash), one.Content); err != nil {
			return err
		}
		hashes = append(hashes, one.Hash)
	}
	if err := batch.Commit(); err != nil || len(hashes) == 0 {
		return err
	}
	e.corrupted.clear(hashes...)
	e.log.Info("damaged contents were repaired with those of other servers", "contents", len(hashes))
	return nil
}

// ContentOf returns the content of a hash for another server, on which it is damaged. Errors: those
// of blobs, and errHashesCut.
func (e *Engine) ContentOf(hash []byte) ([]byte, error) {
	if len(hash) != len(work.Hash{}) {
		return nil, errHashesCut
	}
	wanted := work.Hash(hash)
	if e.Identity().Purged(wanted) {
		return nil, blobs.ErrNotFound
	}
	return e.content(wanted)
}

// checkLoop reads the packed copies of contents that were written again, away from the writes. A
// damaged one is stored again while the content is at hand, or comes from another server.
func (e *Engine) checkLoop() {
	defer e.stopped.Done()
	for {
		select {
		case <-e.stop:
			return
		case unread := <-e.blobs.Unread():
			e.check(unread)
		}
	}
}

// check checks a content. Nothing is erased while it is stored again, and what was erased since
// does not come back.
func (e *Engine) check(unread blobs.Unread) {
	if !e.blobs.Check(unread) {
		return
	}
	e.erasing.running.Lock()
	defer e.erasing.running.Unlock()
	hash := work.Hash(unread.Hash)
	if e.repairable(hash) && !e.blobs.Keep(unread) {
		_, _ = e.content(hash)
	}
}
