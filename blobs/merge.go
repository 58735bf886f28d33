package blobs

import (
	"bytes"
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"pws/internal/disk"
)

const (
	// A tier is full with this many packs; merging it makes one pack of a higher tier, so that a
	// blob is rewritten a logarithmic number of times.
	tierPacks = 4
	// tierBase is the size up to which a pack belongs to the lowest tier.
	tierBase = 256 << 10
	// Packs that have reached one of these sizes are not merged any more. They bound the memory of a
	// merge to some 130 MB, however much is stored.
	fullPackBytes = 4 << 30
	fullPackBlobs = 1 << 20
	mergeBlobs    = 2 << 20
)

func tier(p *pack) int { return (bits.Len64(uint64(p.size)/tierBase) + 1) / 2 }

func (p *pack) full() bool {
	return p.size >= fullPackBytes || p.footer.blobs >= fullPackBlobs
}

// NeedsMerge reports whether a tier is full.
func (s *Store) NeedsMerge() bool { return len(tiered(s.list.Load().packs)) > 0 }

// MergeBytes is the most that the next TryMerge writes.
func (s *Store) MergeBytes() (bytes int64) {
	for _, p := range tiered(s.list.Load().packs) {
		bytes += p.size
	}
	return bytes
}

// tiered picks the packs of the lowest full tier and all below it, and goes on upwards while the
// pack to be made would fill the next tier.
func tiered(packs []*pack) []*pack {
	var byTier [64][]*pack
	for _, p := range packs {
		if !p.full() && !p.stuck.Load() {
			byTier[tier(p)] = append(byTier[tier(p)], p)
		}
	}
	var picked []*pack
	found := false
	for _, ps := range byTier {
		picked = append(picked, ps...)
		more := 0
		if found {
			more = 1
		}
		if len(ps)+more >= tierPacks {
			found = true
		} else if found {
			return picked[:len(picked)-len(ps)]
		}
	}
	if !found {
		return nil
	}
	return picked
}

// TryMerge writes the packs of full tiers into one new pack. It keeps all blobs. It must not wait,
// so it does nothing while another merge, a Purge or a Drop is under way. When it fails everything
// stays as it was, but for ErrUncertain (see there); a pack with damage is left alone from then on.
func (s *Store) TryMerge() error {
	if !s.merging.TryLock() {
		return nil
	}
	defer s.merging.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	inputs := s.mergeInputs()
	if len(inputs) == 0 {
		return nil
	}
	keep := func(*Hash) bool { return true }
	return s.mergePacks(&merge{s: s, yield: s.yield}, inputs, keep, nil)
}

func (s *Store) mergeInputs() []*pack {
	picked := tiered(s.list.Load().packs)
	slices.SortStableFunc(picked, func(a, b *pack) int {
		return cmp.Compare(a.footer.blobs, b.footer.blobs)
	})
	var blobs uint64
	for i, p := range picked {
		if blobs += p.footer.blobs; blobs > mergeBlobs && i > 0 {
			return picked[:i]
		}
	}
	return picked
}

// leaveAlone excludes an unreadable pack from further merges. Its valid blobs stay readable.
func (p *pack) leaveAlone(err error) error {
	p.stuck.Store(true)
	return err
}

// merge is one merge, Purge or Drop under way.
type merge struct {
	s       *Store
	b       *builder        // nil until a blob is kept
	dropped map[*pack]marks // per input
	// drops says that a blob was dropped.
	drops bool
	raw   []byte
	// blobs is the number of blobs in all inputs.
	blobs uint64
	// yield is called between small steps.
	yield func()
	// must says that the packs have to go whatever is damaged in them.
	must bool
}

// atOnce is the yield of Drop and Purge. Somebody waits for them, and Options.Yield may be in use
// by Pack at the same time.
func atOnce() {}

// rewrite writes a pack again for those who wait that something leaves it: Drop and Purge. What is
// damaged in it stays damaged, and does not keep the rest on the disk.
func (s *Store) rewrite(
	p *pack, keep func(*Hash) bool, keepOld func(*merge, *pack) bool,
) error {
	m := &merge{s: s, yield: atOnce, must: true}
	return s.mergePacks(m, []*pack{p}, keep, keepOld)
}

// mergePacks writes packs into a new one. keepOld, if given, is asked BEFORE a pack goes whether it
// has to stay.
func (s *Store) mergePacks(
	m *merge, inputs []*pack, keep func(*Hash) bool, keepOld func(*merge, *pack) bool,
) error {
	m.dropped = map[*pack]marks{}
	defer func() {
		if m.b != nil {
			m.b.abort()
		}
	}()
	for _, p := range inputs {
		m.blobs += p.footer.blobs
	}
	for i, p := range inputs {
		if err := m.copyPack(p, inputs[i+1:], keep); err != nil {
			return err
		}
	}
	if len(inputs) == 1 && !m.drops {
		return nil
	}
	var in []*pack
	if m.b != nil {
		p, err := m.b.finish()
		if err != nil {
			return err
		}
		in = append(in, p)
		// Merges leave it alone, as they do with the pack that the damage is from.
		p.stuck.Store(len(m.b.damaged) > 0)
	}
	stays := func(p *pack) bool { return keepOld != nil && keepOld(m, p) }
	return s.swap(in, inputs, stays)
}

