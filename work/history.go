package work

import (
	"encoding/binary"
	"runtime"
	"slices"
	"unique"
	"unsafe"

	"pws/internal/id"
)

// history holds the changesets of a project as bytes, so that a long history is few objects
// without pointers. A changeset is decoded when it is read. The record of a changeset:
//
//	ID (16) | CreatedAt after the ID's time | source (1) | parts (1) | author
//	source ID (16)                                       if partSource
//	message size | message                               if partMessage
//	hash (32) | size | bytes | kept | notes of Away      if partAway
//	operations: action and parts (1) | path | previous path if opFrom |
//	            hash (32) | size | media type if opContent
//	count of operations | files | added bytes | deleted bytes | size of these four (1)
//
// Numbers are varints. Authors, paths and media types are indices of names. The operations of the
// first changeset of a fork are those of its tree.
//
// Clones share the bytes: a newer one only appends to them, behind what an older one can see.
type history struct {
	// spilled are the oldest blocks, outside of the heap. blocks are those behind them, full with
	// blockChangesets records each, and blockBytes their size. open is the block after them.
	spilled    []spilledBlock
	blocks     [][]byte
	blockBytes int
	open       []byte
	// places are the offsets of the records in their blocks.
	places []uint32
	// head is the newest changeset.
	head  *Changeset
	names *names
	// namesShared means that an older state uses the same names.
	namesShared bool
}

// names are the values that records name by their index.
type names struct {
	// tree is that of a fork; its files have the first indices of paths.
	tree   *Tree
	paths  []string
	agents []id.ID
	types  []unique.Handle[string]
}

// blockChangesets is the number of records in a full block.
const blockChangesets = 32

// nameLookback is the number of newest names that are searched for a repeated one, so that the
// search is short when there are many different ones.
const nameLookback = 32

// The parts of a record, and those of an operation beside its action.
const (
	partSource  = 1 << 0
	partMessage = 1 << 1
	partAway    = 1 << 2
	partTree    = 1 << 3

	opAction  = 0x0f
	opFrom    = 1 << 4
	opContent = 1 << 5
)

func (h *history) len() int { return len(h.places) }

// record returns the bytes from the beginning of a changeset's record to the end of its block, and
// the size of the record. They may be outside of the heap: the caller keeps h alive while it uses
// them.
func (h *history) record(sequence uint32) (data []byte, size int) {
	nth := int(sequence - 1)
	block := nth / blockChangesets
	switch inHeap := block - len(h.spilled); {
	case inHeap < 0:
		data = h.spilled[block].bytes()
	case inHeap < len(h.blocks):
		data = h.blocks[inHeap]
	default:
		data = h.open
	}
	begin, end := int(h.places[nth]), len(data)
	if nth+1 < len(h.places) && (nth+1)%blockChangesets != 0 {
		end = int(h.places[nth+1])
	}
	return data[begin:end], end - begin
}

// id returns the ID of a changeset.
func (h *history) id(sequence uint32) id.ID {
	data, _ := h.record(sequence)
	found := id.ID(data[:len(id.ID{})])
	runtime.KeepAlive(h)
	return found
}

// step identifies a changeset.
func (h *history) step(sequence uint32) Step {
	data, _ := h.record(sequence)
	r := recordReader{data: data, at: len(id.ID{})}
	step := Step{ID: id.ID(data[:len(id.ID{})]), Sequence: sequence}
	step.CreatedAt = step.ID.Millis() + r.varint()
	runtime.KeepAlive(h)
	return step
}

// author returns the author of a changeset.
func (h *history) author(sequence uint32) id.ID {
	data, _ := h.record(sequence)
	r := recordReader{data: data, at: len(id.ID{})}
	r.varint()
	r.at += 2
	author := h.names.agents[r.uvarint()]
	runtime.KeepAlive(h)
	return author
}

// sequenceOf is find for an ID that is often that of the newest changeset.
func (h *history) sequenceOf(wanted id.ID) (sequence uint32, found bool) {
	if h.head != nil && h.head.ID == wanted {
		return h.head.Sequence, true
	}
	return h.find(wanted)
}

