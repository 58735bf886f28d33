package diff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// script finds the edits between two texts as a diff shows them.
func script(old, new text, steps *int) []Edit {
	return slide(old, new, unplaced(old, new, steps))
}

// linesOf returns the lines of a text.
func linesOf(t text) [][]byte {
	lines := make([][]byte, t.lines())
	for i := range lines {
		lines[i] = t.line(i)
	}
	return lines
}

// applyEdits checks a script and applies it to the old lines.
func applyEdits(a, b [][]byte, edits []Edit) ([]byte, error) {
	var result []byte
	i, j := 0, 0
	for n, e := range edits {
		if e.OldStart < i || e.OldEnd < e.OldStart || e.NewEnd < e.NewStart ||
			e.OldStart-i != e.NewStart-j || e.OldEnd > len(a) || e.NewEnd > len(b) ||
			e.OldStart == e.OldEnd && e.NewStart == e.NewEnd || n > 0 && e.OldStart == i {
			return nil, fmt.Errorf("edit %d of %v is not valid after lines %d, %d", n, edits, i, j)
		}
		result = append(result, bytes.Join(a[i:e.OldStart], nil)...)
		result = append(result, bytes.Join(b[e.NewStart:e.NewEnd], nil)...)
		i, j = e.OldEnd, e.NewEnd
	}
	if len(a)-i != len(b)-j {
		return nil, fmt.Errorf("%v leave %d old and %d new lines", edits, len(a)-i, len(b)-j)
	}
	return append(result, bytes.Join(a[i:], nil)...), nil
}

func checkLines(t testing.TB, old, new []byte) (a, b [][]byte, edits []Edit) {
	t.Helper()
	steps := stepsMaxPair
	x, y := makeText(old), makeText(new)
	a, b, edits = linesOf(x), linesOf(y), script(x, y, &steps)
	if !bytes.Equal(bytes.Join(a, nil), old) || !bytes.Equal(bytes.Join(b, nil), new) {
		t.Fatalf("the lines of %.200q, %.200q are not their contents", old, new)
	}
	result, err := applyEdits(a, b, edits)
	if err != nil {
		t.Fatalf("script(%.200q, %.200q): %v", old, new, err)
	}
	if !bytes.Equal(result, new) {
		t.Fatalf("script(%.200q, %.200q) = %.200v makes %.200q", old, new, edits, result)
	}
	return a, b, edits
}

// shortest is the length of a shortest script, by the plain table.
func shortest(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			next := 1 + min(row[j], row[j+1])
			if bytes.Equal(a[i], b[j]) {
				next = diagonal
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

func size(edits []Edit) int {
	n := 0
	for _, e := range edits {
		n += e.OldEnd - e.OldStart + e.NewEnd - e.NewStart
	}
	return n
}

func newRand(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomText has lines of an alphabet that is small enough for them to repeat.
func randomText(r *rand.Rand, linesMax, alphabet int) []byte {
	var content []byte
	for range r.IntN(linesMax + 1) {
		content = fmt.Appendf(content, "%d\n", r.IntN(alphabet))
	}
	if len(content) > 0 && r.IntN(4) == 0 {
		content = content[:len(content)-1]
	}
	return content
}

func TestLinesShortest(t *testing.T) {
	r := newRand(t)
	for range 20000 {
		alphabet, linesMax := 1+r.IntN(8), 1+r.IntN(24)
		old, new := randomText(r, linesMax, alphabet), randomText(r, linesMax, alphabet)
		a, b, edits := checkLines(t, old, new)
		if got, want := size(edits), shortest(a, b); got != want {
			t.Fatalf("script(%q, %q) = %v, %d lines instead of %d", old, new, edits, got, want)
		}
	}
}

// TestLinesCapped: with any limit and any number of steps a script is valid.
func TestLinesCapped(t *testing.T) {
	r := newRand(t)
	for range 3000 {
		old, new := makeText(randomText(r, 300, 4)), makeText(randomText(r, 300, 4))
		steps := r.IntN(4000) - 10
		edits := script(old, new, &steps)
		result, err := applyEdits(linesOf(old), linesOf(new), edits)
		if err != nil || !bytes.Equal(result, new.content) {
			t.Fatalf("%q, %q: %v, %v", old.content, new.content, edits, err)
		}
	}
}

func TestLinesCases(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           []Edit
	}{
		{"both empty", "", "", nil},
		{"equal", "a\nb", "a\nb", nil},
		{"from empty", "", "a\nb\n", []Edit{{0, 0, 0, 2}}},
		{"to empty", "a\nb", "", []Edit{{0, 2, 0, 0}}},
		{"final newline", "a\nb\n", "a\nb", []Edit{{1, 2, 1, 2}}},
		{"carriage return", "a\r\nb\n", "a\nb\n", []Edit{{0, 1, 0, 1}}},
		{"only a newline", "\n", "\n\n", []Edit{{1, 1, 1, 2}}},
		{"paragraph goes down", "a {\n}\n\nc {\n}\n", "a {\n}\n\nb {\n}\n\nc {\n}\n",
			[]Edit{{3, 3, 3, 6}}},
		{"joined", "x\na\na\ny\n", "x\na\na\na\na\ny\n", []Edit{{3, 3, 3, 5}}},
		{"moved", "a\nb\nc\n", "c\na\nb\n", []Edit{{0, 0, 0, 1}, {2, 3, 3, 3}}},
	} {
		_, _, edits := checkLines(t, []byte(c.old), []byte(c.new))
		if fmt.Sprint(edits) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, edits, c.want)
		}
	}
}