// marks are a bit for each entry of a pack, in order of hashes.
type marks []uint64

func (b marks) set(nth int) { b[nth/64] |= 1 << (nth % 64) }

func (b marks) has(nth int) bool { return b[nth/64]&(1<<(nth%64)) != 0 }

// copyPack decides once for each blob of a pack, and copies the kept ones block by block. Those
// that one of the packs has that are copied later are left to it: their bytes would be dead in the
// new pack, where no index shows them.
func (m *merge) copyPack(p *pack, later []*pack, keep func(*Hash) bool) error {
	words := (p.footer.pages()*pageEntries + 63) / 64
	dropped, doubled := make(marks, words), make(marks, words)
	nth := 0
	var e entry
	var other error // a fault of a later pack, not of p
	err := p.eachPage(func(_ int64, _ []byte, g page) error {
		m.yield()
		for i := range g.n {
			if e = g.entry(i); !keep(&e.hash) {
				dropped.set(nth)
				m.drops = true
			} else if again, err := anyHas(later, &e.hash); err != nil {
				other = err
				return err
			} else if again {
				doubled.set(nth)
			}
			nth++
		}
		return nil
	})
	if err != nil && err == other {
		return err
	}
	if err != nil {
		return p.leaveAlone(err)
	}
	m.dropped[p] = dropped
	mark := func(nth int, e *entry) { e.dead = dropped.has(nth) || doubled.has(nth) }
	var own error // a fault of the new pack, not of p
	err = p.walk(mark, m.yield, func(whole []byte, entries []entry) error {
		if !slices.ContainsFunc(entries, func(e entry) bool { return !e.dead }) {
			return nil
		}
		if own = m.start(); own != nil {
			return own
		}
		return m.copyBlock(p, whole, entries, &own)
	})
	if err != nil && !errors.Is(err, own) {
		return p.leaveAlone(err)
	}
	return err
}

// anyHas reports whether one of the packs has a blob. An unreadable pack is left alone from then
// on.
func anyHas(packs []*pack, h *Hash) (bool, error) {
	for _, p := range packs {
		_, found, err := p.find(h)
		if err != nil {
			return false, p.leaveAlone(err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

func (m *merge) start() error {
	if m.b != nil {
		return nil
	}
	b, err := m.s.newBuilder()
	if err == nil {
		m.b, b.yield = b, m.yield
		b.entries = make([]entry, 0, m.blobs)
	}
	return err
}

// copyBlock takes a block over as it is stored if it is full and wholly alive; otherwise its live
// blobs are grouped into new blocks.
func (m *merge) copyBlock(p *pack, whole []byte, entries []entry, own *error) error {
	offset := int64(entries[0].block)
	k, err := parseBlock(p.name, offset, whole)
	if err != nil && m.must {
		*own = m.carryDamage(whole, entries)
		return *own
	}
	if err != nil {
		return err
	}
	var live uint64
	for _, e := range entries {
		if !e.dead {
			live += uint64(e.size)
		}
	}
	full := k.Raw >= blockBytes/2 || (len(entries) == 1 && k.Raw >= smallBytes)
	if full && live == uint64(k.Raw) {
		*own = m.b.addBlock(whole, entries)
		return *own
	}
	raw, err := k.Decode(p.name, offset, m.raw)
	if err != nil {
		return err
	}
	if k.Codec == disk.CodecZstd {
		m.raw = raw
	}
	for _, e := range entries {
		if e.dead {
			continue
		}
		content, err := p.cut(e, raw)
		if err != nil {
			return err
		}
		if *own = m.b.add(e.hash, content); *own != nil {
			return *own
		}
	}
	return nil
}

// carryDamage takes over a damaged block of which some blobs are kept: who reads them still finds
// the damage. Where a blob has to leave the block, its bytes are among those that are there, so all
// become zero.
func (m *merge) carryDamage(whole []byte, entries []entry) error {
	kept := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.dead })
	if len(kept) < len(entries) {
		clear(whole)
		if len(whole) >= blockHeadBytes {
			// It has to be wrong also for what is zero now.
			le.PutUint32(whole, ^disk.Checksum(whole[4:]))
		}
	}
	return m.b.addDamaged(whole, kept)
}

// errTouched ends the pass over an index early.
var errTouched = errors.New("blobs: touched")

// neededAgain reports whether a dropped blob has been touched since: then its pack stays as it is,
// and a later merge removes the duplicates.
func (m *merge) neededAgain(p *pack) bool {
	gone := m.dropped[p]
	if !slices.ContainsFunc(gone, func(w uint64) bool { return w != 0 }) {
		return false
	}
	i := 0
	err := p.eachPage(func(_ int64, _ []byte, g page) error {
		for j := range g.n {
			if gone.has(i) {
				if h := Hash(bytes.Clone(g.hash(j))); m.s.isTouched(&h) {
					return errTouched
				}
			}
			i++
		}
		return nil
	})
	return err != nil
}
