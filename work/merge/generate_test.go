package merge

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// triple is one merge to try.
type triple struct{ base, ours, theirs []byte }

func newRand(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// vocabulary gives the lines that a text is made of. Few of them meet often.
func vocabulary(r *rand.Rand) func() string {
	code := []string{"}", "{", "", "\t}", "\treturn nil", "func f() {", "if x {", "// a", "--", "é"}
	size := 1 + r.IntN(8)
	if r.IntN(3) == 0 {
		size = 1 + r.IntN(400)
	}
	end := func() string { return "\n" }
	switch r.IntN(6) {
	case 0:
		end = func() string { return "\r\n" }
	case 1:
		end = func() string { return []string{"\n", "\r\n", "\n", "\n"}[r.IntN(4)] }
	}
	switch r.IntN(4) {
	case 0:
		return func() string { return code[r.IntN(len(code))] + end() }
	case 1:
		// Some lines are one of a few, and the others occur once.
		share := 1 + r.IntN(12)
		return func() string {
			if r.IntN(12) < share {
				return code[r.IntN(3)] + end()
			}
			return fmt.Sprint(r.IntN(1e6)) + end()
		}
	}
	return func() string { return fmt.Sprint(r.IntN(size)) + end() }
}

func randomLines(r *rand.Rand, line func() string, count int) []string {
	lines := make([]string, count)
	for i := range lines {
		lines[i] = line()
	}
	return lines
}

// edited changes lines in some places: replaced, inserted, deleted, moved, doubled or sorted.
func edited(r *rand.Rand, line func() string, lines []string, edits, most int) []string {
	lines = slices.Clone(lines)
	for range edits {
		start := r.IntN(len(lines) + 1)
		end := min(len(lines), start+r.IntN(most+1))
		block := slices.Clone(lines[start:end])
		switch r.IntN(7) {
		case 0:
			lines = slices.Replace(lines, start, end, randomLines(r, line, r.IntN(most+1))...)
		case 1:
			lines = slices.Insert(lines, start, randomLines(r, line, 1+r.IntN(most+1))...)
		case 2:
			lines = slices.Delete(lines, start, end)
		case 3:
			lines = slices.Delete(lines, start, end)
			lines = slices.Insert(lines, r.IntN(len(lines)+1), block...)
		case 4:
			lines = slices.Insert(lines, r.IntN(len(lines)+1), block...)
		case 5:
			r.Shuffle(len(block), func(i, j int) { block[i], block[j] = block[j], block[i] })
			copy(lines[start:end], block)
		case 6:
			if start < len(lines) {
				lines[start] = line()
			}
		}
	}
	return lines
}

// exchanged lets lines change places, so that none is new.
func exchanged(r *rand.Rand, lines []string, count int) []string {
	lines = slices.Clone(lines)
	for range count {
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

// joined makes a content of lines, now and then without the last end or with other ends.
func joined(r *rand.Rand, lines []string) []byte {
	content := strings.Join(lines, "")
	if r.IntN(5) == 0 {
		content = strings.TrimSuffix(content, "\n")
	}
	switch r.IntN(40) {
	case 0:
		content = strings.ReplaceAll(content, "\r\n", "\n")
	case 1:
		content = strings.ReplaceAll(strings.ReplaceAll(content, "\r\n", "\n"), "\n", "\r\n")
	}
	return []byte(content)
}

// randomTriple makes a base of at most linesMax lines and two sides, which share some changes.
func randomTriple(r *rand.Rand, linesMax int) triple {
	line := vocabulary(r)
	base := randomLines(r, line, r.IntN(linesMax+1))
	if r.IntN(4) == 0 {
		line = vocabulary(r)
	}
	edits, most := 1+r.IntN(2+linesMax/20), 1+r.IntN(2+linesMax/10)
	start := base
	if r.IntN(3) == 0 {
		start = edited(r, line, base, edits, most)
	}
	ours := edited(r, line, start, r.IntN(edits+1), most)
	theirs := edited(r, line, start, r.IntN(edits+1), most)
	switch r.IntN(25) {
	case 0:
		base = nil
	case 1:
		ours = randomLines(r, line, r.IntN(linesMax+1))
	case 2:
		theirs = ours[:r.IntN(len(ours)+1)]
	}
	return triple{joined(r, base), joined(r, ours), joined(r, theirs)}
}

// hostile gives texts of a size that are slow or large in a merge without bounds.
func hostile(size int) map[string]triple {
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
	rows := numbered("%06d\n")
	rotated := func(at int) []byte { return append(bytes.Clone(rows[at:]), rows[:at]...) }
	changed := func(share int) []byte {
		return generate(func(i int) string {
			if r.IntN(share) == 0 {
				return fmt.Sprintf("%06d\n", r.IntN(size/7))
			}
			return fmt.Sprintf("%06d\n", i)
		})
	}
	// Among lines that occur once and one that is everywhere, hunks slide far.
	sparse := func(step int) []byte {
		return generate(func(i int) string {
			if i%step == 0 {
				return fmt.Sprintf("%d\n", i)
			}
			return "a\n"
		})
	}
	return map[string]triple{
		"all different":  {numbered("b%d\n"), numbered("o%d\n"), numbered("t%d\n")},
		"one line":       {repeat("a"), repeat("b"), repeat("c")},
		"newlines":       {repeat("\n"), repeat("\n")[size/2:], repeat("\n")[size/3:]},
		"newlines added": {repeat("\n")[size/2:], repeat("\n"), repeat("\n")[size/3:]},
		"two letters":    {letters(2), letters(2), letters(2)},
		"26 letters":     {letters(26), letters(26), letters(26)},
		"period": {repeat("a\nb\n"), append([]byte("b\n"), repeat("b\na\n")[4:]...),
			append([]byte("b\n"), repeat("a\nb\n")[8:]...)},
		"periods":            {repeat("a\nb\nc\n"), repeat("a\nc\n"), repeat("b\nc\na\nc\n")},
		"reversed":           {rows, reversedLines(rows), rows[size/2:]},
		"shuffled":           {rows, shuffled(rows), shuffled(rows)},
		"a third random":     {rows, changed(3), changed(3)},
		"a hundredth random": {rows, changed(100), changed(100)},
		"newlines, letters":  {repeat("\n"), repeat("\na\n"), repeat("a\n\n\n")},
		"sparse":             {sparse(2), sparse(3), sparse(5)},
		"sparse in one line": {repeat("a\n"), sparse(100), sparse(101)},
		"halves swapped":     {rows, rotated(len(rows) / 14 * 7), rotated(len(rows) / 35 * 14)},
	}
}

func reversedLines(content []byte) []byte {
	lines := bytes.SplitAfter(content, []byte("\n"))
	slices.Reverse(lines)
	return bytes.Join(lines, nil)
}
