// Package path defines which paths a project file can have, and derives the content type and the
// language of a file from its path.
//
// A canonical path is valid UTF-8 in normalization form C, relative, with "/" between segments.
// It has no empty, "." or ".." segment (so no leading, trailing or double slash), no backslash and
// no control character (U+0000 to U+001F, U+007F). It is at most 512 bytes and 32 segments long,
// a segment at most 255 bytes. Case matters. Two canonical paths are the same file if and only if
// their bytes are equal, so a path can be a map key and sorts by its bytes.
//
// In a request target each segment is percent-encoded separately. Decode decodes every escape
// exactly once, and rejects an escaped "/" or "\", which would otherwise become a separator.
//
// The problems that this package returns are sentences for the person who sent the path; callers
// return them with INVALID_PATH.
package path

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a canonical path.
const (
	LengthBytesMax  = 512
	SegmentBytesMax = 255
	SegmentsMax     = 32
)

// The sentences that more than one rule or test needs.
const (
	problemEmpty     = "The path is empty."
	problemLength    = "The path is longer than 512 bytes."
	problemSegment   = "A segment of the path is longer than 255 bytes."
	problemDepth     = "The path has more than 32 segments."
	problemLeading   = "The path begins with a slash; it must be relative."
	problemTrailing  = "The path ends with a slash."
	problemDouble    = "The path has an empty segment."
	problemDot       = "The path has a \".\" or \"..\" segment."
	problemBackslash = "The path has a backslash; segments are separated by \"/\"."
	problemControl   = "The path has a control character."
	problemUTF8      = "The path is not valid UTF-8."
	problemNFC       = "The path is not in Unicode normalization form C."
)

// Problem describes why p is not canonical; it is empty for a canonical path. An ASCII path
// takes one pass and no allocation.
func Problem(p string) string {
	switch {
	case p == "":
		return problemEmpty
	case len(p) > LengthBytesMax:
		return problemLength
	case p[0] == '/':
		return problemLeading
	case p[len(p)-1] == '/':
		return problemTrailing
	}
	ascii := true
	start, segments := 0, 0
	for i := 0; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			if problem := segmentProblem(p[start:i]); problem != "" {
				return problem
			}
			if segments++; segments > SegmentsMax {
				return problemDepth
			}
			start = i + 1
			continue
		}
		switch c := p[i]; {
		case c == '\\':
			return problemBackslash
		case c < 0x20 || c == 0x7f:
			return problemControl
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if ascii {
		return ""
	}
	if !utf8.ValidString(p) {
		return problemUTF8
	}
	if !norm.NFC.IsNormalString(p) {
		return problemNFC
	}
	return ""
}

// segmentProblem checks a segment as a whole; Problem checks its characters.
func segmentProblem(segment string) string {
	switch {
	case segment == "":
		return problemDouble
	case segment == "." || segment == "..":
		return problemDot
	case len(segment) > SegmentBytesMax:
		return problemSegment
	}
	return ""
}

// encodedBytesMax is the length of a canonical path with every byte escaped. A longer tail
// cannot become canonical and is rejected before it is decoded.
const encodedBytesMax = 3 * LengthBytesMax

// Decode turns the tail of a request target, as it was sent, into a canonical path. If that is
// impossible, the path is empty and problem says why. It allocates only if something is escaped.
func Decode(raw string) (p string, problem string) {
	if len(raw) > encodedBytesMax {
		return "", problemLength
	}
	escapes := 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if problem := rawProblem(c); problem != "" {
			return "", problem
		}
		if c != '%' {
			continue
		}
		decoded, ok := unescape(raw, i)
		if !ok {
			return "", "The path has a \"%\" that is not followed by two hexadecimal digits."
		}
		if decoded == '/' || decoded == '\\' {
			return "", "A segment of the path has an escaped slash or backslash."
		}
		escapes++
		i += 2
	}
	if escapes > 0 {
		raw = decodeEscapes(raw, len(raw)-2*escapes)
	}
	if problem := Problem(raw); problem != "" {
		return "", problem
	}
	return raw, ""
}

// rawProblem checks one byte of a request target as it was sent. A "#" or "?" would have ended
// the path, and non-ASCII or non-printable bytes must be escaped: servers and proxies disagree
// about all of them.
func rawProblem(c byte) string {
	switch {
	case c >= utf8.RuneSelf:
		return "The path has a byte outside ASCII that is not percent-encoded."
	case c <= 0x20 || c == 0x7f:
		return "The path has a space or control character that is not percent-encoded."
	case c == '#' || c == '?':
		return "The path has a \"#\" or \"?\" that is not percent-encoded."
	case c == '\\':
		return problemBackslash
	}
	return ""
}

// decodeEscapes decodes the escapes of s, which are known to be well formed.
func decodeEscapes(s string, size int) string {
	decoded := make([]byte, 0, size)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			c, _ = unescape(s, i)
			i += 2
		}
		decoded = append(decoded, c)
	}
	return string(decoded)
}

// unescape decodes the escape whose "%" is at s[i].
func unescape(s string, i int) (decoded byte, ok bool) {
	if i+2 >= len(s) {
		return 0, false
	}
	high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
	if high > 15 || low > 15 {
		return 0, false
	}
	return high<<4 | low, true
}

// hexDigit returns the value of a hexadecimal digit, 255 for any other byte.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// Encode writes a path for a link: slashes stay, and within a segment everything except the
// unreserved characters of RFC 3986 is escaped, so that the link is also valid in Markdown and
// HTML. Decode is its inverse on canonical paths.
func Encode(p string) string {
	const digits = "0123456789ABCDEF"
	escapes := 0
	for i := 0; i < len(p); i++ {
		if !isLiteral(p[i]) {
			escapes++
		}
	}
	if escapes == 0 {
		return p
	}
	encoded := make([]byte, 0, len(p)+2*escapes)
	for i := 0; i < len(p); i++ {
		if c := p[i]; isLiteral(c) {
			encoded = append(encoded, c)
		} else {
			encoded = append(encoded, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(encoded)
}

// isLiteral reports whether Encode leaves a byte unchanged.
func isLiteral(c byte) bool {
	return isAlphanumeric(c) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
