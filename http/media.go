package http

import (
	"bytes"
	"strings"
)

// prefersJSON reports whether an Accept header names JSON with a weight not below that of any text
// type. Wildcards do not count, because browsers and command-line clients send them.
func prefersJSON(accept []byte) bool {
	json, text := 0.0, 0.0
	for one := range bytes.SplitSeq(accept, []byte(",")) {
		switch name, weight := parseMedia(one); {
		case name == jsonType:
			json = weight
		case strings.HasPrefix(name, "text/"):
			text = max(text, weight)
		}
	}
	return json > 0 && json >= text
}

// prefersHTML reports whether an Accept header names HTML, as that of browsers does.
func prefersHTML(accept []byte) bool {
	for one := range bytes.SplitSeq(accept, []byte(",")) {
		if name, weight := parseMedia(one); name == "text/html" && weight > 0 {
			return !prefersJSON(accept)
		}
	}
	return false
}
