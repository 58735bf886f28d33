package web

import (
	"html"
	"html/template"
	"strconv"
	"strings"
)

// Table is the body of the table of a file's lines. It is written here and not by a template,
// because a page can have thousands of lines.
func (f fileDiff) Table(split bool) template.HTML {
	w := tableWriter{prefix: "f" + strconv.Itoa(f.Number)}
	if split {
		for _, pair := range f.Pairs() {
			w.pair(pair)
		}
	} else {
		for at := range f.Rows {
			w.row(&f.Rows[at])
		}
	}
	return template.HTML(w.String())
}

// tableWriter writes the rows of a table. The anchor of a line is the prefix, then the letter of
// its side, L for the old one and R for the new one, and its number.
type tableWriter struct {
	strings.Builder
	prefix string
}

func (w *tableWriter) write(parts ...string) {
	for _, part := range parts {
		w.WriteString(part)
	}
}

// gap writes the head of a part.
func (w *tableWriter) gap(columns, text string) {
	w.write(`<tr class="gap"><td colspan="`, columns, `">`, html.EscapeString(plain(text)),
		"</td></tr>\n")
}

// number writes the cell with the number of a line, empty if there is none.
func (w *tableWriter) number(side string, number int) {
	if number == 0 {
		w.write(`<td class="number"></td>`)
		return
	}
	text := strconv.Itoa(number)
	w.write(`<td class="number" id="`, w.prefix, side, text, `">`, text, `</td>`)
}

// signs say what a kind of line is to those who see no colours.
var signs = map[string]string{
	"added":   `<span class="sign">+</span>`,
	"removed": `<span class="sign">−</span>`,
	"same":    `<span class="sign"> </span>`,
}

// line writes what is in the cell of a line.
func (w *tableWriter) line(one *row) {
	w.write(signs[one.Kind])
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
	w.write(`<tr class="`, one.Kind, `">`)
	w.number("L", one.Old)
	w.number("R", one.New)
	w.write(`<td class="line">`)
	w.line(one)
	w.write("</td></tr>\n")
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
			w.write(`<td class="number"></td><td class="gap"></td>`)
			continue
		}
		number := side.row.Old
		if side.letter == "R" {
			number = side.row.New
		}
		w.number(side.letter, number)
		w.write(`<td class="line `, side.row.Kind, `">`)
		w.line(side.row)
		w.write("</td>")
	}
	w.write("</tr>\n")
}
