package snapshot

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"pws/internal/disk"
)

// writeBufferBytes is collected before the file is written to.
const writeBufferBytes = 1 << 20

// Writer is one run. It belongs to one goroutine. After an error of Put or Delete the run can only
// be aborted.
type Writer struct {
	s      *Store
	st     *state // the generation the run starts from
	number uint32
	done   bool
	err    error

	f       disk.File // the temporary file; nil until something is written
	tmp     string
	salt    uint32
	seed    uint32 // of the checksums of sections
	buf     []byte
	offset  uint64 // of the next section
	pending table  // in order of Put and Delete, the later of one key wins
	stats   RunStats
	// expel, if set, says which sections must leave the files of the store; see Expel.
	expel func(key string) bool
	// carried has the places of the damaged sections that were taken over.
	carried map[uint64]bool
}

// Begin opens a run. There is one at a time: ErrBusy otherwise.
func (s *Store) Begin() (*Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.closed:
		return nil, ErrClosed
	case s.mu.failed != nil:
		return nil, s.mu.failed
	case s.mu.run:
		return nil, ErrBusy
	}
	st := s.state.Load()
	if st.generation == math.MaxUint32 {
		return nil, errors.New("snapshot: generations are used up")
	}
	s.mu.run = true
	return &Writer{s: s, st: st, number: st.generation + 1}, nil
}

// Put writes the content of a section; the bytes are not kept. It counts from Commit on.
func (w *Writer) Put(key string, position uint64, data []byte) error {
	if err := w.check(key); err != nil {
		return err
	}
	if len(data) > SectionBytesMax {
		return fmt.Errorf("snapshot: section of %d bytes is over the limit of %d",
			len(data), SectionBytesMax)
	}
	if err := w.start(); err != nil {
		return w.fail(err)
	}
	before := len(w.buf)
	w.buf = appendSection(w.buf, w.seed, key, position, data)
	return w.fail(w.added([]byte(key), position, len(w.buf)-before))
}

// Delete removes a section from Commit on. Deleting what is not there is fine.
func (w *Writer) Delete(key string) error {
	if err := w.check(key); err != nil {
		return err
	}
	return w.fail(w.pending.append([]byte(key), entry{file: w.number, gone: true}))
}

func (w *Writer) check(key string) error {
	switch {
	case w.done:
		return ErrClosed
	case w.err != nil:
		return w.err
	case key == "" || len(key) > KeyBytesMax:
		return fmt.Errorf("snapshot: key of %d bytes, allowed are 1 to %d", len(key), KeyBytesMax)
	}
	return nil
}

func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// start creates the temporary file with its header.
func (w *Writer) start() error {
	if w.f != nil {
		return nil
	}
	w.tmp = filepath.Join(w.s.o.Dir, sectionsName(w.number)+".tmp")
	f, err := w.s.o.disk.Create(w.tmp)
	if err != nil {
		return err
	}
	w.f = f
	var random [4]byte
	rand.Read(random[:])
	w.salt = le.Uint32(random[:])
	w.seed = seedOf(formatVersion, w.number, w.salt)
	w.buf = appendHeader(w.buf, w.number)
	w.offset = headerBytes
	return nil
}

