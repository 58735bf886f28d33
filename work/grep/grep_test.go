package grep

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// found searches a text and returns "number:column:text" of each line.
func found(p *Pattern, text string) (all []string) {
	s := Search{Pattern: p, Found: func(l Line) bool {
		all = append(all, fmt.Sprintf("%d:%d:%s", l.Number, l.Column, l.Text))
		return true
	}}
	if at, done := s.Text([]byte(text), Place{}); !done || at.Offset != len(text) {
		panic(fmt.Sprint(at, done))
	}
	return all
}

func TestText(t *testing.T) {
	const text = "package main\r\n\nfunc Main() {\n\tmain(1)\n}\n// ſmall Kelvin: \u212a, é main"
	for _, c := range []struct {
		pattern          string
		expression, fold bool
		want             string
	}{
		{"main", false, false, "1:9:package main|4:2:\tmain(1)|6:23:// ſmall Kelvin: \u212a, é main"},
		{"main", false, true, "1:9:package main|3:6:func Main() {|4:2:\tmain(1)|" +
			"6:23:// ſmall Kelvin: \u212a, é main"},
		{"MAIN(", false, true, "3:6:func Main() {|4:2:\tmain(1)"},
		{"SMALL", false, true, "6:4:// ſmall Kelvin: \u212a, é main"},
		{"k,", false, true, "6:18:// ſmall Kelvin: \u212a, é main"},
		{"É m", false, true, "6:21:// ſmall Kelvin: \u212a, é main"},
		{"main$", true, false, "1:9:package main|6:23:// ſmall Kelvin: \u212a, é main"},
		{"^$", true, false, "2:1:"},
		{`\Afunc`, true, false, "3:1:func Main() {"},
		{`main\s+func`, true, false, ""},
		{`(?s)n.f`, true, false, ""},
		{`^\s*(?:func|main)\b.*[({]`, true, false, "3:1:func Main() {|4:1:\tmain(1)"},
		{`FUNC|PACK`, true, true, "1:1:package main|3:1:func Main() {"},
		{`(?i)kelvin: k`, true, false, "6:10:// ſmall Kelvin: \u212a, é main"},
		{`[^a-z]main`, true, false, "1:8:package main|4:1:\tmain(1)|" +
			"6:22:// ſmall Kelvin: \u212a, é main"},
		{`x*}`, true, false, "5:1:}"},
		{"absent", false, false, ""},
		{"// ſM", false, true, "6:1:// ſmall Kelvin: \u212a, é main"},
		{"main(1)\n", true, false, ""},
	} {
		p, problem := Compile(c.pattern, c.expression, c.fold)
		if problem != "" {
			t.Fatalf("%q: %s", c.pattern, problem)
		}
		if got := strings.Join(found(p, text), "|"); got != c.want {
			t.Errorf("%q: %q\nwant %q", c.pattern, got, c.want)
		}
	}
	p, _ := Compile("a", false, false)
	if got := found(p, ""); got != nil {
		t.Errorf("an empty text has %q", got)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		pattern    string
		expression bool
		want       string
	}{
		{"", false, "1 to 1000"}, {strings.Repeat("é", 1001), true, "1 to 1000"},
		{strings.Repeat("é", 1000), false, ""}, {"a\nb", false, "one line"},
		{"a\xff", false, "UTF-8"}, {"(", true, "RE2"}, {"a(?=b)", true, "RE2"},
		{`(a)\1`, true, "RE2"}, {"a{1001}", true, "RE2"}, {"a{0,400}", true, ""},
		{"a{501}b{501}", true, "too large"}, {"(?:a{100}){100}", true, "RE2"},
		{"(?:a{30}){30}", true, "too large"}, {"(?:a{0,30}|b){30,}", true, "too large"},
	} {
		if _, got := Compile(c.pattern, c.expression, false); !strings.Contains(got, c.want) ||
			(got == "") != (c.want == "") {
			t.Errorf("%.30q: %q, want %q", c.pattern, got, c.want)
		}
	}
}

