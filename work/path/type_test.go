package path

import (
	"strings"
	"testing"
)

func TestTypeAndLanguage(t *testing.T) {
	for _, c := range []struct{ path, mediaType, language string }{
		{"README.md", "text/markdown", "markdown"},
		{"docs/A.MARKDOWN", "text/markdown", "markdown"},
		{"a.py", "text/x-python", "python"},
		{"a.php", "text/x-php", "php"},
		{"a.js", "application/javascript", "javascript"},
		{"a.mjs", "application/javascript", "javascript"},
		{"a.cjs", "application/javascript", "javascript"},
		{"a.d.ts", "text/x-typescript", "typescript"},
		{"a.tsx", "text/x-typescript", "typescript"},
		{"A.java", "text/x-java", "java"},
		{"a.go", "text/x-go", "go"},
		{"a.rs", "text/x-rust", "rust"},
		{"a.c", "text/x-c", "c"},
		{"a.h", "text/x-c", "c"},
		{"a.cpp", "text/x-c++", "c++"},
		{"a.cc", "text/x-c++", "c++"},
		{"a.cxx", "text/x-c++", "c++"},
		{"a.hpp", "text/x-c++", "c++"},
		{"a.cs", "text/x-csharp", "c#"},
		{"a.rb", "text/x-ruby", "ruby"},
		{"a.sh", "text/x-shellscript", "shell"},
		{"a.bash", "text/x-shellscript", "shell"},
		{"a.zsh", "text/x-shellscript", "shell"},
		{"a.sql", "application/sql", "sql"},
		{"a.html", "text/html", "html"},
		{"a.htm", "text/html", "html"},
		{"a.css", "text/css", "css"},
		{"a.json", "application/json", "json"},
		{"a.yaml", "application/yaml", "yaml"},
		{"a.yml", "application/yaml", "yaml"},
		{"a.xml", "application/xml", "xml"},
		{"a.csv", "text/csv", "csv"},
		{"a.toml", "application/toml", "toml"},
		{"a.txt", "text/plain", "text"},
		{"a.kt", "text/plain", "kotlin"},
		{"CMakeLists.txt", "text/plain", "cmake"},
		{"Makefile", "text/plain", "makefile"},
		{"x/Dockerfile", "text/plain", "dockerfile"},
		{"Dockerfile.test", "text/plain", "dockerfile"},
		{"go.mod", "text/plain", "go"},
		{".json", "text/plain", ""},
		{".bashrc", "text/plain", "shell"},
		{".eslintrc.json", "application/json", "json"},
		{"dir.go/file", "text/plain", ""},
		{"LICENSE", "text/plain", ""},
		{"a.", "text/plain", ""},
		{"a.unknown", "text/plain", ""},
		{"", "text/plain", ""},
	} {
		if got := TypeOf(c.path); got != c.mediaType {
			t.Errorf("TypeOf(%q) = %q, want %q", c.path, got, c.mediaType)
		}
		if got := LanguageOf(c.path); got != c.language {
			t.Errorf("LanguageOf(%q) = %q, want %q", c.path, got, c.language)
		}
	}
}

// TestDefaultsSupported: no file gets by its name a type that a writer could not have given.
func TestDefaultsSupported(t *testing.T) {
	for extension, k := range kindOfExtension {
		if !SupportedType(k.mediaType) || k.language == "" {
			t.Errorf("%s: %+v", extension, k)
		}
		if extension != strings.ToLower(extension) {
			t.Errorf("%s would never be found", extension)
		}
	}
	for name, language := range languageOfName {
		if name != strings.ToLower(name) || language == "" {
			t.Errorf("%s: %q", name, language)
		}
	}
}

func TestSupportedType(t *testing.T) {
	long := "text/plain; a=" + strings.Repeat("b", TypeBytesMax-len("text/plain; a="))
	for _, s := range []string{
		"text/plain", "Text/HTML", "text/x-c++", "text/vnd.custom", "application/json",
		"APPLICATION/JSON", "application/xml", "application/yaml", "application/x-yaml",
		"application/javascript", "application/sql", "application/toml",
		"text/plain;charset=utf-8", "text/plain; charset=UTF-8", "text/plain ; Charset=\"utf-8\"",
		"text/plain; charset=us-ascii", "text/plain; charset=\"u\\tf-8\"",
		"text/markdown; variant=GFM; charset=utf-8", "text/plain; a=\"x;y\" ; b=c",
		"text/plain; a=\"\"", long,
	} {
		if !SupportedType(s) {
			t.Errorf("SupportedType(%q) = false", s)
		}
	}
	for _, s := range []string{
		"", "text", "text/", "/plain", "text/*", "*/*", "text/pl ain", " text/plain",
		"text/plain ", "text /plain", "text/ plain", "text/plain/x", "text/é", "text/-x",
		"image/png", "application/octet-stream", "application/pdf", "application/jsonx",
		"application/ld+json", "multipart/form-data", "texts/plain",
		"text/plain;", "text/plain; ", "text/plain; ;a=b", "text/plain; charset",
		"text/plain; charset=", "text/plain; charset=latin1", "text/plain; charset=utf-16",
		"text/plain; charset=\"utf-8", "text/plain; charset=\"utf-8\\", "text/plain; charset=utf-8;",
		"text/plain; charset =utf-8", "text/plain; charset= utf-8", "text/plain; charset=utf-8 ",
		"text/plain; charset=utf-8; charset=utf-8", "text/plain; a=b; A=c", "text/plain; =x",
		"text/plain; a=\"x\"y", "text/plain; a=b c", "text/plain, text/html", "text/plain\r\n",
		"text/plain; a=\"\x01\"", "text/plain; a=\"\\\x01\"", "text/plain; a=\"é\"", long + "b",
	} {
		if SupportedType(s) {
			t.Errorf("SupportedType(%q) = true", s)
		}
	}
}

func FuzzSupportedType(f *testing.F) {
	f.Add("text/plain; charset=\"utf-8\"; a=b")
	f.Fuzz(func(t *testing.T, s string) {
		if !SupportedType(s) {
			return
		}
		if len(s) > TypeBytesMax || strings.ContainsAny(s, "\r\n\x00") {
			t.Fatalf("SupportedType(%q) = true", s)
		}
		if !SupportedType(strings.ToUpper(s)) {
			t.Fatalf("SupportedType(%q) depends on case", s)
		}
	})
}
