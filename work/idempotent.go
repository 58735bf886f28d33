package work

import "slices"

// Idempotent is the stored result of one Idempotency-Key.
type Idempotent struct {
	Key         [16]byte `cbor:"1,keyasint"`
	Fingerprint [16]byte `cbor:"2,keyasint"`
	// ExpiresAt is Unix milliseconds; from then on the key is free again.
	ExpiresAt int64  `cbor:"3,keyasint"`
	Result    Result `cbor:"4,keyasint"`
	// Status is zero if the answer is rendered again from Result.
	Status int `cbor:"5,keyasint,omitempty"`
	// Body is the compressed data of the original answer.
	Body []byte `cbor:"6,keyasint,omitempty"`
	// Tasks names the long texts of the tasks in Body, which has the tasks without them; nil if all
	// are there.
	Tasks []TaskTexts `cbor:"7,keyasint,omitempty"`
	// LeftOut says that Body has its changeset, discussion or comment without a long text.
	LeftOut bool `cbor:"8,keyasint,omitempty"`
}

// Remember stores the result of a key. It drops expired results, which are the oldest, and more
// of the oldest where a project has more than ResultsMax results or ResultBytesMax bytes of
// answers. The new result is always kept.
func (p *Project) Remember(record Idempotent, now int64) {
	expired := 0
	for expired < len(p.idempotent) && p.idempotent[expired].ExpiresAt <= now {
		expired++
	}
	p.dropResults(expired)
	if p.resultBytes+len(record.Body) > ResultBytesMax || len(p.idempotent) >= ResultsMax {
		p.dropOldestResults(len(record.Body))
	}
	p.idempotent = append(p.idempotent, record)
	p.resultBytes += len(record.Body)
}

// dropOldestResults makes room for an answer of that many bytes. It frees an eighth of the limits
// at once, so that the list is not copied for each result. The dropped ones are in older states
// and in the array that they share, so the rest is copied.
func (p *Project) dropOldestResults(more int) {
	drop, bytes := 0, p.resultBytes
	for drop < len(p.idempotent) &&
		(bytes+more > ResultBytesMax/8*7 || len(p.idempotent)-drop >= ResultsMax/8*7) {
		bytes -= len(p.idempotent[drop].Body)
		drop++
	}
	p.dropResults(drop)
	p.idempotent = slices.Clone(p.idempotent)
}

// dropResults drops the first results.
func (p *Project) dropResults(first int) {
	for at := range first {
		p.resultBytes -= len(p.idempotent[at].Body)
	}
	p.idempotent = p.idempotent[first:]
	p.saved.IdempotentFirst += uint64(first)
}

// IdempotentAt returns the nth result that the project has stored, if it is still kept.
func (p *Project) IdempotentAt(nth uint64) (*Idempotent, bool) {
	if nth < p.saved.IdempotentFirst || nth >= p.saved.IdempotentFirst+uint64(len(p.idempotent)) {
		return nil, false
	}
	return &p.idempotent[nth-p.saved.IdempotentFirst], true
}

// IdempotentRange returns the range [first, end) of the stored results that are kept.
func (p *Project) IdempotentRange() (first, end uint64) {
	return p.saved.IdempotentFirst, p.saved.IdempotentFirst + uint64(len(p.idempotent))
}