// TestLong: long lines are cut around the match, and expressions see their beginning only.
func TestLong(t *testing.T) {
	long := strings.Repeat("é", 5000) + "needle" + strings.Repeat("x", 50_000)
	word, _ := Compile("needle", false, false)
	if got := found(word, "\n"+long); len(got) != 1 ||
		got[0] != "2:5001:"+strings.Repeat("é", 100)+"needle"+strings.Repeat("x", 294) {
		t.Errorf("%q", got)
	}
	if got := found(word, "needle"+long); got[0] != "1:1:needle"+strings.Repeat("é", 394) {
		t.Errorf("%q", got)
	}
	expression, _ := Compile("needle$|x{3}", true, false)
	if got := found(expression, long); len(got) != 1 || !strings.HasPrefix(got[0], "1:5007:") {
		t.Errorf("%q", got)
	}
	if got := found(expression, strings.Repeat("é", ExpressionLineBytesMax/2)+"xxx"); got != nil {
		t.Errorf("%q", got)
	}
}

func TestContext(t *testing.T) {
	var got []string
	p, _ := Compile("x", false, false)
	s := Search{Pattern: p, Context: 2, Found: func(l Line) bool {
		got = append(got, fmt.Sprintf("%d %q %q %q", l.Number, l.Before, l.Text, l.After))
		return true
	}}
	s.Text([]byte("1 x\r\n2\r\n3\n4 x\n\n6\n7 x"), Place{})
	want := `1 [] "1 x" ["2" "3"]|4 ["2" "3"] "4 x" ["" "6"]|7 ["" "6"] "7 x" []`
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestStops: a search that is stopped anywhere continues where it was.
func TestStops(t *testing.T) {
	line := strings.Repeat("word ", 100) + "\n"
	text := []byte(strings.Repeat(line, 2000))
	for _, pattern := range []string{"word", "w[aeiou]rd$", "[a-z] $"} {
		p, problem := Compile(pattern, pattern != "word", false)
		if problem != "" {
			t.Fatal(problem)
		}
		numbers, pages := 0, 0
		at, done := Place{}, false
		for !done {
			taken, asked := 0, 0
			s := Search{
				Pattern: p, Stop: func() bool { asked++; return asked == 3 },
				Found: func(l Line) bool {
					if taken == 70 {
						return false
					}
					taken++
					if numbers++; l.Number != numbers {
						t.Fatalf("%s: line %d, want %d", pattern, l.Number, numbers)
					}
					return true
				},
			}
			at, done = s.Text(text, at)
			if pages++; pages > 2000 {
				t.Fatal("no progress")
			}
		}
		want := 2000
		if pattern == "w[aeiou]rd$" {
			want = 0
		}
		if numbers != want || pages < 15 {
			t.Errorf("%s: %d lines on %d pages", pattern, numbers, pages)
		}
	}
}

// TestLikeRegexp compares with regular expressions on each line: needles lose no match.
func TestLikeRegexp(t *testing.T) {
	patterns := []string{
		"abc", "a.c", "ab|bc", "(?:ab)+c", "a{2}b", "(ab|c)a", "[ab]c[ab]*", "ks", "s+k", "a?bc?", "b$",
		"^ab", "(?:ab|ac|ba|bc|ca|cb|aa|bb|cc)k", "x*", "(?i:sk)a", "cab{0,2}", "(?:abc){0}b", ".ab.",
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.SampledFrom(patterns).Draw(t, "pattern")
		fold := rapid.Bool().Draw(t, "fold")
		p, problem := Compile(pattern, true, fold)
		if problem != "" {
			t.Fatal(problem)
		}
		if fold {
			pattern = "(?i)" + pattern
		}
		whole := regexp.MustCompile(pattern)
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abcABkKsS\u017f\u212a\n")), 0, 60, -1).
			Draw(t, "text")
		var want []string
		for nth, line := range strings.SplitAfter(text, "\n") {
			if line == "" {
				continue
			}
			line = strings.TrimSuffix(line, "\n")
			if at := whole.FindStringIndex(line); at != nil {
				column := len([]rune(line[:at[0]])) + 1
				want = append(want, fmt.Sprintf("%d:%d:%s", nth+1, column, line))
			}
		}
		if got := found(p, text); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%q in %q: %q, want %q", pattern, text, got, want)
		}
	})
}

