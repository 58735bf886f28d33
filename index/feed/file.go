package feed

import (
	"errors"
	"io"
	"path/filepath"
	"slices"

	"pws/internal/disk"
	"pws/internal/id"
)

const filePrefix = "feed-"

// feedFile is a file of the log. Readers use what a file has of blocks without a lock.
type feedFile struct {
	number uint32
	path   string
	file   disk.File
	// size is how much of it is valid.
	size int64
	// first is the number of its first record, count how many it has.
	first uint64
	count int
	// firstAt and lastAt are the times of its first and its last record.
	firstAt, lastAt int64
	// last is the position of its last record, or of the last one in front of it.
	last Position
	// covered is up to which entry all is here or in front.
	covered uint64
}

// block is a block with records: where it is, and which they are.
type block struct {
	file     *feedFile
	offset   int64
	length   int64
	first    uint64
	count    int
	from, to Position
}

// appendFileHead writes the head of a file. previous, last and covered describe the file before it.
func appendFileHead(b []byte, number uint32, previous int64, covered uint64, last Position) []byte {
	b = disk.AppendHeader(b, fileMagic, fileVersion, number)
	start := len(b)
	b = le.AppendUint64(b, uint64(previous))
	b = le.AppendUint64(b, covered)
	b = le.AppendUint64(b, last.Entry)
	b = le.AppendUint64(b, uint64(last.Nth))
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, disk.Checksum(b[start:]))
}

// fileHeader is what the head of a file says.
type fileHeader struct {
	previous int64
	covered  uint64
	last     Position
}

func parseFileHead(name string, b []byte, number uint32) (h fileHeader, err error) {
	if err := disk.CheckHeader(name, b, fileMagic, fileVersion, number); err != nil {
		return h, err
	}
	if len(b) < fileHead {
		return h, disk.Corrupt(name, 0, "file ends inside its header")
	}
	rest := b[disk.HeaderBytes:fileHead]
	if disk.Checksum(rest[:len(rest)-4]) != le.Uint32(rest[len(rest)-4:]) {
		return h, disk.Corrupt(name, disk.HeaderBytes, "header checksum does not match")
	}
	h.previous, h.covered = int64(le.Uint64(rest)), le.Uint64(rest[8:])
	h.last = Position{Entry: le.Uint64(rest[16:]), Nth: uint16(le.Uint64(rest[24:]))}
	return h, nil
}

// scan reads the files of a directory and checks all that is in them.
type scan struct {
	disk disk.Disk
	dir  string
	// keep leaves the files open, for a log.
	keep  bool
	files []*feedFile
	// begin is what the first file says.
	begin  fileHeader
	blocks []block
	next   uint64
	report Report
	// record is called with the project of each record; decode has the records themselves checked
	// too.
	record func(project id.ID, number uint64)
	decode bool
}

// Report is what a check has counted.
type Report struct {
	Files   int
	Records uint64
	Bytes   int64
	// First and Last are positions of the log of the service: of the oldest record that is kept, and
	// up to which all is here.
	First Position
	Last  uint64
	// TornBytes lie behind the last valid block of TornFile; they are not read.
	TornBytes int64
	TornFile  string
}

