// Package sizelimit writes a JSON object that is never longer than it may be.
//
// A Document is the text of a wire struct with places in it: one for each optional member. Sections
// fill the places with items, the most important section first, in two rounds:
//
//  1. each section writes items while they fit its share; the first one is cut where it must be
//  2. each section continues where it stopped, as long as there is room at all; behind an object
//     that does not fit the others are written in their short form
//
// So no long section starves those behind it, and what comes first has all that they leave. Objects
// that are entered as lines are written in one line in both rounds. When all sections had their
// turn, lines become whole objects, the first ones first, as long as there is room. An item is
// written when its turn comes and not before: the cost follows the size of the text, whatever
// the sections hold.
//
// Names of members are in the tags of the wire structs alone. The tag size says more of a member:
//
//	fixed  is there whenever it is set, and no place
//	whole  is a list that is written whole or not at all
//	rest   of a Record is lost first
//	cut    of a Record is lost next, from its end
//
// Other words, and cut in what is no Record, are for those who make the items.
package sizelimit

import (
	"slices"
	"strconv"
	"sync"

	"pws/api/jsonschema"
)

// Document is an object that is being written.
type Document struct {
	// fixed is the text around the places. It ends with the length of the document, as zero.
	fixed     []byte
	places    []*Place
	truncated *Place
	// found is the position of the place that was asked for last.
	found int
}

// Place is a member that is there when it has items.
type Place struct {
	// at is its position in the fixed text, field the pointer to the field of the struct.
	at    int
	field any
	key   string
	list  bool
	// count is the number of its items; these are a list in their order at the end.
	count       int
	first, last *Entry
}

// New takes a pointer to a wire struct that has its objects and what is not optional. Optional
// members of it and of the objects that it points to are places; another member precedes each. The
// last member is the length of the whole in bytes, and zero here; truncated points to the list of
// the sections that lost something.
func New(object any, truncated *[]string) *Document {
	d := &Document{fixed: make([]byte, 0, fixedBytes), places: make([]*Place, 0, placesCount)}
	d.object(object)
	d.truncated = d.Place(truncated)
	return d
}

// fixedBytes is what the fixed text takes, and placesCount how many places it has, roughly.
const (
	fixedBytes  = 1 << 10
	placesCount = 64
)

func (d *Document) object(object any) {
	d.fixed = append(d.fixed, '{')
	start, members := len(d.fixed), jsonschema.StructOf(object)
	places := make([]Place, members.Len())
	for i := range members.Len() {
		m := members.At(i)
		inner := m.Object()
		if inner == nil && m.Optional() && !m.Sized("fixed") {
			places[i] = Place{at: len(d.fixed), field: m.Field(), key: m.Key()}
			places[i].list = m.IsList() && !m.Sized("whole")
			d.places = append(d.places, &places[i])
			continue
		}
		if m.Absent() {
			continue
		}
		if len(d.fixed) > start {
			d.fixed = append(d.fixed, ',')
		}
		if inner == nil {
			d.fixed = m.Append(d.fixed)
			continue
		}
		d.fixed = append(d.fixed, m.Key()...)
		d.object(inner)
	}
	d.fixed = append(d.fixed, '}')
}

// Place is that of the field that a pointer leads to. It is found at once where places are asked
// for in their order.
func (d *Document) Place(field any) *Place {
	for range d.places {
		d.found = (d.found + 1) % len(d.places)
		if p := d.places[d.found]; p.field == field {
			return p
		}
	}
	panic("sizelimit: no place for this field")
}

// Fit says how much of an item was written.
type Fit uint8

const (
	// Missing: nothing, for there is no room for anything of use.
	Missing Fit = iota
	// Cut: a part, for want of room.
	Cut
	// Trimmed: as much as is wanted of it, with something left out.
	Trimmed
	// Whole: all of it.
	Whole
)

// Item is something that can be written at a place.
type Item interface {
	// Append writes the item as JSON behind dst in at most room bytes. It leaves dst as it is where
	// the item is Missing.
	Append(dst []byte, room int) (longer []byte, fit Fit)
}

// Entry is an item with its place. Items of a list are in the order of their sections and entries.
type Entry struct {
	Place *Place
	Item  Item
	// Line says that a Record is written in one line until all sections had their turn.
	Line bool

	// text is nil where nothing was written.
	text []byte
	// next is the next item of the place.
	next *Entry
}

