package http

import "bytes"

// matchesTag reports whether a value of If-None-Match matches a strong tag, by * or in a list. Weak
// forms of the tag match, as RFC 9110 says for If-None-Match.
func matchesTag(list []byte, tag string) bool {
	rest := bytes.TrimSpace(list)
	if len(rest) == 1 && rest[0] == '*' {
		return true
	}
	for len(rest) > 0 {
		rest = bytes.TrimLeft(rest, " \t,")
		rest = bytes.TrimPrefix(rest, []byte("W/"))
		if len(rest) == 0 || rest[0] != '"' {
			// Skip what is not a tag up to the next comma.
			at := bytes.IndexByte(rest, ',')
			if at < 0 {
				return false
			}
			rest = rest[at:]
			continue
		}
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return false
		}
		if string(rest[:end+2]) == tag {
			return true
		}
		rest = rest[end+2:]
	}
	return false
}
