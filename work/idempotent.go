package work

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
	p.dropResults(func(_, _ int, record []byte) bool { return resultExpiry(record) <= now })
	if p.resultBytes+len(record.Body) > ResultBytesMax || p.results.len() >= ResultsMax {
		p.dropOldestResults(len(record.Body))
	}
	p.addResult(&record)
}

func (p *Project) addResult(record *Idempotent) {
	p.results.add(&p.history, record)
	p.resultBytes += len(record.Body)
}

// dropOldestResults makes room for an answer of that many bytes. It frees an eighth of the limits
// at once.
func (p *Project) dropOldestResults(more int) {
	p.dropResults(func(count, bytes int, _ []byte) bool {
		return p.resultBytes-bytes+more > ResultBytesMax/8*7 ||
			p.results.len()-count >= ResultsMax/8*7
	})
}

// dropResults drops the oldest results while they match. It says how many match before a record,
// and the size of their answers.
func (p *Project) dropResults(match func(count, bytes int, record []byte) bool) {
	var count, bytes int
	p.results.each(p.results.first, p.results.end, func(_ uint64, record []byte) bool {
		if !match(count, bytes, record) {
			return false
		}
		count, bytes = count+1, bytes+len(p.history.result(record).Body)
		return true
	})
	if count > 0 {
		p.results.drop(uint64(count))
		p.resultBytes -= bytes
		p.saved.IdempotentFirst = p.results.first
	}
}

// IdempotentAt returns the nth result that the project has stored, if it is still kept. Its body
// must not be changed.
func (p *Project) IdempotentAt(nth uint64) (one Idempotent, kept bool) {
	if nth < p.results.first || nth >= p.results.end {
		return one, false
	}
	return p.history.result(p.results.at(nth)), true
}

// IdempotentRange returns the range [first, end) of the stored results that are kept.
func (p *Project) IdempotentRange() (first, end uint64) { return p.results.first, p.results.end }

// HasResult reports whether the project keeps a result of a key.
func (p *Project) HasResult(key [16]byte) (found bool) {
	p.results.each(p.results.first, p.results.end, func(_ uint64, record []byte) bool {
		found = [16]byte(record) == key
		return !found
	})
	return found
}

// resultsBetween returns the kept results with the numbers [first, end).
func (p *Project) resultsBetween(first, end uint64) []Idempotent {
	list := make([]Idempotent, 0, end-first)
	p.results.each(first, end, func(_ uint64, record []byte) bool {
		list = append(list, p.history.result(record))
		return true
	})
	return list
}
