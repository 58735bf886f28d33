package blobs

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
)

// damagedMax bounds the hashes that are remembered as damaged.
const damagedMax = 1 << 16

// damagedSet are hashes of which no pack has a sound copy, as far as reads have met that.
type damagedSet struct {
	mu sync.Mutex
	of map[Hash]struct{}
	// some is whether there are any, for those who ask about what is sound.
	some atomic.Bool
}

// note adds a hash unless stale is true, which is called under the lock: AFTER a pack with a sound
// copy is in force the hash leaves the set, and a read from before must not bring it back.
func (d *damagedSet) note(h *Hash, stale func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stale() || len(d.of) >= damagedMax {
		return
	}
	if d.of == nil {
		d.of = map[Hash]struct{}{}
	}
	d.of[*h] = struct{}{}
	d.some.Store(true)
}

// remove forgets a hash of which there is a sound copy, or none at all any more.
func (d *damagedSet) remove(h *Hash) {
	if !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, *h)
	d.some.Store(len(d.of) > 0)
}

func (d *damagedSet) has(h *Hash) bool {
	if !d.some.Load() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, damaged := d.of[*h]
	return damaged
}

// Damaged reports whether a read has found the packed copies of a blob damaged, and no sound one
// is durable: neither in a pack nor in the log. The cache may have the blob.
func (s *Store) Damaged(h Hash) bool {
	return s.damaged.has(&h) && !s.shard(&h).hasRecent(&h, func() {})
}

// noteDamage remembers a blob whose copies are damaged in the packs of a list.
func (s *Store) noteDamage(h *Hash, l *packList, err error) {
	if errors.Is(err, ErrCorrupt) {
		s.damaged.note(h, func() bool { return s.list.Load() != l })
	}
}

// Replayer adds what a start finds in the log again. A packed copy counts only if it is sound: the
// entry may be there because the copy was damaged, and the log is cut AFTER the next Pack. It reads
// a block of a pack once for blobs that follow one another there. It has one user.
type Replayer struct {
	s     *Store
	pack  *pack
	block uint64
	// raw is the block of that pack, nil if it is damaged. It lies in stored or in buf.
	raw, stored, buf []byte
}

// Replay begins adding what is in the log.
func (s *Store) Replay() *Replayer { return &Replayer{s: s} }

// Add is AddCopy for a content from the log. What is in memory was found sound, or added, BEFORE.
func (r *Replayer) Add(position uint64, h Hash, content []byte) {
	if _, known := r.s.shard(&h).get(&h); !known && !r.s.damaged.has(&h) {
		r.check(&h, content)
	}
	r.s.AddCopy(position, h, content)
}

// check notes the damage if packs have the blob, and none has it as in the log.
func (r *Replayer) check(h *Hash, content []byte) {
	l, found := r.s.list.Load(), false
	for _, p := range l.packs {
		e, ok, err := p.find(h)
		if err != nil || !ok {
			continue
		}
		if r.holds(p, e, content) {
			return
		}
		found = true
	}
	if found {
		r.s.damaged.note(h, func() bool { return false })
	}
}

// holds reports whether a pack has a content at an entry. What cannot be read is not there.
func (r *Replayer) holds(p *pack, e entry, content []byte) bool {
	if r.pack != p || r.block != e.block {
		r.pack, r.block, r.raw = p, e.block, r.read(p, e)
	}
	end := uint64(e.at) + uint64(e.size)
	return r.raw != nil && end <= uint64(len(r.raw)) && bytes.Equal(r.raw[e.at:end], content)
}

func (r *Replayer) read(p *pack, e entry) []byte {
	var err error
	if r.stored, err = p.readBlock(r.stored, &e); err != nil {
		return nil
	}
	k, err := parseBlock(p.name, int64(e.block), r.stored)
	if err != nil {
		return nil
	}
	raw, err := k.Decode(p.name, int64(e.block), r.buf)
	if err != nil {
		return nil
	}
	if k.Codec == disk.CodecZstd {
		r.buf = raw
	}
	return raw
}
