package snapshot

import (
	"cmp"
	"errors"
	"slices"

	"pws/internal/disk"
)

// A run compacts when more than two fifths of the bytes are dead: together with the previous
// generation, which stays for a while, the disk then holds about twice the live sections.
const (
	deadNumerator   = 2
	deadDenominator = 5
)

// victim is a file and the bytes that will be live in it after the run.
type victim struct {
	*sectionFile
	liveAfter int64
	// free files can go without being read: nothing is live in them, and their deletions, if any,
	// hide nothing because every older file goes too.
	free bool
	// must says that the file has to be written again, whatever that takes.
	must bool
}

// compact moves live sections out of the files that are the worst to keep and returns the run's
// changes with the moved sections, and the numbers of the files that nothing needs any more.
func (w *Writer) compact(changes *table) (*table, map[uint32]bool, error) {
	victims, err := w.expelled(w.permitted(w.victims(changes)), changes)
	if err != nil {
		return nil, nil, err
	}
	dropped := map[uint32]bool{}
	if len(victims) == 0 {
		return changes, dropped, nil
	}
	w.pending = table{}
	budget := max(w.s.o.CompactionBytes, 2*int64(w.offset))
	mustDrop := len(w.st.files) + 1 - w.s.o.FilesMax
	moved := changes
	indexes := map[uint32]*table{}
	for _, v := range victims {
		if v.free {
			dropped[v.number] = true
			continue
		}
		if !v.must && v.liveAfter > budget-w.stats.movedBytes && len(dropped) >= mustDrop &&
			w.stats.movedBytes > 0 {
			continue
		}
		unlimited := v.must || len(dropped) < mustDrop
		t, emptied, err := w.drain(v, moved, budget, unlimited)
		var bad *unreadable
		if errors.As(err, &bad) && !v.must {
			w.leaveAlone(v.sectionFile, bad.err)
		} else if err != nil {
			return nil, nil, err
		}
		if moved, err = w.withMoved(moved); err != nil {
			return nil, nil, err
		}
		if emptied {
			dropped[v.number] = true
			indexes[v.number] = t
		}
	}
	out, err := w.carryDeletions(moved, dropped, indexes)
	return out, dropped, err
}

// permitted leaves out the files that have to be copied where there is no space for the copy.
func (w *Writer) permitted(victims []victim) []victim {
	var bytes int64
	for _, v := range victims {
		bytes += v.liveAfter
	}
	if bytes == 0 || w.s.o.MayCompact == nil || w.s.o.MayCompact(bytes) {
		return victims
	}
	return slices.DeleteFunc(victims, func(v victim) bool { return !v.free })
}

// victims returns the files to rewrite, the most profitable first: files without live sections
// always, those with the least live bytes when too much is dead, the smallest when there are too
// many files.
func (w *Writer) victims(changes *table) []victim {
	all := make([]victim, 0, len(w.st.files))
	dead := map[uint32]int64{}
	for i := range changes.entries {
		if old, ok := w.st.find(string(changes.key(i))); ok {
			dead[old.file] += int64(old.size)
		}
	}
	var size, live int64
	oldest := true
	for _, f := range w.st.files {
		v := victim{sectionFile: f, liveAfter: f.live.Load() - dead[f.number]}
		v.free = v.liveAfter == 0 && (oldest || f.deletions == 0)
		oldest = oldest && v.free && !f.stuck.Load()
		size += f.size
		live += v.liveAfter
		if !f.stuck.Load() {
			all = append(all, v)
		}
	}
	size += int64(w.offset)
	live += int64(w.offset)
	tooDead := (size-live)*deadDenominator > size*deadNumerator
	slices.SortFunc(all, func(a, b victim) int {
		return cmp.Or(cmp.Compare(float64(a.liveAfter)/float64(a.size),
			float64(b.liveAfter)/float64(b.size)), boolFirst(a.free, b.free))
	})
	n := 0
	for n < len(all) && (all[n].free || (tooDead && all[n].liveAfter*4 < all[n].size*3)) {
		n++
	}
	excess := len(w.st.files) + 1 - w.s.o.FilesMax - n
	if excess <= 0 {
		return all[:n]
	}
	// Half of the files go at once, so that the next runs need not do this again: the smallest,
	// which makes the cost of a section logarithmic in the number of runs.
	rest := all[n:]
	slices.SortFunc(rest, func(a, b victim) int { return cmp.Compare(a.liveAfter, b.liveAfter) })
	more := min(len(rest), excess+w.s.o.FilesMax/2)
	return all[:n+more]
}

