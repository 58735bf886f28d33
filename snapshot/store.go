package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
)

// Options are the settings of a store.
type Options struct {
	// Dir is the store's own directory; Open makes it if it is missing.
	Dir string
	// FilesMax bounds the number of section files of one generation. Default 64.
	FilesMax int
	// CompactionBytes is what one run may move out of old files; a run that writes much may move
	// twice what it writes. Default 64 MiB.
	CompactionBytes int64
	// Room, if set, is called BEFORE each write with its size; its error fails the run.
	Room func(bytes int64) error
	// MayCompact, if set, reports whether a run may move so many bytes out of old files.
	MayCompact func(bytes int64) bool

	disk disk.Disk
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("snapshot: Options.Dir is empty")
	}
	if o.FilesMax == 0 {
		o.FilesMax = 64
	}
	if o.FilesMax < 2 || o.FilesMax > disk.FileRefsMax {
		return o, fmt.Errorf("snapshot: Options.FilesMax %d is out of range", o.FilesMax)
	}
	if o.CompactionBytes <= 0 {
		o.CompactionBytes = 64 << 20
	}
	if o.disk == nil {
		o.disk = disk.OS{}
	}
	if o.Room != nil {
		o.disk = disk.Guard(o.disk, o.Room)
	}
	return o, nil
}

// Store reads the committed generation and takes one run at a time. All methods may be called
// concurrently.
type Store struct {
	o     Options
	lock  io.Closer
	state atomic.Pointer[state]

	mu struct {
		sync.Mutex
		closed bool
		run    bool  // a Writer is open
		failed error // set for good by a commit whose outcome is unknown
		damage error // the last damage that compaction met
		last   RunStats
		// previous is the generation before the committed one; its files stay on disk.
		previous *manifest
	}
}

// state is one committed generation; it is immutable but for the live counts of its files, which
// belong to the open run.
type state struct {
	generation uint32
	position   uint64
	files      []*sectionFile // ascending by number
	base       *table         // without deletions
	delta      *table         // newer than base, with deletions
	sections   int
}

type sectionFile struct {
	name   string
	number uint32
	size   int64
	footer footer
	seed   uint32 // of the checksums of its sections
	f      disk.File
	// deletions is how many keys the file only deletes.
	deletions int
	live      atomic.Int64 // bytes of sections that the state points at
	stuck     atomic.Bool  // damaged: compaction leaves it alone
}

func (st *state) find(key string) (entry, bool) {
	if e, ok := st.delta.find(key); ok {
		return e, !e.gone
	}
	return st.base.find(key)
}

func (st *state) file(number uint32) *sectionFile { return st.files[st.fileIndex(number)] }

func (st *state) fileIndex(number uint32) int {
	i, ok := slices.BinarySearchFunc(st.files, number, func(f *sectionFile, n uint32) int {
		return int(int64(f.number) - int64(n))
	})
	if !ok {
		panic(fmt.Sprintf("snapshot: index points at file %d, which is not of generation %d",
			number, st.generation))
	}
	return i
}

// Open reads the newest manifest and the index of each file it names, and removes what
// interrupted runs have left. A damaged manifest, footer or index is a *CorruptError: an older
// generation is never taken in its place.
func Open(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	lock, err := disk.Claim(o.disk, o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, lock: lock}
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
	l := scanNames(names)
	m := manifest{}
	if len(l.generations) > 0 {
		newest := l.generations[len(l.generations)-1]
		if m, err = readManifest(s.o.disk, s.o.Dir, newest); err != nil {
			return err
		}
	}
	if err := l.checkNumbers(s.o.Dir, m.generation); err != nil {
		return err
	}
	st, err := openState(s.o.disk, s.o.Dir, m)
	if err != nil {
		return err
	}
	s.state.Store(st)
	// A previous manifest that does not read is kept as it is, with every file it might name: it
	// is no state to serve, and the next commit clears it away.
	sound := true
	if n := len(l.generations); n > 1 {
		p, err := readManifest(s.o.disk, s.o.Dir, l.generations[n-2])
		if err == nil {
			s.mu.previous = &p
		}
		sound = err == nil
	}
	// A process that was killed may have left the manifest under its name with that name not durable
	// yet: it has to be BEFORE what only an older manifest needs is removed.
	if err = s.o.disk.SyncDir(s.o.Dir); err == nil {
		err = s.removeLeftovers(names, sound)
	}
	if err != nil {
		st.close()
	}
	return err
}

// listing is the parsed names in a directory.
type listing struct {
	generations []uint32 // ascending
	sections    []uint32
}

func scanNames(names []string) listing {
	var l listing
	for _, name := range names {
		if n, ok := disk.ParseName(name, manifestPrefix); ok {
			l.generations = append(l.generations, n)
		}
		if n, ok := disk.ParseName(name, sectionsPrefix); ok {
			l.sections = append(l.sections, n)
		}
	}
	slices.Sort(l.generations)
	slices.Sort(l.sections)
	return l
}

