package blobs

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
)

// Options are the settings of a store.
type Options struct {
	// Dir is the store's own directory; Open makes it if it is missing.
	Dir string
	// InUse says that the directory has been in use: one without a manifest has lost its packs.
	InUse bool
	// CacheBytes bounds the cache of packed blobs, with its own cost. Default 256 MiB. Recent blobs
	// come on top; Pack empties them.
	CacheBytes int64
	// Room, if set, is called BEFORE each write with its size; its error fails the write.
	Room func(bytes int64) error
	// Yield, if set, is called between the small steps of Pack and TryMerge, by the goroutine that
	// called them: it may wait, so that others have the processor. Drop and Purge do not call it.
	Yield func()

	disk disk.Disk
}

// Store is the open store. All methods may be called concurrently.
type Store struct {
	o      Options
	lock   io.Closer
	shards [shardCount]shard
	recent atomic.Int64 // bytes of the recent blobs
	list   atomic.Pointer[packList]
	// damaged are blobs that count as not stored until they are recent, or in a pack again.
	damaged damagedSet
	unread  chan Unread

	// Hashes that Has, or an Add without effect, has answered for since the last Drop began: a writer
	// that has the answer may be about to name them, and the Drop keeps them.
	touched atomic.Pointer[touched]

	packing sync.Mutex // one Pack at a time
	merging sync.Mutex // one merge, Purge or Drop at a time

	mu struct {
		sync.Mutex
		closed   bool
		failed   error
		next     uint32 // number of the next pack
		manifest []byte // as it is on disk
	}
}

// packList is the packs in force, the newest first. It is immutable.
type packList struct {
	packs []*pack
	// leaving are packs that are about to be taken out: Get still reads from them, while Has
	// answers already as if they were gone.
	leaving []*pack
}

func (l *packList) all() []*pack {
	if len(l.leaving) == 0 {
		return l.packs
	}
	return slices.Concat(l.packs, l.leaving)
}

// find looks a hash up in packs. An error counts only if no other pack has the blob.
func find(packs []*pack, h *Hash) (p *pack, e entry, ok bool, err error) {
	for _, p := range packs {
		e, ok, ferr := p.find(h)
		if ok {
			return p, e, true, nil
		}
		if ferr != nil {
			err = ferr
		}
	}
	return nil, entry{}, false, err
}

// Open reads the manifest and checks header, footer and index of each pack, and removes what
// interrupted runs have left. Damage is a *CorruptError.
func Open(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, errors.New("blobs: Options.Dir is empty")
	}
	if o.CacheBytes <= 0 {
		o.CacheBytes = 256 << 20
	}
	if o.disk == nil {
		o.disk = disk.OS{}
	}
	if o.Room != nil {
		o.disk = disk.Guard(o.disk, o.Room)
	}
	lock, err := disk.Claim(o.disk, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, lock: lock, unread: make(chan Unread, unreadMax)}
	for i := range s.shards {
		s.shards[i].init(o.CacheBytes / shardCount)
	}
	s.touched.Store(new(touched))
	if err := s.load(); err != nil {
		lock.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) load() error {
	names, err := s.o.disk.List(s.o.Dir)
	if err != nil {
		return err
	}
	m, raw, err := readManifest(s.o.disk, s.o.Dir, names)
	if err == nil && raw == nil && s.o.InUse {
		// A new manifest would number packs as those that are lost, and may come back.
		err = ManifestLost(s.o.Dir)
	}
	if err != nil {
		return err
	}
	l := &packList{}
	keep := map[string]bool{}
	for _, mp := range m.packs {
		p, err := openPack(s.o.disk, s.o.Dir, mp.Number, mp.Size, &mp.FooterCRC)
		if err != nil {
			l.close()
			return err
		}
		l.packs = append(l.packs, p)
		keep[packName(mp.Number)] = true
	}
	slices.Reverse(l.packs)
	s.list.Store(l)
	s.mu.next, s.mu.manifest = m.next, raw
	if raw == nil {
		// From here on a directory with packs and without a manifest has lost it.
		err = s.replaceManifest(appendManifest(nil, m))
	}
	if err == nil {
		// A process that was killed may have left the manifest under its name with that name not
		// durable yet: it has to be BEFORE what only an older manifest needs is removed.
		err = s.o.disk.SyncDir(s.o.Dir)
	}
	if err == nil {
		err = s.removeLeftovers(names, keep)
	}
	if err != nil {
		l.close()
	}
	return err
}

func (l *packList) close() {
	for _, p := range l.packs {
		p.f.Close()
	}
}

func (s *Store) shard(h *Hash) *shard { return &s.shards[h[0]%shardCount] }

