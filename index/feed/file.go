package feed

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"pws/internal/disk"
)

const filePrefix = "feed-"

// feedFile is a file of the log. Readers use the files of blocks without a lock.
type feedFile struct {
	number uint32
	path   string
	file   disk.File
	// kept means that it has only the newest records of projects. It has taken the place of the
	// files from the number from on.
	kept bool
	from uint32
	// size is the valid length.
	size int64
	// first is the number of its first record, which changes with l.mu held; count is the number of
	// records.
	first uint64
	count int
	// firstAt and lastAt are the times of its first and its last record.
	firstAt, lastAt int64
	// last is the position of its last record, or of the last one in the previous files. In a kept
	// file, it is that of the files whose place it has taken.
	last Position
	// covered is the entry up to which all records are in this file or the previous ones, or were
	// removed from them.
	covered uint64
}

// end returns the number after its last record.
func (f *feedFile) end() uint64 { return f.first + uint64(f.count) }

// block is the place of a block with records, the number of its first record, and its header.
type block struct {
	file   *feedFile
	offset int64
	first  uint64
	blockInfo
}

// fileHeader is the header of a file.
type fileHeader struct {
	version uint32
	// previous, covered and last describe the previous file. In a kept file, covered and last describe
	// the files whose place it has taken: those with the numbers from from on. count is the number of
	// its records.
	previous    int64
	covered     uint64
	last        Position
	from, count uint32
}

// whole reports whether all of the file is valid, whatever the next one says.
func (h *fileHeader) whole() bool { return h.version != fileVersion }

func (h *fileHeader) kept() bool { return h.version == fileVersionKept }

func appendFileHead(b []byte, number uint32, h *fileHeader) []byte {
	b = disk.AppendHeader(b, fileMagic, h.version, number)
	start := len(b)
	if h.kept() {
		b = le.AppendUint32(b, h.from)
		b = le.AppendUint32(b, h.count)
	} else {
		b = le.AppendUint64(b, uint64(h.previous))
	}
	b = le.AppendUint64(b, h.covered)
	b = le.AppendUint64(b, h.last.Entry)
	b = le.AppendUint64(b, uint64(h.last.Nth))
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, disk.Checksum(b[start:]))
}

func parseFileHead(name string, b []byte, number uint32) (h fileHeader, err error) {
	h.version = fileVersion
	if len(b) >= disk.HeaderBytes {
		h.version = min(max(fileVersion, le.Uint32(b[8:])), fileVersionKept)
	}
	if err := disk.CheckHeader(name, b, fileMagic, h.version, number); err != nil {
		return h, err
	}
	if len(b) < fileHead {
		return h, disk.Corrupt(name, 0, "file ends inside its header")
	}
	rest := b[disk.HeaderBytes:fileHead]
	if disk.Checksum(rest[:len(rest)-4]) != le.Uint32(rest[len(rest)-4:]) {
		return h, disk.Corrupt(name, disk.HeaderBytes, "header checksum does not match")
	}
	h.from = number
	if h.kept() {
		h.from, h.count = le.Uint32(rest), le.Uint32(rest[4:])
	} else {
		h.previous = int64(le.Uint64(rest))
	}
	h.covered = le.Uint64(rest[8:])
	h.last = Position{Entry: le.Uint64(rest[16:]), Nth: uint16(le.Uint64(rest[24:]))}
	return h, nil
}

// scan reads and checks the files of a directory.
type scan struct {
	disk disk.Disk
	dir  string
	// log receives the records, and the files stay open for it. If it is nil, the records
	// themselves are checked too.
	log   *Log
	files []*feedFile
	// floor is the position of the last record before the first file.
	floor  Position
	blocks []block
	next   uint64
	report Report
	// stale are the names of files whose place another one has taken.
	stale []string
}

// Report is the result of a check.
type Report struct {
	Files   int
	Records uint64
	Bytes   int64
	// First and Last are positions in the log of the service: of the oldest stored record, and the
	// entry up to which all records are stored.
	First Position
	Last  uint64
	// TornBytes is the number of bytes after the last valid block of TornFile, at TornOffset; they
	// are not read, and the next block cuts them off.
	TornBytes  int64
	TornFile   string
	TornOffset int64
}

