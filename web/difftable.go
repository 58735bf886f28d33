package web

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Fit chooses which files have their lines on the page, which has so many bytes left: in their
// order each that has room. The first one that has not begins here, others are on their own pages.
func (d *diff) Fit(room int) *diff {
	room = max(room, diffRoomMin)
	for i := range d.Files {
		room -= d.Files[i].linkBytes()
	}
	d.fitted = true
	words := wordDiffer{steps: wordStepsMax}
	if d.Only != "" || d.All == 1 {
		for i := range d.Files {
			d.Files[i].begin(max(room-d.Files[i].frameBytes(), diffRoomMin/2), d.Split, &words)
		}
		return d
	}
	begun := false
	for i := range d.Files {
		one := &d.Files[i]
		left := room - one.frameBytes()
		// No line takes fewer bytes here than in the text.
		if len(one.part) <= left+len(one.Path)*4 && one.begin(left, d.Split, &words) {
			room = left - len(one.Table)
			continue
		}
		if one.part != "" && !begun && left > diffRoomMin/2 {
			one.begin(left/2, d.Split, &words)
			room = left - len(one.Table)
		} else {
			one.apart()
		}
		begun = true
	}
	return d
}

// linkBytes is about what the name of a file takes, frameBytes what is around its lines.
func (f *fileDiff) linkBytes() int {
	return 320 + len(url.QueryEscape(f.Path)) + len(html.EscapeString(f.Path)) +
		len(html.EscapeString(deref(f.PreviousPath)))
}

func (f *fileDiff) frameBytes() int { return 320 + 3*len(html.EscapeString(f.Path)) }

// apart leaves the lines of a file to its own page.
func (f *fileDiff) apart() {
	f.Table, f.Apart, f.More = "", f.part != "" || f.cut, 0
}

// read reads the rows of a file once.
func (f *fileDiff) read() {
	if f.rows == nil {
		f.rows = rowsOf(f.part)
	}
	if f.from < 1 || f.from > len(f.rows) {
		f.from = 1
	}
}

// begin makes the table of as many rows as have room. It returns false if others are left.
func (f *fileDiff) begin(room int, split bool, words *wordDiffer) (whole bool) {
	f.read()
	w := tableWriter{prefix: "f" + strconv.Itoa(f.Number), split: split}
	// Only what may be seen is compared.
	seen := f.rows[f.from-1 : min(len(f.rows), f.from-1+room/rowBytesMin)]
	words.mark(seen)
	f.next = f.from + w.fill(seen, room)
	f.Table = template.HTML(w.String())
	f.More, f.Earlier, f.Cut = 0, 0, false
	if f.next <= len(f.rows) {
		f.More = f.next
	} else if f.cut {
		f.Cut = true
	}
	if f.from > 1 {
		f.Earlier = f.before(room)
	}
	return f.More == 0 && !f.Cut
}

// before is the row from which on a page ends where this one begins, or a little behind.
func (f *fileDiff) before(room int) int {
	at := f.from
	for at > 1 && room > 0 {
		at--
		room -= 2*rowBytesMin + len(html.EscapeString(f.rows[at-1].Text))
	}
	return at
}

// Shows reports whether a line of the new side is on the page.
func (f *fileDiff) Shows(line int) bool {
	return !f.Apart && f.next > 0 && slices.ContainsFunc(f.rows[f.from-1:f.next-1],
		func(r row) bool { return r.New == line })
}

// tableWriter writes the rows of a table, without what may be left out of HTML: a page can have
// hundreds of lines. The anchor of a line is the prefix, then the letter of its side, L for the old
// one and R for the new one, and its number.
type tableWriter struct {
	strings.Builder
	prefix string
	split  bool
}

// rowBytesMin is the least that a row takes.
const rowBytesMin = len(`<tr><td><td>`)

// fill writes rows until the next ones have no room, and returns their number, which is at least
// one. Rows that belong together are together unless they are many.
func (w *tableWriter) fill(rows []row, room int) (done int) {
	full := false
	changes(rows, func(removed, added []row) {
		if full {
			return
		}
		before := w.Len()
		group := rows[done : done+len(removed)+len(added)]
		w.group(group)
		if w.Len() <= room {
			done += len(group)
			return
		}
		full = true
		small := w.Len()-before <= room/2
		w.cut(before)
		if small && done > 0 {
			return
		}
		for i := range group {
			before := w.Len()
			if w.group(group[i : i+1]); w.Len() > room && done > 0 {
				w.cut(before)
				return
			}
			done++
		}
	})
	return done
}

// cut takes back what was written behind a place.
func (w *tableWriter) cut(place int) {
	text := w.String()[:place]
	w.Reset()
	w.WriteString(text)
}

// group writes rows that belong together.
func (w *tableWriter) group(rows []row) {
	if w.split {
		for _, pair := range pairsOf(rows) {
			w.pair(pair)
		}
		return
	}
	for i := range rows {
		w.row(&rows[i])
	}
}

func (w *tableWriter) write(parts ...string) {
	for _, part := range parts {
		w.WriteString(part)
	}
}

// gap writes the head of a part.
func (w *tableWriter) gap(columns, text string) {
	w.write(`<tr class=gap><td colspan=`, columns, `>`, html.EscapeString(plain(text)))
}

// number writes the cell with the number of a line, empty if there is none.
func (w *tableWriter) number(side string, number int) {
	if number == 0 {
		w.write(`<td>`)
		return
	}
	text := strconv.Itoa(number)
	w.write(`<td id=`, w.prefix, side, text, `>`, text)
}

// line writes what is in the cell of a line.
func (w *tableWriter) line(one *row) {
	if one.Parts == nil {
		w.write(html.EscapeString(plain(one.Text)))
		return
	}
	for _, part := range one.Parts {
		text := html.EscapeString(plain(part.Text))
		if part.Marked {
			text = "<mark>" + text + "</mark>"
		}
		w.write(text)
	}
}

func (w *tableWriter) row(one *row) {
	if one.Kind == "gap" {
		w.gap("3", one.Text)
		return
	}
	w.write(`<tr class=`, one.Kind, `>`)
	w.number("L", one.Old)
	w.number("R", one.New)
	w.write(`<td>`)
	w.line(one)
}

func (w *tableWriter) pair(one pairOfRows) {
	if one.Old != nil && one.Old.Kind == "gap" {
		w.gap("4", one.Old.Text)
		return
	}
	w.write("<tr>")
	for _, side := range []struct {
		letter string
		row    *row
	}{{"L", one.Old}, {"R", one.New}} {
		if side.row == nil {
			w.write(`<td><td class=gap>`)
			continue
		}
		number := side.row.Old
		if side.letter == "R" {
			number = side.row.New
		}
		w.number(side.letter, number)
		w.write(`<td class=`, side.row.Kind, `>`)
		w.line(side.row)
	}
}
