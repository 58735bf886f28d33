package sizelimit

import (
	"unicode/utf8"

	"pws/api/jsonschema"
)

const (
	ellipsis = "…"
	// textBytesMin is the least of a text that is of use.
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
	for i := range text {
		if count++; count == chars {
			end = i
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

// CutText is a text whose JSON string takes at most so many bytes.
func CutText(text string, room int) (string, Fit) {
	room -= len(`""`)
	if len(within(text, room)) == len(text) {
		return text, Whole
	}
	return within(text, room-len(ellipsis)) + ellipsis, Cut
}

// within is the longest beginning of a text that takes at most so many bytes in a JSON string.
func within(text string, space int) string {
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		if space -= jsonBytes(text[i : i+size]); space < 0 {
			return text[:i]
		}
		i += size
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
type Form uint

// The forms: all of it, what is not "rest" because all of it did not fit, and a line.
const (
	Full Form = iota
	Short
	Line
)

// Record is a wire struct that loses the members with the tag size:"rest" first, and then the end
// of the one with the tag size:"cut". That one is written before the rest.
type Record struct {
	// Make returns a pointer to the struct, and whether something is left out of its full form.
	Make func(form Form) (pointer any, left bool)
	// Chars is how many characters are wanted of the member that can be cut.
	Chars int
}

// Append implements Item.
func (r Record) Append(dst []byte, room int) ([]byte, Fit) {
	start := len(dst)
	dst, fit := r.brief(dst, Unlimited, Full)
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

// brief writes a form in at most room bytes.
func (r Record) brief(dst []byte, room int, form Form) ([]byte, Fit) {
	pointer, left := r.Make(form)
	start, fit := len(dst), Whole
	dst = append(dst, '{')
	var cut jsonschema.Member
	pending := false
	text := func() {
		if pending {
			dst = append(append(dst, ','), cut.Key()...)
			dst, fit = AppendText(dst, cut.Text(), r.Chars, room-(len(dst)-start)-len("}"))
			pending = false
		}
	}
	object := jsonschema.StructOf(pointer)
	for i := range object.Len() {
		m := object.At(i)
		switch {
		case m.Absent():
			continue
		case m.Sized("cut"):
			cut, pending = m, true
			continue
		case m.Sized("rest"):
			text()
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = m.Append(dst)
	}
	text()
	if dst = append(dst, '}'); fit == Missing || len(dst)-start > room {
		return dst[:start], Missing
	}
	if left {
		fit = Trimmed
	}
	return dst, fit
}
