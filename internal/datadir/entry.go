package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"pws/internal/disk"
	"pws/internal/id"
)

// The first byte of an entry. Version 2 is for an entry that names contents which were put into
// packs BEFORE it.
const (
	entryVersion       = 1
	entryVersionPacked = 2
)

// Target is the owner of an entry: a project, the identity state, or none.
type Target uint8

// The targets.
const (
	TargetProject  Target = 1
	TargetIdentity Target = 2
	// TargetContents is for contents that entries of projects behind it name, or for the hashes of
	// some that none will name.
	TargetContents Target = 3
)

// Entry is everything that one request changed, as stored in the log:
//
//	version  1 byte: 1, or 2 if the last field is there
//	target   1 byte: 1 project, 2 identity, 3 contents alone
//	id       16 bytes: the project; the upload of given up contents; zero for others
//	now      8 bytes, little endian: Unix milliseconds of the stamp
//	agent    16 bytes: the caller
//	events   uvarint count, then each: uvarint kind, uvarint length, CBOR
//	result   uvarint length, CBOR of the stored result of a key; length 0 without a key. Of contents
//	         alone: the hashes of those that were given up, which earlier programs ignore
//	blobs    uvarint count, then each: 32 bytes SHA-256, uvarint length, content
//	packed   uvarint: what the contents count that were put into packs BEFORE the entry
//
// The log's frame has a checksum over the whole entry.
type Entry struct {
	Target Target
	ID     id.ID
	Now    int64
	Agent  id.ID
	Events []Event
	// Result of an entry of contents holds the hashes of those that were given up: entries in front
	// of it have brought them for an import that has made no project. Other projects may name them.
	Result []byte
	Blobs  []Blob
	// Packed is what the contents count in quotas that the events name first and that were put into
	// packs BEFORE the entry, in bytes; see PackedBytes.
	Packed int64
}

// Event is a stored event of package work or identity: its kind, and its CBOR.
type Event struct {
	Kind uint16
	Data []byte
}

// Blob is a content stored in an entry, with its SHA-256.
type Blob struct {
	Hash    [32]byte
	Content []byte
}

// blobOverhead is what a content counts in addition to its size: its hash.
const blobOverhead = 32

// StoredBytes returns the size that counts in quotas: that of events and contents. Stored results
// expire and have a limit of their own.
func (e *Entry) StoredBytes() (size int64) {
	for i := range e.Events {
		size += int64(len(e.Events[i].Data))
	}
	for i := range e.Blobs {
		size += PackedBytes(len(e.Blobs[i].Content))
	}
	return size + e.Packed
}

// PackedBytes returns what a content of a size counts in quotas.
func PackedBytes(size int) int64 { return blobOverhead + int64(size) }

// Encode encodes the entry in one allocation.
func (e *Entry) Encode() []byte {
	out := make([]byte, 0, e.encodedBytes())
	version := byte(entryVersion)
	if e.Packed > 0 {
		version = entryVersionPacked
	}
	out = append(out, version, byte(e.Target))
	out = append(out, e.ID[:]...)
	out = binary.LittleEndian.AppendUint64(out, uint64(e.Now))
	out = append(out, e.Agent[:]...)
	out = binary.AppendUvarint(out, uint64(len(e.Events)))
	for _, event := range e.Events {
		out = binary.AppendUvarint(out, uint64(event.Kind))
		out = binary.AppendUvarint(out, uint64(len(event.Data)))
		out = append(out, event.Data...)
	}
	out = binary.AppendUvarint(out, uint64(len(e.Result)))
	out = append(out, e.Result...)
	out = binary.AppendUvarint(out, uint64(len(e.Blobs)))
	for _, blob := range e.Blobs {
		out = append(out, blob.Hash[:]...)
		out = binary.AppendUvarint(out, uint64(len(blob.Content)))
		out = append(out, blob.Content...)
	}
	if e.Packed > 0 {
		out = binary.AppendUvarint(out, uint64(e.Packed))
	}
	return out
}

// encodedBytes is the size of the encoded entry.
func (e *Entry) encodedBytes() int {
	size := 42 + uvarintBytes(len(e.Events)) + uvarintBytes(len(e.Result)) + len(e.Result) +
		uvarintBytes(len(e.Blobs))
	for i := range e.Events {
		data := len(e.Events[i].Data)
		size += uvarintBytes(int(e.Events[i].Kind)) + uvarintBytes(data) + data
	}
	for i := range e.Blobs {
		content := len(e.Blobs[i].Content)
		size += 32 + uvarintBytes(content) + content
	}
	if e.Packed > 0 {
		size += uvarintBytes(int(e.Packed))
	}
	return size
}

// uvarintBytes is the size of an encoded number that is not negative.
func uvarintBytes(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

var errShortEntry = errors.New("the entry is truncated")

// DecodeEntry decodes an entry. The result points into data.
func DecodeEntry(data []byte) (Entry, error) {
	r := disk.NewReader(data)
	var e Entry
	version := r.Byte()
	if version != entryVersion && version != entryVersionPacked {
		return e, fmt.Errorf("%w: unknown entry version %d", disk.ErrNewer, version)
	}
	e.Target = Target(r.Byte())
	e.ID = id.ID(r.Fixed(16))
	e.Now = int64(binary.LittleEndian.Uint64(r.Fixed(8)))
	e.Agent = id.ID(r.Fixed(16))
	for range r.Count() {
		kind := r.Uvarint()
		if kind > 1<<16-1 {
			return e, fmt.Errorf("unknown event kind %d", kind)
		}
		e.Events = append(e.Events, Event{Kind: uint16(kind), Data: r.Bytes()})
	}
	e.Result = r.Bytes()
	for range r.Count() {
		e.Blobs = append(e.Blobs, Blob{Hash: [32]byte(r.Fixed(32)), Content: r.Bytes()})
	}
	if version == entryVersionPacked {
		e.Packed = int64(r.Uvarint())
	}
	switch {
	case r.Failed():
		return e, errShortEntry
	case r.Len() > 0:
		return e, fmt.Errorf("entry has %d bytes after its end", r.Len())
	case version == entryVersionPacked && e.Packed <= 0:
		return e, fmt.Errorf("entry has %d bytes of packed contents", e.Packed)
	case e.Target < TargetProject || e.Target > TargetContents:
		return e, fmt.Errorf("unknown entry target %d", e.Target)
	case e.Target == TargetContents && len(e.Events) > 0:
		return e, errors.New("entry of contents has events")
	}
	return e, nil
}

// Guarded calls do, which applies stored data, and turns a panic into an error: the data violates
// the rules.
func Guarded(do func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("the data violates the rules: %v", broken)
		}
	}()
	return do()
}
