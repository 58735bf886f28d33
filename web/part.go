package web

import (
	"html"
	"strconv"
	"strings"
)

// Pages choose what they show so that they are small. Texts of the largest size that the interface
// takes make one larger nevertheless. Such a page is divided: each part has its head and what
// follows it in turn, so that everything can be reached, whatever the texts are.

const (
	// pageBytesMax is the most bytes of a page, footBytes room for what is behind its content without
	// its address.
	pageBytesMax, footBytes = 60 << 10, 2 << 10
	// partsMax bounds the number of parts: what is behind the last one is left out.
	partsMax = 500
)

// The borders of the content in a page. Texts of others are escaped, so they have none of these.
const (
	contentBegin, contentEnd = "<main id=\"main\">", "</main>"
	headingEnd               = "</h1>"
	tabsBegin, tabsEnd       = "<nav class=\"tabs\"", "</nav>"
)

// divided is a part of a page that is too large, from 1 on, with links to its neighbours. Link
// returns the address of a part.
func divided(page string, number int, link func(part int) string) string {
	if len(page) <= pageBytesMax {
		return page
	}
	before, rest, _ := strings.Cut(page, contentBegin)
	content, after, whole := strings.Cut(rest, contentEnd)
	if !whole {
		return page
	}
	head := strings.Index(content, headingEnd)
	if head < 0 {
		return page
	}
	head += len(headingEnd)
	if tabs := strings.Index(content, tabsBegin); tabs >= 0 {
		head = tabs + strings.Index(content[tabs:], tabsEnd) + len(tabsEnd)
	}
	around := len(before) + len(contentBegin) + head + len(contentEnd) + len(after) + footBytes
	parts := piecesOf(content[head:], max(pageBytesMax-around, pageBytesMax/4))
	number = min(max(1, number), len(parts))
	var text strings.Builder
	for _, one := range []string{
		before, contentBegin, content[:head], "\n", partLinks(number, len(parts), link),
		parts[number-1], partLinks(number, len(parts), link), contentEnd, after,
	} {
		text.WriteString(one)
	}
	return text.String()
}

// partLinks says which part it is and leads to its neighbours.
func partLinks(number, count int, link func(part int) string) string {
	if count == 1 {
		return ""
	}
	text := `<p class="parts">Part ` + strconv.Itoa(number) + " of " + strconv.Itoa(count)
	for _, to := range []struct {
		part int
		text string
	}{{number - 1, "Part before"}, {number + 1, "Next part"}} {
		if to.part >= 1 && to.part <= count {
			text += ` <a class="button quiet" href="` + html.EscapeString(link(to.part)) + `">` +
				to.text + `</a>`
		}
	}
	return text + "</p>\n"
}

// voids are elements without an end; whole are those that no border is in.
var (
	voids = map[string]bool{
		"input": true, "br": true, "hr": true, "rect": true, "path": true, "wbr": true,
	}
	whole = map[string]bool{"form": true, "svg": true, "select": true, "textarea": true}
	// blocks are elements behind which a part ends rather than within a text.
	blocks = map[string]bool{
		"li": true, "p": true, "article": true, "section": true, "tr": true, "div": true,
		"table": true, "ul": true, "ol": true, "pre": true, "details": true, "form": true,
		"blockquote": true, "dd": true,
	}
)

// piecesOf divides HTML into parts of about so many bytes. Each is complete: it begins with the
// elements that are open there, without their IDs, and ends with their ends.
func piecesOf(content string, most int) (parts []string) {
	d := divider{most: most}
	for i := 0; i < len(content) && len(d.parts) < partsMax; {
		end := len(content)
		if content[i] != '<' {
			if next := strings.IndexByte(content[i:], '<'); next >= 0 {
				end = i + next
			}
			d.text(content[i:end])
		} else {
			if close := strings.IndexByte(content[i:], '>'); close >= 0 {
				end = i + close + 1
			}
			d.tag(content[i:end])
		}
		i = end
	}
	d.end()
	return d.parts
}

// divider writes parts.
type divider struct {
	most  int
	parts []string
	now   strings.Builder
	// begun is what the part begins with, closing what it takes to end it.
	begun, closing int
	// open are the elements that are open, held those of them that no border is in.
	open []opened
	held int
	// good is the place behind the last block, with the elements that were open there.
	good     int
	goodOpen []opened
}

// opened is an open element.
type opened struct{ name, tag string }

