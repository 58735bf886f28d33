// Package budget puts a JSON object together that is never longer than it may be.
//
// A Document is fixed text with places in it. Sections fill the places with items, the most
// important section first, in two rounds:
//
//  1. each section puts items down while they fit its share; the first one is cut where it must be
//  2. each section goes on where it stopped, as long as there is room at all; behind an object for
//     which there is no room any more the others are written in their short form
//
// So no long section starves those behind it, and what comes first has all that they leave. Objects
// that are entered as lines are written in one line in both rounds. When all sections had their
// turn, lines become whole objects, the first ones first, as long as there is room. An item is
// written when its turn comes and not before: the cost follows the size of the text, whatever
// the sections hold. The document ends with two members of its own: truncated_sections names the
// sections that lost something and is absent where none did, and approximate_chars is the length
// of the whole in bytes.
package budget

import (
	"slices"
	"strconv"

	"pws/api/jsonschema"
)

// Document is an object in the making.
type Document struct {
	// Fixed is the text around the places, without the last brace. Callers write it, and call List,
	// Member and MemberList where a place belongs.
	Fixed  []byte
	places []*Place
}

// Place is where items go.
type Place struct {
	// at is where the place stands in the fixed text.
	at int
	// key is the name of a member that is not there before it is opened, empty for a list that
	// always is.
	key    string
	list   bool
	opened bool
	items  []byte
	count  int
	// front is the place whose list this one goes on with, behind the one that does so.
	front, behind *Place
}

// List adds a list that is always there.
func (d *Document) List() *Place { return d.place(&Place{list: true, opened: true}) }

// After adds a place whose items follow those of another, in the same list. It is called BEFORE
// anything else is written behind the first.
func (d *Document) After(front *Place) *Place {
	front.behind = d.place(&Place{list: true, front: front})
	return front.behind
}

// root is the place that opens the list.
func (p *Place) root() *Place {
	if p.front != nil {
		return p.front
	}
	return p
}

// Member adds a member that is there when it has a value, MemberList one that is there when its
// list was opened. Another member must stand before it.
func (d *Document) Member(key string) *Place { return d.place(&Place{key: key}) }

// MemberList is described with Member.
func (d *Document) MemberList(key string) *Place { return d.place(&Place{key: key, list: true}) }

