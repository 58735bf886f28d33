package feed

import (
	"encoding/binary"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// appendActivity encodes the activity of a record:
//
//	type 1 | actor 16 | subject type 1 | subject 16 | 1 and other project 16, or 0 |
//	uvarint number of facts, each: name 1, then depending on the name 16 bytes of an ID, a varint,
//	or a length and a text
func appendActivity(b []byte, a *work.Activity) []byte {
	b = append(append(b, byte(a.Type)), a.Actor[:]...)
	b = append(append(b, byte(a.Subject.Type)), a.Subject.ID[:]...)
	if a.Other.IsZero() {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), a.Other[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(a.Facts)))
	for _, fact := range a.Facts {
		b = append(b, byte(fact.Name))
		switch {
		case fact.Name.Number():
			b = binary.AppendVarint(b, fact.Number)
		case fact.Name.Prefix() != "":
			b = append(b, fact.ID[:]...)
		default:
			b = binary.AppendUvarint(b, uint64(len(fact.Text)))
			b = append(b, fact.Text...)
		}
	}
	return b
}

func readID(r *disk.Reader) id.ID { return id.ID(r.Fixed(len(id.ID{}))) }

// readActivity decodes an activity. The reader fails if the activity is invalid.
func readActivity(r *disk.Reader) (a work.Activity) {
	a.Type, a.Actor = work.ActivityType(r.Byte()), readID(r)
	a.Subject.Type, a.Subject.ID = work.SubjectType(r.Byte()), readID(r)
	if r.Byte() != 0 {
		a.Other = readID(r)
	}
	if !a.Type.Known() || !a.Subject.Type.Known() {
		r.Fail()
	}
	facts := r.Count()
	if facts > 0 && !r.Failed() {
		a.Facts = make([]work.Fact, 0, facts)
	}
	for range facts {
		fact := work.Fact{Name: work.FactName(r.Byte())}
		if !fact.Name.Known() {
			r.Fail()
		}
		switch {
		case r.Failed():
			return a
		case fact.Name.Number():
			fact.Number = r.Varint()
		case fact.Name.Prefix() != "":
			fact.ID = readID(r)
		default:
			fact.Text = r.Text()
		}
		a.Facts = append(a.Facts, fact)
	}
	return a
}

// The lengths of the parts in the package doc, and the magics.
const (
	fileMagic   = "PWSFEED1"
	fileVersion = 1
	// fileVersionWhole is that of a file that was written again: it has no torn tail.
	fileVersionWhole = 2
	// fileVersionKept is that of a file that has only the newest records of projects.
	fileVersionKept = 3
	fileHead        = disk.HeaderBytes + 40
	blockMagic      = "PWSB"
	blockHead       = 80
	// blockRecords is the maximum number of records in a block, blockBytesMax its maximum size
	// after decompression.
	blockRecords  = 256
	blockBytesMax = 64 << 20
)

var le = binary.LittleEndian

// blockInfo is the decoded header of a block.
type blockInfo struct {
	count              int
	index, raw, stored uint32
	codec              byte
	covered            uint64
	from, to           Position
	firstAt, lastAt    int64
}

func (i *blockInfo) length() int64 { return blockHead + int64(i.index) + int64(i.stored) }

// blockEncoder encodes blocks in memory that it uses again.
type blockEncoder struct {
	numbers                     map[id.ID]uint64
	projects, order, raw, block []byte
}

// blockMemoryMax is the size of a block whose memory is not kept for the next one.
const blockMemoryMax = 1 << 20

// encode encodes records as a block. Its bytes are valid until the next one.
func (e *blockEncoder) encode(records []Record, covered uint64) ([]byte, blockInfo) {
	info := blockInfo{count: len(records), covered: covered}
	if cap(e.raw) > blockMemoryMax {
		*e = blockEncoder{}
	}
	e.projects, e.order, e.raw = e.projects[:0], e.order[:0], e.raw[:0]
	b := append(e.block[:0], make([]byte, blockHead)...)
	if len(records) > 0 {
		first, last := &records[0], &records[len(records)-1]
		info.from, info.to = first.Position, last.Position
		info.firstAt, info.lastAt = first.At, last.At
		e.encodeRecords(records)
		b = binary.AppendUvarint(b, uint64(len(e.numbers)))
		b = append(append(b, e.projects...), e.order...)
	}
	info.index, info.raw = uint32(len(b)-blockHead), uint32(len(e.raw))
	start := len(b)
	b, info.codec = disk.Encode(b, e.raw)
	info.stored = uint32(len(b) - start)
	head := b[:blockHead]
	copy(head, blockMagic)
	le.PutUint32(head[8:], uint32(info.count))
	le.PutUint32(head[12:], info.index)
	le.PutUint32(head[16:], info.raw)
	le.PutUint32(head[20:], info.stored)
	head[24] = info.codec
	le.PutUint64(head[32:], covered)
	le.PutUint64(head[40:], info.from.Entry)
	le.PutUint64(head[48:], info.to.Entry)
	le.PutUint16(head[56:], info.from.Nth)
	le.PutUint16(head[58:], info.to.Nth)
	le.PutUint64(head[64:], uint64(info.firstAt))
	le.PutUint64(head[72:], uint64(info.lastAt))
	le.PutUint32(head[4:], disk.Checksum(b[8:]))
	e.block = b
	return b, info
}

