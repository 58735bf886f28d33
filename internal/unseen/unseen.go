// Package unseen finds characters in texts of others that people do not see but that programs and
// models read: whoever writes instructions in them hides these from those who look at the text.
package unseen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	textSelector       = '\ufe0e' // shows the emoji before it as text
	emojiSelector      = '\ufe0f'
	keycap             = '\u20e3'
	skinToneFirst      = '\U0001f3fb'
	skinToneLast       = '\U0001f3ff'
	none               = -1
)

// Replace returns a text in which each unseen character has been replaced. These are control
// characters, line ends and tabs among them, those that change the direction of writing, and all
// that take no room: tags, selectors of variants, soft hyphens, joiners and fillers. Joiners and
// selectors stay where emoji and joined scripts need one. Bytes that are no text are replaced as
// U+FFFD, and so is that character itself.
func Replace(text string, by func(unseen rune) string) string {
	var out strings.Builder
	copied, before := 0, rune(none)
	for i := 0; i < len(text); {
		if text[i] >= ' ' && text[i] < utf8.RuneSelf && text[i] != '\x7f' {
			before = rune(text[i])
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		if hidden(r) && !needed(before, r, text[next:]) {
			out.WriteString(text[copied:i])
			out.WriteString(by(r))
			copied, r = next, none
		}
		i, before = next, r
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

func hidden(r rune) bool {
	switch {
	case r == utf8.RuneError, unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case unicode.Is(unicode.Cf, r):
		// Signs of numbers that are written around the digits are seen.
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// needed reports whether a hidden character changes how its neighbours are written. Only one is
// needed in a place, so that no text fits between two neighbours.
func needed(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == textSelector, r == emojiSelector:
		isKey := strings.ContainsRune("0123456789#*", before)
		return isEmoji(before) || isKey && after == keycap
	case r == zeroWidthJoiner && (isEmoji(before) || before == emojiSelector):
		return isEmoji(after)
	case r == zeroWidthJoiner, r == zeroWidthNonJoiner:
		return isJoined(before) && (isJoined(after) || r == zeroWidthJoiner)
	case unicode.Is(unicode.Mongolian, r):
		return unicode.IsLetter(before) && unicode.Is(unicode.Mongolian, before)
	}
	return false
}

// isEmoji reports whether a character can be written as an emoji. Emoji are symbols, and those of
// the first versions are also in the blocks of punctuation.
func isEmoji(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return false
	case r == '‼', r == '⁉', r == '〰', r == '〽', r >= skinToneFirst && r <= skinToneLast:
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm)
}

// isJoined reports whether a character is of a script in which joiners are part of the spelling.
func isJoined(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M) && unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari,
		unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
		unicode.Myanmar, unicode.Tibetan)
}