func (d *Document) place(p *Place) *Place {
	p.at = len(d.Fixed)
	d.places = append(d.places, p)
	return p
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

// Entry is an item with its place. Without an item it opens the list of a member.
type Entry struct {
	Place *Place
	Item  Item
	// Line says that a Record is written in one line until all sections had their turn.
	Line bool
}

// Section is what is lost together and named in truncated_sections: entries, the most important
// first. No other section has entries at its places.
type Section struct {
	// Name is empty where nothing is lost with what is missing.
	Name string
	// Share is the part of the room that the section may take before others had theirs, in percent.
	// One without a share takes what all others leave.
	Share int
	// Least is the least share of a section that has anything, in bytes; tasteBytes where it is less.
	Least   int
	Entries []Entry
	// Lost says that something is missing before it begins.
	Lost bool

	next int
	// before is its place before a first item was cut to the share; nil where none was.
	before *mark
	// lines says that it has lines, cut that an item was cut for want of room.
	lines, cut bool
}

// mark is a place at a moment, and the room that was taken since.
type mark struct {
	bytes  int
	opened bool
	took   int
}

const (
	truncatedKey = `,"truncated_sections":[`
	charsKey     = `,"approximate_chars":`
	// tasteBytes is the least share where there is room.
	tasteBytes = 96
)

// filling is the work on one document: the bytes that are left.
type filling struct{ room int }

// Build fills the places and returns the whole document in at most bytesMax bytes, where the fixed
// text with the two members at the end leaves room for that. Sections stand in the order of their
// rank.
func (d *Document) Build(bytesMax int, sections []Section) []byte {
	f := &filling{room: bytesMax - d.fixedBytes() - len(truncatedKey) - len("]") - len(charsKey) -
		len(strconv.Itoa(bytesMax)) - len("}")}
	for at := range sections {
		f.room -= reserve(&sections[at])
	}
	free := f.room
	for at := range sections {
		f.first(&sections[at], free)
	}
	for at := range sections {
		if sections[at].Share > 0 {
			f.second(&sections[at])
		}
	}
	for at := range sections {
		f.complete(&sections[at])
	}
	for at := range sections {
		if sections[at].Share == 0 {
			f.second(&sections[at])
		}
	}
	return d.finish(bytesMax, sections)
}

// reserve is the room for naming a section that may lose something.
func reserve(s *Section) int {
	if s.Name == "" || len(s.Entries) == 0 && !s.Lost {
		return 0
	}
	return len(s.Name) + len(`"",`)
}

// fixedBytes is the length of what is there before any item.
func (d *Document) fixedBytes() int {
	size := len(d.Fixed)
	for _, p := range d.places {
		if p.key == "" && p.front == nil {
			size += len("[]")
		}
	}
	return size
}

// first is the first round of a section. One that has put all down needs no name any more.
func (f *filling) first(s *Section, free int) {
	if s.Share == 0 {
		return
	}
	share := min(f.room, max(free*s.Share/100, s.Least, tasteBytes))
	for s.next < len(s.Entries) {
		entry := &s.Entries[s.next]
		before := mark{len(entry.Place.items), entry.Place.root().opened, f.room}
		s.lines = s.lines || entry.Line
		how := wholeOnly
		if s.next == 0 {
			how = mayCut
		}
		fit := f.put(entry, share, how)
		if fit == Missing {
			return
		}
		before.took -= f.room
		if fit == Cut {
			s.before = &before
			return
		}
		share -= before.took
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
	if s.before != nil {
		place := s.Entries[s.next].Place
		place.items = place.items[:s.before.bytes]
		place.count--
		f.room += s.before.took
		if root := place.root(); !s.before.opened {
			// Another section may have written into the same list meanwhile.
			root.opened = false
			if root.count > 0 {
				f.room -= root.openCost()
				root.opened = true
			}
		}
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
// is room. All items are written again, because lines stand among others.
func (f *filling) complete(s *Section) {
	if !s.lines || s.cut || s.next < len(s.Entries) {
		return
	}
	for at := range s.Entries {
		place := s.Entries[at].Place
		place.items, place.count = place.items[:0], 0
	}
	for at := range s.Entries {
		entry := &s.Entries[at]
		p := entry.Place
		if entry.Item == nil {
			continue
		}
		if p.count > 0 {
			p.items = append(p.items, ',')
		}
		p.count++
		start := len(p.items)
		items, fit := entry.Item.Append(p.items, Unlimited)
		s.Lost = s.Lost || fit != Whole
		if !entry.Line {
			p.items = items
			continue
		}
		line, _ := lineOnly.append(nil, entry.Item, Unlimited)
		more := len(items) - start - len(line)
		if more > f.room {
			items = append(items[:start], line...)
			s.Lost = true
		} else {
			f.room -= more
		}
		p.items = items
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
	p := entry.Place
	cost := p.openCost()
	if entry.Item == nil {
		if cost > room {
			return Missing
		}
		p.root().opened = true
		f.room -= cost
		return Whole
	}
	if p.list && p.count+p.neighbours() > 0 {
		cost += len(",")
	}
	before := len(p.items)
	items := p.items
	if p.list && p.count > 0 {
		items = append(items, ',')
	}
	start := len(items)
	form := how
	if entry.Line {
		form = lineOnly
	}
	items, fit := form.append(items, entry.Item, room-cost)
	cost += len(items) - start
	if fit == Missing || fit == Cut && how == wholeOnly || cost > room {
		p.items = p.items[:before]
		return Missing
	}
	p.items, p.root().opened = items, true
	p.count++
	f.room -= cost
	return fit
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

// openCost is what it takes to begin a member.
func (p *Place) openCost() int {
	p = p.root()
	if p.opened {
		return 0
	}
	cost := len(`,"":`) + len(p.key)
	if p.list {
		cost += len("[]")
	}
	return cost
}

// neighbours counts the items of the other place in the same list.
func (p *Place) neighbours() int {
	switch {
	case p.front != nil:
		return p.front.count
	case p.behind != nil:
		return p.behind.count
	}
	return 0
}

// append writes the place.
func (p *Place) append(dst []byte) []byte {
	if !p.root().opened {
		return dst
	}
	if p.key != "" {
		dst = append(append(append(dst, `,"`...), p.key...), `":`...)
	}
	if p.list && p.front == nil {
		dst = append(dst, '[')
	}
	if p.front != nil && p.front.count > 0 && p.count > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, p.items...)
	if p.list && p.behind == nil {
		dst = append(dst, ']')
	}
	return dst
}

// finish writes the document with its two last members.
func (d *Document) finish(bytesMax int, sections []Section) []byte {
	out, from := make([]byte, 0, min(bytesMax, d.roughBytes(sections))), 0
	for _, p := range d.places {
		out = append(out, d.Fixed[from:p.at]...)
		out, from = p.append(out), p.at
	}
	out = append(out, d.Fixed[from:]...)
	names := lost(sections)
	for at, name := range names {
		if at == 0 {
			out = append(out, truncatedKey...)
		} else {
			out = append(out, ',')
		}
		out = jsonschema.AppendString(out, name)
		if at+1 == len(names) {
			out = append(out, ']')
		}
	}
	out = append(out, charsKey...)
	return append(strconv.AppendInt(out, int64(total(len(out)+1)), 10), '}')
}

func (d *Document) roughBytes(sections []Section) int {
	size := len(d.Fixed) + len(truncatedKey) + len(charsKey) + 32
	for _, p := range d.places {
		size += len(p.items) + len(p.key) + len(`,"":[]`)
	}
	for at := range sections {
		size += reserve(&sections[at])
	}
	return size
}

// lost names the sections that lost something, each once.
func lost(sections []Section) []string {
	var names []string
	for at := range sections {
		s := &sections[at]
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
