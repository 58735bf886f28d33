package uploads

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pws/internal/disk"
)

var (
	// ErrNotFound reports that there is no such upload, or no such part of it.
	ErrNotFound = errors.New("uploads: not found")
	// ErrFull reports that all uploads together have no room for a content.
	ErrFull = errors.New("uploads: no room")
	// ErrCorrupt marks damage on disk; the error that carries it is a *disk.CorruptError.
	ErrCorrupt = disk.ErrCorrupt
	// ErrLocked reports that another store or a verification holds the directory.
	ErrLocked = disk.ErrLocked
)

// Options are the settings of a store.
type Options struct {
	// Dir is the store's own directory; Open makes it if it is missing.
	Dir string
	// BytesMax bounds the files of all uploads, in bytes; 0 means no bound.
	BytesMax int64
	// Room, if set, is called BEFORE each write with its size; its error fails the write.
	Room func(bytes int64) error

	disk disk.Disk
}

// Store is the open store. All methods may be called concurrently.
type Store struct {
	o    Options
	lock io.Closer
	mu   struct {
		sync.Mutex
		uploads map[Key]*upload
		// bytes are those of all files, with those that are being written.
		bytes int64
	}
	damage []error
}

// upload is what is known of one upload. Its lock is held while its files change.
type upload struct {
	mu struct {
		sync.Mutex
		parts map[uint32]Part
		gone  bool
	}
}

// Open reads the heads of all files, and removes what interrupted runs have left. Files that are
// damaged are as if they had never been stored; see Damage.
func Open(o Options) (*Store, error) {
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
	s := &Store{o: o, lock: lock}
	s.mu.uploads = map[Key]*upload{}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Store) load() error {
	names, err := s.o.disk.List(s.o.Dir)
	if err != nil {
		return err
	}
	var leftovers []string
	for _, name := range names {
		key, number, ok := parseName(name)
		if !ok {
			if strings.HasSuffix(name, tmpSuffix) {
				leftovers = append(leftovers, name)
			}
			continue
		}
		part, err := readHead(s.o.disk, filepath.Join(s.o.Dir, name), number)
		switch {
		case errors.Is(err, ErrCorrupt):
			s.damage = append(s.damage, err)
			leftovers = append(leftovers, name)
		case err != nil:
			return err
		default:
			s.findOrMake(key).mu.parts[number] = part
		}
	}
	for key, u := range s.mu.uploads {
		if _, recorded := u.mu.parts[RecordNumber]; !recorded {
			for number := range u.mu.parts {
				leftovers = append(leftovers, fileName(key, number))
			}
			delete(s.mu.uploads, key)
			continue
		}
		for _, part := range u.mu.parts {
			s.mu.bytes += part.fileBytes()
		}
	}
	if err := disk.RemoveNames(s.o.disk, s.o.Dir, leftovers); err != nil {
		return err
	}
	// A process that was killed may have left names that are not durable. Parts that are listed may
	// be named by the log.
	return s.o.disk.SyncDir(s.o.Dir)
}

func readHead(d disk.Disk, name string, number uint32) (Part, error) {
	file, err := d.Open(name)
	if err != nil {
		return Part{}, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return Part{}, err
	}
	head := make([]byte, headBytes)
	if err := disk.ReadRange(file, name, 0, head); err != nil {
		return Part{}, err
	}
	return parseHead(name, head, number, size)
}

// Damage returns what was wrong with files that Open has left out.
func (s *Store) Damage() []error { return s.damage }

// find returns an upload, nil if there is none.
func (s *Store) find(key Key) *upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.uploads[key]
}

// findOrMake returns an upload, a new one if there is none.
func (s *Store) findOrMake(key Key) *upload {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.mu.uploads[key]
	if u == nil {
		u = &upload{}
		u.mu.parts = map[uint32]Part{}
		s.mu.uploads[key] = u
	}
	return u
}

// reserve counts bytes of files. More are refused beyond the bound: ErrFull.
func (s *Store) reserve(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > 0 && s.o.BytesMax > 0 && s.mu.bytes+bytes > s.o.BytesMax {
		return ErrFull
	}
	s.mu.bytes += bytes
	return nil
}

func (s *Store) release(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.bytes -= bytes
}

// Bytes is the size of all files.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.bytes
}

