package actors

import (
	"fmt"
	"sync"

	"pws/blobs"
	"pws/index"
	"pws/internal/datadir"
	"pws/work"
)

// commit is an entry on its way through the log. The log calls Committed in order, AFTER the entry
// is durable; only then do contents, view and answer come out.
type commit struct {
	engine *Engine
	handle *handle
	// order has its answer already.
	order *order
	// project is the state with the entry.
	project *work.Project
	events  []work.Event
	blobs   []datadir.Blob
	// feedNote is what the feed records of the entry.
	feedNote feedNote
	// notices are for the inboxes of those whom the events concern.
	notices []index.Delivery
	waiters waiters
	// storing is what the entry adds to the account of the caller.
	storing storing
	// recent is what the contents take of the memory for those that are not in packs.
	recent int64
}

// entryMemory is memory for the events of an entry until the entry is encoded. It is reused.
type entryMemory struct {
	events []datadir.Event
	data   []byte
}

var entryMemories = sync.Pool{New: func() any { return new(entryMemory) }}

// entryBytesKept is the size of encoded events above which their memory is not kept.
const entryBytesKept = 64 << 10

func (m *entryMemory) recycle() {
	if cap(m.data) > entryBytesKept {
		return
	}
	clear(m.events)
	m.events, m.data = m.events[:0], m.data[:0]
	entryMemories.Put(m)
}

// fill puts events into the entry, and the contents except those that the project held before.
// What other projects hold does not count: the size of the entry, and the time to write it, would
// say whether a project that the caller may not read has the content.
func (c *commit) fill(
	e *datadir.Entry, memory *entryMemory, before *work.Project, decision work.Decision,
) (err error) {
	for _, event := range decision.Events {
		begin := len(memory.data)
		if memory.data, err = work.EncodeEvent(memory.data, event); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		memory.events = append(memory.events, datadir.Event{
			Kind: uint16(work.KindOf(event)), Data: memory.data[begin:],
		})
	}
	e.Events = memory.events
	for i := range decision.Stored {
		e.Packed += datadir.PackedBytes(decision.Stored[i].Size)
	}
	if len(decision.Blobs) > 0 {
		c.fillBlobs(e, before.Held(decision.Events), decision.Blobs)
	}
	c.blobs = e.Blobs
	return nil
}

func (c *commit) fillBlobs(e *datadir.Entry, held map[work.Hash]bool, all []work.Blob) {
	var given map[work.Hash]bool
	if len(all) > 1 {
		given = make(map[work.Hash]bool, len(all))
	}
	for _, blob := range all {
		if given[blob.Hash] || held[blob.Hash] && c.engine.blobs.Has(blobs.Hash(blob.Hash)) {
			continue
		}
		if given != nil {
			given[blob.Hash] = true
		}
		e.Blobs = append(e.Blobs, datadir.Blob{Hash: blob.Hash, Content: blob.Content})
	}
}

// Committed implements journal.Committed.
func (c *commit) Committed(position uint64, err error) {
	if err != nil {
		err = c.engine.storageFault(err)
		c.releaseAll()
		c.order.release(err)
		c.waiters.finish(err)
		return
	}
	for _, blob := range c.blobs {
		c.engine.store(position, blob.Hash, blob.Content)
	}
	if len(c.blobs) > 0 && c.engine.blobs.RecentBytes() > c.engine.config.SnapshotBlobBytes {
		c.engine.saver.hurry()
	}
	c.engine.recents.settle(c.feedNote.agent, c.recent)
	c.storing.settle(position, c.engine)
	c.engine.accounts.refund(position, c.events)
	c.engine.publish(c.handle, c.project, position, c.events)
	c.engine.inbox.Deliver(position, c.notices)
	c.feedNote.position = position
	c.engine.feed.push(c.feedNote)
	// The actor keeps the waiters, and with them c, until the next entry of the project: what c refers
	// to would stay in memory, such as a state that has left it.
	c.project, c.blobs, c.events, c.notices, c.feedNote = nil, nil, nil, nil, feedNote{}
	c.order.release(nil)
	c.waiters.finish(nil)
}

// releaseAll gives back what was taken for an entry that the log did not take.
func (c *commit) releaseAll() {
	c.storing.release()
	if c.recent > 0 {
		c.engine.recents.add(c.feedNote.agent, -c.recent)
	}
}
