package http

import (
	"bytes"
	"strings"
)

// prefersJSON reports whether an Accept names JSON and likes it no less than any text that it
// names. Wildcards name nothing: browsers and command lines send them.
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