// checkNumbers finds that the newest manifest is lost: an interrupted run can leave one section
// file beyond the newest manifest, never more.
func (l listing) checkNumbers(dir string, generation uint32) error {
	for _, n := range l.sections {
		if n > generation+1 {
			return disk.Corrupt(filepath.Join(dir, sectionsName(n)), 0,
				"newer than the newest manifest (%d): a manifest is missing", generation)
		}
	}
	return nil
}

func readManifest(d disk.Disk, dir string, generation uint32) (manifest, error) {
	path := filepath.Join(dir, manifestName(generation))
	f, err := d.Open(path)
	if err != nil {
		return manifest{}, err
	}
	defer f.Close()
	b, err := disk.ReadManifest(f, path, manifestHeadBytes)
	if err != nil {
		return manifest{}, err
	}
	return parseManifest(path, b, generation)
}

// readRange reads exactly n bytes; an early end of the file is damage.
func readRange(f disk.File, name string, offset, n int64) ([]byte, error) {
	b := make([]byte, n)
	if err := disk.ReadRange(f, name, offset, b); err != nil {
		return nil, err
	}
	return b, nil
}

func openState(d disk.Disk, dir string, m manifest) (*state, error) {
	st := &state{generation: m.generation, position: m.position, delta: &table{}}
	files, tables := make([]*sectionFile, len(m.files)), make([]*table, len(m.files))
	faults := make([]error, len(m.files))
	var opening sync.WaitGroup
	for i, mf := range m.files {
		opening.Go(func() { files[i], tables[i], faults[i] = openSections(d, dir, mf) })
	}
	opening.Wait()
	for _, file := range files {
		if file != nil {
			st.files = append(st.files, file)
		}
	}
	for _, err := range faults {
		if err != nil {
			st.close()
			return nil, err
		}
	}
	base, err := mergeAll(tables)
	if err != nil {
		st.close()
		return nil, err
	}
	st.base, st.sections = base, base.len()
	for i := range base.entries {
		e := &base.entries[i]
		st.file(e.file).live.Add(int64(e.size))
	}
	return st, nil
}

// openSections opens a file as the manifest describes it and reads its index.
func openSections(d disk.Disk, dir string, mf disk.FileRef) (*sectionFile, *table, error) {
	path := filepath.Join(dir, sectionsName(mf.Number))
	f, err := d.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, disk.Corrupt(path, 0, "file is named by the manifest and missing")
	}
	if err != nil {
		return nil, nil, err
	}
	sf := &sectionFile{name: path, number: mf.Number, size: mf.Size, f: f}
	t, err := sf.readIndex(&mf.FooterCRC)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return sf, t, nil
}

// readIndex checks header, footer and index. Where footerCRC is given the footer has to be that
// one: a well-formed file from another time does not pass.
func (sf *sectionFile) readIndex(footerCRC *uint32) (*table, error) {
	size, err := sf.f.Size()
	if err != nil {
		return nil, err
	}
	if size != sf.size || size < headerBytes+footerBytes {
		return nil, disk.Corrupt(sf.name, min(size, sf.size), "file has %d bytes instead of %d",
			size, sf.size)
	}
	head, err := readRange(sf.f, sf.name, 0, headerBytes)
	if err != nil {
		return nil, err
	}
	version, err := checkHeader(sf.name, head, sf.number)
	if err != nil {
		return nil, err
	}
	tail, err := readRange(sf.f, sf.name, size-footerBytes, footerBytes)
	if err != nil {
		return nil, err
	}
	if sf.footer, err = parseFooter(sf.name, tail, size); err != nil {
		return nil, err
	}
	if sf.footer.number != sf.number || (footerCRC != nil && sf.footer.crc != *footerCRC) {
		return nil, disk.Corrupt(sf.name, size-footerBytes, "footer is not the one of the manifest")
	}
	// An index that is read again, while others read sections by the seed, has the footer of the
	// manifest and so the same seed, which must not be written then.
	if seed := seedOf(version, sf.number, sf.footer.salt); seed != sf.seed {
		sf.seed = seed
	}
	index, err := readRange(sf.f, sf.name, int64(sf.footer.indexOffset), int64(sf.footer.indexLen))
	if err != nil {
		return nil, err
	}
	t, err := parseIndex(sf.name, index, sf.footer)
	if err != nil {
		return nil, err
	}
	sf.deletions = t.deletions()
	return t, nil
}

// removeLeftovers removes what neither the committed nor the previous generation needs. While the
// previous manifest does not read, finished files that it may name are kept.
func (s *Store) removeLeftovers(names []string, previousSound bool) error {
	st := s.state.Load()
	keep := map[string]bool{manifestName(st.generation): true}
	for _, f := range st.files {
		keep[sectionsName(f.number)] = true
	}
	if p := s.mu.previous; p != nil {
		keep[manifestName(p.generation)] = true
		for _, f := range p.files {
			keep[sectionsName(f.Number)] = true
		}
	}
	var leftovers []string
	for _, name := range names {
		n, isSections := disk.ParseName(name, sectionsPrefix)
		_, isManifest := disk.ParseName(name, manifestPrefix)
		interrupted := strings.HasSuffix(name, ".tmp") || (isSections && n > st.generation)
		obsolete := (isSections || isManifest) && previousSound && !keep[name]
		if interrupted || obsolete {
			leftovers = append(leftovers, name)
		}
	}
	return disk.RemoveNames(s.o.disk, s.o.Dir, leftovers)
}

