package jsonschema

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
	"unsafe"
)

const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// unsafeWord marks, by their high bits, the bytes of a word that a JSON string must escape: those
// below 0x20, the quote and the backslash. Marks above the lowest one may be false, so only the
// lowest is of use. Bytes outside of ASCII are not marked, and may hide those behind them.
func unsafeWord(word uint64) uint64 {
	quote := word ^ everyByte*'"'
	slash := word ^ everyByte*'\\'
	low := (word - everyByte*0x20) | (quote - everyByte) | (slash - everyByte)
	return low & ^word & highBits
}

// AppendString writes a JSON string. What is not UTF-8 becomes U+FFFD, a byte at a time.
//
// The text is copied a word at a time into memory that has room for it without escapes. A word with
// something to escape counts up to there, and the rest of the text goes on behind the escape.
func AppendString(dst []byte, s string) []byte {
	dst = append(slices.Grow(dst, len(s)+16), '"')
	raw := unsafe.Slice(unsafe.StringData(s), len(s))
	for len(raw) >= 8 {
		word := binary.LittleEndian.Uint64(raw)
		dst = binary.LittleEndian.AppendUint64(dst, word)
		mark := unsafeWord(word) | word&highBits
		if mark == 0 {
			raw = raw[8:]
			continue
		}
		clean := bits.TrailingZeros64(mark) / 8
		dst, raw = appendOdd(dst[:len(dst)-8+clean], raw[clean:])
	}
	for len(raw) > 0 {
		dst, raw = appendOdd(dst, raw)
	}
	return append(dst, '"')
}

// StringBytes is the size of what AppendString writes for UTF-8, or slightly more.
func StringBytes(s string) int {
	size := len(s) + len(`""`)
	raw := unsafe.Slice(unsafe.StringData(s), len(s))
	for len(raw) >= 8 {
		if word := binary.LittleEndian.Uint64(raw); unsafeWord(word)|word&highBits != 0 {
			size += escapeBytes(raw[:8])
		}
		raw = raw[8:]
	}
	return size + escapeBytes(raw)
}

// escapeBytes is how much longer a text gets by escapes.
func escapeBytes(raw []byte) (more int) {
	for _, c := range raw {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == '"' || c == '\\':
			more++
		case c < 0x20:
			more += len(`u0000`)
		}
	}
	return more
}

// appendOdd writes the first part of a text: an escape, a plain byte, or a run of non-ASCII
// characters.
func appendOdd(dst, raw []byte) (longer, rest []byte) {
	if c := raw[0]; c < utf8.RuneSelf {
		if c < 0x20 || c == '"' || c == '\\' {
			return appendEscape(dst, c), raw[1:]
		}
		return append(dst, c), raw[1:]
	}
	at := 0
	for at < len(raw) && raw[at] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(raw[at:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, raw[:at]...)
			return utf8.AppendRune(dst, utf8.RuneError), raw[at+1:]
		}
		at += size
	}
	return append(dst, raw[:at]...), raw[at:]
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// The range of years that RFC 3339 can write, in Unix milliseconds.
const (
	millisMin = -62167219200000
	millisMax = 253402300799999
)

// AppendTime writes Unix milliseconds as a quoted RFC 3339 time in UTC with milliseconds, for
// example "2026-11-20T09:06:00.000Z". Times outside the years 0 to 9999 are moved to their nearest
// end.
func AppendTime(dst []byte, millis int64) []byte {
	dst = append(dst, '"')
	dst = AppendTimeText(dst, millis)
	return append(dst, '"')
}

// TimeText is a time in Unix milliseconds as the wire has it, without quotes.
func TimeText(millis int64) string { return string(AppendTimeText(nil, millis)) }

// AppendTimeText is AppendTime without the quotes.
func AppendTimeText(dst []byte, millis int64) []byte {
	const dayMillis = 24 * 60 * 60 * 1000
	// Counting from year 0 keeps everything positive.
	since := uint64(min(max(millis, millisMin), millisMax) - millisMin) // #nosec G115 -- positive
	year, month, day := civil(since / dayMillis)
	rest := since % dayMillis
	dst = append2(append2(dst, year/100), year%100)
	dst = append2(append(dst, '-'), month)
	dst = append2(append(dst, '-'), day)
	dst = append2(append(dst, 'T'), rest/3_600_000)
	dst = append2(append(dst, ':'), rest/60_000%60)
	dst = append2(append(dst, ':'), rest/1000%60)
	dst = append(dst, '.', byte('0'+rest%1000/100))
	return append(append2(dst, rest%100), 'Z')
}

// civil is the Gregorian date of a count of days from 0000-01-01. Years are counted from March, so
// that the leap day is the last of its year.
func civil(days uint64) (year, month, day uint64) {
	days += 146_097 - 60 // from -0400-03-01, where a cycle of 400 years starts
	era := days / 146_097
	ofEra := days % 146_097
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36_524 - ofEra/146_096) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*ofYear + 2) / 153
	day = ofYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	year = yearOfEra + era*400 - 400
	if month > 12 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

func append2(dst []byte, n uint64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}
