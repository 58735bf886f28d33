package jsonschema

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pws/internal/id"
)

// class says which control characters a string may hold. NUL is refused by all of them.
type class uint8

const (
	// classContent is any text without NUL.
	classContent class = iota
	// classText has no control characters but tab, line feed and carriage return.
	classText
	// classLine has no control characters and no line or paragraph separators.
	classLine
	// classPath has none of the control characters that package path refuses.
	classPath
)

// bounds are an inclusive range; unset bounds hold for everything.
type bounds struct {
	set      bool
	min, max int64
}

func (b bounds) holds(n int64) bool { return !b.set || n >= b.min && n <= b.max }

// Check is a compiled check tag: what one value must satisfy beyond its type.
type Check struct {
	required bool
	nullable bool
	isTime   bool
	class    class
	// contents means a text without bounds of its own, such as that of a file.
	contents bool
	chars    bounds
	bytes    bounds
	items    bounds
	hasMin   bool
	hasMax   bool
	min, max int64
	enum     []string
	prefix   id.Prefix
	pattern  *regexp.Regexp
}

var noCheck = &Check{}

// timeMax is the maximum length of a text that is parsed as a time, in bytes.
const timeMax = 64

// CompileCheck parses a check tag, a list of words separated by commas. A pattern comes last,
// because it may contain commas. An unknown word is a bug in the declaration and panics.
//
//	required        the member must be present
//	nullable        a present null is a value of its own
//	chars=a..b      Unicode code points of a string
//	bytes=a..b      bytes of a string
//	items=a..b      elements of a list or map
//	min=n, max=n    range of an integer
//	enum=A|B|C      the values of a string
//	id=prj_         the public form of an identifier
//	time            an RFC 3339 time
//	line            a string without control characters; with a visible one unless it may be empty
//	text            a string without control characters but tab, LF and CR
//	path            a string without the control characters of ASCII
//	content         a string of any characters but NUL, which is the default
//	pattern=re      a regular expression, unanchored as in JSON Schema
func CompileCheck(words string) *Check {
	c := &Check{}
	for rest := words; rest != ""; {
		var word string
		if strings.HasPrefix(rest, "pattern=") {
			word, rest = rest, ""
		} else {
			word, rest, _ = strings.Cut(rest, ",")
		}
		name, value, _ := strings.Cut(word, "=")
		if !c.flag(word) && !c.valued(name, value) {
			panic("jsonschema: unknown check word " + strconv.Quote(word))
		}
	}
	return c
}

func (c *Check) flag(word string) bool {
	switch word {
	case "required":
		c.required = true
	case "nullable":
		c.nullable = true
	case "time":
		c.isTime = true
	case "line":
		c.class = classLine
	case "text":
		c.class = classText
	case "path":
		c.class = classPath
	case "content":
		c.class, c.contents = classContent, true
	default:
		return false
	}
	return true
}

func (c *Check) valued(name, value string) bool {
	if value == "" {
		return false
	}
	switch name {
	case "chars":
		c.chars = parseBounds(value)
	case "bytes":
		c.bytes = parseBounds(value)
	case "items":
		c.items = parseBounds(value)
	case "min":
		c.hasMin, c.min = true, parseInteger(value)
	case "max":
		c.hasMax, c.max = true, parseInteger(value)
	case "enum":
		c.enum = strings.Split(value, "|")
	case "id":
		c.prefix = id.Prefix(value)
	case "pattern":
		c.pattern = regexp.MustCompile(value)
	default:
		return false
	}
	return true
}

func parseBounds(value string) bounds {
	low, high, found := strings.Cut(value, "..")
	if !found {
		panic("jsonschema: bounds are written a..b, not " + strconv.Quote(value))
	}
	out := bounds{set: true, min: parseInteger(low), max: parseInteger(high)}
	if out.min < 0 || out.max < out.min {
		panic("jsonschema: empty bounds " + strconv.Quote(value))
	}
	return out
}

func parseInteger(value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		panic("jsonschema: not an integer: " + strconv.Quote(value))
	}
	return n
}

// Range is the range of an integer; an open end is the end of int64.
func (c *Check) Range() (low, high int64) {
	low, high = -1<<63, 1<<63-1
	if c.hasMin {
		low = c.min
	}
	if c.hasMax {
		high = c.max
	}
	return low, high
}

// Required reports whether the check has the word required.
func (c *Check) Required() bool { return c.required }

