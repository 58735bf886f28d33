package diff

import (
	"strconv"
	"strings"
)

func (p *printer) header(from, to string) {
	p.string("diff --git ", quote("a/", from), " ", quote("b/", to), "\n")
}

// names prints the two lines before the hunks. As in git, a name with a space is followed by a
// tab, so that no reader takes the part after the space for a date.
func (p *printer) names(from, to string) {
	for _, line := range [...][2]string{{"--- ", from}, {"+++ ", to}} {
		end := "\n"
		if strings.IndexByte(line[1], ' ') >= 0 {
			end = "\t\n"
		}
		p.string(line[0], line[1], end)
	}
}

// hunkHeader prints the position of a hunk on both sides.
func (p *printer) hunkHeader(e Edit) {
	p.string("@@ -", span(e.OldStart, e.OldEnd), " +", span(e.NewStart, e.NewEnd), " @@\n")
}

// span writes a range of lines: its first line, counted from one, and its length unless that is
// one. An empty range names the line before it.
func span(start, end int) string {
	switch size := end - start; size {
	case 0:
		return strconv.Itoa(start) + ",0"
	case 1:
		return strconv.Itoa(start + 1)
	default:
		return strconv.Itoa(start+1) + "," + strconv.Itoa(size)
	}
}

func percent(n int) string { return strconv.Itoa(n) + "%" }

// quote writes a path as git does with core.quotePath: bare, or in a quoted C string if it
// contains a control character, a quote, a backslash or a non-ASCII byte.
func quote(prefix, path string) string {
	const special = "\"\\\a\b\t\n\v\f\r"
	const letters = "\"\\abtnvfr"
	plain := true
	for i := 0; i < len(path); i++ {
		if c := path[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return prefix + path
	}
	quoted := make([]byte, 0, 2*len(path)+8)
	quoted = append(quoted, '"')
	quoted = append(quoted, prefix...)
	for i := 0; i < len(path); i++ {
		c := path[i]
		if at := strings.IndexByte(special, c); at >= 0 {
			quoted = append(quoted, '\\', letters[at])
		} else if c < ' ' || c >= 0x7f {
			quoted = append(quoted, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		} else {
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}
