package web

import "unicode"

const (
	// wordsMax is the most words of a line that are compared, wordEditsMax the most that may differ.
	wordsMax, wordEditsMax = 400, 60
	// wordStepsMax is what comparing all lines of a page takes at most.
	wordStepsMax = 1 << 20
)

// linePart is a part of a line; it is marked if the other line of its pair does not have it.
type linePart struct {
	Text   string
	Marked bool
}

// wordDiffer marks words of pairs of lines until its steps are spent.
type wordDiffer struct{ steps int }

// pair returns the parts of two lines, nil if they have too little in common to be compared.
func (d *wordDiffer) pair(old, now string) (was, is []linePart) {
	a, b := wordsOf(old), wordsOf(now)
	if len(a) > wordsMax || len(b) > wordsMax {
		return nil, nil
	}
	keptA, keptB := d.common(a, b)
	same := 0
	for i, kept := range keptA {
		if kept {
			same += len(a[i])
		}
	}
	if same*3 < max(len(old), len(now)) {
		return nil, nil
	}
	return partsOf(a, keptA), partsOf(b, keptB)
}

// wordsOf splits a line into words, spaces and other characters.
func wordsOf(line string) (words []string) {
	const word, space = 1, 2
	start, last := 0, 0
	for i, r := range line {
		kind := 0
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || unicode.IsMark(r):
			kind = word
		case unicode.IsSpace(r):
			kind = space
		}
		if i > start && (kind == 0 || kind != last) {
			words = append(words, line[start:i])
			start = i
		}
		last = kind
	}
	if start < len(line) {
		words = append(words, line[start:])
	}
	return words
}

// reached has, for each diagonal, how far into the first list the furthest path comes.
type reached [2*middle + 1]int

const middle = wordEditsMax + 1

// begin is where the step of a path onto a diagonal begins in the first list, and from which one.
func (r *reached) begin(diagonal, edits int) (x, from int) {
	if diagonal == -edits || diagonal != edits && r[middle+diagonal-1] < r[middle+diagonal+1] {
		return r[middle+diagonal+1], diagonal + 1
	}
	return r[middle+diagonal-1], diagonal - 1
}

// common finds the longest part that two lists have in common, as Myers describes in "An O(ND)
// Difference Algorithm", and returns which words of each are in it: none if too many differ.
func (d *wordDiffer) common(a, b []string) (keptA, keptB []bool) {
	keptA, keptB = make([]bool, len(a)), make([]bool, len(b))
	var now reached
	var trace []reached
	for edits := 0; edits <= wordEditsMax; edits++ {
		trace = append(trace, now)
		for diagonal := -edits; diagonal <= edits; diagonal += 2 {
			x, from := now.begin(diagonal, edits)
			if from < diagonal {
				x++
			}
			for x < len(a) && x-diagonal >= 0 && x-diagonal < len(b) && a[x] == b[x-diagonal] {
				x++
				d.steps--
			}
			if d.steps--; d.steps < 0 {
				return keptA, keptB
			}
			now[middle+diagonal] = x
			if x >= len(a) && x-diagonal >= len(b) {
				walkBack(trace, len(a)-len(b), len(a), keptA, keptB)
				return keptA, keptB
			}
		}
	}
	return keptA, keptB
}

// walkBack marks what the path to the end of both lists keeps.
func walkBack(trace []reached, diagonal, x int, keptA, keptB []bool) {
	for edits := len(trace) - 1; edits >= 0; edits-- {
		start, from := trace[edits].begin(diagonal, edits)
		if from < diagonal {
			start++
		}
		for ; x > start; x-- {
			keptA[x-1], keptB[x-1-diagonal] = true, true
		}
		x, diagonal = trace[edits][middle+from], from
	}
}

// partsOf joins neighbours that are alike.
func partsOf(words []string, kept []bool) (parts []linePart) {
	for i, word := range words {
		if last := len(parts) - 1; last >= 0 && parts[last].Marked != kept[i] {
			parts[last].Text += word
			continue
		}
		parts = append(parts, linePart{Text: word, Marked: !kept[i]})
	}
	return parts
}
