package jsonschema

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// parts collects what is written, and checks that each part is UTF-8 and small.
type parts struct {
	t   *testing.T
	all []byte
}

func (p *parts) Write(part []byte) (int, error) {
	if !utf8.Valid(part) || len(part) > 6*writeBytes+2 {
		p.t.Errorf("a part of %d bytes: %.20q", len(part), part)
	}
	p.all = append(p.all, part...)
	return len(part), nil
}

func TestWriteString(t *testing.T) {
	for _, unit := range []string{"a", "\x01", "é", "€", "😀", "\"", "a😀\n"} {
		for _, length := range []int{0, 1, writeBytes - 1, writeBytes, writeBytes + 1, 3*writeBytes + 5} {
			text := strings.Repeat(unit, length)
			into := parts{t: t}
			if err := WriteString(&into, text); err != nil {
				t.Fatal(err)
			}
			if want := AppendString(nil, text); !bytes.Equal(into.all, want) {
				t.Errorf("%d of %q: %d bytes, not %d", length, unit, len(into.all), len(want))
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriteStringReportsFailures(t *testing.T) {
	broken := errors.New("broken")
	text := strings.Repeat("x", 3*writeBytes)
	if err := WriteString(failing{broken}, text); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		text       string
		most, want int
	}{
		{"", 4, 0}, {"abcd", 4, 4}, {"abcde", 4, 4},
		{"abc😀", 4, 3}, {"abc😀", 6, 3}, {"abc😀", 7, 7},
		{"\x80\x80\x80\x80\x80\x80", 5, 5},
	} {
		if got := CutText(c.text, c.most); got != c.want {
			t.Errorf("%q up to %d: %d, not %d", c.text, c.most, got, c.want)
		}
	}
}
