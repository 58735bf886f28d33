package web

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pws/api"
)

// TestWords has lines of a removed and an added line, with what is marked in brackets.
func TestWords(t *testing.T) {
	for _, c := range []struct{ old, now, was, is string }{
		{"a := put(f)", "a := retry(f, 5)", "a := [put](f)", "a := [retry](f[, 5])"},
		{"same line", "same line", "same line", "same line"},
		{"return nil", "return nil, err", "return nil", "return nil[, err]"},
		{"für dich", "für mich", "für [dich]", "für [mich]"},
		{"x y z", "x  y z", "x[ ]y z", "x[  ]y z"},
		{"nothing in common", "everything else", "", ""},
		{"", "added", "", ""},
		{strings.Repeat("a ", 300), strings.Repeat("a ", 300) + "b", "", ""},
	} {
		d := wordDiffer{steps: wordStepsMax}
		was, is := d.pair(c.old, c.now)
		if got := bracketed(was); got != c.was {
			t.Errorf("%q became %q", c.old, got)
		}
		if got := bracketed(is); got != c.is {
			t.Errorf("%q became %q", c.now, got)
		}
	}
}

func bracketed(parts []linePart) (text string) {
	for _, part := range parts {
		if part.Marked {
			part.Text = "[" + part.Text + "]"
		}
		text += part.Text
	}
	return text
}

// TestCommonWordsAreTheLongest compares with the table that takes quadratic time.
func TestCommonWordsAreTheLongest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		list := func() (words []string) {
			for range random.IntN(12) {
				words = append(words, string(rune('a'+random.IntN(3))))
			}
			return words
		}
		a, b := list(), list()
		d := wordDiffer{steps: wordStepsMax}
		keptA, keptB := d.common(a, b)
		left, right := keptOf(a, keptA), keptOf(b, keptB)
		if !slices.Equal(left, right) || len(left) != longest(a, b) {
			t.Fatalf("%v %v: %v %v, want %d", a, b, left, right, longest(a, b))
		}
	}
}

func keptOf(words []string, kept []bool) (some []string) {
	for at, word := range words {
		if kept[at] {
			some = append(some, word)
		}
	}
	return some
}

func longest(a, b []string) int {
	table := make([]int, len(b)+1)
	for _, x := range a {
		before := 0
		for at, y := range b {
			above := table[at+1]
			if x == y {
				table[at+1] = before + 1
			} else {
				table[at+1] = max(above, table[at])
			}
			before = above
		}
	}
	return table[len(b)]
}

// TestWordsAreBounded compares lines that have much in common and differ everywhere.
func TestWordsAreBounded(t *testing.T) {
	d := wordDiffer{steps: wordStepsMax}
	rows := make([]row, 0, 2*diffRowsMax)
	for at := range diffRowsMax {
		rows = append(rows, row{Kind: "removed", Text: strings.Repeat("a b ", 90) + fmt.Sprint(at)})
	}
	for at := range diffRowsMax {
		rows = append(rows, row{Kind: "added", Text: strings.Repeat("b a ", 90) + fmt.Sprint(at)})
	}
	d.mark(rows)
	if d.steps < -wordEditsMax*wordsMax || d.steps > wordStepsMax/2 {
		t.Errorf("%d steps left", d.steps)
	}
}

