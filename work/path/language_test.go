package path

import "testing"

// TestIsLanguage: what LanguageOf returns is a language, other words are not.
func TestIsLanguage(t *testing.T) {
	for word, want := range map[string]bool{
		LanguageOf("a.py"): true, LanguageOf("go.mod"): true, LanguageOf("Dockerfile"): true,
		"rust": true, "Rust": false, "testing": false, LanguageOf("a.unknown"): false,
	} {
		if IsLanguage(word) != want {
			t.Errorf("IsLanguage(%q) is %v", word, !want)
		}
	}
}
