package edit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

func newRand(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	if given, err := strconv.ParseUint(os.Getenv("PWS_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// outcome writes a result or a refusal as the tables have it.
func outcome(text string, edits []Edit, bytesMax int) string {
	result, err := Apply(text, edits, bytesMax)
	var missing *NotFoundError
	var ambiguous *AmbiguousError
	var large *TooLargeError
	switch {
	case errors.As(err, &missing):
		lines, difference := missing.Nearest()
		out := strings.TrimSpace(fmt.Sprintf("%d not found %s", missing.Index, difference))
		for _, line := range lines {
			out += fmt.Sprintf(" %d:%s", line.Number, line.Text)
		}
		return out
	case errors.As(err, &ambiguous):
		return fmt.Sprintf("%d ambiguous %d %v", ambiguous.Index, ambiguous.Count, ambiguous.Lines)
	case errors.As(err, &large):
		return fmt.Sprintf("%d large %d", large.Index, large.Bytes)
	case err != nil:
		return err.Error()
	}
	return "= " + result
}

func TestApply(t *testing.T) {
	code := "package a\n\nfunc one() int {\n\treturn 1\n}\n\nfunc two() int {\n\treturn 2\n}\n"
	long := strings.Repeat("long ", 20)
	cases := []struct {
		name, text string
		edits      []Edit
		want       string
	}{
		{"none", "a", nil, "= a"},
		{"one", "a b c", []Edit{{Old: "b", New: "B"}}, "= a B c"},
		{"in order", "a b c", []Edit{{Old: "b", New: "d"}, {Old: "a d", New: "e"}}, "= e c"},
		{"deleted", "a b c", []Edit{{Old: " b"}}, "= a c"},
		{"the whole text", "abc", []Edit{{Old: "abc"}}, "= "},
		{"first and last", "abc", []Edit{{Old: "a", New: "1"}, {Old: "c", New: "3"}}, "= 1b3"},
		{"unchanged", "abc", []Edit{{Old: "b", New: "b"}}, "= abc"},
		{"all", "a-a-a", []Edit{{Old: "a", New: "aa", All: true}}, "= aa-aa-aa"},
		{"all of one", "abc", []Edit{{Old: "b", New: "x", All: true}}, "= axc"},
		{"all, overlapping", "aaaaa", []Edit{{Old: "aa", New: "b", All: true}}, "= bba"},
		{"once, overlapping", "xaaax", []Edit{{Old: "aa", New: "b"}}, "0 ambiguous 2 [1 1]"},
		{"its own result", "ab", []Edit{{Old: "a", New: "aa"}, {Old: "aab", New: "c"}}, "= c"},
		{"long text", long + "x", []Edit{{Old: long, New: "y"}}, "= yx"},
		{"long text, all", long + "|" + long, []Edit{{Old: long, New: "y", All: true}}, "= y|y"},
		{"long text, twice", long + "\n" + long, []Edit{{Old: long, New: "y"}}, "0 ambiguous 2 [1 2]"},
		{"characters", "é日🙂", []Edit{{Old: "日", New: "本"}}, "= é本🙂"},
		{"line endings stay", "a\r\nb\r\n", []Edit{{Old: "b", New: "c"}}, "= a\r\nc\r\n"},

		{"ambiguous", code, []Edit{{Old: "() int {", New: "()"}}, "0 ambiguous 2 [3 7]"},
		{"ambiguous later", code, []Edit{{Old: "one", New: "two"}, {Old: "two", New: "three"}},
			"1 ambiguous 2 [3 7]"},
		{"several in one line", "a a\na", []Edit{{Old: "a"}}, "0 ambiguous 3 [1 1 2]"},
		{"large", "abc", []Edit{{Old: "b", New: strings.Repeat("b", 2000)}}, "0 large 2002"},
		{"large for a moment", "abc", []Edit{
			{Old: "b", New: strings.Repeat("b", 2000)}, {Old: strings.Repeat("b", 2000), New: "b"},
		}, "0 large 2002"},
		{"all, large", strings.Repeat("a", 600), []Edit{{Old: "a", New: "aa", All: true}},
			"0 large 1200"},

		{"nothing like it", code, []Edit{{Old: "zebra"}}, "0 not found"},
		{"empty text", "", []Edit{{Old: "a"}}, "0 not found"},
		{"a word", code, []Edit{{Old: "func three() int {"}}, "0 not found 3:func one() int {"},
		{"several lines", code, []Edit{{Old: "func two() int {\n\treturn 3\n}\n"}},
			"0 not found 7:func two() int { 8:\treturn 2 9:}"},
		{"the first line differs", code, []Edit{{Old: "func too() int {\n\treturn 2\n}"}},
			"0 not found 7:func two() int { 8:\treturn 2 9:}"},
		{"at the end", "a\nlast line of it", []Edit{{Old: "last line of it\nand one more"}},
			"0 not found 2:last line of it"},
		{"indentation", code, []Edit{{Old: "    return 2"}}, "0 not found WHITE_SPACE 8:\treturn 2"},
		{"blank lines", code, []Edit{{Old: "}\nfunc two()"}},
			"0 not found WHITE_SPACE 5:} 6: 7:func two() int {"},
		{"spaces within", "a  b\n", []Edit{{Old: "a b"}}, "0 not found WHITE_SPACE 1:a  b"},
		{"final line feed", "x = 1", []Edit{{Old: "x = 1\n"}}, "0 not found WHITE_SPACE 1:x = 1"},
		{"returns in the text", "a\r\nb\r\nc", []Edit{{Old: "a\nb"}},
			"0 not found LINE_ENDINGS 1:a\r 2:b\r"},
		{"returns in the edit", "a\nb\nc", []Edit{{Old: "b\r\nc"}},
			"0 not found LINE_ENDINGS 2:b 3:c"},
		{"white space alone", "a\n", []Edit{{Old: "   "}}, "0 not found"},
		{"replaced before", "a b", []Edit{{Old: "b", New: "c"}, {Old: "a b", New: "d"}},
			"1 not found EARLIER_EDIT"},
		{"case", "Hello world\n", []Edit{{Old: "hello world"}}, "0 not found 1:Hello world"},
	}
	for _, c := range cases {
		if got := outcome(c.text, c.edits, 1000); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// reference applies an edit as its description says, place by place.
func reference(text string, e Edit) (string, bool) {
	var places []int
	for i := 0; i+len(e.Old) <= len(text); i++ {
		if text[i:i+len(e.Old)] == e.Old {
			places = append(places, i)
		}
	}
	if len(places) == 0 || len(places) > 1 && !e.All {
		return text, false
	}
	out, from := "", 0
	for _, at := range places {
		if at >= from {
			out += text[from:at] + e.New
			from = at + len(e.Old)
		}
	}
	return out + text[from:], true
}

// randomText has few different characters, so that texts occur several times and overlap.
func randomText(r *rand.Rand, size int) string {
	letters := []string{"a", "b", "\n", "é", "a", " ", "\r\n"}[:1+r.IntN(7)]
	period := ""
	for range 1 + r.IntN(1+size/4) {
		period += letters[r.IntN(len(letters))]
	}
	text := ""
	for len(text) < size {
		if r.IntN(8) == 0 {
			text += letters[r.IntN(len(letters))]
		}
		text += period
	}
	return text
}

func TestApplyRandom(t *testing.T) {
	r := newRand(t)
	applied, refused := 0, 0
	for range 20_000 {
		text := randomText(r, 1+r.IntN(400))
		var edits []Edit
		want, fits := text, true
		for range 1 + r.IntN(5) {
			e := Edit{Old: randomText(r, 1+r.IntN(60)), New: randomText(r, r.IntN(8)), All: r.IntN(3) > 0}
			if from := r.IntN(max(1, len(want))); r.IntN(6) > 0 && want != "" {
				e.Old = want[from : from+1+r.IntN(min(80, len(want)-from))]
			}
			edits = append(edits, e)
			if fits {
				want, fits = reference(want, e)
			}
		}
		got, err := Apply(text, edits, 1<<20)
		if fits != (err == nil) || fits && got != want {
			t.Fatalf("%q with %+v:\n got %q, %v\nwant %q, %v", text, edits, got, err, want, fits)
		}
		if fits {
			applied++
		} else {
			refused++
			_ = outcome(text, edits, 1<<20)
		}
	}
	if applied < 1000 || refused < 1000 {
		t.Errorf("%d applied, %d refused", applied, refused)
	}
}

// TestApplyHostile: 50 edits of texts that take hours if the search is not linear.
func TestApplyHostile(t *testing.T) {
	const size = 1 << 20
	period := strings.Repeat("a", 16) + "b"
	one := strings.Repeat(period, size/len(period))
	lines := strings.Repeat("x\n", size/2)
	texts := map[string]string{
		"one line": strings.Repeat("a", size), "a period": one, "equal lines": lines,
		"line feeds": strings.Repeat("\n", size), "carriage returns": strings.Repeat("\r", size),
		"longer lines": strings.Repeat("return nil, err\n", size/16),
	}
	for name, text := range texts {
		half := text[:size/2]
		missing := []string{"b!", half + "!", half[1:] + "!" + half[:9], "é", half + " \n!"}
		for nth, last := range missing {
			if got := outcome(text, []Edit{{Old: last}}, size); !strings.HasPrefix(got, "0 not found") {
				t.Errorf("%s %d: %.100s", name, nth, got)
			}
		}
		// An edit that fails ends the list, so it comes behind those that replace what is there.
		list := []Edit{{Old: text[:40], New: text[:40], All: true}}
		for range 48 {
			list = append(list, Edit{Old: half, New: half, All: true})
		}
		list = append(list, Edit{Old: half + "!"})
		if got := outcome(text, list, size); !strings.HasPrefix(got, "49 not found") {
			t.Errorf("%s: %.100s", name, got)
		}
		_, err := Apply(text, []Edit{{Old: text[:64]}}, size)
		var ambiguous *AmbiguousError
		if !errors.As(err, &ambiguous) || len(ambiguous.Lines) > PlacesMax || ambiguous.Count < 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNearestIsBounded: what a refusal shows is small, whatever the text.
func TestNearestIsBounded(t *testing.T) {
	r := newRand(t)
	for range 300 {
		text := randomText(r, 1+r.IntN(9000))
		old := randomText(r, 1+r.IntN(3000)) + "zzz"
		_, err := Apply(text, []Edit{{Old: old}}, 1<<20)
		var missing *NotFoundError
		if !errors.As(err, &missing) {
			t.Fatalf("%q in %q: %v", old, text, err)
		}
		lines, _ := missing.Nearest()
		if len(lines) > linesMax {
			t.Fatalf("%d lines", len(lines))
		}
		all := strings.Split(text, "\n")
		for _, line := range lines {
			if len([]rune(line.Text)) > lineCharsMax || !strings.HasPrefix(all[line.Number-1], line.Text) {
				t.Fatalf("line %d is %q, not %q", line.Number, all[line.Number-1], line.Text)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add("a b c", "b", "d", false)
	f.Add("aaaa", "aa", "a", true)
	f.Add("a\r\nb", "a\nb", "", false)
	f.Fuzz(func(t *testing.T, text, old, by string, all bool) {
		if old == "" || len(text) > 1<<16 {
			return
		}
		e := Edit{Old: old, New: by, All: all}
		want, fits := reference(text, e)
		got, err := Apply(text, []Edit{e}, 1<<30)
		if fits != (err == nil) || fits && got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		_ = outcome(text, []Edit{e}, 1<<30)
	})
}

func BenchmarkApply(b *testing.B) {
	text := strings.Repeat("\treturn nil, err\n", 1000) + "func one() {}\n"
	edits := []Edit{{Old: "func one() {}", New: "func two() {}"}}
	for b.Loop() {
		if _, err := Apply(text, edits, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	text := strings.Repeat("\treturn nil, err\n", 60_000)
	_, err := Apply(text, []Edit{{Old: "\treturn nothing, error\n\treturn"}}, 1<<20)
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		b.Fatal(err)
	}
	for b.Loop() {
		missing.Nearest()
	}
}
