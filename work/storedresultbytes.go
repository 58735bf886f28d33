package work

import (
	"encoding/binary"
	"fmt"
	"slices"

	"pws/internal/id"
)

// storedResults holds the results of a project as bytes, because an agent leaves one with nearly
// every write. A result is decoded when it is read. Its record:
//
//	size of the rest | key (16) | fingerprint (16) | parts (1) | ExpiresAt
//	sequence of the changeset   if resultStep, or
//	its ID (16)                 if resultChangeset
//	subject (16)                if resultSubject
//	status                      if resultStatus
//	size | CBOR of Tasks        if resultTasks
//	body                        to the end
//
// Clones share the bytes, as those of a history.
type storedResults struct {
	// full are the blocks before the open one. Their results that are dropped come first.
	full []resultBlock
	open resultBlock
	// first is the number of the first result that is kept, end that of the next one.
	first, end uint64
}

// resultBlock holds consecutive results.
type resultBlock struct {
	// first is the number of its first result.
	first uint64
	data  []byte
}

// A block is full with resultBlockLen results, or with resultBlockBytes.
const (
	resultBlockLen   = 32
	resultBlockBytes = 16 << 10
)

// The parts of a record.
const (
	resultCreated   = 1 << 0
	resultStep      = 1 << 1
	resultChangeset = 1 << 2
	resultSubject   = 1 << 3
	resultStatus    = 1 << 4
	resultTasks     = 1 << 5
	resultLeftOut   = 1 << 6
	resultGuest     = 1 << 7
)

func (r *storedResults) len() int { return int(r.end - r.first) }

// add appends a result.
func (r *storedResults) add(h *history, one *StoredResult) {
	if r.open.data == nil {
		r.open.first = r.end
	}
	head := appendResult(make([]byte, 0, 128), h, one)
	data := binary.AppendUvarint(r.open.data, uint64(len(head)+len(one.Body)))
	r.open.data = append(append(data, head...), one.Body...)
	r.end++
	if r.end-r.open.first < resultBlockLen && len(r.open.data) < resultBlockBytes {
		return
	}
	r.open.data = slices.Clip(slices.Clone(r.open.data))
	r.full = append(r.full, r.open)
	r.open = resultBlock{}
}

// appendResult encodes a result without its body.
func appendResult(data []byte, h *history, one *StoredResult) []byte {
	var parts byte
	set := func(part byte, given bool) {
		if given {
			parts |= part
		}
	}
	step, isStep := uint32(0), false
	if changeset := one.Result.Changeset; !changeset.IsZero() {
		step, isStep = h.sequenceOf(changeset)
		set(resultStep, isStep)
		set(resultChangeset, !isStep)
	}
	set(resultCreated, one.Result.Created)
	set(resultSubject, !one.Result.Subject.IsZero())
	set(resultStatus, one.Status != 0)
	set(resultTasks, one.Tasks != nil)
	set(resultLeftOut, one.LeftOut)
	set(resultGuest, one.Guest)
	data = append(append(append(data, one.Key[:]...), one.Fingerprint[:]...), parts)
	data = binary.AppendVarint(data, one.ExpiresAt)
	switch {
	case isStep:
		data = binary.AppendUvarint(data, uint64(step))
	case parts&resultChangeset != 0:
		data = append(data, one.Result.Changeset[:]...)
	}
	if parts&resultSubject != 0 {
		data = append(data, one.Result.Subject[:]...)
	}
	if parts&resultStatus != 0 {
		data = binary.AppendUvarint(data, uint64(one.Status))
	}
	if parts&resultTasks != 0 {
		tasks, err := encoding.Marshal(one.Tasks)
		if err != nil {
			panic(fmt.Sprintf("a stored result: %v", err))
		}
		data = append(binary.AppendUvarint(data, uint64(len(tasks))), tasks...)
	}
	return data
}

// resultExpiry returns ExpiresAt of a record.
func resultExpiry(record []byte) int64 {
	var one StoredResult
	r := recordReader{data: record, at: len(one.Key) + len(one.Fingerprint) + 1}
	return r.varint()
}

