package disk

import "encoding/binary"

// Reader decodes parts from the front of bytes. After a missing or invalid part it has failed:
// nothing is left, and that part and all later ones are zero. So a caller decodes a whole record
// and checks Failed once, at its end. There are no other errors.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader returns a reader of b. The parts are not copied; they point into b.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// Len returns the number of bytes left.
func (r *Reader) Len() int { return len(r.rest) }

// Failed reports whether a part was missing or invalid, or Fail was called.
func (r *Reader) Failed() bool { return r.failed }

// Fail marks the reader as failed; callers use it when a value is invalid.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// Fixed returns n bytes. If fewer are left it fails, and returns zeros. The capacity is n, so that
// an append copies.
func (r *Reader) Fixed(n int) []byte {
	if len(r.rest) < n {
		r.Fail()
		return make([]byte, n)
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

// Byte returns one byte. It fails if none is left.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	part := r.rest[0]
	r.rest = r.rest[1:]
	return part
}

// Uvarint decodes a number in the format of binary.AppendUvarint. It fails if the number is
// truncated or has more than 64 bits.
func (r *Reader) Uvarint() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Varint decodes a number in the format of binary.AppendVarint. It fails like Uvarint.
func (r *Reader) Varint() int64 {
	value, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Count returns a Uvarint that is the number of the following parts, each of at least one byte. It
// fails like Uvarint, and if fewer bytes than parts are left, so that a damaged count never
// determines an allocation.
func (r *Reader) Count() uint64 {
	n := r.Uvarint()
	if n > uint64(len(r.rest)) {
		r.Fail()
		return 0
	}
	return n
}

// Bytes returns bytes preceded by their Count, nil for 0. It fails like Count.
func (r *Reader) Bytes() []byte {
	n := r.Count()
	if n == 0 {
		return nil
	}
	return r.Fixed(int(n))
}

// Text returns Bytes as a string, which is a copy.
func (r *Reader) Text() string { return string(r.Bytes()) }
