package edit

import "strings"

// shortMax is the length up to which strings.Index is used: it then compares at most so many
// bytes at each place.
const shortMax = 32

// finder finds the occurrences of a text, which is not empty.
type finder struct {
	text string
	// borders holds, for each prefix of a text that is not short, the length of its longest border:
	// the longest shorter prefix that it also ends with.
	borders []int32
}

func newFinder(text string) *finder {
	f := &finder{text: text}
	if len(text) <= shortMax {
		return f
	}
	f.borders = make([]int32, len(text))
	border := int32(0)
	for i := 1; i < len(text); i++ {
		for border > 0 && text[i] != text[border] {
			border = f.borders[border-1]
		}
		if text[i] == text[border] {
			border++
		}
		f.borders[i] = border
	}
	return f
}

// each yields where the text occurs in another one, from left to right, until yield returns false.
// Occurrences that overlap an earlier one are included on demand.
func (f *finder) each(in string, overlapping bool, yield func(at int) bool) {
	if f.borders == nil {
		f.eachShort(in, overlapping, yield)
		return
	}
	text, same := f.text, int32(0)
	for i := 0; i < len(in); i++ {
		for same > 0 && in[i] != text[same] {
			same = f.borders[same-1]
		}
		if in[i] == text[same] {
			same++
		}
		if int(same) < len(text) {
			continue
		}
		if !yield(i + 1 - len(text)) {
			return
		}
		same = 0
		if overlapping {
			same = f.borders[len(text)-1]
		}
	}
}

func (f *finder) eachShort(in string, overlapping bool, yield func(at int) bool) {
	step := len(f.text)
	if overlapping {
		step = 1
	}
	for from := 0; from <= len(in); {
		at := strings.Index(in[from:], f.text)
		if at < 0 || !yield(from+at) {
			return
		}
		from += at + step
	}
}

// find returns where the text first occurs, -1 if it does not.
func (f *finder) find(in string) int {
	found := -1
	f.each(in, false, func(at int) bool {
		found = at
		return false
	})
	return found
}
