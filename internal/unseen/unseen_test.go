package unseen_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pws/internal/unseen"
)

func mark(r rune) string { return "<" + strings.ToUpper(strconv.FormatInt(int64(r), 16)) + ">" }

func TestReplace(t *testing.T) {
	for _, one := range []struct{ what, text, want string }{
		{"plain", "für 你好 ~ a", "für 你好 ~ a"},
		{"empty", "", ""},
		{"control", "a\x1b[2J\x7f\u009b\n", "a<1B>[2J<7F><9B><A>"},
		{"direction", "\u202eesrever\u2066\u061c", "<202E>esrever<2066><61C>"},
		{"no text", "a\xffb\xe2\x80", "a<FFFD>b<FFFD><FFFD>"},
		{"tags", "a\U000E0049\U000E0047b\U000E007F\U000E0001", "a<E0049><E0047>b<E007F><E0001>"},
		{"a flag with tags", "🏴\U000E0067\U000E007F", "🏴<E0067><E007F>"},
		{"reserved", "\U000E0000\U000E0080\U000E0FFF", "<E0000><E0080><E0FFF>"},
		{"bytes in selectors", "😀\U000E0100\U000E01EF", "😀<E0100><E01EF>"},
		{"bytes in few selectors", "😀\ufe00\ufe0d", "😀<FE00><FE0D>"},
		{"selector of a letter", "a\ufe0f 葛\U000E0100", "a<FE0F> 葛<E0100>"},
		{"selectors of emoji", "❤\ufe0f ☺\ufe0e ‼\ufe0f", "❤\ufe0f ☺\ufe0e ‼\ufe0f"},
		{"two selectors", "❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f<FE0F><FE0E>"},
		{"keycap", "1\ufe0f\u20e3 1\ufe0f2", "1\ufe0f\u20e3 1<FE0F>2"},
		{"family", "👩\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥", "👩\u200d👩🏽\u200d👧 ❤\ufe0f\u200d🔥"},
		{"joiner behind an emoji", "👩\u200d!", "👩<200D>!"},
		{"two joiners", "👩\u200d\u200d👩", "👩<200D><200D>👩"},
		{"joiner of letters", "a\u200db\u200cc", "a<200D>b<200C>c"},
		{"joiner behind a selector of none", "a\ufe0f\u200d👩", "a<FE0F><200D>👩"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Persian twice", "می\u200c\u200cخ", "می<200C><200C>خ"},
		{"Sinhala", "ශ්\u200dරී", "ශ්\u200dරී"},
		{"Mongolian", "ᠠ\u180b a\u180b", "ᠠ\u180b a<180B>"},
		{"Arabic number", "\u0600١", "\u0600١"},
		{"zero width", "ig\u200bno\u2060re\ufeff\u2063", "ig<200B>no<2060>re<FEFF><2063>"},
		{"soft hyphen", "ig\u00adnore", "ig<AD>nore"},
		{"fillers", "\u115f\u1160\u3164\uffa0\u034f\u17b4", "<115F><1160><3164><FFA0><34F><17B4>"},
		{"line ends", "a\u2028b\u2029", "a<2028>b<2029>"},
	} {
		if got := unseen.Replace(one.text, mark); got != one.want {
			t.Errorf("%s: %+q, not %+q", one.what, got, one.want)
		}
	}
}

func FuzzReplace(f *testing.F) {
	f.Add("a\U000E0049👩\u200d👩 \u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		gone := unseen.Replace(text, func(rune) string { return "" })
		if !utf8.ValidString(gone) || len(gone) > len(text) {
			t.Errorf("%q: %q", text, gone)
		}
	})
}