// run goes through all files. An error that is damage names its place.
func (s *scan) run() error {
	names, err := s.disk.List(s.dir)
	if err != nil {
		return err
	}
	var numbers []uint32
	for _, name := range names {
		if number, ok := disk.ParseName(name, filePrefix); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	var content, next []byte
	for at, number := range numbers {
		if at > 0 && number != numbers[at-1]+1 {
			return disk.Corrupt(s.path(numbers[at-1]+1), 0, "the file is missing")
		}
		// What is valid of a file, the one behind it says.
		if content = next; at == 0 {
			content, err = s.read(number)
		}
		if next = nil; err == nil && at+1 < len(numbers) && number+1 == numbers[at+1] {
			next, err = s.read(number + 1)
		}
		if err == nil {
			err = s.file(number, content, next, at+1 == len(numbers))
		}
		if err != nil {
			return err
		}
	}
	s.report.Files, s.report.Records = len(s.files), s.next
	if len(s.files) > 0 {
		s.report.Last = s.files[len(s.files)-1].covered
	}
	if len(s.blocks) > 0 {
		s.report.First = s.blocks[0].from
	}
	return nil
}

func (s *scan) path(number uint32) string {
	return filepath.Join(s.dir, disk.NumberedName(filePrefix, number))
}

func (s *scan) read(number uint32) ([]byte, error) {
	path := s.path(number)
	file, err := s.disk.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	content := make([]byte, size)
	if err == nil {
		err = disk.ReadRange(file, path, 0, content)
	}
	return content, errors.Join(err, file.Close())
}

// file checks a file; next is the content of the one behind it.
func (s *scan) file(number uint32, content, next []byte, last bool) error {
	f := &feedFile{number: number, path: s.path(number), first: s.next, size: fileHead}
	head, err := parseFileHead(f.path, content, number)
	if err != nil {
		if last && !soundBlockIn(content) {
			// Nothing of it became durable.
			s.report.TornFile, s.report.TornBytes = f.path, int64(len(content))
			return nil
		}
		return err
	}
	if err := s.join(f, &head); err != nil {
		return err
	}
	valid := int64(-1)
	if behind, err := parseFileHead(s.path(number+1), next, number+1); err == nil {
		if valid = behind.previous; valid < fileHead || valid > int64(len(content)) {
			return disk.Corrupt(f.path, int64(len(content)), "the file had %d bytes", valid)
		}
		content = content[:valid]
	}
	if err := s.parse(f, content, valid < 0); err != nil {
		return err
	}
	if s.keep {
		f.file, err = s.disk.Open(f.path)
	}
	s.files = append(s.files, f)
	return err
}

// parse goes through the blocks of a file, whose end may be torn where that is said.
func (s *scan) parse(f *feedFile, content []byte, torn bool) error {
	for f.size < int64(len(content)) {
		info, reason := parseBlock(content[f.size:])
		if reason != "" {
			if torn && !soundBlockIn(content[f.size:]) {
				s.report.TornFile, s.report.TornBytes = f.path, int64(len(content))-f.size
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

// join checks that a file goes on where the one before it ends.
func (s *scan) join(f *feedFile, head *fileHeader) error {
	if len(s.files) == 0 {
		s.begin = *head
		f.last, f.covered = head.last, head.covered
		return nil
	}
	before := s.files[len(s.files)-1]
	f.last, f.covered = before.last, before.covered
	if before.covered != head.covered || before.last != head.last {
		return disk.Corrupt(f.path, disk.HeaderBytes, "the file does not go on where %s ends",
			before.path)
	}
	return nil
}

func (s *scan) block(f *feedFile, info *blockInfo, content []byte) error {
	projects, ok := projectsOf(info, content)
	if !ok || info.covered < f.covered || info.count > 0 && info.from.Compare(f.last) <= 0 {
		return disk.Corrupt(f.path, f.size, "a block does not fit the one before")
	}
	if s.decode {
		if _, err := decodeBlock(f.path, f.size, content[:info.length()]); err != nil {
			return err
		}
	}
	for at, project := range projects {
		if s.record != nil {
			s.record(project, s.next+uint64(at))
		}
	}
	if info.count > 0 {
		s.blocks = append(s.blocks, blockOf(f, info, s.next))
	}
	f.took(info)
	s.next += uint64(info.count)
	return nil
}

func blockOf(f *feedFile, info *blockInfo, first uint64) block {
	return block{
		file: f, offset: f.size, length: info.length(), first: first, count: info.count,
		from: info.from, to: info.to,
	}
}

// took notes a block at the end of a file.
func (f *feedFile) took(info *blockInfo) {
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

// soundBlockIn looks for a block that checks, anywhere.
func soundBlockIn(content []byte) bool {
	for at := 1; at+blockHead <= len(content); at++ {
		if string(content[at:at+len(blockMagic)]) == blockMagic {
			if _, reason := parseBlock(content[at:]); reason == "" {
				return true
			}
		}
	}
	return false
}

// Verify checks every block of a directory that nobody writes to. It changes nothing. The error is
// damage, ErrLocked, or what kept it from reading.
func Verify(dir string) (report Report, err error) {
	var lock io.Closer
	if lock, err = (disk.OS{}).Lock(dir, false); err != nil {
		return report, err
	}
	s := scan{disk: disk.OS{}, dir: dir, decode: true}
	err = s.run()
	return s.report, errors.Join(err, lock.Close())
}
