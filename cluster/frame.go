package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"pws/internal/disk"
)

// The kinds of connections.
const (
	forMessages byte = 'm'
	forCall     byte = 'c'
	forWeb      byte = 'h'
	forCopy     byte = 'j'
)

// The kinds of frames.
const (
	frameClock      byte = iota // uvarint: the sender's clock, in Unix milliseconds
	frameMessage                // a message of raft
	framePull                   // uvarint: the position that entries are asked for from
	frameEntries                // their number, and each with its length
	frameRefusal                // the text of an error
	frameCut                    // the entries were cut off
	frameStatus                 // asks for a status, or has it as JSON
	frameOrder                  // an Order as JSON
	frameDone                   // it was carried out
	frameNotLeading             // the member does not lead; nothing was done
	frameNote                   // a note for the leader, whose form Settings.Noted knows
	frameQuestion               // a question, and its answer, whose forms Settings.Asked knows
	framesKnown
)

// A clock is answered by the same clock and a uvarint: the newest format of the group that the
// answering member understands. The number is missing where that is logformat.First alone. What
// follows it is ignored, so that later programs can add to it.

const (
	greetingMagic   = "PWSC"
	greetingVersion = 1
	greetingBytes   = 4 + 1 + 1 + 8 + groupBytes
	groupBytes      = 16

	// frameBytesMax bounds a frame: the longest entry of a journal, in a message with others.
	frameBytesMax = 96 << 20
	// frameStepBytes is how much memory is taken for a frame at a time.
	frameStepBytes = 1 << 20
)

// errProtocol marks what a member would not send.
var errProtocol = errors.New("cluster: it does not follow the protocol")

// greeting is what a connection begins with.
type greeting struct {
	kind   byte
	member uint64
	group  [groupBytes]byte
}

func (g *greeting) encode() []byte {
	b := append([]byte(greetingMagic), greetingVersion, g.kind)
	b = binary.LittleEndian.AppendUint64(b, g.member)
	return append(b, g.group[:]...)
}

func readGreeting(from io.Reader) (g greeting, err error) {
	var b [greetingBytes]byte
	if _, err := io.ReadFull(from, b[:]); err != nil {
		return g, err
	}
	if string(b[:4]) != greetingMagic || b[4] != greetingVersion {
		return g, fmt.Errorf("%w: it begins with %x", errProtocol, b[:5])
	}
	g.kind, g.member = b[5], binary.LittleEndian.Uint64(b[6:])
	copy(g.group[:], b[14:])
	return g, nil
}

// appendFrame appends a frame to b.
func appendFrame(b []byte, kind byte, body []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(1+len(body)))
	return append(append(b, kind), body...)
}

// readFrame reads a frame. The body belongs to the caller.
func readFrame(from io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	size := int64(binary.LittleEndian.Uint32(head[:4]))
	if kind = head[4]; size < 1 || size > frameBytesMax || kind >= framesKnown {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes of kind %d", errProtocol, size, kind)
	}
	size--
	var buffer bytes.Buffer
	buffer.Grow(int(min(size, frameStepBytes)))
	got, err := io.CopyN(&buffer, from, size)
	if err != nil && got < size {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return kind, buffer.Bytes(), nil
}

func encodeEntries(entries [][]byte) []byte {
	size := binary.MaxVarintLen64
	for _, e := range entries {
		size += binary.MaxVarintLen64 + len(e)
	}
	b := binary.AppendUvarint(make([]byte, 0, size), uint64(len(entries)))
	for _, e := range entries {
		b = append(binary.AppendUvarint(b, uint64(len(e))), e...)
	}
	return b
}

func decodeEntries(body []byte) (entries [][]byte, err error) {
	r := disk.NewReader(body)
	for range r.Count() {
		entries = append(entries, r.Bytes())
	}
	if r.Failed() || r.Len() > 0 {
		return nil, fmt.Errorf("%w: entries are cut off", errProtocol)
	}
	return entries, nil
}
