package actors

import (
	"encoding/binary"
	"errors"
	"fmt"

	"pws/internal/disk"
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

// entry is all that one request did, as the log has it:
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
	r := disk.NewReader(data)
	var e entry
	if version := r.Byte(); version != entryVersion {
		return e, fmt.Errorf("entry version %d is unknown", version)
	}
	e.target = target(r.Byte())
	e.id = id.ID(r.Fixed(16))
	e.now = int64(binary.LittleEndian.Uint64(r.Fixed(8)))
	e.agent = id.ID(r.Fixed(16))
	for range r.Count() {
		kind := r.Uvarint()
		if kind > 1<<16-1 {
			return e, fmt.Errorf("event kind %d is unknown", kind)
		}
		e.events = append(e.events, entryEvent{kind: uint16(kind), data: r.Bytes()})
	}
	e.result = r.Bytes()
	for range r.Count() {
		e.blobs = append(e.blobs, entryBlob{hash: [32]byte(r.Fixed(32)), content: r.Bytes()})
	}
	switch {
	case r.Failed():
		return e, errShortEntry
	case r.Len() > 0:
		return e, fmt.Errorf("entry has %d bytes behind its end", r.Len())
	case e.target != targetProject && e.target != targetIdentity:
		return e, fmt.Errorf("entry target %d is unknown", e.target)
	}
	return e, nil
}
