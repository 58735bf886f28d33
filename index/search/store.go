package search

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
)

// ErrFailed reports that the index cannot be used until it has been reopened.
var ErrFailed = errors.New("the search index has failed")

// Index is an open index. It supports one writing and any number of reading goroutines.
type Index struct {
	dir    string
	scorch index.Index
	// analysis is required by scorch but does nothing, because documents come with their terms.
	analysis *index.AnalysisQueue
	failure  atomic.Pointer[error]
	rounds   *rounds
	cache    cache
	// most is candidatesMax; tests have less.
	most int
	// open is read-locked during each use of the index, and locked by Close.
	open struct {
		sync.RWMutex
		closed bool
	}
}

// asyncErrors is the name under which the error callback is registered with scorch.
const asyncErrors = "pws search"

// opened maps the path of a store to its index, for that callback.
var opened sync.Map

func init() {
	scorch.RegistryAsyncErrorCallbacks[asyncErrors] = func(err error, path string) {
		if found, ok := opened.Load(path); ok {
			if x, ok := found.(*Index); ok {
				x.fail(err)
			}
		}
	}
}

// fail marks the index as failed.
func (x *Index) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrFailed, err)
	x.failure.CompareAndSwap(nil, &err)
}

// Fault returns the reason of a failure, nil while the index works.
func (x *Index) Fault() error {
	if err := x.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (x *Index) config(readOnly bool) map[string]any {
	return map[string]any{
		"path": filepath.Join(x.dir, storeName), "read_only": readOnly,
		"bolt_timeout": "1s", "asyncErrorCallbackName": asyncErrors,
		"eventCallbackName": roundEvents,
		// Batches lost in a crash are indexed again.
		"unsafe_batch": true, "numSnapshotsToKeep": 1,
		// Several batches are written as one segment with one fsync.
		"scorchPersisterOptions": map[string]any{
			"PersisterNapTimeMSec": 1000, "PersisterNapUnderNumFiles": 1000,
			"MemoryPressurePauseThreshold": 1 << 30, "NumPersisterWorkers": 1,
		},
	}
}

// use calls do while the index is open. A panic caused by the contents of the index marks it as
// failed.
func (x *Index) use(do func() error) (err error) {
	x.open.RLock()
	defer x.open.RUnlock()
	if x.open.closed {
		return fmt.Errorf("%w: it is closed", ErrFailed)
	}
	if err := x.Fault(); err != nil {
		return err
	}
	if err = guarded(do); err != nil {
		x.fail(err)
		err = x.Fault()
	}
	return err
}

// guarded turns panics into errors, including memory faults caused by a damaged mapped file.
func guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	return do()
}

// read calls do with a snapshot of the index.
func (x *Index) read(do func(reader index.IndexReader) error) error {
	return x.use(func() error {
		reader, err := x.scorch.Reader()
		if err != nil {
			return err
		}
		return errors.Join(do(reader), reader.Close())
	})
}

// Batch is a set of changes that are applied atomically. The next changes use its memory again.
type Batch struct {
	batch *index.Batch
	bytes int
	// space has the terms of the documents.
	space space
}

// NewBatch makes an empty batch.
func NewBatch() *Batch { return &Batch{batch: index.NewBatch()} }

// Put adds a document or replaces the one with its key.
func (b *Batch) Put(d *Document) {
	b.batch.Update(b.space.newEntry(d))
	b.bytes += len(d.Title) + len(d.Body)
}

// Drop removes a document.
func (b *Batch) Drop(key Key) { b.batch.Delete(key.Encode()) }

// KeysOf returns the documents of a project that the batch adds, in no order.
func (b *Batch) KeysOf(project [16]byte) (keys []Key) {
	for text, entry := range b.batch.IndexOps {
		if key, ok := DecodeKey(text); ok && entry != nil && key.Project == project {
			keys = append(keys, key)
		}
	}
	return keys
}

// Len returns the number of documents.
func (b *Batch) Len() int { return len(b.batch.IndexOps) }