// added records the section of n bytes that was appended to the buffer.
func (w *Writer) added(key []byte, position uint64, n int) error {
	if n > math.MaxUint32 {
		return fmt.Errorf("snapshot: section takes %d bytes", n)
	}
	e := entry{file: w.number, offset: w.offset, position: position, size: uint32(n)}
	if err := w.pending.append(key, e); err != nil {
		return err
	}
	w.offset += uint64(n)
	if len(w.buf) >= writeBufferBytes {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	_, err := w.f.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Commit makes the run the committed generation, which covers the log up to position. When it
// returns nil the generation is durable and proven by reading it back. When it fails the store
// keeps the generation it had, the log must not be cut, and a later run may try again; ErrUncertain
// is the exception (see there). The writer is used up either way.
func (w *Writer) Commit(position uint64) error {
	if w.done {
		return ErrClosed
	}
	if w.err == nil && position < w.st.position {
		w.err = fmt.Errorf("snapshot: commit of position %d after %d", position, w.st.position)
	}
	if w.err != nil {
		w.Abort()
		return w.err
	}
	changes, err := w.sorted()
	if err != nil {
		w.Abort()
		return err
	}
	w.stats.Sections = changes.len()
	changes, dropped, err := w.compact(changes)
	if err == nil {
		err = w.publish(position, changes, dropped)
	}
	if err != nil {
		w.Abort()
	}
	return err
}

// Abort ends the run without effect. After Commit it does nothing.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	if w.f != nil {
		w.f.Close()
		// What cannot be removed now is removed by the next Open.
		_ = w.s.o.disk.Remove(w.tmp)
	}
	w.finish()
}

func (w *Writer) finish() {
	w.done, w.f, w.buf = true, nil, nil
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.mu.run = false
}

