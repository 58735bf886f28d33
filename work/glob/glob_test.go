package glob

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// names are paths that the patterns of TestMatch are tried with.
const names = "a b c a.go x/a.go x/y/a.go a/b a/b/c a/x/b b/c a/c b/x/c ab aab/b ab/b xb/c * abd " +
	"ac ace éa a] ] [a abc .go .a.go a- - {a } a,b a/b/x/c"

// TestMatch has the results of doublestar, which is the reference.
func TestMatch(t *testing.T) {
	for pattern, want := range map[string]string{
		"**":              names,
		"**/**":           names,
		"**/*.go":         "a.go x/a.go x/y/a.go .go .a.go",
		"*.go":            "a.go .go .a.go",
		"**.go":           "a.go .go .a.go",
		"a/**":            "a a/b a/b/c a/x/b a/c a/b/x/c",
		"a/**/b":          "a/b a/x/b",
		"a/**/**/c":       "a/b/c a/c a/b/x/c",
		"**/b":            "b a/b a/x/b aab/b ab/b",
		"a**":             "a a.go ab abd ac ace a] abc a- a,b",
		"a**/b":           "a/b aab/b ab/b",
		"**b/c":           "b/c xb/c",
		"a/*":             "a/b a/c",
		"a/***":           "a/b a/c",
		"a/?":             "a/b a/c",
		"*/*":             "x/a.go a/b b/c a/c aab/b ab/b xb/c",
		"?":               "a b c * ] - }",
		"?a":              "éa [a {a",
		"[a-c]/b":         "a/b",
		"[^b]/[^b]":       "a/c",
		"[!b]/[!b]":       "a/c",
		"[a/b]":           "a b",
		"[a-]":            "a -",
		`[\]]`:            "]",
		"[z-a]":           "",
		"é?":              "éa",
		"?[a-b]":          "ab éa [a {a",
		"{a,b}/c":         "b/c a/c",
		"{a,b/**}/c":      "b/c a/c b/x/c",
		"{**,a}/c":        "c a/b/c b/c a/c b/x/c xb/c a/b/x/c",
		"{a,}b":           "b ab",
		"a{b,c{d,e}}":     "ab ace",
		"{a}":             "a",
		`\*`:              "*",
		`\{a`:             "{a",
		"a]":              "a]",
		"a,b":             "a,b",
		"a/":              "",
		"/a":              "",
		"a//b":            "",
		"x/{a,b,y/a}.go":  "x/a.go x/y/a.go",
		"**/x/**":         "x/a.go x/y/a.go a/x/b b/x/c a/b/x/c",
		"[a-b]{/,/x/}b":   "a/b a/x/b",
		"{[,],[^,]*}/{b}": "a/b aab/b ab/b",
	} {
		g, problem := Compile(pattern)
		if problem != "" {
			t.Errorf("%q: %s", pattern, problem)
			continue
		}
		var got []string
		for _, name := range strings.Fields(names) {
			matches, steps := g.Match(name)
			if matches {
				got = append(got, name)
			}
			if matches && !strings.HasPrefix(name, g.Prefix()) {
				t.Errorf("%q matches %q without its prefix %q", pattern, name, g.Prefix())
			}
			if steps == 0 {
				t.Errorf("%q, %q: no steps", pattern, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
}

func TestProblems(t *testing.T) {
	for pattern, want := range map[string]string{
		"": problemLength, strings.Repeat("a", 513): problemLength, "a\xff": problemUTF8,
		"[": problemClass, "[]a]": problemClass, "[a": problemClass, "[a-": problemClass,
		`[a\`: problemClass, "[^]": problemClass, `a\`: problemEscape,
		"{a": problemBrace, "{a,b": problemBrace, "}": problemBrace, "a{b}}": problemBrace,
		strings.Repeat("{a,b}", 6):                                     "",
		strings.Repeat("{a,b}", 7):                                     problemTooMany,
		"{" + strings.Repeat(",", 63) + "}":                            "",
		"{" + strings.Repeat(",", 64) + "}":                            problemTooMany,
		strings.Repeat("a", 200) + "{" + strings.Repeat(",", 22) + "}": problemTooLarge,
	} {
		if _, got := Compile(pattern); got != want {
			t.Errorf("Compile(%q): %q, want %q", pattern, got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"src/*.go": "src/", "src/main.go": "src/main.go", "**/a": "", "src/**": "src",
		"src/**/a": "src", "a{b,c}d": "a", "src/[ab]": "src/", "src/a?": "src/a",
		"{src/a,src/b}/**": "src/", `a\*b*`: "a*b", "*": "", "é/è{1,2}": "é/è",
	} {
		g, problem := Compile(pattern)
		if problem != "" || g.Prefix() != want {
			t.Errorf("%q: %q %s, want %q", pattern, g.Prefix(), problem, want)
		}
	}
}

// TestHostile bounds the steps of patterns that take exponential time where stars or alternatives
// are tried in all combinations.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("aaaaaaaaaaaaaaa/", 31) + "aaaaaaaaaaaaaaa"
	for _, pattern := range []string{
		strings.Repeat("a*", 255) + "b", strings.Repeat("**/a*a*/", 60) + "b",
		strings.Repeat("**/", 170) + "b", "{" + strings.Repeat("a*a*b,", 50) + "}/**/*b",
		strings.Repeat("[a-z]*", 84) + "b",
	} {
		g, problem := Compile(pattern)
		if problem != "" {
			t.Fatal(problem)
		}
		for _, path := range []string{deep, strings.Repeat("a", 255)} {
			matches, steps := g.Match(path)
			if bound := 2 * AlternativeBytesMax * len(path); matches || steps > bound {
				t.Errorf("%q: %v after %d steps", pattern, matches, steps)
			}
		}
	}
}

// TestLikeRegexp compares with regular expressions that mean the same.
func TestLikeRegexp(t *testing.T) {
	parts := map[string]string{
		"a": "a", "b": "b", "*": "[^/]*", "?": "[^/]", "/": "/", "[ab]": "[ab]", "[^a]": "[^a/]",
		"{a,b*}": "(a|b[^/]*)", ".": `\.`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var pattern, expression string
		for range rapid.IntRange(1, 12).Draw(t, "parts") {
			part := rapid.SampledFrom([]string{
				"a", "b", "*", "?", "/", "[ab]", "[^a]", "{a,b*}", ".",
			}).Draw(t, "part")
			if part == "*" && strings.HasSuffix(pattern, "*") {
				continue
			}
			pattern, expression = pattern+part, expression+parts[part]
		}
		for _, deep := range []string{"", "**/"} {
			g, problem := Compile(deep + pattern)
			if problem != "" {
				t.Fatal(problem)
			}
			whole := "^(?:" + expression + ")$"
			if deep != "" {
				whole = "^(?:[^/]+/)*(?:" + expression + ")$"
			}
			path := rapid.StringMatching(`[ab.]{1,5}(/[ab.]{1,5}){0,4}`).Draw(t, "path")
			got, _ := g.Match(path)
			if want := regexp.MustCompile(whole).MatchString(path); got != want {
				t.Fatalf("%q, %q: %v", deep+pattern, path, got)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	g, _ := Compile("**/*.go")
	for b.Loop() {
		g.Match("internal/server/handlers/project.go")
	}
}
