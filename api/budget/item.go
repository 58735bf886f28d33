package budget

import (
	"unicode/utf8"

	"pws/api/jsonschema"
)

const (
	ellipsis = "…"
	// textBytesMin is the least of a text that is worth being told.
	textBytesMin = 16
	// Unlimited is the number of characters of a text that is wanted whole.
	Unlimited = int(^uint(0) >> 1)
)

// Raw is an item that is JSON already and cannot be cut.
type Raw []byte

// Append implements Item.
func (r Raw) Append(dst []byte, room int) ([]byte, Fit) {
	if len(r) > room {
		return dst, Missing
	}
	return append(dst, r...), Whole
}

// Text is a string of which so many characters are wanted, the ellipsis of a longer one included.
type Text struct {
	Text  string
	Chars int
}

// Append implements Item.
func (t Text) Append(dst []byte, room int) ([]byte, Fit) {
	return AppendText(dst, t.Text, t.Chars, room)
}

// Shorten is a text of at most so many characters: a longer one ends in an ellipsis.
func Shorten(text string, chars int) string {
	if kept, longer := prefix(text, chars); longer {
		return kept + ellipsis
	}
	return text
}

// prefix is what is kept of a text that has more characters than are wanted, one of them being the
// ellipsis behind it.
func prefix(text string, chars int) (kept string, longer bool) {
	if len(text) <= chars {
		return text, false
	}
	count, end := 0, 0
	for at := range text {
		if count++; count == chars {
			end = at
		}
		if count > chars {
			return text[:end], true
		}
	}
	return text, false
}

// AppendText writes a string of at most so many characters in at most room bytes. What is too long
// is cut between two characters and ends in an ellipsis.
func AppendText(dst []byte, text string, chars, room int) ([]byte, Fit) {
	start, fit, tail := len(dst), Whole, ""
	if kept, longer := prefix(text, chars); longer {
		text, fit, tail = kept, Trimmed, ellipsis
	}
	if len(`""`)+len(text)+len(tail) <= room {
		dst = jsonschema.AppendString(dst, text)
		dst = append(append(dst[:len(dst)-1], tail...), '"')
		if len(dst)-start <= room {
			return dst, fit
		}
		dst = dst[:start]
	}
	space := room - len(`""`) - len(ellipsis)
	if space < min(textBytesMin, len(text)) || space <= 0 {
		return dst, Missing
	}
	dst = jsonschema.AppendString(dst, within(text, space))
	return append(append(dst[:len(dst)-1], ellipsis...), '"'), Cut
}

// within is the longest beginning of a text that takes at most so many bytes in a JSON string.
func within(text string, space int) string {
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		if space -= jsonBytes(text[at : at+size]); space < 0 {
			return text[:at]
		}
		at += size
	}
	return text
}

// jsonBytes is the length of one character in a JSON string; what is not UTF-8 becomes U+FFFD.
func jsonBytes(char string) int {
	c := char[0]
	switch {
	case len(char) > 1:
		return len(char)
	case c >= utf8.RuneSelf:
		return utf8.RuneLen(utf8.RuneError)
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
		return len(`\n`)
	case c < ' ':
		return len(`\u0000`)
	}
	return 1
}

// Form says how much of an object is written.
type Form uint8

// The forms: all of it, its head and its text because all of it did not fit, and a line.
const (
	Full Form = iota
	Short
	Line
)

// Parts is an object in three parts.
type Parts interface {
	// Head writes the beginning, the brace included, that is always there.
	Head(dst []byte, form Form) []byte
	// Text is a member that can be cut, with its name; an object without one has no name.
	Text() (name string, text Text)
	// Rest writes the other members, each with its comma, without the last brace. Those that are
	// missing in a short object are written here. It reports whether something was left out.
	Rest(dst []byte) (longer []byte, left bool)
}

// Record is an object that loses its rest first, and then the end of its text.
type Record struct{ Parts }

// Append implements Item.
func (r Record) Append(dst []byte, room int) ([]byte, Fit) {
	start := len(dst)
	dst, fit := r.whole(dst)
	if len(dst)-start <= room {
		return dst, fit
	}
	return r.short(dst[:start], room)
}

// short writes the object without its rest.
func (r Record) short(dst []byte, room int) ([]byte, Fit) {
	dst, fit := r.brief(dst, room, Short)
	return dst, min(fit, Cut)
}

// brief writes the head and the text, and reports how much of the text was written.
func (r Record) brief(dst []byte, room int, form Form) ([]byte, Fit) {
	start, fit := len(dst), Whole
	dst = r.Head(dst, form)
	if name, text := r.Text(); name != "" {
		dst = appendName(dst, name)
		rest := room - (len(dst) - start) - len("}")
		if dst, fit = AppendText(dst, text.Text, text.Chars, rest); fit == Missing {
			return dst[:start], Missing
		}
	}
	if dst = append(dst, '}'); len(dst)-start > room {
		return dst[:start], Missing
	}
	return dst, fit
}

func (r Record) whole(dst []byte) ([]byte, Fit) {
	fit := Whole
	dst = r.Head(dst, Full)
	if name, text := r.Text(); name != "" {
		dst, fit = AppendText(appendName(dst, name), text.Text, text.Chars, Unlimited)
	}
	dst, left := r.Rest(dst)
	if left {
		fit = Trimmed
	}
	return append(dst, '}'), fit
}

func appendName(dst []byte, name string) []byte {
	return append(append(append(dst, `,"`...), name...), `":`...)
}
