package merge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCases: the text of each merge is written without newlines, as words.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		name, base, ours, theirs string
		conflicts                int
		want                     string
	}{
		{"nothing", "", "", "", 0, ""},
		{"ours only", "a b c", "a x c", "a b c", 0, "a x c"},
		{"theirs only", "a b c", "a b c", "a b", 0, "a b"},
		{"both the same", "a b c", "a x c", "a x c", 0, "a x c"},
		{"apart", "a b c d e", "x b c d e", "a b c d y", 0, "x b c d y"},
		{"a line between", "a b c", "x b c", "a b y", 0, "x b y"},
		{"touching", "a b c d", "a x c d", "a b y d", 1, "a < x c = b y > d"},
		{"same line", "a b c", "a x c", "a y c", 1, "a < x = y > c"},
		{"deleted and changed", "a b c", "a c", "a x c", 1, "a < = x > c"},
		{"added at one place", "a b", "a x b", "a y b", 1, "a < x = y > b"},
		{"added the same", "a b", "a x b", "a x b", 0, "a x b"},
		{"a part is the same", "a b c", "a x 1 y c", "a x 2 y c", 1, "a x < 1 = 2 > y c"},
		{"deleted on both sides", "a b c d", "a d", "a d", 0, "a d"},
		{"deleted more", "a b c d e", "a e", "a b d e", 1, "a < = b d > e"},
		{"from nothing", "", "a b", "a c", 1, "a < b = c >"},
		{"from nothing, the same", "", "a b", "a b", 0, "a b"},
		{"all deleted, changed", "a b", "", "a x", 1, "< = a x >"},
		{"moved and changed", "a b c d e", "b c d e a", "a b c x e", 0, "b c x e a"},
		{"two near conflicts are one", "a 1 2 3 b", "x 1 2 3 y", "z 1 2 3 w", 1,
			"< x 1 2 3 y = z 1 2 3 w >"},
		{"two conflicts", "a 1 2 3 4 b", "x 1 2 3 4 y", "z 1 2 3 4 w", 2,
			"< x = z > 1 2 3 4 < y = w >"},
		{"braces do not part conflicts", "a { } { } b", "x { } { } y", "z { } { } w", 1,
			"< x { } { } y = z { } { } w >"},
	} {
		words := func(text string) []byte {
			return []byte(strings.Join(append(strings.Fields(text), ""), "\n"))
		}
		want := string(words(c.want))
		for short, long := range map[string]string{
			"<\n": "<<<<<<< ours\n", "=\n": "=======\n", ">\n": ">>>>>>> theirs\n",
		} {
			want = strings.ReplaceAll(want, short, long)
		}
		got := Merge(words(c.base), words(c.ours), words(c.theirs))
		if string(got.Text) != want || got.Conflicts != c.conflicts {
			t.Errorf("%s: %d conflicts %q, want %d %q", c.name, got.Conflicts, got.Text,
				c.conflicts, want)
		}
	}
}

func TestLineEnds(t *testing.T) {
	for _, c := range []struct {
		name, base, ours, theirs string
		conflicts                int
		want                     string
	}{
		{"end added", "a\nb", "a\nb\n", "x\nb", 1,
			"<<<<<<< ours\na\nb\n=======\nx\nb\n>>>>>>> theirs\n"},
		{"end added far away", "a\n1\nb", "a\n1\nb\n", "x\n1\nb", 0, "x\n1\nb\n"},
		{"end removed", "a\n1\nb\n", "a\n1\nb", "x\n1\nb\n", 0, "x\n1\nb"},
		{"appended to no end", "a", "a\nb", "a\nc", 1,
			"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"},
		{"carriage returns", "a\r\nb\r\n", "a\r\nx\r\n", "a\r\ny", 1,
			"a\r\n<<<<<<< ours\r\nx\r\n=======\r\ny\r\n>>>>>>> theirs\r\n"},
		{"carriage returns of one side", "a\nb\n", "a\r\nb\r\n", "a\nc\n", 1,
			"<<<<<<< ours\na\r\nb\r\n=======\na\nc\n>>>>>>> theirs\n"},
	} {
		got := Merge([]byte(c.base), []byte(c.ours), []byte(c.theirs))
		if string(got.Text) != c.want || got.Conflicts != c.conflicts {
			t.Errorf("%s: %d conflicts %q, want %d %q", c.name, got.Conflicts, got.Text,
				c.conflicts, c.want)
		}
	}
}

// checkHunks applies what the differ finds, with some steps, to the old lines.
func checkHunks(t testing.TB, old, new []byte, steps int) {
	t.Helper()
	in := newInterner()
	a, b := in.text(old), in.text(new)
	d := newDiffer(len(in.lines))
	d.steps = steps
	var applied []byte
	var i, j int32
	for n, h := range d.hunks(a.numbers, b.numbers) {
		if h.oldStart < i || h.oldEnd < h.oldStart || h.newEnd < h.newStart ||
			h.oldStart-i != h.newStart-j || h.oldStart == h.oldEnd && h.newStart == h.newEnd ||
			n > 0 && h.oldStart == i {
			t.Fatalf("%.300q, %.300q: hunk %d, %v, is not valid behind %d, %d", old, new, n, h, i, j)
		}
		applied = append(applied, a.lines(span{i, h.oldStart})...)
		applied = append(applied, b.lines(span{h.newStart, h.newEnd})...)
		i, j = h.oldEnd, h.newEnd
	}
	applied = append(applied, a.lines(span{i, a.count()})...)
	if !bytes.Equal(applied, new) {
		t.Fatalf("%.300q, %.300q: the hunks make %.300q", old, new, applied)
	}
	if slices.ContainsFunc(d.oldCounts, isSet) || slices.ContainsFunc(d.newCounts, isSet) {
		t.Fatal("counts are left")
	}
}

