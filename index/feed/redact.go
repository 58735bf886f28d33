package feed

import (
	"errors"
	"os"
	"slices"

	"pws/internal/disk"
	"pws/internal/id"
)

// Redact removes the facts from all records of some projects, and with them every text: what is
// left says when who did what kind of change. Each file that has such records is written again
// under its name, one after the other: the new one is durable BEFORE it replaces the old one. When
// Redact fails, the files that it has not reached are as they were.
func (l *Log) Redact(projects map[id.ID]bool) error {
	l.write.Lock()
	defer l.write.Unlock()
	if l.write.closed {
		return os.ErrClosed
	}
	if err := l.flush(1); err != nil {
		return err
	}
	if err := l.syncFile(); err != nil {
		return err
	}
	for _, f := range l.snapshot().files {
		if !l.hasAny(f, projects) {
			continue
		}
		if err := l.redactFile(f, projects); err != nil {
			return err
		}
	}
	for at := range l.decoded {
		l.decoded[at].Store(nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.recent.redact(projects)
	return nil
}

// hasAny reports whether a file has records of some projects.
func (l *Log) hasAny(f *feedFile, projects map[id.ID]bool) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for project := range projects {
		chain := l.mu.chains[project]
		if at := l.mu.search(chain, f.first); at < len(chain) && l.mu.number(chain[at]) < f.end() {
			return true
		}
	}
	return false
}

// redactFile writes a file again. Nothing is appended to it any more.
func (l *Log) redactFile(old *feedFile, projects map[id.ID]bool) error {
	if l.write.file == old {
		l.write.file = nil
	}
	content := make([]byte, old.size)
	if err := disk.ReadRange(old.file, old.path, 0, content); err != nil {
		return err
	}
	head, err := parseFileHead(old.path, content, old.number)
	if err != nil {
		return err
	}
	next := &feedFile{
		number: old.number, path: old.path, first: old.first, size: fileHead,
		covered: head.covered, last: head.last,
	}
	written := appendFileHead(
		nil, fileVersionWhole, old.number, head.previous, head.covered, head.last)
	var blocks []block
	changed := false
	for at := int64(fileHead); at < old.size; {
		info, reason := parseBlock(content[at:])
		if reason != "" {
			return disk.Corrupt(old.path, at, "%s", reason)
		}
		whole := content[at : at+info.length()]
		redacted, err := redactBlock(old.path, at, whole, &info, projects)
		at += int64(len(whole))
		if err != nil {
			return err
		}
		changed = changed || redacted != nil
		if redacted == nil {
			redacted = whole
		}
		written = append(written, redacted...)
		if info.count > 0 {
			blocks = append(blocks, block{next, next.size, next.end(), info})
		}
		next.add(&info)
	}
	if !changed {
		return nil
	}
	return l.replace(old, next, written, blocks)
}

// redactBlock returns a block without the facts of some projects, with its info; nil if it has none
// of them.
func redactBlock(
	name string, offset int64, whole []byte, info *blockInfo, projects map[id.ID]bool,
) ([]byte, error) {
	owners, ok := projectsOf(info, whole)
	if !ok {
		return nil, disk.Corrupt(name, offset, "the index of a block does not fit")
	}
	if !slices.ContainsFunc(owners, func(one id.ID) bool { return projects[one] }) {
		return nil, nil
	}
	records, err := decodeBlock(name, offset, whole)
	if err != nil {
		return nil, err
	}
	changed := false
	for at := range records {
		if one := &records[at]; projects[one.Project] && len(one.Activity.Facts) > 0 {
			one.Activity.Facts, changed = nil, true
		}
	}
	if !changed {
		return nil, nil
	}
	redacted, next := new(blockEncoder).encode(records, info.covered)
	*info = next
	return redacted, nil
}

// replace puts a file in the place of another one of the same records, on disk BEFORE in memory.
func (l *Log) replace(old, next *feedFile, content []byte, blocks []block) error {
	temporary := old.path + ".new"
	err := disk.WriteSynced(l.opts.Disk, temporary, content)
	if err == nil {
		err = l.opts.Disk.Rename(temporary, old.path)
	}
	if err != nil {
		// What stays is replaced by the next attempt.
		_ = l.opts.Disk.Remove(temporary)
		return err
	}
	if next.file, err = l.opts.Disk.Open(old.path); err == nil {
		err = l.opts.Disk.SyncDir(l.opts.Dir)
	}
	if err != nil {
		// It is open whether the old file or the new one comes back: nothing more is written.
		l.write.failed = err
		return err
	}
	l.mu.Lock()
	m := &l.mu
	m.files = slices.Clone(m.files)
	m.files[slices.Index(m.files, old)] = next
	m.blocks = slices.DeleteFunc(slices.Clone(m.blocks), func(b block) bool { return b.file == old })
	at, _ := slices.BinarySearchFunc(m.blocks, next.first, func(b block, first uint64) int {
		return int(int64(b.first - first))
	})
	m.blocks = slices.Insert(m.blocks, at, blocks...)
	m.redactions++
	l.mu.Unlock()
	// Readers that still use it look again.
	return old.file.Close()
}

// renew makes a view see files that were written again since it was taken, and reports whether
// there are any. The numbers of records are the same.
func (v *view) renew(err error) bool {
	if !errors.Is(err, os.ErrClosed) {
		return false
	}
	now := v.log.snapshot()
	if now.redactions == v.redactions {
		return false
	}
	v.files, v.blocks, v.redactions = now.files, now.blocks, now.redactions
	return true
}
