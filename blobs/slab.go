package blobs

import "sync/atomic"

const (
	// A slab has slabLeast to slabMost bytes, and about an eighth of what its shard holds. A
	// content of more than a quarter of that is a slab of its own, without a copy.
	slabLeast = 4 << 10
	slabMost  = 64 << 10
	slabPart  = 8
	ownPart   = 4
	// recordBytes is what a blob costs beside its content: its record and its part of the table.
	// slabBytes is what a slab costs beside its contents.
	recordBytes = 80
	slabBytes   = 160
	// readsMax is how often a blob stays in the cache that was read often.
	readsMax = 3
)

// slab is a block of contents with their records. Its bytes are never written twice and never used
// again: a reader may keep a content for as long as it likes, and the garbage collector frees the
// slab AFTER the last of them. Neither bytes nor records have pointers.
type slab struct {
	slot    uint32
	bytes   []byte // the contents so far; the capacity is fixed
	records []record
	recent  int   // records of blobs that are not in packs
	cached  bool  // the slab is in the queue of those that may leave
	next    *slab // in that queue
}

// record is a blob in a slab.
type record struct {
	hash     Hash
	position uint64 // of its log entry, while it is recent
	at, size uint32
	reads    uint32 // atomic; since the slab came to the end of the queue
	state    state
}

type state uint8

const (
	isGone   state = iota // the table does not lead to the record
	isRecent              // only the log has the blob on disk
	isPacked              // a pack has the blob
)

func (s *slab) content(r *record) []byte { return s.bytes[r.at : r.at+r.size : r.at+r.size] }

// number is that of one of the records.
func (s *slab) number(r *record) int {
	for nth := range s.records {
		if &s.records[nth] == r {
			return nth
		}
	}
	panic("blobs: record of another slab")
}

// cost is what the slab takes in memory.
func (s *slab) cost() int64 {
	return int64(cap(s.bytes)) + int64(len(s.records))*recordBytes + slabBytes
}

// fits reports whether the slab takes one more content.
func (s *slab) fits(content []byte) bool {
	return len(content) <= cap(s.bytes)-len(s.bytes) && len(s.records) < recordsMax
}

// add appends a content to a slab in which it fits.
func (s *slab) add(r record, content []byte) place {
	r.at, r.size = uint32(len(s.bytes)), uint32(len(content))
	s.bytes = append(s.bytes, content...)
	s.records = append(s.records, r)
	if r.state == isRecent {
		s.recent++
	}
	return placeOf(s.slot, len(s.records)-1)
}

// read counts a hit. A lost update costs a pass of the queue; what is read often is at the maximum
// and is not written to.
func (r *record) read() {
	if reads := atomic.LoadUint32(&r.reads); reads < readsMax {
		atomic.StoreUint32(&r.reads, reads+1)
	}
}

// slabs are those of a shard. Recent blobs are in slabs outside of the queue. When all of a slab
// are in packs it goes to the end of the queue as it is. The slab at the front leaves when the
// cache is over its limit; what was read since it came there is copied to the end of the queue.
type slabs struct {
	limit int64
	table table
	slots []*slab  // slot 0 stays empty
	free  []uint32 // slots
	// filling are the slabs that take the next recent blob and the next of the cache.
	filling [2]*slab
	// first and last are the ends of the queue, bytes is what it costs.
	first, last *slab
	bytes       int64
	// all is the capacity of all slabs.
	all                      int64
	recentBlobs, packedBlobs int
}

const (
	forRecent = 0
	forCache  = 1
)

// find returns a blob, nil if there is none.
func (l *slabs) find(h *Hash) (*slab, *record) {
	t := &l.table
	if t.used == 0 {
		return nil, nil
	}
	tag, mask := tagOf(h), t.mask()
	for i := tag & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if slot := t.slots[i]; uint32(slot>>32) == tag {
			p := place(slot)
			s := l.slots[p.slot()]
			if r := &s.records[p.nth()]; r.hash == *h {
				return s, r
			}
		}
	}
	return nil, nil
}

// store puts a content into the slab that is filled, or into one of its own. The caller sets the
// table. An owned content belongs to the store.
func (l *slabs) store(r record, content []byte, owned bool) place {
	which := forCache
	if r.state == isRecent {
		which = forRecent
		l.recentBlobs++
	} else {
		l.packedBlobs++
	}
	size := min(max(l.all/slabPart, slabLeast), slabMost)
	if l.limit > 0 {
		size = min(size, max(l.limit/ownPart, 1))
	}
	if int64(len(content)) > size/ownPart {
		return l.storeAlone(r, content, owned)
	}
	s := l.filling[which]
	if s == nil || !s.fits(content) {
		s = l.begin(make([]byte, 0, size), s)
		l.filling[which] = s
		if which == forCache {
			l.enqueue(s)
		}
	}
	if s.cached {
		l.bytes += recordBytes
	}
	return s.add(r, content)
}