// run checks all files. A damage error contains file and offset.
func (s *scan) run() error {
	names, err := s.disk.List(s.dir)
	if err != nil {
		return err
	}
	numbers, err := s.current(names)
	if err != nil {
		return err
	}
	s.next = firstNumber
	number, before := uint32(0), []byte(nil)
	for _, next := range numbers {
		content, err := s.read(next)
		if err == nil && before != nil && s.from(content, next) != number+1 {
			return disk.Corrupt(pathOf(s.dir, number+1), 0, "the file is missing")
		}
		if err == nil && before != nil {
			// The valid length of a file is in the header of the next one.
			err = s.file(number, before, content)
		}
		if err != nil {
			return err
		}
		number, before = next, content
	}
	if before != nil {
		if err := s.file(number, before, nil); err != nil {
			return err
		}
	}
	s.report.Files, s.report.Records = len(s.files), s.next-firstNumber
	if len(s.files) > 0 {
		s.report.Last = s.files[len(s.files)-1].covered
	}
	if len(s.blocks) > 0 {
		s.report.First = s.blocks[0].from
	}
	return nil
}

// current returns the numbers of the files, in order, without those whose place another one has
// taken.
func (s *scan) current(names []string) (numbers []uint32, err error) {
	end := uint64(math.MaxUint64)
	for _, name := range slices.Backward(names) {
		number, ok := disk.ParseName(name, filePrefix)
		if !ok {
			continue
		}
		if uint64(number) >= end {
			s.stale = append(s.stale, name)
			continue
		}
		content, err := s.readStart(number, fileHead)
		if err != nil {
			return nil, err
		}
		numbers, end = append(numbers, number), uint64(s.from(content, number))
	}
	slices.Reverse(numbers)
	slices.Reverse(s.stale)
	return numbers, nil
}

// from is the first number of the files whose place a file has taken: its own as a rule.
func (s *scan) from(content []byte, number uint32) uint32 {
	if head, err := parseFileHead("", content, number); err == nil {
		return head.from
	}
	return number
}

func pathOf(dir string, number uint32) string {
	return filepath.Join(dir, disk.NumberedName(filePrefix, number))
}

func (s *scan) read(number uint32) ([]byte, error) {
	return s.readStart(number, math.MaxInt64)
}

// readStart reads at most so many bytes of a file.
func (s *scan) readStart(number uint32, most int64) ([]byte, error) {
	path := pathOf(s.dir, number)
	file, err := s.disk.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	content := make([]byte, min(size, most))
	if err == nil {
		err = disk.ReadRange(file, path, 0, content)
	}
	return content, errors.Join(err, file.Close())
}

// file checks a file; next is the content of the next one, nil for the last.
func (s *scan) file(number uint32, content, next []byte) error {
	f := &feedFile{
		number: number, from: number, path: pathOf(s.dir, number), first: s.next, size: fileHead,
	}
	head, err := parseFileHead(f.path, content, number)
	if err != nil {
		if next == nil && !containsValidBlock(content) {
			// The file was never synced.
			s.report.TornFile, s.report.TornBytes = f.path, int64(len(content))
			return nil
		}
		return err
	}
	if err := s.checkFollows(f, &head); err != nil {
		return err
	}
	valid := int64(-1)
	if head.whole() {
		valid = int64(len(content))
	} else if following, err := parseFileHead(pathOf(s.dir, number+1), next, number+1); err == nil {
		if valid = following.previous; valid < fileHead || valid > int64(len(content)) {
			return disk.Corrupt(f.path, int64(len(content)), "the next file gives it %d valid bytes", valid)
		}
		content = content[:valid]
	}
	if err := s.parse(f, content, valid < 0); err != nil {
		return err
	}
	if f.kept {
		if f.count != int(head.count) || f.last.Compare(head.last) > 0 {
			return disk.Corrupt(f.path, f.size, "the file has %d of its %d records", f.count, head.count)
		}
		f.covered, f.last = head.covered, head.last
		s.floor = head.last
	}
	if s.log != nil {
		f.file, err = s.disk.Open(f.path)
	}
	s.files = append(s.files, f)
	return err
}