func isSet(count int32) bool { return count != 0 }

// checkMerge holds what is true of every merge, also line by line, where Merge need not look.
func checkMerge(t testing.TB, c triple) {
	t.Helper()
	for name, m := range map[string]triple{
		"theirs unchanged": {c.base, c.ours, c.base}, "ours unchanged": {c.base, c.base, c.ours},
		"same changes": {c.base, c.ours, c.ours},
	} {
		for _, result := range []Result{
			Merge(m.base, m.ours, m.theirs), new(Budget).lines(m.base, m.ours, m.theirs),
		} {
			if result.Conflicts != 0 || !bytes.Equal(result.Text, c.ours) {
				t.Fatalf("%s: base %q, %q: %d conflicts %q", name, c.base, c.ours, result.Conflicts,
					result.Text)
			}
		}
	}
	one, other := Merge(c.base, c.ours, c.theirs), Merge(c.base, c.theirs, c.ours)
	if (one.Conflicts == 0) != (other.Conflicts == 0) {
		t.Fatalf("base %q: %q and %q have %d conflicts, or %d the other way", c.base, c.ours,
			c.theirs, one.Conflicts, other.Conflicts)
	}
	if one.Conflicts == 0 && !bytes.Equal(one.Text, other.Text) {
		t.Fatalf("base %q: %q and %q make %q, or %q the other way", c.base, c.ours, c.theirs,
			one.Text, other.Text)
	}
	for _, marker := range []string{oursMarker, middleMarker, theirsMarker} {
		of := func(content []byte) int { return strings.Count("\n"+string(content), "\n"+marker) }
		if of(c.ours) == 0 && of(c.theirs) == 0 && of(one.Text) != one.Conflicts {
			t.Fatalf("%d conflicts, but %d times %q in %q", one.Conflicts, of(one.Text), marker,
				one.Text)
		}
	}
}

func TestRandom(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		c := randomTriple(r, 1+r.IntN(60))
		checkMerge(t, c)
		checkHunks(t, c.ours, c.theirs, r.IntN(400)-20)
	}
}

// TestBudget: whatever the texts are, merges that share a budget end when it does, and what they
// make of the lines is valid.
func TestBudget(t *testing.T) {
	t.Parallel()
	const steps = 1 << 20
	budget := Budget{used: stepsMax - steps}
	for name, c := range hostile(1 << 17) {
		before := budget.used
		result := budget.Merge(c.base, c.ours, c.theirs)
		used := budget.used - before
		t.Logf("%-18s %8d steps, %d conflicts, %d bytes", name, used, result.Conflicts,
			len(result.Text))
		// A round of a search and the trimmed ends of a box are not interrupted.
		lines := bytes.Count(c.base, []byte("\n")) + bytes.Count(c.ours, []byte("\n")) +
			bytes.Count(c.theirs, []byte("\n"))
		if used > max(stepsMax-before, stepsMin)+lines {
			t.Errorf("%s: %d steps, %d were left", name, used, stepsMax-before)
		}
	}
	for name, c := range hostile(1 << 14) {
		t.Run(name, func(t *testing.T) {
			for _, steps := range []int{-1, 0, 1000, 1 << 20} {
				checkHunks(t, c.base, c.ours, steps)
				checkHunks(t, c.ours, c.theirs, steps)
			}
		})
	}
}

// TestBudgetUsedUp: without budget, changes apart from each other still merge.
func TestBudgetUsedUp(t *testing.T) {
	var base, ours, theirs []byte
	for i := range 20000 {
		line := fmt.Sprintf("%d\n", i)
		base, ours, theirs = append(base, line...), append(ours, line...), append(theirs, line...)
		if i%200 == 50 {
			ours = append(ours, "ours\n"...)
		}
		if i%200 == 150 {
			theirs = append(theirs, "theirs\n"...)
		}
	}
	budget := Budget{used: 2 * stepsMax}
	if result := budget.Merge(base, ours, theirs); result.Conflicts != 0 {
		t.Errorf("%d conflicts", result.Conflicts)
	}
}

// TestTextIsNotShared: changing the result does not change the inputs.
func TestTextIsNotShared(t *testing.T) {
	base, other := []byte("a\n"), []byte("b\n")
	for _, result := range []Result{
		Merge(base, base, base), Merge(base, other, base), Merge(base, base, other),
		Merge(base, other, other),
	} {
		result.Text[0] = 'x'
		if string(base) != "a\n" || string(other) != "b\n" {
			t.Fatalf("%q, %q", base, other)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nx\nc"), []byte("a\nb\nc\nd\n"), 100)
	f.Add([]byte("\n\n\n"), []byte("\r\n}\n"), []byte(""), -1)
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte, steps int) {
		checkMerge(t, triple{base, ours, theirs})
		checkHunks(t, base, ours, steps)
		checkHunks(t, ours, theirs, steps)
	})
}
