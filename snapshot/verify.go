package snapshot

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"pws/internal/disk"
)

// Report is the result of Verify.
type Report struct {
	Generation uint64
	Position   uint64
	Files      int   // of the newest and the previous generation
	Sections   int   // checked, live or not
	Bytes      int64 // of the files
	Damage     disk.DamageList
}

// windowBytes is what a pass over a file reads at once.
const windowBytes = 1 << 20

// Verify reads everything that the newest and the previous manifest name and checks it, without
// changing anything. The error is nil if all is sound, a *CorruptError for the first damage (the
// report has the rest), and otherwise what kept Verify from reading; ErrLocked while a store has
// the directory open.
func Verify(dir string) (Report, error) { return verify(disk.OS{}, dir) }

func verify(d disk.Disk, dir string) (Report, error) {
	var r Report
	lock, err := d.Lock(dir, disk.Shared)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	names, err := d.List(dir)
	if err != nil {
		return r, err
	}
	l := scanNames(names)
	files := map[uint32]disk.FileRef{}
	newest := max(0, len(l.generations)-2)
	for i := len(l.generations) - 1; i >= newest; i-- {
		m, err := readManifest(d, dir, l.generations[i])
		if err := r.Damage.Note(err); err != nil {
			return r, err
		}
		if err == nil && i == len(l.generations)-1 {
			r.Generation, r.Position = uint64(m.generation), m.position
		}
		for _, f := range m.files {
			files[f.Number] = f
		}
	}
	if n := len(l.generations); n == 0 || uint64(l.generations[n-1]) == r.Generation {
		if err := r.Damage.Note(l.checkNumbers(dir, uint32(r.Generation))); err != nil {
			return r, err
		}
	}
	for _, n := range l.sections {
		mf, ok := files[n]
		if !ok {
			continue
		}
		delete(files, n)
		if err := r.verifyFile(d, dir, mf); err != nil {
			return r, err
		}
	}
	for n := range files {
		r.Damage.Note(disk.Corrupt(filepath.Join(dir, sectionsName(n)), 0,
			"file is named by the manifest and missing"))
	}
	return r, r.Damage.Err()
}

func (r *Report) verifyFile(d disk.Disk, dir string, mf disk.FileRef) error {
	r.Files++
	r.Bytes += mf.Size
	sf, t, err := openSections(d, dir, mf)
	if err != nil {
		return r.Damage.Note(err)
	}
	defer sf.f.Close()
	r.Sections += t.len()
	return sf.checkSections(t, nil, r.Damage.Note)
}

// checkSections reads every section in the index, but those at some places, and checks it. Without
// note the first fault ends the pass; with it each fault is handed over, the content is
// decompressed too, and the pass ends where note returns an error.
func (sf *sectionFile) checkSections(
	t *table, but map[uint64]bool, note func(error) error,
) error {
	order := make([]int, 0, t.len())
	for i, e := range t.entries {
		if !e.gone && !but[e.offset] {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(t.entries[a].offset, t.entries[b].offset)
	})
	w := window{sf: sf}
	for _, i := range order {
		err := sf.checkSection(&w, t.key(i), t.entries[i], note != nil)
		if err != nil && note != nil {
			err = note(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (sf *sectionFile) checkSection(w *window, key []byte, e entry, decode bool) error {
	b, err := w.read(int64(e.offset), int64(e.size))
	if err != nil {
		return err
	}
	h, stored, err := sf.parse(key, e, b)
	if err == nil && decode {
		_, err = decodeSection(sf.name, int64(e.offset), h, stored)
	}
	return err
}

// window serves ascending ranges of a file out of large reads.
type window struct {
	sf  *sectionFile
	at  int64
	buf []byte
}

func (w *window) read(offset, n int64) ([]byte, error) {
	if offset < w.at || offset+n > w.at+int64(len(w.buf)) {
		size := min(max(n, windowBytes), w.sf.size-offset)
		if size < n {
			return nil, fmt.Errorf("snapshot: range %d+%d is outside of %s", offset, n, w.sf.name)
		}
		b, err := readRange(w.sf.f, w.sf.name, offset, size)
		if err != nil {
			return nil, err
		}
		w.at, w.buf = offset, b
	}
	return w.buf[offset-w.at : offset-w.at+n], nil
}
