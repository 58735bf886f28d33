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
