package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const wantText = `diff --git a/new file b/new file
new file mode 100644
--- /dev/null
+++ b/new file` + "\t" + `
@@ -0,0 +1,2 @@
+a
+b
\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git "a/\303\251\"" "b/\303\251\""
--- "a/\303\251\""
+++ "b/\303\251\""
@@ -1,5 +1,5 @@
 1
-2
+zwei
 3
 4
 5
@@ -8,5 +8,4 @@
 8
 9
 10
-11
 12
diff --git a/from b/to
similarity index 100%
rename from from
rename to to
diff --git a/here b/there
similarity index 66%
rename from here
rename to there
--- a/here
+++ b/there
@@ -1,3 +1,2 @@
 x
-y
 z
`

func TestUnifiedText(t *testing.T) {
	long := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	result := Unified([]File{
		{Path: "new file", Action: Create, New: []byte("a\nb")},
		{Path: "empty", Action: Create},
		{Path: "gone", Action: Delete, Old: []byte("a\n")},
		{Path: "é\"", PreviousPath: "ignored", Action: Modify, Old: []byte(long),
			New: []byte(strings.Replace(strings.Replace(long, "2\n", "zwei\n", 1), "11\n", "", 1))},
		{Path: "to", PreviousPath: "from", Action: Rename, Old: []byte("x\n"), New: []byte("x\n")},
		{Path: "there", PreviousPath: "here", Action: Rename, Old: []byte("x\ny\nz\n"),
			New: []byte("x\nz\n")},
		{Path: "same", Action: Modify, Old: []byte("x\n"), New: []byte("x\n")},
	}, 100000)
	if result.Text != wantText || result.Truncated {
		t.Errorf("got\n%s\nwant\n%s", result.Text, wantText)
	}
	stats := []FileStat{
		{"new file", "", Create, 2, 0}, {"empty", "", Create, 0, 0}, {"gone", "", Delete, 0, 1},
		{"é\"", "", Modify, 1, 2}, {"to", "from", Rename, 0, 0}, {"there", "here", Rename, 0, 1},
		{"same", "", Modify, 0, 0},
	}
	if !slices.Equal(result.Files, stats) {
		t.Errorf("%+v", result.Files)
	}
}

func TestUnifiedUnknownAction(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Unified([]File{{Path: "a", Action: "COPY"}}, 100)
}

// TestUnifiedCut: for every limit the text is the longest run of whole lines that fits.
func TestUnifiedCut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var files []File
	for i := range 5 {
		files = append(files, randomChange(r, fmt.Sprintf("ordner-é-%d", i), tree{}, tree{})...)
	}
	whole := Unified(files, 1<<30)
	chars := utf8.RuneCountInString(whole.Text)
	for limit := -1; limit <= chars+1; limit++ {
		cut := Unified(files, limit)
		if cut.Truncated != (limit < chars) || !strings.HasPrefix(whole.Text, cut.Text) {
			t.Fatalf("%d characters: not the beginning, or truncated %v", limit, cut.Truncated)
		}
		if !slices.Equal(cut.Files, whole.Files) {
			t.Fatalf("%d characters: other statistics", limit)
		}
		if !cut.Truncated {
			continue
		}
		rest := whole.Text[len(cut.Text):]
		next := rest[:strings.IndexByte(rest, '\n')+1]
		if more := rest[len(next):]; strings.HasPrefix(more, "\\ No newline") &&
			!strings.HasPrefix(next, "\\") {
			next += "\\ No newline at end of file\n"
		}
		size := utf8.RuneCountInString(cut.Text)
		if size > max(limit, 0) || size+utf8.RuneCountInString(next) <= limit {
			t.Fatalf("%d characters: %d used, %q was left out", limit, size, next)
		}
		if cut.Text != "" && !strings.HasSuffix(cut.Text, "\n") {
			t.Fatalf("%d characters: not at a line end", limit)
		}
	}
}

// TestUnifiedStats: the statistics are those of the text.
func TestUnifiedStats(t *testing.T) {
	r := newRand(t)
	for range 300 {
		for _, file := range randomChange(r, "d", tree{}, tree{}) {
			result := Unified([]File{file}, 1<<30)
			added, deleted := 0, 0
			_, hunks, _ := strings.Cut(result.Text, "\n@@ ")
			for line := range strings.Lines(hunks) {
				switch line[0] {
				case '+':
					added++
				case '-':
					deleted++
				}
			}
			if strings.HasPrefix(hunks, "-") {
				deleted--
			}
			if s := result.Files[0]; s.Additions != added || s.Deletions != deleted {
				t.Fatalf("%+v for\n%s", s, result.Text)
			}
		}
	}
}

func FuzzUnified(f *testing.F) {
	f.Add([]byte("a\n"), []byte("b"), "p", "q", 100)
	f.Fuzz(func(t *testing.T, old, new []byte, path, previous string, charsMax int) {
		for _, action := range []Action{Create, Modify, Delete, Rename} {
			result := Unified([]File{{path, previous, action, old, new, nil}}, charsMax)
			if utf8.RuneCountInString(result.Text) > max(charsMax, 0) {
				t.Fatalf("%d characters in %q", charsMax, result.Text)
			}
		}
	})
}

func BenchmarkUnified(b *testing.B) {
	pair := hostilePairs()["a third random"]
	files := []File{{Path: "a", Action: Modify, Old: pair[0], New: pair[1]}}
	b.ReportAllocs()
	for b.Loop() {
		Unified(files, 200000)
	}
}
