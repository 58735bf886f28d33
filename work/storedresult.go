package work

// StoredResult is the stored result of one Idempotency-Key.
type StoredResult struct {
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
	// LeftOut says that Body has its changeset, discussion, comment or handoff without long texts, or
	// its conflicts with hashes in place of the marked texts.
	LeftOut bool `cbor:"8,keyasint,omitempty"`
	// Guest means that its agent was not a member.
	Guest bool `cbor:"9,keyasint,omitempty"`
}

// Remember stores the result of a key. It drops expired results, which are the oldest, and more
// of the oldest where a project has more than ResultsMax results of members, ResultRecordsMax of
// all or ResultBytesMax bytes of answers, or of those of guests where these have more than
// GuestResultBytesMax. The new result is always kept.
func (p *Project) Remember(record StoredResult, now int64) {
	p.dropResults(func(_ droppedResults, record []byte) bool { return resultExpiry(record) <= now })
	if record.Guest && p.guestResultBytes+len(record.Body) > GuestResultBytesMax {
		p.dropGuestResults(len(record.Body))
	}
	if p.resultBytes+len(record.Body) > ResultBytesMax ||
		p.results.len()-p.guestResults >= ResultsMax || p.results.len() >= ResultRecordsMax {
		p.dropOldestResults(len(record.Body))
	}
	p.addResult(&record)
}

func (p *Project) addResult(record *StoredResult) {
	p.results.add(&p.history, record)
	p.countResult(record, 1)
}

func (p *Project) countResult(record *StoredResult, times int) {
	p.resultBytes += times * len(record.Body)
	if record.Guest {
		p.guestResults += times
		p.guestResultBytes += times * len(record.Body)
	}
}

// dropGuestResults makes room for an answer of that many bytes to a guest. It frees a quarter of
// the limit at once.
func (p *Project) dropGuestResults(more int) {
	room := p.guestResultBytes + more - GuestResultBytesMax/4*3
	from := max(p.results.first, p.saved.GuestResultsFirst)
	before := from
	p.results.each(from, p.results.end, func(nth uint64, record []byte) bool {
		if room <= 0 {
			return false
		}
		before = nth + 1
		if one := p.history.result(record); one.Guest {
			room -= len(one.Body)
		}
		return true
	})
	p.saved.GuestResultsFirst = before
	freed := p.results.forgetGuests(&p.history, from, before)
	p.resultBytes, p.guestResultBytes = p.resultBytes-freed, p.guestResultBytes-freed
}

// forgotten reports whether a result was dropped before those of members that are as old.
func (p *Project) forgotten(nth uint64, one *StoredResult) bool {
	return one.Guest && nth < p.saved.GuestResultsFirst
}

// dropOldestResults makes room for an answer of that many bytes. It frees an eighth of the limits
// at once.
func (p *Project) dropOldestResults(more int) {
	p.dropResults(func(d droppedResults, _ []byte) bool {
		all := p.results.len() - d.count
		return p.resultBytes-d.bytes+more > ResultBytesMax/8*7 ||
			all-(p.guestResults-d.guests) >= ResultsMax/8*7 || all >= ResultRecordsMax/8*7
	})
}

// droppedResults are results that are dropped: how many, and the size of their answers, of all and
// of guests.
type droppedResults struct{ count, bytes, guests, guestBytes int }

// dropResults drops the oldest results while they match. It says what matches before a record.
func (p *Project) dropResults(match func(d droppedResults, record []byte) bool) {
	var d droppedResults
	p.results.each(p.results.first, p.results.end, func(_ uint64, record []byte) bool {
		if !match(d, record) {
			return false
		}
		one := p.history.result(record)
		if d.count, d.bytes = d.count+1, d.bytes+len(one.Body); one.Guest {
			d.guests, d.guestBytes = d.guests+1, d.guestBytes+len(one.Body)
		}
		return true
	})
	if d.count > 0 {
		p.results.drop(uint64(d.count))
		p.resultBytes, p.guestResultBytes = p.resultBytes-d.bytes, p.guestResultBytes-d.guestBytes
		p.guestResults -= d.guests
		p.saved.ResultsFirst = p.results.first
	}
}

// ResultAt returns the nth result that the project has stored, if it is still kept. Its body
// must not be changed.
func (p *Project) ResultAt(nth uint64) (one StoredResult, kept bool) {
	if nth < p.results.first || nth >= p.results.end {
		return one, false
	}
	one = p.history.result(p.results.at(nth))
	return one, !p.forgotten(nth, &one)
}

// ResultKey returns the key of the nth result, if it was not dropped together with all older ones.
func (p *Project) ResultKey(nth uint64) (key [16]byte, kept bool) {
	if nth < p.results.first || nth >= p.results.end {
		return key, false
	}
	return [16]byte(p.results.at(nth)), true
}

// ResultRange returns the range [first, end) of the stored results that are kept.
func (p *Project) ResultRange() (first, end uint64) { return p.results.first, p.results.end }

// HasResult reports whether the project keeps a result of a key.
func (p *Project) HasResult(key [16]byte) (found bool) {
	p.results.each(p.results.first, p.results.end, func(nth uint64, record []byte) bool {
		if [16]byte(record) == key {
			one := p.history.result(record)
			found = !p.forgotten(nth, &one)
		}
		return !found
	})
	return found
}

// resultsBetween returns the kept results with the numbers [first, end).
func (p *Project) resultsBetween(first, end uint64) []StoredResult {
	list := make([]StoredResult, 0, end-first)
	p.results.each(first, end, func(_ uint64, record []byte) bool {
		list = append(list, p.history.result(record))
		return true
	})
	return list
}