func TestNeedles(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc": "abc", `func \w+Handler\(`: "Handler(", "foo|barn": "foo barn", "(?:abc)*de": "de",
		"a|bcd": "", "[a-z]+": "", "(abcd|ef)ghi": "ghi", "(?i)abc": "abc", "(?i)é": "", "(abc)+": "abc",
		"(abc){2,}x": "abc", "(abc){0,2}xy": "xy", "aa|bb|cc|dd|ee|ff|gg|hh|ii": "", "a": "",
	} {
		p, problem := Compile(pattern, true, false)
		if problem != "" {
			t.Fatal(problem)
		}
		var got []string
		for _, n := range p.needles {
			got = append(got, string(n.text))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// corpus is a megabyte of lines like those of a program.
func corpus() []byte {
	var text strings.Builder
	for nth := 0; text.Len() < 1<<20; nth++ {
		fmt.Fprintf(&text, "func (s *Server) handle%d(w io.Writer, r *Request) error {\n"+
			"\tif err := s.check(r, %d); err != nil {\n\t\treturn fmt.Errorf(\"check: %%w\", err)\n"+
			"\t}\n\treturn nil\n}\n\n", nth, nth*7)
	}
	return []byte(text.String())
}

// TestLongFold: words that are longer than what is searched without regard to case.
func TestLongFold(t *testing.T) {
	word := strings.Repeat("ab", foldBytesMax)
	p, _ := Compile(word, false, true)
	if got := found(p, "x"+word[:foldBytesMax]+"\nyz"+strings.ToUpper(word)); len(got) != 1 ||
		!strings.HasPrefix(got[0], "2:3:yzABAB") {
		t.Errorf("%q", got)
	}
	if p, _ = Compile(word[:foldBytesMax], false, true); len(found(p, strings.ToUpper(word))) != 1 {
		t.Error("the longest word that is searched whole")
	}
}

// TestHostile bounds the time between two questions whether to stop.
func TestHostile(t *testing.T) {
	text := []byte(strings.Repeat("a", 1<<20))
	for _, pattern := range []string{
		"(a*)*b", "(?:a|a){300}b", "(.*a){90}b", "(?:a?){200}a{150}", "([a-z]|[a-y])*x{0,300}z",
		strings.Repeat("[A-\U0001e943]?", 160) + "b",
	} {
		for _, fold := range []bool{false, true} {
			began := time.Now()
			p, problem := Compile(pattern, true, fold)
			if problem != "" {
				t.Fatal(pattern, problem)
			}
			compiled := time.Since(began)
			s := Search{Pattern: p, Found: func(Line) bool { return true }}
			began = time.Now()
			s.Text(text, Place{})
			t.Logf("%.30q %v: compiled in %v, a line of 1 MiB in %v", pattern, fold, compiled,
				time.Since(began))
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%.30q: %v", pattern, took)
			}
		}
	}
}

func BenchmarkText(b *testing.B) {
	text := corpus()
	for _, c := range []struct {
		name, pattern    string
		expression, fold bool
	}{
		{"word", "absentWord", false, false}, {"common", "handle12", false, false},
		{"fold", "absentWord", false, true}, {"prefix", `handle9\d+7`, true, false},
		{"inner", `\w+absent\d`, true, false}, {"alternatives", "absent|missing|gone", true, false},
		{"none", `\d{4}x`, true, false}, {"foldnone", `é`, false, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, problem := Compile(c.pattern, c.expression, c.fold)
			if problem != "" {
				b.Fatal(problem)
			}
			s := Search{Pattern: p, Found: func(Line) bool { return true }}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Text(text, Place{})
			}
		})
	}
}