// Has reports whether the blob is stored. A blob it has answered true for is not dropped by a Drop
// that is under way; one that begins later has to know of it (see there).
//
// If a pack cannot be read, or the blob is known to be damaged there, the answer is false, and the
// caller stores the content again.
func (s *Store) Has(h Hash) bool {
	recent := s.shard(&h).hasRecent(&h, func() {
		// Marked BEFORE the blob can leave the recent ones, and so BEFORE a Drop can see it.
		for !s.mark(&h) {
		}
	})
	return recent || s.hasSound(&h)
}

// hasSound is hasPacked but for blobs that are known to be damaged.
func (s *Store) hasSound(h *Hash) bool { return !s.damaged.has(h) && s.hasPacked(h) }

// Holds reports whether the blob is stored now. Unlike Has it does not keep the blob from being
// dropped.
func (s *Store) Holds(h Hash) (bool, error) {
	for {
		l := s.list.Load()
		if s.shard(&h).hasRecent(&h, func() {}) {
			return true, nil
		}
		// A blob that has left the recent ones since is in a newer list.
		if _, _, ok, err := find(l.packs, &h); ok || err != nil || s.list.Load() == l {
			return ok, err
		}
	}
}

// Packed yields the hashes in all packs, many at a time; one may come twice. The list of hashes
// must not be kept.
func (s *Store) Packed(yield func([]Hash) error) error {
	var all []Hash
	for _, p := range s.list.Load().packs {
		err := p.eachPage(func(_ int64, _ []byte, g page) error {
			for i := range g.n {
				all = append(all, Hash(g.hash(i)))
			}
			if len(all) < packedStep {
				return nil
			}
			err := yield(all)
			all = all[:0]
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	return yield(all)
}

// packedStep is how many hashes Packed yields at a time, or a few more.
const packedStep = 4096

// mark reports whether the hash went into the set of touched hashes that still is the current one.
func (s *Store) mark(h *Hash) bool {
	t := s.touched.Load()
	t.mark(h)
	return s.touched.Load() == t
}

// hasPacked marks the hash and then looks whether the list of packs is still the same: a Drop
// publishes its list first and looks at the marks AFTER that, so one of the two sees the other.
func (s *Store) hasPacked(h *Hash) bool {
	for {
		l := s.list.Load()
		_, _, ok, _ := find(l.packs, h)
		if !ok && s.list.Load() == l {
			return false
		}
		if ok && s.mark(h) && s.list.Load() == l {
			return true
		}
	}
}

// Add stores a blob that is durable in the log entry at position. The content belongs to the store
// from now on and is never modified. Adding what is there has no effect, but that the lower
// position counts, and that what is packed is in the cache: reading it next takes as long as
// reading what is new. What is there and known to be damaged is stored again, and what nothing has
// read for long is offered for a Check. h has to be Sum(content).
func (s *Store) Add(position uint64, h Hash, content []byte) {
	s.add(position, h, content, true)
}

// AddCopy is Add for a content that stays with the caller.
func (s *Store) AddCopy(position uint64, h Hash, content []byte) {
	s.add(position, h, content, false)
}

// mustFit panics if a content is longer than BlobBytesMax: its writer has checked that.
func mustFit(content []byte) {
	if len(content) > BlobBytesMax {
		panic(fmt.Sprintf("blobs: blob of %d bytes is over the limit of %d",
			len(content), BlobBytesMax))
	}
}

func (s *Store) add(position uint64, h Hash, content []byte, owned bool) {
	mustFit(content)
	if content == nil {
		content = []byte{}
	}
	sh := s.shard(&h)
	if !sh.hasRecent(&h, func() {}) && s.hasSound(&h) {
		// A start, which does not give its contents away, has compared them itself.
		if sh.keep(h, content, owned) && owned {
			s.offer(position, h)
		}
		return
	}
	if sh.addRecent(position, h, content, owned) {
		s.recent.Add(int64(len(content)))
	}
}

// Get returns the content of a blob, which nobody may change. The error is ErrNotFound, a
// *CorruptError, or what kept the store from reading.
func (s *Store) Get(h Hash) ([]byte, error) {
	sh := s.shard(&h)
	if content, ok := sh.get(&h); ok {
		return content, nil
	}
	return s.getCold(h, sh)
}

func (s *Store) getCold(h Hash, sh *shard) ([]byte, error) {
	for {
		l := s.list.Load()
		content, err := readSound(l.all(), &h)
		switch {
		case err == nil:
			s.damaged.remove(&h)
			sh.keep(h, content, true)
			return content, nil
		case s.list.Load() != l:
			// The packs have changed: what was missing or closed may be in the new list.
		case errors.Is(err, os.ErrClosed):
			return nil, ErrClosed
		default:
			s.noteDamage(&h, l, err)
			return nil, err
		}
	}
}

// readSound reads a blob from the newest pack that has a sound copy. An error other than
// ErrNotFound counts only if there is none.
func readSound(packs []*pack, h *Hash) (content []byte, err error) {
	err = ErrNotFound
	for _, p := range packs {
		e, ok, fault := p.find(h)
		if ok {
			if content, fault = p.read(e); fault == nil {
				return content, nil
			}
		}
		if fault != nil && err == ErrNotFound {
			err = fault
		}
	}
	return nil, err
}

// RecentBytes is the content that only the log has on disk.
func (s *Store) RecentBytes() int64 { return s.recent.Load() }

// Pack writes the recent blobs of positions up to upTo into a new pack. When it returns nil they
// are durable and proven by reading back, and no longer recent. When it fails they stay recent,
// and a later call may try again; ErrUncertain is the exception (see there).
func (s *Store) Pack(upTo uint64) error {
	s.packing.Lock()
	defer s.packing.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	var all []packing
	for i := range s.shards {
		all = s.shards[i].collect(all, uint32(i), upTo)
	}
	if len(all) == 0 {
		return nil
	}
	// What was written together is read together.
	sortByPosition(all, s.yield)
	p, err := s.writePack(all)
	if err != nil {
		return err
	}
	if err := s.swap([]*pack{p}, nil, nil); err != nil {
		return err
	}
	for i, one := range all {
		if i%sortBuckets == 0 {
			s.yield()
		}
		if s.damaged.some.Load() {
			// The new copy counts BEFORE the blob is no longer recent.
			h, _ := s.shards[one.shard].at(one.place)
			s.damaged.remove(&h)
		}
		s.recent.Add(-s.shards[one.shard].packed(one.place))
	}
	return nil
}

func (s *Store) writePack(all []packing) (*pack, error) {
	b, err := s.newBuilder()
	if err != nil {
		return nil, err
	}
	defer b.abort()
	b.yield = s.yield
	b.entries = make([]entry, 0, len(all))
	for _, one := range all {
		h, content := s.shards[one.shard].at(one.place)
		if err := b.add(h, content); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

func (s *Store) newBuilder() (*builder, error) {
	s.mu.Lock()
	number := s.mu.next
	if number < math.MaxUint32 {
		s.mu.next++
	}
	s.mu.Unlock()
	if number == math.MaxUint32 {
		return nil, errors.New("blobs: pack numbers are used up")
	}
	return newBuilder(s.o.disk, s.o.Dir, number)
}

// yield lets others have the processor between two steps of Pack and TryMerge.
func (s *Store) yield() {
	if s.o.Yield != nil {
		s.o.Yield()
	}
}

func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return ErrClosed
	}
	return s.mu.failed
}

// isTouched reports whether Drop must keep a hash.
func (s *Store) isTouched(h *Hash) bool { return s.touched.Load().has(h) }

// Stats describes the store.
type Stats struct {
	Packs       int
	PackedBlobs int64
	PackedBytes int64 // content of the packed blobs
	FileBytes   int64
	IndexBytes  int64 // memory that the packs take
	recentBlobs int
	RecentBytes int64
	cachedBlobs int
	CachedBytes int64 // with the cache's own cost
	SlabBytes   int64 // of all blobs in memory, with their cost
}

// Stats may be called at any time.
func (s *Store) Stats() Stats {
	out := Stats{RecentBytes: s.recent.Load()}
	for _, p := range s.list.Load().packs {
		out.Packs++
		out.PackedBlobs += int64(p.footer.blobs)
		out.PackedBytes += int64(p.footer.content)
		out.FileBytes += p.size
		out.IndexBytes += int64(len(p.bloom)+cap(p.first)) * 8
	}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		out.recentBlobs += sh.mu.recentBlobs
		out.cachedBlobs += sh.mu.packedBlobs
		out.CachedBytes += sh.mu.bytes
		out.SlabBytes += sh.mu.all + int64(sh.mu.table.used)*recordBytes
		sh.mu.RUnlock()
	}
	out.SlabBytes = max(out.SlabBytes, out.CachedBytes)
	return out
}

// Close waits for Pack, merges, Purge and Drop, and releases files and lock. What is recent is in
// the log.
func (s *Store) Close() error {
	s.packing.Lock()
	defer s.packing.Unlock()
	s.merging.Lock()
	defer s.merging.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil
	}
	s.mu.closed = true
	s.list.Load().close()
	return s.lock.Close()
}