func TestDiffInTwoColumns(t *testing.T) {
	text := "diff --git a/x b/x\n@@ -1,4 +1,4 @@ <f>\n a\n-b <one>\n-c\n+b <two>\n d\n+e\n"
	all := newDiff(text, []api.DiffFile{{Path: "x"}}, false)
	var got []string
	for _, pair := range all.Files[0].Pairs() {
		side := func(one *row) string {
			if one == nil {
				return "-"
			}
			return fmt.Sprint(one.Kind, " ", one.Old, " ", one.New)
		}
		got = append(got, side(pair.Old)+" | "+side(pair.New))
	}
	want := []string{
		"gap 0 0 | gap 0 0", "same 1 1 | same 1 1", "removed 2 0 | added 0 2", "removed 3 0 | -",
		"same 4 3 | same 4 3", "- | added 0 4",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	for split, wanted := range map[bool][]string{
		false: {
			`<tr class="gap"><td colspan="3">@@ -1,4 +1,4 @@ &lt;f&gt;</td></tr>`,
			`<tr class="removed"><td class="number" id="f1L2">2</td><td class="number"></td>` +
				`<td class="line"><span class="sign">−</span>b &lt;<mark>one</mark>&gt;</td></tr>`,
		},
		true: {
			`<tr class="gap"><td colspan="4">`,
			`<tr><td class="number" id="f1L2">2</td><td class="line removed"><span class="sign">−` +
				`</span>b &lt;<mark>one</mark>&gt;</td><td class="number" id="f1R2">2</td>` +
				`<td class="line added"><span class="sign">+</span>b &lt;<mark>two</mark>&gt;</td></tr>`,
			`<td class="number"></td><td class="gap"></td></tr>`,
		},
	} {
		table := string(all.Files[0].Table(split))
		for _, part := range wanted {
			if !strings.Contains(table, part) {
				t.Errorf("%v: no %s in %s", split, part, table)
			}
		}
	}
}

// inTable is all that the table of a diff may consist of.
var inTable = regexp.MustCompile(`^(?:[^<>"]|</?(?:mark|tr|td|span)>|` +
	`<(?:tr|td|span) class="[a-z ]+">|` +
	`<td class="number" id="f[0-9]+[LR]-?[0-9]+">|<tr class="gap">|<td colspan="[34]">)*$`)

func FuzzDiffTables(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-<script>\n+\"onclick=\n")
	f.Add("@@ -1,1 +99999999999999999999 @@\n x\n+\u202ex\n\\ No newline")
	f.Add("@@ \n+a\n@@ - + @@\n-b\ndiff --git ")
	f.Fuzz(func(t *testing.T, text string) {
		all := newDiff("diff --git a/x b/x\n"+text, []api.DiffFile{{Path: "x"}, {Path: "y"}}, false)
		for _, file := range all.Files {
			for _, split := range []bool{false, true} {
				if table := string(file.Table(split)); !inTable.MatchString(table) {
					t.Errorf("%q", table)
				}
			}
		}
	})
}

// TestLargeDiffsAreLists checks which files have lines on the page and which have a page.
func TestLargeDiffsAreLists(t *testing.T) {
	of := func(files, lines int, truncated bool) diff {
		var text strings.Builder
		var list []api.DiffFile
		for at := range files {
			list = append(list, api.DiffFile{Path: fmt.Sprint(at)})
			if truncated && at > files/2 {
				continue
			}
			fmt.Fprintf(&text, "diff --git a/%d b/%d\n@@ -0,0 +1,%d @@\n", at, at, lines)
			text.WriteString(strings.Repeat("+x\n", lines))
		}
		return newDiff(text.String(), list, truncated)
	}
	summary := func(d diff) (apart, cut, rows int) {
		for _, file := range d.Files {
			if file.Apart {
				apart++
			}
			if file.Cut {
				cut++
			}
			rows += len(file.Rows)
		}
		return apart, cut, rows
	}
	for _, c := range []struct {
		files, lines     int
		truncated        bool
		apart, cut, rows int
	}{
		{3, 2, false, 0, 0, 9}, {diffFilesMax, 1, false, 0, 0, 800},
		{diffFilesMax + 1, 1, false, 401, 0, 0}, {10, 3, true, 4, 1, 24},
		{4, 1000, false, 2, 1, diffRowsMax - 1}, {1, 3000, false, 0, 0, 3001},
	} {
		apart, cut, rows := summary(of(c.files, c.lines, c.truncated))
		if apart != c.apart || cut != c.cut || rows != c.rows {
			t.Errorf("%+v: %d apart, %d cut, %d rows", c, apart, cut, rows)
		}
	}
}

func TestSidesOfConflicts(t *testing.T) {
	var text strings.Builder
	for at := range 10 {
		fmt.Fprintf(&text, "before %d\n", at)
	}
	text.WriteString("<<<<<<< ours\nmine\n=======\ntheirs\n>>>>>>> theirs\nafter\r\n=======\nend")
	want := []sideLine{
		{"", "before 7"}, {"", "before 8"}, {"", "before 9"}, {"contribution", "mine"},
		{"project", "theirs"}, {"", "after"}, {"", "======="}, {"", "end"},
	}
	if got := sidesOf(text.String()); !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
