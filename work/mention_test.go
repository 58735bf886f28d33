package work_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pws/internal/id"
	"pws/work"
)

// mentionable are the handles that the tables know; another case is the same handle.
var mentionable = []string{"ann", "bob", "dot.", "a-b", "dash-", "x_y", "Carl.Major", "und_"}

func findHandle(handle string) (id.ID, bool) {
	for _, known := range mentionable {
		if strings.EqualFold(known, handle) {
			return agent(known), true
		}
	}
	return id.ID{}, false
}

// TestMentions reads texts; behind each stand the handles that it names.
func TestMentions(t *testing.T) {
	for _, one := range [...]struct{ text, want string }{
		{"", ""},
		{"nobody", ""},
		{"@ann", "ann"},
		{"hi @ann, and @bob!", "ann bob"},
		{"@bob @ann @bob", "bob ann"},
		{"@ANN @carl.MAJOR", "ann Carl.Major"},
		{"@nobody @ann", "ann"},
		{"(@ann) [@bob] *@a-b*", "ann bob a-b"},
		{"你好@ann。", "ann"},
		{"ä@ann", "ann"},
		// Sentences and handles end alike.
		{"ask @ann.", "ann"},
		{"ask @ann... @bob-", "ann bob"},
		{"ask @dot. @dash-", "dot. dash-"},
		{"ask @dot.. @dash-.", "dot. dash-"},
		{"_@ann_ and __@x_y__ and @und_", "ann x_y und_"},
		{"@ann.bob @ann-bob", ""},
		{"@ann's @bob:", "ann bob"},
		{"@an @a @ @- @.ann", ""},
		{"@" + strings.Repeat("a", 33), ""},
		{"@dot" + strings.Repeat(".", 100), "dot."},
		// Addresses.
		{"me@ann", ""},
		{"mail ann@bob.org or <x.y+z@ann>", ""},
		{"see https://host/@ann", ""},
		{"@ann@bob", ""},
		{"@@ann", ""},
		{`\@ann`, ""},
		{"-@ann", "ann"},
		{"@ann/@bob", "ann"},
		{"@ann,@bob", "ann bob"},
		{"@bob\n@ann\r\n\t@a-b", "bob ann a-b"},
		// Code within a line.
		{"`@ann` @bob", "bob"},
		{"``@ann ` @bob`` @a-b", "a-b"},
		{"`@ann", "ann"},
		{"`@ann\n\n@bob`", "ann bob"},
		{"`@ann\n@bob` @a-b", "a-b"},
		{"```@ann``` @bob", "bob"},
		{"a ` `` ``` @ann", "ann"},
		// Fences.
		{"```\n@ann\n```\n@bob", "bob"},
		{"```go\n@ann\n````\n@bob", "bob"},
		{"````\n@ann\n```\n@bob\n````\n@a-b", "a-b"},
		{"~~~ info\n@ann\n```\n~~~\n@bob", "bob"},
		{"before @bob\n```\n@ann", "bob"},
		{"   ```\n@ann\n   ```\n@bob", "bob"},
		{"    ```\n@ann\n", "ann"},
		{"```\n\n@ann\n\n```\n\n@bob", "bob"},
		{"```\n@ann\n``` no end\n@bob", ""},
		{"`@bob\n```\n@ann\n```\n@a-b`", "bob a-b"},
	} {
		var names []string
		for _, found := range work.Mentions(one.text, findHandle) {
			names = append(names, name(found))
		}
		if got := strings.Join(names, " "); got != one.want {
			t.Errorf("%q names %q, want %q", one.text, got, one.want)
		}
	}
}

// FuzzMentions expects that nobody is named whose handle does not stand behind an @, and that text
// of hostile form takes no longer than other text.
func FuzzMentions(f *testing.F) {
	f.Add("`@ann` @bob ```\n@a-b\n``` me@ann.org")
	f.Add(strings.Repeat("`", 300) + "@ann" + strings.Repeat("~~~\n", 9))
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		lower := strings.ToLower(text)
		for _, found := range work.Mentions(text, findHandle) {
			if !strings.Contains(lower, "@"+strings.ToLower(name(found))) {
				t.Errorf("%q names %s", text, name(found))
			}
		}
	})
}

// BenchmarkMentionsHostile reads the longest text that takes the most looking ahead.
func BenchmarkMentionsHostile(b *testing.B) {
	var text strings.Builder
	for run := 1; text.Len()+run < work.BodyCharsMax; run++ {
		text.WriteString(strings.Repeat("`", run) + "@")
	}
	for b.Loop() {
		work.Mentions(text.String(), findHandle)
	}
}
