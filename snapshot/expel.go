package snapshot

import (
	"fmt"
	"slices"
)

// Expel has the run write again every file that holds an earlier version of a section whose key
// matches, or one that was deleted. The files themselves leave the disk with the next run after
// this one, as those of any generation do. Damaged sections of these files stay damaged.
func (w *Writer) Expel(match func(key string) bool) { w.expel = match }

// expelled adds the files to write again to the victims of a compaction.
func (w *Writer) expelled(victims []victim, changes *table) ([]victim, error) {
	if w.expel == nil {
		return victims, nil
	}
	var bytes int64
	for _, f := range w.st.files {
		at := slices.IndexFunc(victims, func(v victim) bool { return v.sectionFile == f })
		if at >= 0 && victims[at].free {
			continue
		}
		stale, err := w.holdsStale(f, changes)
		switch {
		case err != nil:
			return nil, err
		case !stale:
			continue
		case at < 0:
			at = len(victims)
			victims = append(victims, victim{sectionFile: f, liveAfter: f.live.Load()})
		}
		victims[at].must = true
		bytes += victims[at].liveAfter
	}
	if bytes > 0 && w.s.o.Room != nil {
		// Unlike a compaction, this does not wait for space: it makes some.
		if err := w.s.o.Room(bytes); err != nil {
			return nil, fmt.Errorf("write files again: %w", err)
		}
	}
	return victims, nil
}

// holdsStale reports whether a file has a section to expel that does not count any more.
func (w *Writer) holdsStale(f *sectionFile, changes *table) (bool, error) {
	t, err := f.readIndex(&f.footer.crc)
	if err != nil {
		return false, err
	}
	for i := range t.entries {
		if !t.entries[i].gone && w.expel(string(t.key(i))) && !w.isLive(t, i, changes) {
			return true, nil
		}
	}
	return false, nil
}