// Put stores a content at a time in Unix milliseconds, durably, in place of the one with that
// number. The first one of an upload is its record. Errors: ErrNotFound for an upload without a
// record, ErrFull, and those of the disk; then the upload is as it was, or lacks the number. A
// record that was to be replaced may have been; an upload that has lost it is gone.
func (s *Store) Put(key Key, number uint32, at int64, content []byte) (Part, error) {
	if len(content) > ContentBytesMax {
		return Part{}, fmt.Errorf("uploads: %d bytes are too many", len(content))
	}
	part, file := encode(number, at, content)
	find := s.find
	if number == RecordNumber {
		find = s.findOrMake
	}
	u := find(key)
	if u == nil {
		return Part{}, ErrNotFound
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.mu.gone {
		return Part{}, ErrNotFound
	}
	err := s.reserve(part.fileBytes())
	if err == nil {
		err = s.write(u, key, part, file)
	}
	if _, recorded := u.mu.parts[RecordNumber]; err != nil && !recorded {
		s.forget(key, u)
	}
	return part, err
}

// write writes a file. What it takes was reserved, and is given back if that fails.
func (s *Store) write(u *upload, key Key, part Part, file []byte) error {
	d, name := s.o.disk, filepath.Join(s.o.Dir, fileName(key, part.Number))
	err := disk.WriteSynced(d, name+tmpSuffix, file)
	if err != nil {
		_ = d.Remove(name + tmpSuffix)
		s.release(part.fileBytes())
		return err
	}
	earlier, there := u.mu.parts[part.Number]
	if there {
		s.release(earlier.fileBytes())
		delete(u.mu.parts, part.Number)
	}
	if err = d.Rename(name+tmpSuffix, name); err == nil {
		err = d.SyncDir(s.o.Dir)
	}
	if err == nil {
		u.mu.parts[part.Number] = part
		return nil
	}
	_ = d.Remove(name + tmpSuffix)
	s.release(part.fileBytes())
	if there && part.Number == RecordNumber {
		// Either record is good. Without one, parts and note would be lost, too.
		if now, rerr := readHead(d, name, part.Number); rerr == nil {
			s.release(-now.fileBytes())
			u.mu.parts[part.Number] = now
			return err
		}
	}
	// Which file has the name is not known, so none of them counts.
	_ = d.Remove(name)
	return err
}

// forget takes an upload out of the list, with the files that it has. Its lock is held.
func (s *Store) forget(key Key, u *upload) {
	u.mu.gone = true
	for number, part := range u.mu.parts {
		// The next Open removes what is still there: it belongs to no upload.
		_ = s.o.disk.Remove(filepath.Join(s.o.Dir, fileName(key, number)))
		s.release(part.fileBytes())
		delete(u.mu.parts, number)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.uploads, key)
}

// Keys returns the uploads, in no order.
func (s *Store) Keys() (keys []Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.mu.uploads {
		keys = append(keys, key)
	}
	return keys
}

// Parts returns the parts of an upload in the order of their numbers, without record and note.
func (s *Store) Parts(key Key) (parts []Part) {
	u := s.find(key)
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for number, part := range u.mu.parts {
		if number != RecordNumber && number != NoteNumber {
			parts = append(parts, part)
		}
	}
	slices.SortFunc(parts, func(a, b Part) int { return int(a.Number) - int(b.Number) })
	return parts
}

// Part returns what is known of a content, also of a record or a note; false if there is none.
func (s *Store) Part(key Key, number uint32) (part Part, there bool) {
	u := s.find(key)
	if u == nil {
		return part, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	part, there = u.mu.parts[number]
	return part, there
}

// Read returns a content and checks it. Errors: ErrNotFound, a *disk.CorruptError, and those of the
// disk.
func (s *Store) Read(key Key, number uint32) ([]byte, error) {
	u := s.find(key)
	if u == nil {
		return nil, ErrNotFound
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	part, there := u.mu.parts[number]
	if !there {
		return nil, ErrNotFound
	}
	content, err := readContent(s.o.disk, filepath.Join(s.o.Dir, fileName(key, number)), part)
	if errors.Is(err, fs.ErrNotExist) {
		// It was removed, and then an error kept it in the list.
		err = ErrNotFound
	}
	return content, err
}

func readContent(d disk.Disk, name string, part Part) ([]byte, error) {
	file, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stored := make([]byte, part.stored)
	if err := disk.ReadRange(file, name, headBytes, stored); err != nil {
		return nil, err
	}
	return part.decode(name, stored)
}

// Remove removes an upload with all of its files.
func (s *Store) Remove(key Key) error {
	return s.remove(key, func(uint32) bool { return true })
}

// RemoveParts removes the parts and the note of an upload, and keeps its record.
func (s *Store) RemoveParts(key Key) error {
	return s.remove(key, func(number uint32) bool { return number != RecordNumber })
}

// RemoveNote removes the note of an upload.
func (s *Store) RemoveNote(key Key) error {
	return s.remove(key, func(number uint32) bool { return number == NoteNumber })
}

// remove forgets files AFTER they are gone, so that what fails can be tried again.
func (s *Store) remove(key Key, which func(number uint32) bool) error {
	u := s.find(key)
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if which(RecordNumber) {
		// The others belong to no upload once it is gone.
		name := []string{fileName(key, RecordNumber)}
		if err := disk.RemoveNames(s.o.disk, s.o.Dir, name); err != nil {
			return err
		}
		u.mu.gone = true
	}
	var names []string
	for number := range u.mu.parts {
		if which(number) {
			names = append(names, fileName(key, number))
		}
	}
	if err := disk.RemoveNames(s.o.disk, s.o.Dir, names); err != nil {
		return err
	}
	for number, part := range u.mu.parts {
		if which(number) {
			s.release(part.fileBytes())
			delete(u.mu.parts, number)
		}
	}
	if which(RecordNumber) {
		s.forget(key, u)
	}
	return nil
}

// Close releases the directory.
func (s *Store) Close() error { return s.lock.Close() }