// encodeRecords numbers the projects of records, and encodes the records.
func (e *blockEncoder) encodeRecords(records []Record) {
	if e.numbers == nil {
		e.numbers = make(map[id.ID]uint64, blockRecords)
	}
	clear(e.numbers)
	entry := records[0].Entry
	for i := range records {
		one := &records[i]
		number, known := e.numbers[one.Project]
		if !known {
			number = uint64(len(e.numbers))
			e.numbers[one.Project] = number
			e.projects = append(e.projects, one.Project[:]...)
		}
		e.order = binary.AppendUvarint(e.order, number)
		e.raw = binary.AppendUvarint(e.raw, one.Entry-entry)
		e.raw = binary.AppendUvarint(e.raw, uint64(one.Nth))
		e.raw = binary.AppendVarint(e.raw, one.At-records[0].At)
		e.raw = appendActivity(e.raw, &one.Activity)
		entry = one.Entry
	}
}

// parseBlock decodes the header of a block at the beginning of b, and checks the whole block. The
// reason is empty if it is valid.
func parseBlock(b []byte) (info blockInfo, reason string) {
	if len(b) < blockHead {
		return info, "the file ends inside the head of a block"
	}
	if string(b[:4]) != blockMagic {
		return info, "no block begins here"
	}
	info = blockInfo{
		count: int(le.Uint32(b[8:])), index: le.Uint32(b[12:]), raw: le.Uint32(b[16:]),
		stored: le.Uint32(b[20:]), codec: b[24], covered: le.Uint64(b[32:]),
		from:    Position{Entry: le.Uint64(b[40:]), Nth: le.Uint16(b[56:])},
		to:      Position{Entry: le.Uint64(b[48:]), Nth: le.Uint16(b[58:])},
		firstAt: int64(le.Uint64(b[64:])), lastAt: int64(le.Uint64(b[72:])),
	}
	if info.length() > int64(len(b)) {
		return info, "the file ends inside a block"
	}
	content := disk.Content{Codec: info.codec, Raw: info.raw}
	content.Stored = b[blockHead+int64(info.index) : info.length()]
	switch {
	case disk.Checksum(b[8:info.length()]) != le.Uint32(b[4:]):
		return info, "the checksum of a block does not match"
	case !content.Fits() || info.raw > blockBytesMax || info.count > int(info.index):
		return info, "the head of a block does not fit"
	}
	return info, ""
}

// projectsOf returns the project of each record of a block that was checked.
func projectsOf(info *blockInfo, b []byte) (projects []id.ID, ok bool) {
	if info.count == 0 {
		return nil, true
	}
	r := disk.NewReader(b[blockHead : blockHead+info.index])
	names := make([]id.ID, 0, info.count)
	for range min(r.Count(), uint64(info.count)) {
		names = append(names, readID(&r))
	}
	projects = make([]id.ID, 0, info.count)
	for range info.count {
		number := r.Uvarint()
		if r.Failed() || number >= uint64(len(names)) {
			return nil, false
		}
		projects = append(projects, names[number])
	}
	return projects, r.Len() == 0
}

// decodeBlock returns the records of a block. A damage error contains the file and the offset of
// the block.
func decodeBlock(name string, offset int64, b []byte) ([]Record, error) {
	info, reason := parseBlock(b)
	if reason != "" {
		return nil, disk.Corrupt(name, offset, "%s", reason)
	}
	projects, ok := projectsOf(&info, b)
	if !ok {
		return nil, disk.Corrupt(name, offset, "the index of a block does not fit")
	}
	content := disk.Content{
		Codec: info.codec, Raw: info.raw, Stored: b[blockHead+int64(info.index) : info.length()],
	}
	raw, err := content.Decode(name, offset, nil)
	if err != nil {
		return nil, err
	}
	r := disk.NewReader(raw)
	records := make([]Record, info.count)
	entry := info.from.Entry
	for i := range records {
		one := &records[i]
		entry += r.Uvarint()
		one.Project, one.Entry, one.Nth = projects[i], entry, uint16(r.Uvarint())
		one.At = info.firstAt + r.Varint()
		one.Activity = readActivity(&r)
		if i > 0 && one.Compare(records[i-1].Position) <= 0 {
			r.Fail()
		}
	}
	if n := len(records); r.Failed() || r.Len() > 0 ||
		n > 0 && (records[0].Position != info.from || records[n-1].Position != info.to) {
		return nil, disk.Corrupt(name, offset, "the records of a block do not fit")
	}
	return records, nil
}