// parse checks the blocks of a file. torn allows a torn tail.
func (s *scan) parse(f *feedFile, content []byte, torn bool) error {
	for f.size < int64(len(content)) {
		info, reason := parseBlock(content[f.size:])
		if reason != "" {
			if torn && !containsValidBlock(content[f.size:]) {
				s.report.TornFile, s.report.TornOffset = f.path, f.size
				s.report.TornBytes = int64(len(content)) - f.size
				break
			}
			return disk.Corrupt(f.path, f.size, "%s", reason)
		}
		if err := s.block(f, &info, content[f.size:]); err != nil {
			return err
		}
	}
	s.report.Bytes += f.size
	return nil
}

// checkFollows checks that a file continues where the previous one ends.
func (s *scan) checkFollows(f *feedFile, head *fileHeader) error {
	if head.kept() {
		f.kept, f.from = true, head.from
		if n := len(s.files); n > 0 {
			f.last = s.files[n-1].last
			if !s.files[n-1].kept {
				return disk.Corrupt(f.path, 0, "the file follows one that was not shortened")
			}
		}
		return nil
	}
	if len(s.files) == 0 {
		f.last, f.covered = head.last, head.covered
		s.floor = head.last
		return nil
	}
	before := s.files[len(s.files)-1]
	f.last, f.covered = before.last, before.covered
	if before.covered != head.covered || before.last != head.last {
		return disk.Corrupt(f.path, disk.HeaderBytes, "the file does not continue where %s ends",
			before.path)
	}
	return nil
}

func (s *scan) block(f *feedFile, info *blockInfo, content []byte) error {
	projects, ok := projectsOf(info, content)
	if !ok || info.covered < f.covered && !f.kept || info.count > 0 && info.from.Compare(f.last) <= 0 {
		return disk.Corrupt(f.path, f.size, "the block does not follow the previous one")
	}
	if s.log == nil {
		if _, err := decodeBlock(f.path, f.size, content[:info.length()]); err != nil {
			return err
		}
	} else {
		for i, project := range projects {
			s.log.link(project, s.next+uint64(i))
		}
	}
	if info.count > 0 {
		s.blocks = append(s.blocks, block{f, f.size, s.next, *info})
	}
	f.add(info)
	s.next += uint64(info.count)
	return nil
}

// add records a block at the end of a file.
func (f *feedFile) add(info *blockInfo) {
	f.size += info.length()
	f.covered = info.covered
	if info.count == 0 {
		return
	}
	if f.count == 0 {
		f.firstAt = info.firstAt
	}
	f.count += info.count
	f.lastAt, f.last = info.lastAt, info.to
}

// containsValidBlock searches for a valid block at any offset.
func containsValidBlock(content []byte) bool {
	for i := 1; i+blockHead <= len(content); i++ {
		if string(content[i:i+len(blockMagic)]) == blockMagic {
			if _, reason := parseBlock(content[i:]); reason == "" {
				return true
			}
		}
	}
	return false
}

// Verify checks every block of a directory that no process has open. It changes nothing. The error
// is damage, ErrLocked, or an I/O error.
func Verify(dir string) (report Report, err error) {
	var lock io.Closer
	if lock, err = (disk.OS{}).Lock(dir, disk.Shared); err != nil {
		return report, err
	}
	s := scan{disk: disk.OS{}, dir: dir}
	err = s.run()
	return s.report, errors.Join(err, lock.Close())
}

// LostLogAdvice describes the recovery of a data directory without a part of its log, for
// operators.
const LostLogAdvice = "keep the directory as it is and restore a backup of it to another place"

// DamageAdvice describes the recovery of a damaged feed, for operators.
const DamageAdvice = "events older than the log are in the feed alone: restore it from a backup, " +
	"or remove the folder to begin with those that the log still has"

// CheckJoin returns ErrCorrupt if entries are missing between a feed, which covers entries up to
// covered, and a log with the entries from first to last.
func CheckJoin(dir string, covered, first, last uint64) error {
	switch {
	case covered+1 < first:
		return fmt.Errorf("%w: %s covers entries up to %d and the log begins with entry %d: "+
			"those between are lost; %s", ErrCorrupt, dir, covered, first, DamageAdvice)
	case covered > last:
		return fmt.Errorf("%w: %s covers entries up to %d and the log ends with entry %d: "+
			"the end of the log is lost, or the feed is another log's; %s", ErrCorrupt, dir, covered, last,
			LostLogAdvice)
	}
	return nil
}