// hostilePairs are contents of up to 1 MiB that are slow or large in a search without bounds.
var hostilePairs = sync.OnceValue(makeHostilePairs)

func makeHostilePairs() map[string][2][]byte {
	const size = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	generate := func(line func(i int) string) []byte {
		var content []byte
		for i := 0; ; i++ {
			l := line(i)
			if len(content)+len(l) > size {
				return content
			}
			content = append(content, l...)
		}
	}
	repeat := func(line string) []byte { return bytes.Repeat([]byte(line), size/len(line)) }
	letters := func(alphabet int) []byte {
		return generate(func(int) string { return string(rune('a'+r.IntN(alphabet))) + "\n" })
	}
	numbered := func(format string) []byte {
		return generate(func(i int) string { return fmt.Sprintf(format, i) })
	}
	shuffled := func(content []byte) []byte {
		lines := bytes.SplitAfter(content, []byte("\n"))
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return bytes.Join(lines, nil)
	}
	reversed := func(i int) string { return fmt.Sprintf("%06d\n", 149795-i) }
	rows := numbered("%06d\n")
	changed := generate(func(i int) string {
		if r.IntN(3) == 0 {
			return fmt.Sprintf("%06d\n", r.IntN(150000))
		}
		return fmt.Sprintf("%06d\n", i)
	})
	return map[string][2][]byte{
		"all different":     {numbered("old %d\n"), numbered("new %d\n")},
		"two letters":       {letters(2), letters(2)},
		"26 letters":        {letters(26), letters(26)},
		"one line":          {repeat("a"), repeat("b")},
		"newlines":          {repeat("\n"), repeat("\n")[size/2:]},
		"period":            {repeat("a\nb\n"), append([]byte("b\n"), repeat("b\na\n")[4:]...)},
		"periods":           {repeat("a\nb\nc\n"), repeat("a\nc\n")},
		"reversed":          {rows, generate(func(i int) string { return reversed(i % 149796) })},
		"shuffled":          {rows, shuffled(rows)},
		"a third random":    {rows, changed},
		"newlines, letters": {repeat("\n"), repeat("\na\n")},
		"20000 different":   {numbered("o%d\n")[:120000], numbered("n%d\n")[:120000]},
		"halves swapped":    {rows, append(bytes.Clone(rows[len(rows)/2:]), rows[:len(rows)/2]...)},
	}
}

// TestHostile: the steps of a search are bounded, whatever the contents are.
func TestHostile(t *testing.T) {
	for name, pair := range hostilePairs() {
		steps := stepsMaxPair
		old, new := makeText(pair[0]), makeText(pair[1])
		edits := script(old, new, &steps)
		used := stepsMaxPair - steps
		t.Logf("%-18s %7d, %7d lines: %9d steps, %7d edits, %7d lines", name, old.lines(),
			new.lines(), used, len(edits), size(edits))
		if used > 3*stepsMaxPair {
			t.Errorf("%s: %d steps", name, used)
		}
		result, err := applyEdits(linesOf(old), linesOf(new), edits)
		if err != nil || !bytes.Equal(result, pair[1]) {
			t.Errorf("%s: the script is not valid: %v", name, err)
		}
	}
}

// TestHostileMany: all files of a diff share their steps; after them each file has a few a line.
func TestHostileMany(t *testing.T) {
	pair := hostilePairs()["two letters"]
	old, new := makeText(pair[0][:40000]), makeText(pair[1][:40000])
	steps := stepsMaxPair / 8
	for range 20 {
		before := steps
		script(old, new, &steps)
		few := 8 * (old.lines() + new.lines())
		if used := before - steps; used > 3*max(before, 0)+few || before < 0 && used > few {
			t.Errorf("%d steps, %d were left", used, before)
		}
	}
	if steps > 0 {
		t.Errorf("%d steps are left", steps)
	}
}

func FuzzScript(f *testing.F) {
	f.Add([]byte("a\nb\nc"), []byte("a\nc\n"), 1000)
	f.Add([]byte("\n\n\n"), []byte("\r\n"), -1)
	f.Fuzz(func(t *testing.T, old, new []byte, steps int) {
		checkLines(t, old, new)
		x, y := makeText(old), makeText(new)
		edits := script(x, y, &steps)
		if result, err := applyEdits(linesOf(x), linesOf(y), edits); err != nil ||
			!bytes.Equal(result, new) {
			t.Fatalf("%q, %q: %v, %v", old, new, edits, err)
		}
	})
}

func BenchmarkScript(b *testing.B) {
	for name, pair := range hostilePairs() {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				steps := stepsMaxPair
				script(makeText(pair[0]), makeText(pair[1]), &steps)
			}
		})
	}
	old := bytes.Repeat([]byte("\tif err := step(ctx); err != nil {\n\t\treturn err\n\t}\n"), 300)
	new := append(append(bytes.Clone(old[:8000]), "\tother()\n"...), old[8100:]...)
	b.Run("typical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			steps := stepsMaxPair
			script(makeText(old), makeText(new), &steps)
		}
	})
}
