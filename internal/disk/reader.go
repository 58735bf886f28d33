package disk

import "encoding/binary"

// Reader takes parts off the front of bytes. Once a part is missing, or is none, it has failed:
// nothing is left, and that part and all that are asked for afterwards are zero. So a caller reads
// a whole form, and asks once, at its end, whether it was one. There are no other errors.
type Reader struct {
	rest   []byte
	failed bool
}

// NewReader reads b. The parts are not copied; they point into b.
func NewReader(b []byte) Reader { return Reader{rest: b} }

// Len is how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// Failed reports whether a part was missing, or was none, or Fail was called.
func (r *Reader) Failed() bool { return r.failed }

// Fail is for a caller who finds that what was read cannot be.
func (r *Reader) Fail() { r.rest, r.failed = nil, true }

// Fixed is n bytes, always: where fewer are left it fails, and they are zeros. They have no room
// behind them, so that an append copies.
func (r *Reader) Fixed(n int) []byte {
	if len(r.rest) < n {
		r.Fail()
		return make([]byte, n)
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

// Byte is one byte. It fails where none is left.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail()
		return 0
	}
	part := r.rest[0]
	r.rest = r.rest[1:]
	return part
}

// Uvarint is a number as binary.AppendUvarint writes it. It fails where the bytes end within it, or
// it has more than 64 bits.
func (r *Reader) Uvarint() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Varint is a number as binary.AppendVarint writes it. It fails as Uvarint does.
func (r *Reader) Varint() int64 {
	value, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Count is a Uvarint that says how many parts follow, each of which has at least one byte. It fails
// as Uvarint does, and where fewer bytes than parts are left, so that damage is not taken for a
// size to allocate.
func (r *Reader) Count() uint64 {
	n := r.Uvarint()
	if n > uint64(len(r.rest)) {
		r.Fail()
		return 0
	}
	return n
}

// Bytes is a Count and so many bytes, nil for 0. It fails as Count does.
func (r *Reader) Bytes() []byte {
	n := r.Count()
	if n == 0 {
		return nil
	}
	return r.Fixed(int(n))
}

// Text is Bytes as a string, which is a copy.
func (r *Reader) Text() string { return string(r.Bytes()) }
