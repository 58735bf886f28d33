// Package edit replaces texts in a file. An edit names the text to replace by itself, not by its
// place: the text must occur once, or every occurrence is replaced. Edits apply in order, each to
// the result of the one before it.
//
// A refusal helps to correct the edit. If the text occurs several times, it has the lines of the
// places. If it does not occur, it has the lines that are most like it, and says whether the text
// occurs with other white space, or occurred before an earlier edit replaced it (nearest.go).
//
// The time is linear in the texts for any input: a text of more than a few bytes is found by the
// algorithm of Knuth, Morris and Pratt (find.go), because strings.Index may compare a long prefix
// at every place. The memory is that of the text, its result, and four bytes for each byte of the
// text to replace.
package edit

import (
	"fmt"
	"strings"
)

// Edit replaces a text by another one.
type Edit struct {
	// Old is the text to replace; it is not empty. New may be empty.
	Old, New string
	// All replaces every occurrence, from left to right; those that overlap a replaced one stay.
	// Otherwise Old must occur once, and occurrences that overlap count.
	All bool
}

// NotFoundError says that the text of an edit does not occur.
type NotFoundError struct {
	// Index is the number of the edit, from 0.
	Index int
	// original is the text before all edits, text that before this one.
	original, text, old string
}

// Error is for logs and tests.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("edit %d: the text does not occur", e.Index)
}

// PlacesMax is the maximum number of places that an AmbiguousError lists.
const PlacesMax = 100

// AmbiguousError says that the text of an edit occurs several times.
type AmbiguousError struct {
	Index int
	// Lines are the lines in which the occurrences begin, from 1, at most PlacesMax of them.
	Lines []int
	// Count is the number of all occurrences.
	Count int
}

// Error is for logs and tests.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("edit %d: the text occurs %d times", e.Index, e.Count)
}

// TooLargeError says that the result of an edit is too large. This also applies to the result of
// an edit that a later one makes smaller.
type TooLargeError struct {
	Index int
	// Bytes is the size of the result.
	Bytes int
}

// Error is for logs and tests.
func (e *TooLargeError) Error() string { return fmt.Sprintf("edit %d: %d bytes", e.Index, e.Bytes) }

// Apply returns a text with all edits, or a NotFoundError, an AmbiguousError or a TooLargeError.
// No result is larger than bytesMax. It stops at the first edit that fails, because the later ones
// apply to its result.
func Apply(text string, edits []Edit, bytesMax int) (string, error) {
	original := text
	for i := range edits {
		next, err := edits[i].apply(text, i, bytesMax)
		if missing, ok := err.(*NotFoundError); ok {
			missing.original = original
		}
		if err != nil {
			return "", err
		}
		text = next
	}
	return text, nil
}

func (e *Edit) apply(text string, index, bytesMax int) (string, error) {
	f := newFinder(e.Old)
	places := 0
	f.each(text, !e.All, func(int) bool {
		places++
		return e.All || places < 2
	})
	switch {
	case places == 0:
		return "", &NotFoundError{Index: index, text: text, old: e.Old}
	case places > 1 && !e.All:
		return "", f.ambiguous(text, index)
	}
	if size := len(text) + places*(len(e.New)-len(e.Old)); size > bytesMax {
		return "", &TooLargeError{Index: index, Bytes: size}
	}
	return f.replace(text, e.New, places), nil
}

func (f *finder) replace(text, by string, places int) string {
	var out strings.Builder
	out.Grow(len(text) + places*(len(by)-len(f.text)))
	from := 0
	f.each(text, false, func(at int) bool {
		out.WriteString(text[from:at])
		out.WriteString(by)
		from = at + len(f.text)
		return true
	})
	out.WriteString(text[from:])
	return out.String()
}

func (f *finder) ambiguous(text string, index int) *AmbiguousError {
	out := &AmbiguousError{Index: index}
	line, from := 1, 0
	f.each(text, true, func(at int) bool {
		if out.Count++; out.Count <= PlacesMax {
			line += strings.Count(text[from:at], "\n")
			from = at
			out.Lines = append(out.Lines, line)
		}
		return true
	})
	return out
}