// result decodes a record without its size.
func (h *history) result(record []byte) (one StoredResult) {
	r := recordReader{data: record}
	copy(one.Key[:], r.take(len(one.Key)))
	copy(one.Fingerprint[:], r.take(len(one.Fingerprint)))
	parts := r.byte()
	one.ExpiresAt = r.varint()
	one.Result.Created, one.LeftOut = parts&resultCreated != 0, parts&resultLeftOut != 0
	one.Guest = parts&resultGuest != 0
	if parts&resultStep != 0 {
		one.Result.Changeset = h.id(uint32(r.uvarint()))
	}
	if parts&resultChangeset != 0 {
		one.Result.Changeset = id.ID(r.take(len(id.ID{})))
	}
	if parts&resultSubject != 0 {
		one.Result.Subject = id.ID(r.take(len(id.ID{})))
	}
	if parts&resultStatus != 0 {
		one.Status = int(r.uvarint())
	}
	if parts&resultTasks != 0 {
		if err := decoding.Unmarshal(r.take(int(r.uvarint())), &one.Tasks); err != nil {
			panic(fmt.Sprintf("a stored result: %v", err))
		}
	}
	if rest := r.data[r.at:]; len(rest) > 0 {
		one.Body = slices.Clip(rest)
	}
	return one
}

// each yields the records with the numbers [from, to), without their sizes, until yield returns
// false.
func (r *storedResults) each(from, to uint64, yield func(nth uint64, record []byte) bool) {
	at, found := slices.BinarySearchFunc(r.full, from, func(b resultBlock, nth uint64) int {
		return int(int64(b.first) - int64(nth))
	})
	if !found {
		at = max(0, at-1)
	}
	for ; at <= len(r.full); at++ {
		block := r.open
		if at < len(r.full) {
			block = r.full[at]
		}
		data := recordReader{data: block.data}
		for nth := block.first; data.at < len(data.data); nth++ {
			record := data.take(int(data.uvarint()))
			if nth >= to || nth >= from && !yield(nth, record) {
				return
			}
		}
	}
}

// at returns the record of a result that is kept.
func (r *storedResults) at(nth uint64) (found []byte) {
	r.each(nth, nth+1, func(_ uint64, record []byte) bool { found = record; return false })
	return found
}

// drop drops the first results, and the blocks that have no others.
func (r *storedResults) drop(count uint64) {
	r.first += count
	blocks := 0
	for blocks < len(r.full) && r.after(blocks) <= r.first {
		blocks++
	}
	if blocks > 0 {
		// Older states have the list.
		r.full = slices.Clone(r.full[blocks:])
	}
}

// forgetGuests drops the bodies of the results of guests with the numbers [from, before), and
// returns their size.
func (r *storedResults) forgetGuests(h *history, from, before uint64) (freed int) {
	without := func(block resultBlock) resultBlock {
		reader := recordReader{data: block.data}
		bare, left := make([]byte, 0, len(block.data)), 0
		for nth := block.first; reader.at < len(block.data); nth++ {
			record := reader.take(int(reader.uvarint()))
			if one := h.result(record); one.Guest && nth >= from && nth < before {
				record, left = record[:len(record)-len(one.Body)], left+len(one.Body)
			}
			bare = append(binary.AppendUvarint(bare, uint64(len(record))), record...)
		}
		if left == 0 {
			return block
		}
		freed += left
		return resultBlock{block.first, slices.Clip(slices.Clone(bare))}
	}
	// Older states have the list.
	r.full = slices.Clone(r.full)
	for i := range r.full {
		if r.full[i].first < before && from < r.after(i) {
			r.full[i] = without(r.full[i])
		}
	}
	if r.open.data != nil && r.open.first < before {
		r.open = without(r.open)
	}
	return freed
}

// after returns the number behind the last result of a full block.
func (r *storedResults) after(block int) uint64 {
	switch {
	case block+1 < len(r.full):
		return r.full[block+1].first
	case r.open.data != nil:
		return r.open.first
	}
	return r.end
}