// Text checks a string and returns the problem, empty if there is none.
func (c *Check) Text(s string) string {
	if !c.fits(s) {
		return c.sizeProblem(s)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "must not contain NUL characters"
	}
	if c.class != classContent && !c.classHolds(s) {
		if c.class != classText {
			return "must be one line without control characters"
		}
		return "must not contain control characters but tab, line feed and carriage return"
	}
	if c.class == classLine && c.chars.min > 0 && !visible(s) {
		return "must have a visible character"
	}
	if c.enum != nil && !contains(c.enum, s) {
		return "must be one of " + strings.Join(c.enum, ", ")
	}
	if c.prefix != "" {
		if _, ok := id.Parse(c.prefix, s); !ok {
			return c.prefixProblem(s)
		}
	}
	if c.pattern != nil && !c.pattern.MatchString(s) {
		if given, ok := id.KindOf(s); ok {
			return "is the ID of " + given.Noun() + "; must match " + c.pattern.String()
		}
		return "must match " + c.pattern.String()
	}
	if c.isTime {
		if _, err := time.Parse(time.RFC3339Nano, s[:min(len(s), timeMax)]); err != nil ||
			len(s) > timeMax {
			return "must be an RFC 3339 time, for example 2026-11-20T09:06:00.000Z"
		}
	}
	return ""
}

// visible reports whether a text has a character that can be seen. Some letters and one symbol are
// blank.
func visible(s string) bool {
	const blankBraille = '\u2800'
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != blankBraille &&
			!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}

// prefixProblem says what is wrong with a text that is no ID of the kind.
func (c *Check) prefixProblem(s string) string {
	if given, ok := id.KindOf(s); ok {
		return "is the ID of " + given.Noun() + "; must be that of " + c.prefix.Noun() +
			", which begins with " + string(c.prefix)
	}
	return "must be an identifier that matches " + id.Pattern(c.prefix)
}

// fits tests the size bounds. Code points are counted only where the bytes do not decide.
func (c *Check) fits(s string) bool {
	size := int64(len(s))
	if !c.bytes.holds(size) {
		return false
	}
	if !c.chars.set {
		return true
	}
	if size < c.chars.min || size > c.chars.max*utf8.UTFMax {
		return false
	}
	if c.chars.min <= 1 && size <= c.chars.max {
		return true
	}
	return c.chars.holds(int64(utf8.RuneCountInString(s)))
}

func (c *Check) sizeProblem(s string) string {
	if s == "" && (c.chars.set && c.chars.min > 0 || c.bytes.set && c.bytes.min > 0) {
		return "must not be empty"
	}
	if !c.bytes.holds(int64(len(s))) {
		return rangeProblem(c.bytes, "bytes")
	}
	return rangeProblem(c.chars, "characters")
}

func rangeProblem(b bounds, unit string) string {
	if b.min == 0 {
		return "must have at most " + strconv.FormatInt(b.max, 10) + " " + unit
	}
	return "must have " + strconv.FormatInt(b.min, 10) + " to " + strconv.FormatInt(b.max, 10) +
		" " + unit
}

func (c *Check) classHolds(s string) bool {
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			if c.class != classText {
				return false
			}
		case r < ' ' || r == 0x7f:
			return false
		case r < 0x80 || c.class == classPath:
		case unicode.IsControl(r):
			return false
		case c.class == classLine && (r == 0x2028 || r == 0x2029):
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// Integer checks an integer and returns the problem, empty if there is none.
func (c *Check) Integer(n int64) string {
	if (!c.hasMin || n >= c.min) && (!c.hasMax || n <= c.max) {
		return ""
	}
	return c.integerProblem()
}

func (c *Check) integerProblem() string {
	switch {
	case c.hasMin && c.hasMax:
		return "must be an integer from " + strconv.FormatInt(c.min, 10) + " to " +
			strconv.FormatInt(c.max, 10)
	case c.hasMin:
		return "must be an integer not below " + strconv.FormatInt(c.min, 10)
	case c.hasMax:
		return "must be an integer not above " + strconv.FormatInt(c.max, 10)
	}
	return "must be an integer"
}

// Items checks a number of elements and returns the problem, empty if there is none.
func (c *Check) Items(n int) string {
	if c.items.holds(int64(n)) {
		return ""
	}
	if n == 0 {
		return "must not be empty"
	}
	return rangeProblem(c.items, "items")
}