// find returns the sequence of the changeset with an ID; IDs are in the order of the history.
func (h *history) find(wanted id.ID) (sequence uint32, found bool) {
	low, high := h.blockOf(wanted)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if h.id(uint32(middle+1)).Compare(wanted) < 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return uint32(low + 1), low < h.len() && h.id(uint32(low+1)) == wanted
}

// read decodes a changeset. It uses the memory of the operations that are there, unless they are
// not wanted.
func (h *history) read(sequence uint32, c *Changeset, operations bool) {
	defer runtime.KeepAlive(h)
	ops := c.room()
	data, size := h.record(sequence)
	r := recordReader{data: data[:size]}
	*c = Changeset{Sequence: sequence, Ops: ops}
	copy(c.ID[:], r.take(len(c.ID)))
	c.CreatedAt = c.ID.Millis() + r.varint()
	c.Source = Source(r.byte())
	parts := r.byte()
	c.Author = h.names.agents[r.uvarint()]
	if parts&partSource != 0 {
		copy(c.SourceID[:], r.take(len(c.SourceID)))
	}
	if parts&partMessage != 0 {
		text := r.take(int(r.uvarint()))
		if h.isSpilled(sequence) {
			c.Message = string(text)
		} else {
			// The bytes of a history in the heap never change.
			c.Message = unsafe.String(unsafe.SliceData(text), len(text))
		}
	}
	if parts&partAway != 0 {
		c.Away = &Away{Hash: Hash(r.take(len(Hash{})))}
		c.Away.Size, c.Away.Bytes = int(r.uvarint()), int(r.uvarint())
		c.Away.Kept, c.Away.Notes = int(r.uvarint()), NoteKinds(r.uvarint())
	}
	end := recordReader{data: data[:size-1], at: size - 1 - int(data[size-1])}
	c.OpCount, c.files = int(end.uvarint()), uint32(end.uvarint())
	c.AddedBytes, c.DeletedBytes = int64(end.uvarint()), int64(end.uvarint())
	switch {
	case !operations || c.OpCount == 0:
		return
	case parts&partTree != 0:
		c.Ops, c.ofTree = h.names.tree.ops, true
		return
	}
	c.Ops = slices.Grow(ops, c.OpCount)[:c.OpCount]
	for nth := range c.Ops {
		r.at = h.readOp(r.data, r.at, &c.Ops[nth])
	}
}

// readOp decodes the operation at an offset of a record, and returns the offset behind it.
func (h *history) readOp(record []byte, at int, op *Op) int {
	r := recordReader{data: record, at: at}
	*op = Op{at: uint32(at)}
	kind := r.byte()
	op.Action = Action(kind & opAction)
	op.Path = h.names.path(uint32(r.uvarint()))
	if kind&opFrom != 0 {
		op.From = h.names.path(uint32(r.uvarint()))
	}
	if kind&opContent == 0 {
		op.Type = noType
		return r.at
	}
	op.Blob = Hash(r.take(len(op.Blob)))
	op.Size = uint32(r.uvarint())
	op.Type = h.names.types[r.uvarint()]
	return r.at
}

// noType is the media type of an operation without a content.
var noType = unique.Make("")

// operation decodes the operation that made a version of a file.
func (h *history) operation(v version, op *Op) {
	if v.sequence == 1 && h.names.tree != nil {
		*op = h.names.tree.ops[v.place()]
		return
	}
	data, _ := h.record(v.sequence)
	h.readOp(data, int(v.place()), op)
	runtime.KeepAlive(h)
}

// recordReader reads a record, which this process has written.
type recordReader struct {
	data []byte
	at   int
}

func (r *recordReader) byte() byte {
	r.at++
	return r.data[r.at-1]
}

func (r *recordReader) take(size int) []byte {
	r.at += size
	return r.data[r.at-size : r.at]
}

func (r *recordReader) uvarint() uint64 {
	if first := r.data[r.at]; first < 0x80 {
		r.at++
		return uint64(first)
	}
	value, size := binary.Uvarint(r.data[r.at:])
	r.at += size
	return value
}

func (r *recordReader) varint() int64 {
	value := r.uvarint()
	return int64(value>>1) ^ -int64(value&1)
}
