package path

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestProblem(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("a/", n-1) + "a" }
	for _, c := range []struct{ path, want string }{
		{"a", ""},
		{"README.md", ""},
		{"src/main.go", ""},
		{".gitignore", ""},
		{"a/.../b", ""},
		{"..a/b..", ""},
		{"with space/and \"quotes\"", ""},
		{"100%/a#b?c", ""},
		{"é/日本語/🙂", ""},
		{"a\u0080b", ""},
		{strings.Repeat("a", 255), ""},
		{strings.Repeat("a", 256), problemSegment},
		{"x/" + strings.Repeat("é", 128), problemSegment},
		{strings.Repeat("a", 255) + "/" + strings.Repeat("b", 255) + "/", problemTrailing},
		{strings.Repeat("a", 255) + "/" + strings.Repeat("b", 254) + "/c", ""},
		{strings.Repeat("a", 255) + "/" + strings.Repeat("b", 255) + "/c", problemLength},
		{deep(32), ""},
		{deep(33), problemDepth},
		{"", problemEmpty},
		{"/", problemLeading},
		{"/a", problemLeading},
		{"a/", problemTrailing},
		{"a//b", problemDouble},
		{".", problemDot},
		{"..", problemDot},
		{"a/./b", problemDot},
		{"a/..", problemDot},
		{"../a", problemDot},
		{"a\\b", problemBackslash},
		{"a\x00", problemControl},
		{"a\x1fb", problemControl},
		{"a\nb", problemControl},
		{"a\x7fb", problemControl},
		{"a\xff", problemUTF8},
		{"\xed\xa0\x80", problemUTF8},
		{"\xc0\xaf", problemUTF8},
		{"e\u0301", problemNFC},
		{"a/\u212b", problemNFC},
		{"ä/a\u0308", problemNFC},
	} {
		if got := Problem(c.path); got != c.want {
			t.Errorf("Problem(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"a", "a"},
		{"src/main.go", "src/main.go"},
		{"%61", "a"},
		{"a%20b/c%23d%3F", "a b/c#d?"},
		{"%C3%A9", "é"},
		{"%c3%a9/%E6%97%A5", "é/日"},
		{"100%25", "100%"},
		{"%252F", "%2F"},
		{"%252e%252e", "%2e%2e"},
		{"a+b", "a+b"},
		{"a:b@c;d=e,f!g$h&i'j(k)l*m", "a:b@c;d=e,f!g$h&i'j(k)l*m"},
		{strings.Repeat("%61", 255) + "/" + strings.Repeat("%61", 255), strings.Repeat("a", 255) +
			"/" + strings.Repeat("a", 255)},
	} {
		got, problem := Decode(c.raw)
		if problem != "" || got != c.want {
			t.Errorf("Decode(%q) = %q, %q, want %q", c.raw, got, problem, c.want)
		}
	}
	for _, raw := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "%2e", "%2E%2e/a", "a/%2e%2E",
		"a%2Fb", "a%2fb", "a%5Cb", "a%5cb", "a\\b", "%", "%2", "a%", "a%2", "%zz", "%2g", "%g2",
		"%%20", "a%/b", "a b", "a\tb", "a\x00b", "a%00b", "a%0Ab", "a%7Fb", "a\x7f", "a#b", "a?b",
		"é", "a\xffb", "%ff", "%C3", "%C0%AF", "%ED%A0%80", "e%CC%81", "%2F", "%5C",
		strings.Repeat("a", 256), strings.Repeat("%61", 256), strings.Repeat("a/", 32) + "a",
		strings.Repeat("a", 2000), strings.Repeat("%61", 600),
	} {
		if got, problem := Decode(raw); problem == "" || got != "" {
			t.Errorf("Decode(%q) = %q, %q, want a problem", raw, got, problem)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"src/main-1_2~x.go", "src/main-1_2~x.go"},
		{"a b/é#?%", "a%20b/%C3%A9%23%3F%25"},
		{"f(x)+y", "f%28x%29%2By"},
	} {
		if got := Encode(c.path); got != c.want {
			t.Errorf("Encode(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, p := range []string{"src/main.go", strings.Repeat("abcdefg/", 31) + "x"} {
		allocations := testing.AllocsPerRun(100, func() {
			if _, problem := Decode(p); problem != "" || Problem(p) != "" {
				t.Error("a canonical path was refused")
			}
			Encode(p)
			TypeOf(p)
			LanguageOf(p)
		})
		if allocations != 0 {
			t.Errorf("%q: %v allocations", p, allocations)
		}
	}
}

// TestRoundTrip: every canonical path survives a link, and stays canonical in it.
func TestRoundTrip(t *testing.T) {
	segment := rapid.StringOfN(rapid.Rune(), 1, 20, 80)
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(segment, 1, 6).Draw(t, "segments")
		p := norm.NFC.String(strings.Join(segments, "/"))
		if Problem(p) != "" {
			t.Skip("not canonical")
		}
		link := Encode(p)
		for i := 0; i < len(link); i++ {
			if link[i] != '%' && !isLiteral(link[i]) {
				t.Fatalf("Encode(%q) = %q has a raw %q", p, link, link[i])
			}
		}
		if got, problem := Decode(link); problem != "" || got != p {
			t.Fatalf("Decode(%q) = %q, %q, want %q", link, got, problem, p)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"a/b", "%2e%2e", "a%2Fb", "%C3%A9", "%", "e%CC%81", "a//b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, problem := Decode(raw)
		if (problem == "") == (p == "") {
			t.Fatalf("Decode(%q) = %q, %q: one of the two must be empty", raw, p, problem)
		}
		if problem != "" {
			return
		}
		if problem := Problem(p); problem != "" {
			t.Fatalf("Decode(%q) accepted %q: %s", raw, p, problem)
		}
		if again, problem := Decode(Encode(p)); problem != "" || again != p {
			t.Fatalf("Decode(Encode(%q)) = %q, %q", p, again, problem)
		}
	})
}

func BenchmarkProblem(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Problem("src/internal/component/handler_test.go")
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Decode("src/internal/component/handler_test.go")
	}
}
