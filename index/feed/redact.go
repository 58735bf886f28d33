package feed

import (
	"os"
	"slices"

	"pws/internal/disk"
	"pws/internal/id"
)

// Redact removes the facts from all records of some projects, and with them every text: what is
// left says when who did what kind of change. Each file that has such records is written again
// under its name, one after the other: the new one is durable BEFORE it replaces the old one. So is
// each file with a torn tail, which may have any records. When Redact fails, the files that it has
// not reached are as they were.
func (l *Log) Redact(projects map[id.ID]bool) error {
	l.front.Lock()
	defer l.front.Unlock()
	if err := l.endFile(); err != nil {
		return err
	}
	for _, f := range l.snapshot().files {
		torn, err := l.torn(f)
		if err == nil && (torn || l.hasAny(f, projects)) {
			err = l.redactFile(f, projects, torn)
		}
		if err != nil {
			return err
		}
	}
	for i := range l.decoded {
		l.decoded[i].Store(nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.recent.redact(projects)
	return nil
}

// endFile writes all records and begins a new file, so that nothing is appended to those there are.
func (l *Log) endFile() error {
	l.write.Lock()
	defer l.write.Unlock()
	if l.write.closed {
		return os.ErrClosed
	}
	if err := l.flush(1); err != nil {
		return err
	}
	if err := l.beginChange(); err != nil {
		return err
	}
	if l.write.file != nil && l.write.file.count > 0 {
		l.write.file = nil
	}
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

// torn reports whether bytes follow the blocks of a file that nothing is appended to.
func (l *Log) torn(f *feedFile) (bool, error) {
	l.write.Lock()
	defer l.write.Unlock()
	if l.write.closed || f == l.write.file {
		return false, nil
	}
	size, err := f.file.Size()
	return size > f.size, err
}

// redactFile writes a file again. Nothing is appended to it any more. Without such records it stays
// as it is, unless it has to be written again.
func (l *Log) redactFile(old *feedFile, projects map[id.ID]bool, again bool) error {
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
		covered: head.covered, last: head.last, kept: old.kept, from: old.from,
	}
	if !head.kept() {
		head.version = fileVersionWhole
	}
	written := appendFileHead(nil, old.number, &head)
	var blocks []block
	changed := again
	for i := int64(fileHead); i < old.size; {
		info, reason := parseBlock(content[i:])
		if reason != "" {
			return disk.Corrupt(old.path, i, "%s", reason)
		}
		whole := content[i : i+info.length()]
		redacted, err := redactBlock(old.path, i, whole, &info, projects)
		i += int64(len(whole))
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
	// A kept file has no records up to its end.
	next.covered, next.last = old.covered, old.last
	one := replacement{old: []*feedFile{old}, next: next, content: written, blocks: blocks}
	if err := l.prepare(&one); err != nil {
		return err
	}
	return l.replace([]replacement{one}, nil)
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
	for i := range records {
		if one := &records[i]; projects[one.Project] && len(one.Activity.Facts) > 0 {
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