func (st *state) close() {
	for _, f := range st.files {
		f.f.Close()
	}
}

// Position is the log position that the committed generation covers; 0 before the first commit.
func (s *Store) Position() uint64 { return s.state.Load().position }

// Generation counts the commits of the directory's life.
func (s *Store) Generation() uint64 { return uint64(s.state.Load().generation) }

// Read returns the content of a section and its log position. The bytes belong to the caller.
// Damage is a *CorruptError that names the file and offset.
//
// Each call reads the generation that is committed at its moment: a reader of state that spans
// several sections compares their positions.
func (s *Store) Read(key string) (data []byte, position uint64, ok bool, err error) {
	for {
		st := s.state.Load()
		e, ok := st.find(key)
		if !ok {
			return nil, 0, false, nil
		}
		data, err := st.file(e.file).read(key, e)
		if err == nil {
			return data, e.position, true, nil
		}
		if !errors.Is(err, os.ErrClosed) {
			return nil, 0, false, err
		}
		// Two commits have passed since the state was loaded and the file is gone, or the store
		// was closed.
		if s.state.Load() == st {
			return nil, 0, false, ErrClosed
		}
	}
}

func (sf *sectionFile) read(key string, e entry) ([]byte, error) {
	b, err := readRange(sf.f, sf.name, int64(e.offset), int64(e.size))
	if err != nil {
		return nil, err
	}
	return sf.decode([]byte(key), e, b)
}

// decode returns the content of a section, which may be a part of b, its bytes as stored.
func (sf *sectionFile) decode(key []byte, e entry, b []byte) ([]byte, error) {
	h, stored, err := sf.parse(key, e, b)
	if err != nil {
		return nil, err
	}
	return decodeSection(sf.name, int64(e.offset), h, stored)
}

// readWhole reads a section as stored and checks that it is the one the index promised.
func (sf *sectionFile) readWhole(key []byte, e entry) ([]byte, error) {
	b, err := readRange(sf.f, sf.name, int64(e.offset), int64(e.size))
	if err != nil {
		return nil, err
	}
	_, _, err = sf.parse(key, e, b)
	return b, err
}

func (sf *sectionFile) parse(key []byte, e entry, b []byte) (sectionHead, []byte, error) {
	h, stored, err := parseSection(sf.name, int64(e.offset), sf.seed, b)
	if err == nil && (string(h.key) != string(key) || h.position != e.position) {
		err = disk.Corrupt(sf.name, int64(e.offset), "section is not the one in the index")
	}
	return h, stored, err
}

// SectionPosition is the log position of a section, from memory.
func (s *Store) SectionPosition(key string) (uint64, bool) {
	e, ok := s.state.Load().find(key)
	return e.position, ok
}

// SectionBytes is the size on disk of the sections whose keys begin with prefix, from memory.
func (s *Store) SectionBytes(prefix string) (size int64) {
	s.state.Load().each(prefix, func(_ []byte, e entry) bool {
		size += int64(e.size)
		return true
	})
	return size
}

// Keys goes through the keys that begin with prefix, in ascending order, as of one generation.
func (s *Store) Keys(prefix string, yield func(key string, position uint64) bool) {
	s.state.Load().each(prefix, func(key []byte, e entry) bool {
		return yield(string(key), e.position)
	})
}

// each goes through the sections whose keys begin with prefix, in ascending order of the keys.
func (st *state) each(prefix string, yield func(key []byte, e entry) bool) {
	eachMerged(st.base, st.delta, prefix, func(key []byte, e entry) bool {
		return strings.HasPrefix(string(key), prefix) && (e.gone || yield(key, e))
	})
}

// Stats describes the committed generation and the last run.
type Stats struct {
	Generation uint64
	Position   uint64
	Files      int
	Sections   int
	FileBytes  int64 // all section files of the generation
	IndexBytes int64 // memory the index takes
	LastRun    RunStats
	Damage     error // the last damage that compaction met and left alone; nil if none
	liveBytes  int64 // the part of FileBytes that Read can reach
}

// RunStats is the cost of one run.
type RunStats struct {
	Sections   int   // put or deleted
	movedBytes int64 // moved out of older files
}

// Stats may be called at any time.
func (s *Store) Stats() Stats {
	st := s.state.Load()
	out := Stats{Generation: uint64(st.generation), Position: st.position,
		Files: len(st.files), Sections: st.sections,
		IndexBytes: st.base.bytes() + st.delta.bytes()}
	for _, f := range st.files {
		out.FileBytes += f.size
		out.liveBytes += f.live.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.LastRun, out.Damage = s.mu.last, s.mu.damage
	return out
}

// Close releases files and lock. An open run is to be aborted before.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil
	}
	if s.mu.run {
		return ErrBusy
	}
	s.mu.closed = true
	s.state.Load().close()
	return s.lock.Close()
}
