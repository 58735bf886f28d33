package jsonschema

import "testing"

// TestLinesCanBeSeen refuses names and titles of characters that nobody sees.
func TestLinesCanBeSeen(t *testing.T) {
	named, optional := CompileCheck("chars=1..20,line"), CompileCheck("chars=0..20,line")
	for text, seen := range map[string]bool{
		" ": false, "   ": false, "\u00a0": false, "\u3000": false, "\u200b": false, "\u2800": false,
		"\u3164": false, "\u115f\u1160": false, "\u202e": false, "\ufe0f": false, "\u0301": false,
		"a": true, " a ": true, "-": true, "é": true, "日本": true, "☕": true, "٣": true, "\u200bx": true,
	} {
		if problem := named.Text(text); (problem == "") != seen {
			t.Errorf("%q: %q", text, problem)
		}
		if problem := optional.Text(text); problem != "" {
			t.Errorf("%q where no text is needed: %s", text, problem)
		}
	}
}