// Section is what is lost together and named in the list of truncated sections: entries, the most
// important first.
type Section struct {
	// Name is empty where nothing is lost with what is missing.
	Name string
	// Share is the part of the room that the section may take before others had theirs, in percent.
	// One without a share takes what all others leave.
	Share int
	// Least is the least share of a section that has anything, in bytes; tasteBytes where it is
	// less.
	Least   int
	Entries []Entry
	// Lost says that something is missing before it begins.
	Lost bool

	next int
	// lines says that it has lines, cut that an item was cut for want of room.
	lines, cut bool
}

// tasteBytes is the least share where there is room.
const tasteBytes = 96

// filling is the work on one document: the bytes that are left, and the texts that were written.
// Its memory is used again for the next document.
type filling struct {
	room int
	text []byte
	// chunks are the memory that the texts have filled, and spare the chunks for the next ones.
	chunks, spare [][]byte
}

var fillings = sync.Pool{New: func() any { return new(filling) }}

// chunksKept is how many chunks of memory wait for the next document.
const chunksKept = 8

// release ends the use of the texts.
func (f *filling) release() {
	for _, chunk := range append(f.chunks, f.text) {
		if cap(chunk) >= chunkBytes && len(f.spare) < chunksKept {
			f.spare = append(f.spare, chunk[:0])
		}
	}
	clear(f.chunks)
	f.chunks, f.text = f.chunks[:0], nil
	fillings.Put(f)
}

// Build fills the places and returns the whole document in at most bytesMax bytes, where the fixed
// text leaves room for that. Sections are in the order of their rank.
func (d *Document) Build(bytesMax int, sections []Section) []byte {
	f, _ := fillings.Get().(*filling)
	defer f.release()
	f.room = bytesMax - len(d.fixed) + len("0") - len(strconv.Itoa(bytesMax)) - d.truncated.cost()
	for i := range sections {
		f.room -= reserve(&sections[i])
	}
	free := f.room
	for i := range sections {
		f.first(&sections[i], free)
	}
	for i := range sections {
		if sections[i].Share > 0 {
			f.second(&sections[i])
		}
	}
	for i := range sections {
		f.complete(&sections[i])
	}
	for i := range sections {
		if sections[i].Share == 0 {
			f.second(&sections[i])
		}
	}
	return d.finish(sections)
}

// chunkBytes is the memory for the next texts, and spareBytes what is left of it for one more.
const (
	chunkBytes = 8 << 10
	spareBytes = 1 << 10
)

// memory is where the next text is written. Texts that were written stay where they are.
func (f *filling) memory() []byte {
	if cap(f.text)-len(f.text) >= spareBytes {
		return f.text
	}
	if f.text != nil {
		f.chunks = append(f.chunks, f.text)
	}
	if last := len(f.spare) - 1; last >= 0 {
		f.text, f.spare = f.spare[last], f.spare[:last]
	} else {
		f.text = make([]byte, 0, chunkBytes)
	}
	return f.text
}

// reserve is the room for naming a section that may lose something.
func reserve(s *Section) int {
	if s.Name == "" || len(s.Entries) == 0 && !s.Lost {
		return 0
	}
	return len(s.Name) + len(`"",`)
}

// first is the first round of a section. One that has written all needs no name.
func (f *filling) first(s *Section, free int) {
	if s.Share == 0 {
		return
	}
	share := min(f.room, max(free*s.Share/100, s.Least, tasteBytes))
	for how := mayCut; s.next < len(s.Entries); how = wholeOnly {
		entry, before := &s.Entries[s.next], f.room
		s.lines = s.lines || entry.Line
		fit := f.put(entry, share, how)
		if fit == Missing || fit == Cut {
			return
		}
		share -= before - f.room
		s.Lost = s.Lost || fit == Trimmed
		s.next++
	}
	if !s.Lost && !s.lines {
		f.room += reserve(s)
	}
}

// second is the second round: a first item that was cut is written again. Behind an object that did
// not fit whole the others are short too, so that there are many of them.
func (f *filling) second(s *Section) {
	if s.next < len(s.Entries) {
		f.undo(&s.Entries[s.next])
	}
	how := mayCut
	for ; s.next < len(s.Entries); s.next++ {
		s.lines = s.lines || s.Entries[s.next].Line
		fit := f.put(&s.Entries[s.next], f.room, how)
		s.Lost = s.Lost || fit != Whole
		if fit == Missing {
			return
		}
		if fit == Cut {
			s.cut, how = true, shortOnly
		}
	}
}