// storeAlone makes a slab of a content.
func (l *slabs) storeAlone(r record, content []byte, owned bool) place {
	if !owned {
		content = append(make([]byte, 0, len(content)), content...)
	}
	s := l.begin(content, nil)
	r.at, r.size = 0, uint32(len(content))
	s.records = []record{r}
	if r.state == isRecent {
		s.recent = 1
	} else {
		l.enqueue(s)
	}
	return placeOf(s.slot, 0)
}

// begin makes a slab, with room for as many records for each byte as the one before it had.
func (l *slabs) begin(bytes []byte, before *slab) *slab {
	s := &slab{bytes: bytes}
	if before != nil {
		s.records = make([]record, 0, len(before.records)*cap(bytes)/cap(before.bytes)+1)
	}
	l.all += int64(cap(bytes))
	if n := len(l.free); n > 0 {
		s.slot = l.free[n-1]
		l.free = l.free[:n-1]
		l.slots[s.slot] = s
		return s
	}
	if len(l.slots) == 0 {
		l.slots = append(l.slots, nil)
	}
	s.slot = uint32(len(l.slots))
	l.slots = append(l.slots, s)
	return s
}

// end forgets a slab that is not in the queue.
func (l *slabs) end(s *slab) {
	l.all -= int64(cap(s.bytes))
	l.slots[s.slot] = nil
	l.free = append(l.free, s.slot)
	for which := range l.filling {
		if l.filling[which] == s {
			l.filling[which] = nil
		}
	}
}

// enqueue puts a slab to the end of the queue.
func (l *slabs) enqueue(s *slab) {
	s.cached, s.next = true, nil
	l.bytes += s.cost()
	if l.last == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
}

// dequeue takes the slab at the front out of the queue.
func (l *slabs) dequeue() *slab {
	s := l.first
	if l.first = s.next; l.first == nil {
		l.last = nil
	}
	s.cached, s.next = false, nil
	l.bytes -= s.cost()
	return s
}

// evict brings the cache below its limit.
func (l *slabs) evict() {
	for l.bytes > l.limit && l.first != nil {
		s := l.dequeue()
		if len(s.records) == 1 && s.records[0].state == isPacked && s.records[0].reads > 0 {
			s.records[0].reads--
			l.enqueue(s)
			continue
		}
		l.end(s)
		for nth := range s.records {
			r := &s.records[nth]
			if r.state == isPacked && r.reads > 0 {
				r.reads--
				l.relocate(s, nth)
			} else if r.state == isPacked {
				l.remove(s, nth)
			}
		}
	}
}

// count changes the number of blobs in a state.
func (l *slabs) count(of state, by int) {
	if of == isRecent {
		l.recentBlobs += by
	} else if of == isPacked {
		l.packedBlobs += by
	}
}

// remove takes a blob out of the table. Its bytes stay until the slab goes.
func (l *slabs) remove(s *slab, nth int) {
	r := &s.records[nth]
	l.table.remove(tagOf(&r.hash), placeOf(s.slot, nth))
	l.count(r.state, -1)
	if r.state == isRecent {
		s.recent--
	}
	r.state = isGone
}

// relocate copies a blob of a slab that goes into one that is filled.
func (l *slabs) relocate(s *slab, nth int) {
	r := &s.records[nth]
	l.count(r.state, -1)
	// A content that is small enough for a slab is copied, because the old slab goes.
	to := l.store(*r, s.content(r), false)
	l.table.move(tagOf(&r.hash), placeOf(s.slot, nth), to)
	r.state = isGone
}

// adopt takes a slab whose blobs are all in packs into the cache. One that is mostly empty does not
// stay.
func (l *slabs) adopt(s *slab) {
	if l.filling[forRecent] == s {
		l.filling[forRecent] = nil
	}
	if len(s.bytes) >= cap(s.bytes)/2 {
		l.enqueue(s)
		return
	}
	l.end(s)
	for nth := range s.records {
		if s.records[nth].state == isPacked {
			l.relocate(s, nth)
		}
	}
}

// wipe takes a blob out, with its bytes: the others of its slab move.
func (l *slabs) wipe(s *slab, nth int) {
	l.remove(s, nth)
	if s.cached {
		l.leaveQueue(s)
	}
	l.end(s)
	for nth := range s.records {
		if s.records[nth].state != isGone {
			l.relocate(s, nth)
		}
	}
	l.evict()
}

// leaveQueue takes a slab out of the middle of the queue.
func (l *slabs) leaveQueue(s *slab) {
	queue := l.first
	l.first, l.last = nil, nil
	for queue != nil {
		one := queue
		queue = one.next
		one.cached, one.next = false, nil
		l.bytes -= one.cost()
		if one != s {
			l.enqueue(one)
		}
	}
}