// unreadable distinguishes an error of an old file from one of the run's own file.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }

func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// drain copies the live sections of a file into the run until the budget is used up, and reports
// whether all of them are out. Sections move as stored: they are checked and get a new checksum,
// and are not decompressed. Damage ends it, but where the file must go.
func (w *Writer) drain(v victim, changes *table, budget int64, unlimited bool) (
	index *table, emptied bool, err error) {
	t, err := v.readIndex(&v.footer.crc)
	if err != nil {
		return nil, false, &unreadable{err}
	}
	var live []int
	for i := range t.entries {
		if w.isLive(t, i, changes) {
			live = append(live, i)
		}
	}
	slices.SortFunc(live, func(a, b int) int {
		return cmp.Compare(t.entries[a].offset, t.entries[b].offset)
	})
	for _, i := range live {
		e := t.entries[i]
		if !unlimited && w.stats.movedBytes+int64(e.size) > budget && w.stats.movedBytes > 0 {
			return nil, false, nil
		}
		b, err := v.readWhole(t.key(i), e)
		damaged := v.must && errors.Is(err, disk.ErrCorrupt) && len(b) >= sectionHeadBytes
		if err != nil && !damaged {
			return nil, false, &unreadable{err}
		}
		if err := w.start(); err != nil {
			return nil, false, err
		}
		checksumSection(b, w.seed)
		if damaged {
			w.carryDamage(b)
		}
		w.buf = append(w.buf, b...)
		if err := w.added(t.key(i), e.position, len(b)); err != nil {
			return nil, false, err
		}
		w.stats.movedBytes += int64(len(b))
	}
	return t, true, nil
}

// carryDamage takes a damaged section over, next in the run, as one that is still damaged: what has
// to leave the disk leaves it, and whoever reads the section finds the damage. It has its checksum
// already, which does not match AFTER this.
func (w *Writer) carryDamage(section []byte) {
	section[0] ^= 0xff
	if w.carried == nil {
		w.carried = map[uint64]bool{}
	}
	w.carried[w.offset] = true
}

func (w *Writer) isLive(t *table, i int, changes *table) bool {
	e := t.entries[i]
	if e.gone {
		return false
	}
	key := string(t.key(i))
	if _, ok := changes.find(key); ok {
		return false
	}
	now, ok := w.st.find(key)
	return ok && now.file == e.file && now.offset == e.offset
}

// leaveAlone excludes a damaged file from further compaction: its valid sections stay readable, and
// one damaged section does not prevent the log from being cut.
func (w *Writer) leaveAlone(f *sectionFile, err error) {
	f.stuck.Store(true)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.mu.damage = err
}

// withMoved adds what was moved since the last call to the run's changes.
func (w *Writer) withMoved(changes *table) (*table, error) {
	fresh, err := w.sorted()
	if err != nil {
		return nil, err
	}
	w.pending = table{}
	return mergeTables(changes, fresh, keepGone)
}

// carryDeletions repeats the deletions of dropped files that still hide a section in an older file
// that stays; without them a restart would bring that section back.
func (w *Writer) carryDeletions(changes *table, dropped map[uint32]bool,
	indexes map[uint32]*table) (*table, error) {
	oldest := -1
	for i, f := range w.st.files {
		if !dropped[f.number] {
			oldest = i
			break
		}
	}
	if oldest < 0 {
		return changes, nil
	}
	for _, f := range w.st.files[oldest:] {
		t := indexes[f.number]
		if !dropped[f.number] || t == nil {
			continue
		}
		carried := &table{}
		for i, e := range t.entries {
			key := string(t.key(i))
			if !e.gone {
				continue
			}
			if _, ok := changes.find(key); ok {
				continue
			}
			if _, ok := w.st.find(key); ok {
				continue
			}
			gone := entry{file: w.number, gone: true, position: e.position}
			if err := carried.append(t.key(i), gone); err != nil {
				return nil, err
			}
		}
		var err error
		if changes, err = mergeTables(changes, carried, keepGone); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
