package actors

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pws/internal/id"
)

// entryVersion is the first byte of every entry.
const entryVersion = 1

// target says whose entry it is.
type target uint8

const (
	targetProject  target = 1
	targetIdentity target = 2
)

// entry is all that one request did, as it stands in the log:
//
//	version  1 byte
//	target   1 byte: 1 project, 2 identity
//	id       16 bytes: the project, zero for identity
//	now      8 bytes, little endian: Unix milliseconds of the stamp
//	agent    16 bytes: who asked
//	events   uvarint count, then each: uvarint kind, uvarint length, CBOR
//	result   uvarint length, CBOR of the stored idempotent result; length 0 without a key
//	blobs    uvarint count, then each: 32 bytes SHA-256, uvarint length, content
//
// The log's frame guards the whole with a checksum.
type entry struct {
	target target
	id     id.ID
	now    int64
	agent  id.ID
	events []entryEvent
	result []byte
	blobs  []entryBlob
}

type entryEvent struct {
	kind uint16
	data []byte
}

type entryBlob struct {
	hash    [32]byte
	content []byte
}

// encode makes the entry's bytes in one allocation.
func (e *entry) encode() []byte {
	size := 42 + 3*binary.MaxVarintLen64 + len(e.result)
	for _, event := range e.events {
		size += 2*binary.MaxVarintLen64 + len(event.data)
	}
	for _, blob := range e.blobs {
		size += 32 + binary.MaxVarintLen64 + len(blob.content)
	}
	out := make([]byte, 0, size)
	out = append(out, entryVersion, byte(e.target))
	out = append(out, e.id[:]...)
	out = binary.LittleEndian.AppendUint64(out, uint64(e.now))
	out = append(out, e.agent[:]...)
	out = binary.AppendUvarint(out, uint64(len(e.events)))
	for _, event := range e.events {
		out = binary.AppendUvarint(out, uint64(event.kind))
		out = binary.AppendUvarint(out, uint64(len(event.data)))
		out = append(out, event.data...)
	}
	out = binary.AppendUvarint(out, uint64(len(e.result)))
	out = append(out, e.result...)
	out = binary.AppendUvarint(out, uint64(len(e.blobs)))
	for _, blob := range e.blobs {
		out = append(out, blob.hash[:]...)
		out = binary.AppendUvarint(out, uint64(len(blob.content)))
		out = append(out, blob.content...)
	}
	return out
}

var errShortEntry = errors.New("entry ends too soon")

// decodeEntry reads the bytes of an entry. The parts point into data.
func decodeEntry(data []byte) (entry, error) {
	r := reader{rest: data}
	var e entry
	if version := r.byte(); version != entryVersion {
		return e, fmt.Errorf("entry version %d is unknown", version)
	}
	e.target = target(r.byte())
	e.id = id.ID(r.fixed(16))
	e.now = int64(binary.LittleEndian.Uint64(r.fixed(8)))
	e.agent = id.ID(r.fixed(16))
	for range r.count() {
		kind := r.uvarint()
		if kind > 1<<16-1 {
			return e, fmt.Errorf("event kind %d is unknown", kind)
		}
		e.events = append(e.events, entryEvent{kind: uint16(kind), data: r.bytes()})
	}
	e.result = r.bytes()
	for range r.count() {
		e.blobs = append(e.blobs, entryBlob{hash: [32]byte(r.fixed(32)), content: r.bytes()})
	}
	switch {
	case r.short:
		return e, errShortEntry
	case len(r.rest) > 0:
		return e, fmt.Errorf("entry has %d bytes behind its end", len(r.rest))
	case e.target != targetProject && e.target != targetIdentity:
		return e, fmt.Errorf("entry target %d is unknown", e.target)
	}
	return e, nil
}

// reader takes parts off the front; once something is missing it gives zeros and remembers.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) fixed(n int) []byte {
	if len(r.rest) < n {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) byte() byte { return r.fixed(1)[0] }

func (r *reader) uvarint() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.short, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// count is a number of parts, each of which has at least one byte.
func (r *reader) count() uint64 {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return 0
	}
	return n
}

func (r *reader) bytes() []byte {
	n := r.count()
	if n == 0 {
		return nil
	}
	return r.fixed(int(n))
}
