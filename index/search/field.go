package search

import (
	"encoding/base64"
	"encoding/binary"

	index "github.com/blevesearch/bleve_index_api"
)

// The fields of a document in the index.
const (
	// fieldWords has the words of title and text, and with a prefix those of names.
	fieldWords = "w"
	// fieldTerms has the terms of the filters.
	fieldTerms = "f"
	// fieldFacts has one value, the encoded facts.
	fieldFacts = "m"
	fieldID    = "_id"
)

// titleWeight is the number of times a word of the title counts.
const titleWeight = 5

// bodyWeight is the number of times a word of the text counts. The text of a project has a higher
// weight, because it describes all that the project contains.
func bodyWeight(kind Kind) int {
	if kind == Project {
		return 2
	}
	return 1
}

// facts are the stored values of a document: the time of its last change, and its version. They are
// encoded as one term, without characters that separate terms.
type facts struct {
	updatedAt int64
	version   uint64
}

func (f facts) encode() []byte {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(f.updatedAt))
	binary.BigEndian.PutUint64(raw[8:], f.version)
	return base64.RawStdEncoding.AppendEncode(nil, raw[:])
}

func (f *facts) decode(text []byte) {
	// Space for the decoded form even if the text is damaged.
	var raw [64]byte
	if base64.RawStdEncoding.DecodedLen(len(text)) > len(raw) {
		return
	}
	if n, err := base64.RawStdEncoding.Decode(raw[:], text); err != nil || n != 16 {
		return
	}
	f.updatedAt = int64(binary.BigEndian.Uint64(raw[:]))
	f.version = binary.BigEndian.Uint64(raw[8:])
}

// factsReader reads the facts of documents.
type factsReader struct {
	values index.DocValueReader
	number index.IndexInternalID
	last   facts
	visit  index.DocValueVisitor
	// parts are the segments sorted by their documents, and at is the index of the last one used.
	parts []part
	at    int
}

func newFactsReader(reader index.IndexReader, cache *cache) (*factsReader, error) {
	values, err := reader.DocValueReader([]string{fieldFacts})
	if err != nil {
		return nil, err
	}
	r := &factsReader{values: values}
	r.visit = func(_ string, term []byte) { r.last.decode(term) }
	r.parts, err = cache.parts(reader)
	return r, err
}

func (r *factsReader) read(number uint64) (facts, error) {
	part := r.part(number)
	if part == nil {
		return r.fetch(number)
	}
	if part.facts == nil {
		part.reads++
		if size := part.end - part.from; size < cacheMin || part.reads < size/cacheShare {
			return r.fetch(number)
		}
		if err := r.cacheFacts(part); err != nil {
			return facts{}, err
		}
	}
	return part.facts[number-part.from], nil
}

// part returns the segment of a document.
func (r *factsReader) part(number uint64) *part {
	for range r.parts {
		if part := &r.parts[r.at]; part.from <= number && number < part.end {
			return part
		}
		r.at = (r.at + 1) % len(r.parts)
	}
	return nil
}

// cacheFacts reads the facts of a whole segment into the cache.
func (r *factsReader) cacheFacts(part *part) (err error) {
	known := make([]facts, part.end-part.from)
	for i := range known {
		if known[i], err = r.fetch(part.from + uint64(i)); err != nil {
			return err
		}
	}
	part.facts = known
	part.cache.mu.Lock()
	defer part.cache.mu.Unlock()
	part.cache.facts = known
	return nil
}

func (r *factsReader) fetch(number uint64) (facts, error) {
	r.number, r.last = index.NewIndexInternalID(r.number, number), facts{}
	err := r.values.VisitDocValues(r.number, r.visit)
	return r.last, err
}

// field is a field whose terms are computed by this package, without the intermediate tokens of the
// bleve analyzers.
type field struct {
	name    string
	value   []byte
	options index.FieldIndexingOptions
	length  int
	terms   index.TokenFrequencies
}

func (f *field) Name() string                                     { return f.name }
func (f *field) Value() []byte                                    { return f.value }
func (f *field) ArrayPositions() []uint64                         { return nil }
func (f *field) EncodedFieldType() byte                           { return 't' }
func (f *field) Analyze()                                         {}
func (f *field) Options() index.FieldIndexingOptions              { return f.options }
func (f *field) AnalyzedLength() int                              { return f.length }
func (f *field) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.terms }
func (f *field) NumPlainTextBytes() uint64                        { return uint64(len(f.value)) }

// count adds the words of a text, each with the given weight.
func (f *field) count(s *space, text string, weight int) {
	eachTerm(&s.room, text, func(term []byte) {
		if len(term) == 0 {
			return
		}
		f.length++
		known := s.term(f.terms, term)
		known.SetFrequency(known.Frequency() + weight)
	})
}

// countNames adds the terms of names. They do not add to the length of the field.
func (f *field) countNames(s *space, d *Document) {
	key := make([]byte, 0, 2+wordBytesMax)
	d.eachName(&s.room, func(mark string, term []byte, adds int) {
		known := s.term(f.terms, append(append(key, mark...), term...))
		known.SetFrequency(max(known.Frequency(), adds))
	})
}

// exactly makes a field of these terms.
func (s *space) exactly(name string, options index.FieldIndexingOptions, terms ...string) *field {
	f := &field{
		name: name, options: options | index.IndexField, length: len(terms),
		terms: make(index.TokenFrequencies, len(terms)),
	}
	for _, term := range terms {
		s.term(f.terms, []byte(term)).SetFrequency(1)
	}
	return f
}

// entry is a document as bleve stores it.
type entry struct {
	id     string
	fields []*field
	space  *space
}

func (s *space) newEntry(d *Document) *entry {
	words := &field{name: fieldWords, options: index.IndexField, terms: s.set()}
	words.count(s, d.Title, titleWeight)
	words.count(s, d.Body, bodyWeight(d.Key.Kind))
	words.countNames(s, d)
	known := facts{updatedAt: d.UpdatedAt, version: d.Version}
	return &entry{id: d.Key.Encode(), space: s, fields: []*field{
		words,
		s.exactly(fieldTerms, index.SkipFreqNorm, d.Terms...),
		s.exactly(fieldFacts, index.SkipFreqNorm|index.DocValues, string(known.encode())),
	}}
}

func (e *entry) ID() string { return e.id }

func (e *entry) Size() int { return len(e.id) }

func (e *entry) VisitFields(visit index.FieldVisitor) {
	for _, one := range e.fields {
		visit(one)
	}
}

func (e *entry) VisitComposite(index.CompositeFieldVisitor) {}

func (e *entry) HasComposite() bool { return false }

func (e *entry) NumPlainTextBytes() uint64 { return 0 }

func (e *entry) AddIDField() {
	own := e.space.exactly(fieldID, index.StoreField, e.id)
	own.value = []byte(e.id)
	e.fields = append(e.fields, own)
}

func (e *entry) StoredFieldsBytes() uint64 { return uint64(len(e.id)) }

func (e *entry) Indexed() bool { return true }
