package feed

import (
	"slices"
	"sort"

	"pws/internal/id"
)

// recent are the newest records, which are read without the disk. Copies share them: a full chunk
// is not changed, and records are added to the open one only behind those that older copies have.
type recent struct {
	// first is the number of the oldest record, base that of the first one of the oldest chunk.
	first, base uint64
	full        [][]Record
	open        []Record
}

// chunkRecords is the number of records of a full chunk.
const chunkRecords = 4 * blockRecords

// recentFrom has no records; the next one has a number.
func recentFrom(first uint64) recent { return recent{first: first, base: first} }

func (r *recent) end() uint64 {
	return r.base + uint64(len(r.full)*chunkRecords+len(r.open))
}

// at returns the record with a number from first to before end.
func (r *recent) at(number uint64) *Record { return &r.run(number, 1)[0] }

// run returns at most n records from a number on: those that are in one chunk.
func (r *recent) run(number, n uint64) []Record {
	nth := number - r.base
	chunk := r.open
	if full := nth / chunkRecords; full < uint64(len(r.full)) {
		chunk = r.full[full]
	}
	chunk = chunk[nth%chunkRecords:]
	return chunk[:min(n, uint64(len(chunk)))]
}

// search returns the number of the first record that a condition holds for, as for all behind it.
func (r *recent) search(holds func(*Record) bool) uint64 {
	count := int(r.end() - r.first)
	return r.first + uint64(sort.Search(count, func(nth int) bool {
		return holds(r.at(r.first + uint64(nth)))
	}))
}

// add adds records at the end.
func (r *recent) add(records []Record) {
	for len(records) > 0 {
		if r.open == nil {
			r.open = make([]Record, 0, chunkRecords)
		}
		n := min(len(records), chunkRecords-len(r.open))
		r.open = append(r.open, records[:n]...)
		records = records[n:]
		if len(r.open) == chunkRecords {
			r.full, r.open = append(r.full, r.open), nil
		}
	}
}

// forget frees full chunks whose records are all below a number.
func (r *recent) forget(number uint64) {
	chunks := 0
	for chunks < len(r.full) && r.base+uint64((chunks+1)*chunkRecords) <= number {
		chunks++
	}
	if chunks > 0 {
		r.full = slices.Clone(r.full[chunks:])
		r.base += uint64(chunks * chunkRecords)
		r.first = max(r.first, r.base)
	}
}

// redact removes the facts from the records of some projects. Chunks with such records are
// replaced, because copies share them.
func (r *recent) redact(projects map[id.ID]bool) {
	hasFacts := func(one Record) bool { return projects[one.Project] && one.Activity.Facts != nil }
	redacted := func(chunk []Record) []Record {
		if !slices.ContainsFunc(chunk, hasFacts) {
			return chunk
		}
		next := append(make([]Record, 0, chunkRecords), chunk...)
		for i := range next {
			if projects[next[i].Project] {
				next[i].Activity.Facts = nil
			}
		}
		return next
	}
	r.full = slices.Clone(r.full)
	for i, chunk := range r.full {
		r.full[i] = redacted(chunk)
	}
	r.open = redacted(r.open)
}

// cut removes the records below a number.
func (r *recent) cut(number uint64) {
	if number >= r.end() {
		*r = recentFrom(number)
		return
	}
	r.first = max(r.first, number)
	r.forget(number)
}

// memoryBytes estimates the memory that the records take, in bytes.
func (r *recent) memoryBytes() (bytes int64) {
	for _, chunk := range append(r.full[:len(r.full):len(r.full)], r.open) {
		bytes += int64(cap(chunk))*recordMemory + textBytes(chunk)
	}
	return bytes
}
