// Package id holds the identifiers of the service: internally a ULID of sixteen bytes, externally a
// prefix that names the kind followed by 26 characters of lower-case Crockford base32.
//
// The upper 48 bits of an ID are milliseconds since the Unix epoch, the lower 80 are entropy. IDs
// compare like their bytes, so IDs of one project that were made in order are in order. The upper
// 32 bits of the entropy are the project bits: the IDs of all records of a project share those of
// the project's own ID. A few other projects may have the same.
package id

import (
	"bytes"
	"encoding/binary"

	"github.com/oklog/ulid/v2"
)

// ID is the binary form. The zero ID is not a valid identifier.
type ID [16]byte

// Prefix identifies the kind of a record in the public form of its ID, including the underscore.
type Prefix string

// The kinds that have public IDs.
const (
	Project       Prefix = "prj_"
	Changeset     Prefix = "chg_"
	Agent         Prefix = "agt_"
	Key           Prefix = "key_"
	Session       Prefix = "ses_"
	WorkSession   Prefix = "wks_"
	Challenge     Prefix = "cha_"
	Task          Prefix = "tsk_"
	Claim         Prefix = "clm_"
	Handoff       Prefix = "hnd_"
	Checkpoint    Prefix = "ckp_"
	Workspace     Prefix = "wsp_"
	Contribution  Prefix = "ctr_"
	Revision      Prefix = "rev_"
	Review        Prefix = "rvw_"
	Artifact      Prefix = "art_"
	Import        Prefix = "imp_"
	Relation      Prefix = "rel_"
	Discussion    Prefix = "dsc_"
	Comment       Prefix = "cmt_"
	Verification  Prefix = "ver_"
	ActivityEvent Prefix = "evt_"
	InboxItem     Prefix = "inb_"
	Report        Prefix = "rpt_"
	Request       Prefix = "req_"
	Upload        Prefix = "upl_"
)

// nouns are the names of the kinds with their articles, for messages.
var nouns = map[Prefix]string{
	Project: "a project", Changeset: "a changeset", Agent: "an agent", Key: "a key",
	Session: "a credential session", WorkSession: "a work session", Challenge: "a challenge",
	Task: "a task", Claim: "a claim", Handoff: "a handoff", Checkpoint: "a checkpoint",
	Workspace: "a workspace", Contribution: "a contribution", Revision: "a revision",
	Review:   "a review",
	Artifact: "an artifact", Import: "an import", Relation: "a relation", Discussion: "a discussion",
	Comment: "a comment", Verification: "a verification", ActivityEvent: "an event",
	InboxItem: "an inbox item", Report: "a report", Request: "a request",
	Upload: "an upload",
}

// Noun returns the name of the kind with its article, for messages.
func (p Prefix) Noun() string { return nouns[p] }

// KindOf returns the kind in a text that has the format of an ID; ok is false for all other texts.
func KindOf(text string) (kind Prefix, ok bool) {
	const prefixLen = len(Project)
	if len(text) < prefixLen {
		return "", false
	}
	kind = Prefix(text[:prefixLen])
	if nouns[kind] == "" {
		return "", false
	}
	_, ok = Parse(kind, text)
	return kind, ok
}

// textLen is the length of an ID without its prefix.
const textLen = 26

// millisMax is the largest time an ID can carry.
const millisMax = 1<<48 - 1

// New makes an ID of a time in Unix milliseconds and ten bytes of entropy.
func New(millis int64, entropy [10]byte) ID {
	var out ID
	ms := uint64(max(0, min(millis, millisMax)))
	binary.BigEndian.PutUint16(out[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(out[2:], uint32(ms))
	copy(out[6:], entropy[:])
	return out
}

// Millis is the time part, in Unix milliseconds.
func (i ID) Millis() int64 {
	return int64(binary.BigEndian.Uint16(i[0:]))<<32 | int64(binary.BigEndian.Uint32(i[2:]))
}

// ProjectBits returns the 32 bits that the IDs of records share with the ID of their project.
func (i ID) ProjectBits() uint32 { return binary.BigEndian.Uint32(i[6:]) }

// IsZero reports whether the ID is the zero ID.
func (i ID) IsZero() bool { return i == ID{} }

// Compare orders IDs by their bytes, which is by time first.
func (i ID) Compare(other ID) int { return bytes.Compare(i[:], other[:]) }

// Next returns the smallest ID greater than this one.
func (i ID) Next() ID {
	for j := len(i) - 1; j >= 0; j-- {
		i[j]++
		if i[j] != 0 {
			break
		}
	}
	return i
}

// alphabet is Crockford's base32 in lower case.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// pairs are the two digits of ten bits, the first one in the low byte.
var pairs = func() (all [1 << 10]uint16) {
	for bits := range all {
		all[bits] = uint16(alphabet[bits>>5]) | uint16(alphabet[bits&31])<<8
	}
	return all
}()

// Append appends the public form to dst.
func (i ID) Append(dst []byte, prefix Prefix) []byte {
	dst = append(dst, prefix...)
	high, low := binary.BigEndian.Uint64(i[:8]), binary.BigEndian.Uint64(i[8:])
	var text [textLen]byte
	// Six pairs are in low and six in high. The one between them takes the last four bits of low.
	for i := textLen - 2; i > textLen-14; i -= 2 {
		binary.LittleEndian.PutUint16(text[i:], pairs[low&1023])
		low >>= 10
	}
	binary.LittleEndian.PutUint16(text[textLen-14:], pairs[(low|high<<4)&1023])
	high >>= 6
	for i := textLen - 16; i >= 0; i -= 2 {
		binary.LittleEndian.PutUint16(text[i:], pairs[high&1023])
		high >>= 10
	}
	return append(dst, text[:]...)
}

// Format returns the public form, for example "prj_01jd2v8zq0m4c5t6r7w8x9yzab".
func (i ID) Format(prefix Prefix) string {
	return string(i.Append(make([]byte, 0, len(prefix)+textLen), prefix))
}

// Parse parses the public form. It accepts only results of Format: no upper case, other prefixes or
// characters outside the alphabet.
func Parse(prefix Prefix, text string) (ID, bool) {
	if len(text) != len(prefix)+textLen || text[:len(prefix)] != string(prefix) {
		return ID{}, false
	}
	body := text[len(prefix):]
	for i := range len(body) {
		if c := body[i]; c >= 'A' && c <= 'Z' {
			return ID{}, false
		}
	}
	parsed, err := ulid.ParseStrict(body)
	if err != nil {
		return ID{}, false
	}
	return ID(parsed), true
}

// Pattern returns the regular expression of the public form, for schemas.
func Pattern(prefix Prefix) string {
	return "^" + string(prefix) + "[0-7][0-9a-hjkmnp-tv-z]{25}$"
}