// complete writes the lines of a section as whole objects, the first ones first, as long as there
// is room.
func (f *filling) complete(s *Section) {
	if !s.lines || s.cut || s.next < len(s.Entries) {
		return
	}
	for i := range s.Entries {
		entry := &s.Entries[i]
		if !entry.Line {
			continue
		}
		text, fit := entry.Item.Append(f.memory(), Unlimited)
		start := len(f.text)
		more := len(text) - start - len(entry.text)
		if s.Lost = s.Lost || fit != Whole || more > f.room; more <= f.room {
			f.room -= more
			f.text, entry.text = text, text[start:]
		}
	}
}

// manner is how an item may be written.
type manner uint8

const (
	wholeOnly manner = iota
	mayCut
	shortOnly
	lineOnly
)

// put writes an entry in at most room bytes.
func (f *filling) put(entry *Entry, room int, how manner) Fit {
	cost, form := entry.Place.cost(), how
	if entry.Line {
		form = lineOnly
	}
	text, fit := form.append(f.memory(), entry.Item, room-cost)
	start := len(f.text)
	cost += len(text) - start
	if fit == Missing || fit == Cut && how == wholeOnly || cost > room {
		return Missing
	}
	f.text, entry.text = text, text[start:]
	entry.Place.count++
	f.room -= cost
	return fit
}

// undo takes back what was written of an entry.
func (f *filling) undo(entry *Entry) {
	if entry.text != nil {
		entry.Place.count--
		f.room += entry.Place.cost() + len(entry.text)
		entry.text = nil
	}
}

// append writes an item; only objects have a short form and a line.
func (how manner) append(dst []byte, item Item, room int) ([]byte, Fit) {
	if how != shortOnly && how != lineOnly {
		return item.Append(dst, room)
	}
	record, isObject := item.(Record)
	switch {
	case !isObject:
		return dst, Missing
	case how == lineOnly:
		return record.brief(dst, room, Line)
	}
	return record.short(dst, room)
}

// cost is what the next item takes beside its text.
func (p *Place) cost() int {
	switch {
	case p.count > 0:
		return len(",")
	case p.list:
		return len(",[]") + len(p.key)
	}
	return len(",") + len(p.key)
}

// append writes the place.
func (p *Place) append(dst []byte) []byte {
	if p.first == nil {
		return dst
	}
	dst = append(append(dst, ','), p.key...)
	if p.list {
		dst = append(dst, '[')
	}
	for entry := p.first; entry != nil; entry = entry.next {
		if entry != p.first {
			dst = append(dst, ',')
		}
		dst = append(dst, entry.text...)
	}
	if p.list {
		dst = append(dst, ']')
	}
	return dst
}

// finish writes the document.
func (d *Document) finish(sections []Section) []byte {
	size := len(d.fixed)
	for i := range sections {
		s := &sections[i]
		for i := range s.Entries {
			if entry := &s.Entries[i]; entry.text != nil {
				size += entry.Place.add(entry)
			}
		}
	}
	for _, name := range lost(sections) {
		size += d.truncated.add(&Entry{text: jsonschema.AppendString(nil, name)})
	}
	out, from := make([]byte, 0, size), 0
	for _, p := range d.places {
		out = p.append(append(out, d.fixed[from:p.at]...))
		from = p.at
	}
	out = append(out, d.fixed[from:len(d.fixed)-len("0}")]...)
	return append(strconv.AppendInt(out, int64(total(len(out)+1)), 10), '}')
}

// add puts an entry at the end of the place and returns what that takes.
func (p *Place) add(entry *Entry) int {
	size := len(",") + len(entry.text)
	if p.last == nil {
		p.first = entry
		size += len("[]") + len(p.key)
	} else {
		p.last.next = entry
	}
	p.last = entry
	return size
}

// lost names the sections that lost something, each once.
func lost(sections []Section) []string {
	var names []string
	for i := range sections {
		s := &sections[i]
		if s.Lost && s.Name != "" && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// total is the length of a text of so many bytes together with the digits of that length.
func total(bytes int) int {
	digits := 1
	for len(strconv.Itoa(bytes+digits)) > digits {
		digits++
	}
	return bytes + digits
}