// Bytes returns the size of their texts.
func (b *Batch) Bytes() int { return b.bytes }

var positionKey = []byte("position")

// Write applies the changes, and sets the position of the log that the index has reached. They are
// visible to searches at once; durable, if not nil, is called when they are on disk. The batch is
// empty then, unless there is an error.
func (x *Index) Write(b *Batch, position uint64, durable func()) error {
	return x.use(func() error {
		b.batch.SetInternal(positionKey, encodePosition(position))
		if durable != nil {
			b.batch.SetPersistedCallback(func(error) { durable() })
		}
		if err := x.scorch.Batch(b.batch); err != nil {
			return err
		}
		x.rounds.add(b.bytes, durable != nil)
		b.empty()
		return nil
	})
}

// empty takes the documents out of a batch that was written: the segment has copies of them.
func (b *Batch) empty() {
	b.batch, b.bytes = index.NewBatch(), 0
	b.space.release()
}

func encodePosition(position uint64) []byte {
	out := binary.BigEndian.AppendUint64(nil, position)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func decodePosition(text []byte) (uint64, error) {
	if len(text) == 0 {
		return 0, nil
	}
	if len(text) != 12 || crc32.ChecksumIEEE(text[:8]) != binary.BigEndian.Uint32(text[8:]) {
		return 0, errors.New("the position of the search index is damaged")
	}
	return binary.BigEndian.Uint64(text), nil
}

// Position returns the position of the newest batch, 0 for a new index.
func (x *Index) Position() (position uint64, err error) {
	err = x.read(func(reader index.IndexReader) error {
		text, err := reader.GetInternal(positionKey)
		if err == nil {
			position, err = decodePosition(text)
		}
		return err
	})
	return position, err
}

// Len returns the number of documents.
func (x *Index) Len() (count uint64) {
	_ = x.read(func(reader index.IndexReader) (err error) {
		count, err = reader.DocCount()
		return err
	})
	return count
}

// Versions returns the versions in which documents were indexed; 0 if a document is not indexed.
func (x *Index) Versions(keys []Key) (versions []uint64, err error) {
	versions = make([]uint64, len(keys))
	err = x.read(func(reader index.IndexReader) error {
		values, err := newFactsReader(reader, &x.cache)
		if err != nil {
			return err
		}
		for i, key := range keys {
			number, err := reader.InternalID(key.Encode())
			if err != nil {
				return err
			}
			if number == nil {
				continue
			}
			known, err := values.read(number.Value())
			if err != nil {
				return err
			}
			versions[i] = known.version
		}
		return nil
	})
	return versions, err
}

// KeysOf returns the keys of the documents of a project.
func (x *Index) KeysOf(project [16]byte) (keys []Key, err error) {
	err = x.read(func(reader index.IndexReader) (err error) {
		found, err := reader.TermFieldReader(context.Background(), []byte(inProject(project)),
			fieldTerms, false, false, false)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, found.Close()) }()
		var doc index.TermFieldDoc
		for {
			next, err := found.Next(doc.Reset())
			if err != nil || next == nil {
				return err
			}
			text, err := reader.ExternalID(next.ID)
			if err != nil {
				return err
			}
			key, ok := DecodeKey(text)
			if !ok {
				return fmt.Errorf("invalid document key %q", text)
			}
			keys = append(keys, key)
		}
	})
	return keys, err
}

// Close closes the index. Changes that were not durable are indexed again after the next start. A
// clean close writes the checksum of the store.
func (x *Index) Close() error {
	x.open.Lock()
	defer x.open.Unlock()
	if x.open.closed {
		return nil
	}
	x.open.closed = true
	return x.closeStore(x.Fault() == nil)
}

func (x *Index) closeStore(clean bool) error {
	err := guarded(x.scorch.Close)
	roundsOf.Delete(x.scorch)
	x.analysis.Close()
	opened.Delete(filepath.Join(x.dir, storeName))
	if err == nil && clean {
		err = x.writeClosedSum()
	}
	return err
}
