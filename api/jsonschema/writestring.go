package jsonschema

import (
	"io"
	"sync"
	"unicode/utf8"
)

// writeBytes is how much of a text WriteString encodes at one time.
const writeBytes = 8 << 10

var writeBuffers = sync.Pool{New: func() any {
	// An escaped byte takes up to six.
	buffer := make([]byte, 0, 6*writeBytes+16)
	return &buffer
}}

// WriteString writes what AppendString appends, in parts that end between characters. It needs
// little memory for a large text.
func WriteString(w io.Writer, s string) error {
	buffer, ok := writeBuffers.Get().(*[]byte)
	if !ok {
		panic("jsonschema: foreign value in the pool")
	}
	defer writeBuffers.Put(buffer)
	for first := true; ; first = false {
		n := CutText(s, writeBytes)
		last := n == len(s)
		part := AppendString((*buffer)[:0], s[:n])
		*buffer = part
		if !first {
			part = part[1:]
		}
		if !last {
			part = part[:len(part)-1]
		}
		if _, err := w.Write(part); err != nil || last {
			return err
		}
		s = s[n:]
	}
}

// CutText is the length of the longest beginning of a text that has at most that many bytes and
// ends between characters. In a text that is not UTF-8 it may end anywhere.
func CutText(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	for n := most; n > most-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(s[n]) {
			return n
		}
	}
	return most
}
