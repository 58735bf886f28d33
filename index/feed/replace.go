package feed

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"pws/internal/disk"
)

// replacement is a file that takes the place of adjacent ones.
type replacement struct {
	old  []*feedFile
	next *feedFile
	// content is what is written; nil AFTER it was.
	content []byte
	// blocks are those of the file. The numbers of their records are set when it takes its place.
	blocks []block
}

// newSuffix ends the name of a file until it takes its place.
const newSuffix = ".new"

func (r *replacement) temporary() string { return r.next.path + newSuffix }

// prepare writes a file under a name of its own, and opens it.
func (l *Log) prepare(one *replacement) (err error) {
	err = disk.WriteSynced(l.opts.Disk, one.temporary(), one.content)
	one.content = nil
	if err == nil {
		// The file that is open takes its place with the name.
		one.next.file, err = l.opts.Disk.Open(one.temporary())
	}
	if err != nil {
		l.discard([]replacement{*one})
	}
	return err
}

// discard removes files that do not take their place. The next change removes what cannot be
// removed now.
func (l *Log) discard(made []replacement) {
	l.write.Lock()
	defer l.write.Unlock()
	for i := range made {
		one := &made[i]
		if one.next.file != nil {
			// It was only read.
			_ = one.next.file.Close()
		}
		l.write.gone = append(l.write.gone, filepath.Base(one.temporary()))
	}
	_ = l.remove()
}

// removeTemporary removes what a process has left that was killed.
func removeTemporary(d disk.Disk, dir string) error {
	names, err := d.List(dir)
	if err != nil {
		return err
	}
	return disk.RemoveNames(d, dir, slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, filePrefix) || !strings.HasSuffix(name, newSuffix)
	}))
}

// replace puts files in their places, the oldest first, on disk BEFORE in memory. They have all
// records of those that they replace, or if chosen is not nil those that are selected. When a file
// cannot be renamed, those before it have taken their places. Callers hold l.front.
func (l *Log) replace(made []replacement, chosen *selection) (err error) {
	renamed := 0
	for renamed < len(made) && err == nil {
		one := &made[renamed]
		if err = l.opts.Disk.Rename(one.temporary(), one.next.path); err == nil {
			renamed++
		}
	}
	if renamed < len(made) {
		l.discard(made[renamed:])
	}
	if made = made[:renamed]; renamed == 0 {
		return err
	}
	unsynced := l.opts.Disk.SyncDir(l.opts.Dir)
	l.write.Lock()
	defer l.write.Unlock()
	l.exchange(made, chosen)
	// Readers that still use the old ones look again.
	for i := range made {
		for nth, one := range made[i].old {
			err = errors.Join(err, one.file.Close())
			if nth < len(made[i].old)-1 {
				l.write.gone = append(l.write.gone, disk.NumberedName(filePrefix, one.number))
			}
		}
	}
	if unsynced != nil {
		// It is open whether the old files or the new ones come back: nothing more is written.
		return errors.Join(err, l.latch(unsynced))
	}
	return errors.Join(err, l.remove())
}

// exchange replaces files in memory. Callers hold l.write.
func (l *Log) exchange(made []replacement, chosen *selection) {
	last := made[len(made)-1].old
	end := last[len(last)-1].end()
	m := &l.mu
	chains, slots := m.chains, m.chainSlots
	if chosen != nil {
		chains, slots = l.renumbered(end, chosen)
	}
	blocksOf := map[*feedFile][]block{}
	for _, b := range m.blocks {
		blocksOf[b.file] = append(blocksOf[b.file], b)
	}
	replaced := map[*feedFile]*feedFile{}
	for i := range made {
		for _, one := range made[i].old {
			replaced[one] = made[i].next
		}
		blocksOf[made[i].next] = made[i].blocks
	}
	var files []*feedFile
	var blocks []block
	l.mu.Lock()
	defer l.mu.Unlock()
	number := m.end
	for _, f := range slices.Backward(m.files) {
		if next := replaced[f]; next != nil {
			if f = next; len(files) > 0 && files[len(files)-1] == f {
				continue
			}
		}
		if len(files) == 0 {
			// Records behind the last file wait for it.
			number = m.written
		}
		files = append(files, f)
		number -= uint64(f.count)
		f.first = number
		at := f.end()
		for _, b := range slices.Backward(blocksOf[f]) {
			at -= uint64(b.count)
			b.first = at
			blocks = append(blocks, b)
		}
	}
	slices.Reverse(files)
	slices.Reverse(blocks)
	m.files, m.blocks, m.chains, m.chainSlots = files, blocks, chains, slots
	if m.first = number; chosen != nil {
		m.whole = max(m.whole, end)
		m.floor = latest(m.floor, made[len(made)-1].next.last)
		m.recent.cut(end)
	}
	m.replaced++
}
