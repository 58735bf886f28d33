package path

import "strings"

// TypeBytesMax is the maximum length of a content type with its parameters.
const TypeBytesMax = 127

// supportedApplication holds the supported media types other than text/*.
var supportedApplication = map[string]bool{
	"json": true, "xml": true, "yaml": true, "x-yaml": true,
	"javascript": true, "sql": true, "toml": true,
}

// SupportedType reports whether a file may have a content type: text/* or one of the supported
// application types, in any case, with well-formed parameters and no duplicate ones. All content
// is UTF-8, so a charset must be utf-8 or its subset us-ascii. Callers return
// UNSUPPORTED_CONTENT_TYPE otherwise.
func SupportedType(t string) bool {
	if len(t) > TypeBytesMax {
		return false
	}
	name, parameters := t, ""
	if i := strings.IndexByte(t, ';'); i >= 0 {
		name, parameters = strings.TrimRight(t[:i], " \t"), t[i:]
	}
	major, minor, ok := strings.Cut(name, "/")
	if !ok || !isTypeName(minor) {
		return false
	}
	switch {
	case strings.EqualFold(major, "text"):
	case strings.EqualFold(major, "application") && supportedApplication[strings.ToLower(minor)]:
	default:
		return false
	}
	return parametersSupported(parameters)
}

// isTypeName is the restricted-name of RFC 6838. It has no "*": a file has one type, not a range.
func isTypeName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isAlphanumeric(s[i]) && (i == 0 || strings.IndexByte("!#$&-^_.+", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

// parametersSupported checks the parameters after a media type, each with the ";" before it.
func parametersSupported(rest string) bool {
	var seen []string
	for rest != "" {
		if rest[0] != ';' {
			return false
		}
		rest = strings.TrimLeft(rest[1:], " \t")
		size := tokenSize(rest)
		if size == 0 || size == len(rest) || rest[size] != '=' {
			return false
		}
		name := strings.ToLower(rest[:size])
		value, after, ok := parameterValue(rest[size+1:])
		if !ok {
			return false
		}
		for _, earlier := range seen {
			if earlier == name {
				return false
			}
		}
		seen = append(seen, name)
		if name == "charset" &&
			!strings.EqualFold(value, "utf-8") && !strings.EqualFold(value, "us-ascii") {
			return false
		}
		// The grammar allows white space only before a ";", not at the end.
		rest = after
		if trimmed := strings.TrimLeft(after, " \t"); trimmed != "" {
			rest = trimmed
		}
	}
	return true
}

// parameterValue reads a token or a quoted string and returns the rest.
func parameterValue(s string) (value, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		size := tokenSize(s)
		return s[:size], s[size:], size > 0
	}
	unquoted := make([]byte, 0, len(s))
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return string(unquoted), s[i+1:], true
		case c == '\\':
			if i++; i == len(s) || !isQuotable(s[i]) {
				return "", "", false
			}
			c = s[i]
		case !isQuotable(c):
			return "", "", false
		}
		unquoted = append(unquoted, c)
	}
	return "", "", false
}

// isQuotable reports whether a byte is accepted in a quoted string. The RFC allows non-ASCII
// bytes too, but does not define their meaning.
func isQuotable(c byte) bool { return c == '\t' || ' ' <= c && c < 0x7f }

// tokenSize returns the length of the RFC 9110 token at the start of s.
func tokenSize(s string) int {
	for i := 0; i < len(s); i++ {
		if !isAlphanumeric(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return i
		}
	}
	return len(s)
}
