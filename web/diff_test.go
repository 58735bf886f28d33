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
	for i, word := range words {
		if kept[i] {
			some = append(some, word)
		}
	}
	return some
}

func longest(a, b []string) int {
	table := make([]int, len(b)+1)
	for _, x := range a {
		before := 0
		for i, y := range b {
			above := table[i+1]
			if x == y {
				table[i+1] = before + 1
			} else {
				table[i+1] = max(above, table[i])
			}
			before = above
		}
	}
	return table[len(b)]
}

// TestWordsAreBounded compares lines that have much in common and differ everywhere.
func TestWordsAreBounded(t *testing.T) {
	d := wordDiffer{steps: wordStepsMax}
	const lines = 1500
	rows := make([]row, 0, 2*lines)
	for i := range lines {
		rows = append(rows, row{Kind: "removed", Text: strings.Repeat("a b ", 90) + fmt.Sprint(i)})
	}
	for i := range lines {
		rows = append(rows, row{Kind: "added", Text: strings.Repeat("b a ", 90) + fmt.Sprint(i)})
	}
	d.mark(rows)
	if d.steps < -wordEditsMax*wordsMax || d.steps > wordStepsMax/2 {
		t.Errorf("%d steps left", d.steps)
	}
}

func TestDiffInTwoColumns(t *testing.T) {
	text := "diff --git a/x b/x\n@@ -1,4 +1,4 @@ <f>\n a\n-b <one>\n-c\n+b <two>\n d\n+e\n"
	all := newDiff(text, []api.DiffFile{{Path: "x"}}, false)
	all.Fit(pageBytesMax)
	var got []string
	for _, pair := range pairsOf(all.Files[0].rows) {
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
			`<tr class=gap><td colspan=3>@@ -1,4 +1,4 @@ &lt;f&gt;<tr class=same>`,
			`<tr class=removed><td id=f1L2>2<td><td>b &lt;<mark>one</mark>&gt;<tr`,
		},
		true: {
			`<tr class=gap><td colspan=4>`,
			`<tr><td id=f1L2>2<td class=removed>b &lt;<mark>one</mark>&gt;` +
				`<td id=f1R2>2<td class=added>b &lt;<mark>two</mark>&gt;<tr>`,
			`<td><td class=gap><tr>`,
		},
	} {
		all.Split = split
		table := string(all.Fit(pageBytesMax).Files[0].Table)
		for _, part := range wanted {
			if !strings.Contains(table, part) {
				t.Errorf("%v: no %s in %s", split, part, table)
			}
		}
	}
}

// inTable is all that the table of a diff may consist of.
var inTable = regexp.MustCompile(`^(?:[^<>"]|</?mark>|<(?:tr|td)(?: class=[a-z]+)?>|` +
	`<td id=f[0-9]+[LR]-?[0-9]+>|<td colspan=[34]>)*$`)

func FuzzDiffTables(f *testing.F) {
	f.Add("@@ -1 +1 @@\n-<script>\n+\"onclick=\n")
	f.Add("@@ -1,1 +99999999999999999999 @@\n x\n+\u202ex\n\\ No newline")
	f.Add("@@ \n+a\n@@ - + @@\n-b\ndiff --git ")
	f.Fuzz(func(t *testing.T, text string) {
		all := newDiff("diff --git a/x b/x\n"+text, []api.DiffFile{{Path: "x"}, {Path: "y"}}, false)
		for _, split := range []bool{false, true} {
			all.Split = split
			for _, file := range all.Fit(pageBytesMax).Files {
				if !inTable.MatchString(string(file.Table)) {
					t.Errorf("%q", file.Table)
				}
			}
		}
	})
}

// TestDiffsFit makes diffs of all sizes fit, and goes through the pages of each file: each row is
// on one of them.
func TestDiffsFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		text, files := randomDiff(random)
		room := diffRoomMin + random.IntN(pageBytesMax)
		all := newDiff(text, files, false)
		all.Split = random.IntN(2) == 0
		all.Fit(room)
		size := 0
		for i := range all.Files {
			one := &all.Files[i]
			size += len(one.Table) + one.linkBytes()
			if one.Apart && one.part == "" || one.Apart && one.Table != "" {
				t.Errorf("a file apart has %q there, and %q here", one.part, one.Table)
			}
			if one.Apart || one.More > 0 {
				checkPages(t, *one, all.Split)
			} else if len(one.rows) > 0 && one.next != len(one.rows)+1 {
				t.Errorf("%d of %d rows, and no more", one.next, len(one.rows))
			}
		}
		if size > room && len(files) > 1 {
			t.Errorf("%d files have %d bytes in a room of %d", len(files), size, room)
		}
	}
}