// sorted puts the pending entries in order of keys, the last of each key, without deletions of
// keys that the committed generation does not have.
func (w *Writer) sorted() (*table, error) {
	order := make([]int, w.pending.len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return bytes.Compare(w.pending.key(a), w.pending.key(b))
	})
	t := &table{entries: make([]entry, 0, len(order)), keys: make([]byte, 0, len(w.pending.keys))}
	for i, at := range order {
		key, e := w.pending.key(at), w.pending.entries[at]
		if i+1 < len(order) && bytes.Equal(w.pending.key(order[i+1]), key) {
			continue
		}
		if e.gone {
			if _, ok := w.st.find(string(key)); !ok {
				continue
			}
		}
		if err := t.append(key, e); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// publish carries out Commit's order of effects.
func (w *Writer) publish(position uint64, changes *table, dropped map[uint32]bool) error {
	m := manifest{generation: w.number, position: position}
	next := &state{generation: w.number, position: position}
	for _, f := range w.st.files {
		if !dropped[f.number] {
			next.files = append(next.files, f)
		}
	}
	if changes.len() > 0 {
		sf, err := w.finishFile(changes)
		if err != nil {
			return err
		}
		next.files = append(next.files, sf)
	}
	for _, f := range next.files {
		m.files = append(m.files,
			disk.FileRef{Number: f.number, Size: f.size, FooterCRC: f.footer.crc})
	}
	err := next.index(w.st, changes)
	if err == nil {
		err = w.s.writeManifest(m)
	}
	if err != nil {
		w.discard(next, changes, err)
		return err
	}
	next.countLive(w.st, changes)
	w.s.install(next, w.stats)
	w.finish()
	return nil
}

// discard closes the section file of a failed commit, and removes it unless the manifest may name
// it.
func (w *Writer) discard(next *state, changes *table, err error) {
	if changes.len() == 0 {
		return
	}
	own := next.files[len(next.files)-1]
	own.f.Close()
	if !errors.Is(err, ErrUncertain) {
		_ = w.s.o.disk.Remove(own.name)
	}
}

// index makes the tables of the next state. The delta is folded into the base when it has grown to
// an eighth of it, so that a commit costs what changed and the base stays compact.
func (next *state) index(prev *state, changes *table) error {
	delta, err := mergeTables(prev.delta, changes, keepGone)
	if err != nil {
		return err
	}
	next.base, next.delta = prev.base, delta
	if delta.len() > prev.base.len()/8+1024 {
		if next.base, err = mergeTables(prev.base, delta, dropGone); err != nil {
			return err
		}
		next.delta = &table{}
	}
	return nil
}

// countLive moves the live bytes from the files that held the keys before to the new one.
func (next *state) countLive(prev *state, changes *table) {
	next.sections = prev.sections
	for i, e := range changes.entries {
		if old, ok := prev.find(string(changes.key(i))); ok {
			prev.file(old.file).live.Add(-int64(old.size))
			next.sections--
		}
		if !e.gone {
			next.file(e.file).live.Add(int64(e.size))
			next.sections++
		}
	}
}

// finishFile completes the section file with index and footer and brings it under its name: written
// and synced BEFORE renamed, renamed and directory synced BEFORE read back.
func (w *Writer) finishFile(changes *table) (*sectionFile, error) {
	if err := w.start(); err != nil {
		return nil, err
	}
	f := footer{indexOffset: w.offset, keys: uint64(changes.len()), number: w.number,
		salt: w.salt}
	start := len(w.buf)
	for i, e := range changes.entries {
		w.buf = appendIndexEntry(w.buf, changes.key(i), e)
	}
	f.indexLen, f.indexCRC = uint64(len(w.buf)-start), disk.Checksum(w.buf[start:])
	w.buf = appendFooter(w.buf, f)
	size := int64(f.indexOffset+f.indexLen) + footerBytes
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := w.f.Sync(); err != nil {
		return nil, err
	}
	err := w.f.Close()
	w.f = nil
	d, dir := w.s.o.disk, w.s.o.Dir
	final := filepath.Join(dir, sectionsName(w.number))
	if err == nil {
		err = d.Rename(w.tmp, final)
	}
	if err != nil {
		_ = d.Remove(w.tmp)
		return nil, err
	}
	sf, err := w.readBack(final, size)
	if err != nil {
		// No manifest names the file, so it does not count whether or not this succeeds.
		_ = d.Remove(final)
		return nil, err
	}
	return sf, nil
}

func (w *Writer) readBack(path string, size int64) (*sectionFile, error) {
	if err := w.s.o.disk.SyncDir(w.s.o.Dir); err != nil {
		return nil, err
	}
	f, err := w.s.o.disk.Open(path)
	if err != nil {
		return nil, err
	}
	sf := &sectionFile{name: path, number: w.number, size: size, f: f}
	t, err := sf.readIndex(nil)
	if err == nil {
		err = sf.checkSections(t, w.carried, nil)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return sf, nil
}

// writeManifest makes a manifest durable and reads it back. From the rename on a failure leaves
// open which generation a restart will see, and the store takes no further run.
func (s *Store) writeManifest(m manifest) error {
	d := s.o.disk
	final := filepath.Join(s.o.Dir, manifestName(m.generation))
	tmp := final + ".tmp"
	if err := disk.WriteSynced(d, tmp, appendManifest(nil, m)); err != nil {
		_ = d.Remove(tmp)
		return err
	}
	err := d.Rename(tmp, final)
	if err != nil && s.absent(final) {
		_ = d.Remove(tmp)
		return err
	}
	if err == nil {
		err = d.SyncDir(s.o.Dir)
	}
	if err == nil {
		var back manifest
		back, err = readManifest(d, s.o.Dir, m.generation)
		if err == nil && !slices.Equal(back.files, m.files) {
			err = disk.Corrupt(final, 0, "manifest reads back differently")
		}
	}
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.failed = fmt.Errorf("%w: %w", ErrUncertain, err)
	return s.mu.failed
}

func (s *Store) absent(path string) bool {
	f, err := s.o.disk.Open(path)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, os.ErrNotExist)
}

// install shows the proven generation to readers, and AFTER that removes what only the generation
// before the previous one needed. A failed removal costs space, never the commit.
func (s *Store) install(next *state, run RunStats) {
	prev := s.state.Load()
	s.state.Store(next)
	p := manifest{generation: prev.generation, position: prev.position}
	for _, f := range prev.files {
		p.files = append(p.files, disk.FileRef{Number: f.number})
		if i := slices.Index(next.files, f); i < 0 {
			f.f.Close()
		}
	}
	s.mu.Lock()
	s.mu.previous = &p
	s.mu.last = run
	s.mu.Unlock()
	if names, err := s.o.disk.List(s.o.Dir); err == nil {
		_ = s.removeLeftovers(names, true)
	}
}