// tag writes a tag.
func (d *divider) tag(tag string) {
	name := strings.TrimPrefix(tag[1:], "/")
	name = name[:max(0, strings.IndexAny(name, " >/\n"))]
	if strings.HasPrefix(tag, "</") {
		d.now.WriteString(tag)
		d.pop(name)
		d.mark(blocks[name])
		return
	}
	// The ends of rows and cells may be left out.
	switch name {
	case "tr":
		d.popUpTo("tr", "tbody")
		d.mark(true)
	case "td", "th":
		d.popUpTo("td", "tr")
		d.popUpTo("th", "tr")
	case "h2", "h3", "form", "svg", "table":
		d.mark(true)
	}
	d.now.WriteString(tag)
	if voids[name] || strings.HasSuffix(tag, "/>") {
		return
	}
	d.open = append(d.open, opened{name, bare(name, tag)})
	d.closing += len(name) + len("</>")
	if whole[name] {
		d.held++
	}
}

// bare is a tag without what only its first part may have.
func bare(name, tag string) string {
	if !strings.Contains(tag, " id=") && !strings.Contains(tag, " aria-labelledby=") {
		return tag
	}
	if _, rest, found := strings.Cut(tag, ` class="`); found {
		class, _, _ := strings.Cut(rest, `"`)
		return "<" + name + ` class="` + class + `">`
	}
	return "<" + name + ">"
}

// pop closes elements up to the innermost one of a name.
func (d *divider) pop(name string) {
	for i := len(d.open) - 1; i >= 0; i-- {
		if d.open[i].name == name {
			d.drop(i)
			return
		}
	}
}

// popUpTo closes elements up to the innermost one of a name, if it is within another one.
func (d *divider) popUpTo(name, within string) {
	for i := len(d.open) - 1; i >= 0 && d.open[i].name != within; i-- {
		if d.open[i].name == name {
			d.drop(i)
			return
		}
	}
}

func (d *divider) drop(from int) {
	for _, one := range d.open[from:] {
		d.closing -= len(one.name) + len("</>")
		if whole[one.name] {
			d.held--
		}
	}
	d.open = d.open[:from:from]
}

// mark ends the part at the last good place if it has become too large, and notes whether here is
// one.
func (d *divider) mark(good bool) {
	if d.held > 0 {
		return
	}
	if d.now.Len()+d.closing > d.most && d.good > d.begun {
		d.cut(d.good, d.goodOpen)
	}
	if good {
		d.good, d.goodOpen = d.now.Len(), append([]opened(nil), d.open...)
	}
}

// text writes a text, which may be divided between words.
func (d *divider) text(text string) {
	for d.held == 0 && d.now.Len()+d.closing+len(text) > d.most {
		room := d.most - d.now.Len() - d.closing
		if d.good > d.begun+d.most/2 || room < d.most/8 && d.good > d.begun {
			d.cut(d.good, d.goodOpen)
			continue
		}
		if room <= 0 && d.now.Len() > d.begun {
			d.cut(d.now.Len(), d.open)
			continue
		}
		at := wordEnd(text, max(room, d.most/8))
		d.now.WriteString(text[:at])
		if text = text[at:]; text != "" {
			d.cut(d.now.Len(), d.open)
		}
	}
	d.now.WriteString(text)
}

// wordEnd is a place in a text, at most so far, behind a space or a line if there is one near, and
// in no character or reference to one.
func wordEnd(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	const near = 200
	if at := strings.LastIndexAny(text[:most], " \n"); at > most-near {
		return at + 1
	}
	at := most
	if reference := strings.LastIndexByte(text[:at], '&'); reference > at-10 &&
		strings.IndexByte(text[reference:at], ';') < 0 && reference > 0 {
		at = reference
	}
	for at > 1 && text[at]&0xC0 == 0x80 {
		at--
	}
	return at
}

// cut ends a part at a place with some open elements. What is behind it begins the next one.
func (d *divider) cut(place int, open []opened) {
	all := d.now.String()
	part, rest := all[:place], all[place:]
	var next strings.Builder
	for _, one := range open {
		next.WriteString(one.tag)
	}
	for i := len(open) - 1; i >= 0; i-- {
		part += "</" + open[i].name + ">"
	}
	d.parts = append(d.parts, part)
	d.begun = next.Len()
	next.WriteString(rest)
	d.now.Reset()
	d.now.WriteString(next.String())
	d.good, d.goodOpen = d.begun, append([]opened(nil), open...)
}

func (d *divider) end() {
	d.mark(false)
	if len(d.parts) < partsMax {
		d.parts = append(d.parts, d.now.String())
	}
}
