package work

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Long texts of records are not kept in memory with the project. A record names a content that has
// them, its Away texts, which is stored as the contents of files are:
//
//	mark (1): 0xff | version (1) | kind (1) | CBOR of the texts
//
// The kinds: 'h' has all texts of a handoff, 't' one text, 'l' a list of texts.
//
// The content comes with the command's entry, so it is durable BEFORE the record is visible.
// Records of earlier versions have all their texts.
const (
	// awayMark is the first byte. The contents of callers are UTF-8, so none contains it.
	awayMark    = 0xff
	awayVersion = 1
	awayHandoff = 'h'
	awayText    = 't'
	awayList    = 'l'

	// awayBytesMin is the size of texts from which on they are stored away. A handoff of ordinary
	// length is below it, because resumes read many of them.
	awayBytesMin = 2048
	// awayKeptBytes is how much of a summary stays with the record, for lists.
	awayKeptBytes = 800
)

// Away names the content with the long texts of a record.
type Away struct {
	Hash Hash `cbor:"1,keyasint"`
	// Size is the size of the content in bytes.
	Size int `cbor:"2,keyasint"`
	// Bytes is what all texts of the record count in quotas.
	Bytes int `cbor:"3,keyasint"`
	// Kept is what counts of these for the texts that stay with the record.
	Kept int `cbor:"4,keyasint,omitempty"`
	// Notes are the kinds of notes of a handoff that there are.
	Notes NoteKinds `cbor:"5,keyasint,omitempty"`
}

// bytes is what is not in memory; a may be nil.
func (a *Away) bytes() int {
	if a == nil {
		return 0
	}
	return a.Bytes - a.Kept
}

// sound reports whether saved values are possible.
func (a *Away) sound() bool {
	return a == nil || a.Size > 0 && a.Kept >= 0 && a.Bytes >= a.Kept
}

// putAway encodes texts as a content.
func putAway(kind byte, texts any) Blob {
	data, err := encoding.Marshal(texts)
	if err != nil {
		// Texts that a command brings are UTF-8; see the checks of the requests.
		panic(fmt.Sprintf("texts of a record: %v", err))
	}
	content := append(append(make([]byte, 0, 3+len(data)), awayMark, awayVersion, kind), data...)
	return Blob{Hash: sha256.Sum256(content), Content: content}
}

var errAway = errors.New("the content is not one of texts of this kind")

// takeAway decodes a content of putAway.
func takeAway(kind byte, content []byte, texts any) error {
	if len(content) < 3 || content[0] != awayMark || content[1] != awayVersion || content[2] != kind {
		return errAway
	}
	return decoding.Unmarshal(content[3:], texts)
}

// beginningOf returns at most a number of bytes of a text, up to the end of a character.
func beginningOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