// checkPages reads a file page by page, forwards and back.
func checkPages(t *testing.T, one fileDiff, split bool) {
	t.Helper()
	one.read()
	all, pages := len(one.rows), 0
	for next := 1; next > 0; pages++ {
		one.from = next
		one.begin(diffRoomMin/2, split, new(wordDiffer))
		if one.next <= one.from || len(one.Table) > diffRoomMin {
			t.Fatalf("rows %d to %d in %d bytes", one.from, one.next, len(one.Table))
		}
		if one.from > 1 && (one.Earlier < 1 || one.Earlier >= one.from) {
			t.Fatalf("before row %d is %d", one.from, one.Earlier)
		}
		next = one.More
	}
	if one.next != all+1 {
		t.Errorf("%d pages end before row %d of %d", pages, one.next, all)
	}
}

// randomDiff is a diff with files of few and of many lines, short and long.
func randomDiff(random *rand.Rand) (string, []api.DiffFile) {
	var text strings.Builder
	var files []api.DiffFile
	for i := range 1 + random.IntN(30) {
		path := strings.Repeat("<", random.IntN(20)) + fmt.Sprint(i)
		files = append(files, api.DiffFile{Path: path, Action: "MODIFY"})
		fmt.Fprintf(&text, "diff --git a/%s b/%s\n@@ -1,9 +1,9 @@\n", path, path)
		most := []int{5, 100, 2000}[random.IntN(3)]
		for range 1 + random.IntN(most) {
			length := 40
			if random.IntN(50) == 0 {
				length = 4 * rowBytesMax
			}
			line := strings.Repeat(string("ä\"a <"[random.IntN(2)+2]), random.IntN(length))
			text.WriteString(string(" +-"[random.IntN(3)]) + line + "\n")
		}
	}
	return text.String(), files
}

// TestFilesOfADiffAreFound has texts in another order than their files, and files without a text.
func TestFilesOfADiffAreFound(t *testing.T) {
	text := "diff --git a/moved b/moved\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-gone\n" +
		"diff --git a/a b c b/a b c\n--- a/a b c\n+++ b/a b c\n@@ -1 +1 @@\n-x\n+y\n" +
		"diff --git \"a/\\303\\244 \\\"\" \"b/\\303\\244 \\\"\"\nnew file mode 100644\n" +
		"@@ -0,0 +1 @@\n+rename to z\n" +
		"diff --git a/from b/moved\nsimilarity index 50%\nrename from from\nrename to moved\n" +
		"@@ -1 +1 @@\n-1\n+2\n"
	from := "from"
	all := newDiff(text, []api.DiffFile{
		{Path: "a b c", Action: "MODIFY"}, {Path: "marks only", Action: "MODIFY"},
		{Path: "moved", Action: "DELETE"}, {Path: "moved", Action: "RENAME", PreviousPath: &from},
		{Path: "ä \"", Action: "CREATE"}, {Path: "empty", Action: "CREATE"},
	}, false)
	want := [][]string{{"x", "y"}, nil, {"gone"}, {"1", "2"}, {"rename to z"}, nil}
	for i := range all.Files {
		var got []string
		for _, one := range rowsOf(all.Files[i].part) {
			if one.Kind != "gap" {
				got = append(got, one.Text)
			}
		}
		if !slices.Equal(got, want[i]) {
			t.Errorf("%s has %q, not %q", all.Files[i].Path, got, want[i])
		}
	}
}

// TestFilesOfADiffAreListed checks how many of many files a page has.
func TestFilesOfADiffAreListed(t *testing.T) {
	list := make([]api.DiffFile, 5000)
	for i := range list {
		list[i].Path = fmt.Sprint(strings.Repeat("p", i%300), i)
	}
	all := newDiff("", list, true)
	seen, pages := 0, 0
	for next := 1; next > 0; pages++ {
		page := all
		page.listFrom(next)
		if page.First() != next || len(page.Files) == 0 || len(page.Files) > filesListed {
			t.Fatalf("%d files from %d on", len(page.Files), page.First())
		}
		seen += len(page.Files)
		if next = page.Last() + 1; page.NextFiles() == "" {
			next = 0
		}
	}
	if seen != len(list) || pages < len(list)/filesListed {
		t.Errorf("%d files on %d pages", seen, pages)
	}
}

func TestSidesOfConflicts(t *testing.T) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "before %d\n", i)
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

func TestWholeFilesThatADiffLeaves(t *testing.T) {
	d := diff{files: "prj_1", at: "chg_1"}
	for action, want := range map[string]string{
		"MODIFY": "/ui/p/prj_1/file/a/b?at=chg_1", "DELETE": "",
	} {
		file := fileDiff{DiffFile: api.DiffFile{Path: "a/b", Action: action}}
		if got := d.WholeLink(file); got != want {
			t.Errorf("%s: %q", action, got)
		}
	}
}
