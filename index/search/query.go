package search

import (
	"cmp"
	"errors"
	"slices"

	index "github.com/blevesearch/bleve_index_api"
)

// Query selects documents.
type Query struct {
	// Words may be empty: then only the filters apply, and the newest documents come first.
	Words Words
	// Filters are groups of terms; a document must have a term of each group.
	Filters [][]string
	// After is the place of the last hit of the previous page, nil for the first page.
	After *Place
	// Weights are nil for the first page. Search sets them; later pages need the same ones.
	Weights Weights
	// Limit is the maximum number of hits.
	Limit int
	// Any returns the first matches found instead of the best ones, and ignores names.
	Any bool
}

// Place orders hits by higher score, then later change, then version, which is an arbitrary
// tiebreaker. With the same Weights a place depends only on the document, so that documents that
// are indexed between two pages do not move the others.
type Place struct {
	Score     float64
	UpdatedAt int64
	Version   uint64
}

// compare is negative if p comes first.
func (p Place) compare(other Place) int {
	switch {
	case p.Score != other.Score:
		return cmp.Compare(other.Score, p.Score)
	case p.UpdatedAt != other.UpdatedAt:
		return cmp.Compare(other.UpdatedAt, p.UpdatedAt)
	}
	return cmp.Compare(p.Version, other.Version)
}

// Hit is a document as it was indexed.
type Hit struct {
	Place
	Key Key
	// Words has a bit for each word of the query, by its position, that the document contains.
	Words uint32
}

const (
	// candidatesMax limits the number of documents that a query examines; the best of these are
	// returned. Behind them it examines namesMax at most whose name is the query, and as many whose
	// names have all words.
	candidatesMax = 1_000_000
	namesMax      = 20_000
	// dictionaryMax is the number of longer words examined for a prefix. Of these the most frequent
	// are searched, at most endingsMax, and as many as add up to endingsBytes without the prefix.
	dictionaryMax = 256
	endingsMax    = 24
	endingsBytes  = 256
	// commonMin is the number of documents from which a word is searched without longer ones, and
	// endingsUntil the number after which no further longer words are added.
	commonMin, endingsUntil = 500, 4000
	// matchedMax is the number of matches that are collected before they are ranked, the last
	// first.
	matchedMax = 512
	// endingWeight is the weight of a longer word.
	endingWeight = 0.6
	// nameComplete is the additional score per word if the name contains all words: more than a
	// word in a text scores.
	nameComplete = 50
)

// Search returns the best hits. Errors: ErrWeights.
func (x *Index) Search(q *Query) (hits []Hit, err error) {
	foreign := false
	err = x.read(func(reader index.IndexReader) (err error) {
		r := &run{
			query: q, reader: reader, cache: &x.cache, weights: newWeighing(q.Weights),
			most: x.most,
		}
		if err := r.open(); err != nil {
			return err
		}
		if foreign = !r.weights.complete(); foreign {
			return nil
		}
		q.Weights = r.weights.all
		hits, err = r.hits()
		return err
	})
	if foreign {
		err = ErrWeights
	}
	return hits, err
}

// run is one search.
type run struct {
	query  *Query
	reader index.IndexReader
	cache  *cache
	// most is the number of candidates.
	most   int
	values *factsReader
	// weights are recorded, or repeated, while the terms are opened.
	weights weighing
	// words are sorted by frequency, the rarest first.
	words   []*postings
	filters []*postings
	needed  int
	// named are the words in names, and exact the documents with a name equal to the query.
	named []*postings
	exact *postings
	// nextNamed is the first document that may have a word in its name.
	nextNamed uint64
	// matched have a score, but are not ranked by time and version yet.
	matched []match
	best    []candidate
}

type match struct {
	number uint64
	score  float64
	words  uint32
}

type candidate struct {
	Place
	number uint64
	words  uint32
}

func (r *run) open() (err error) {
	if r.values, err = newFactsReader(r.reader, r.cache); err != nil {
		return err
	}
	documents, err := r.reader.DocCount()
	if err != nil {
		return err
	}
	if err := r.openWords(documents); err != nil {
		return err
	}
	slices.SortStableFunc(r.words, func(a, b *postings) int { return cmp.Compare(a.count, b.count) })
	for i := len(r.words) - 2; i >= 0; i-- {
		r.words[i].later = r.words[i+1].later + r.words[i+1].most
	}
	for _, group := range r.query.Filters {
		p := new(postings)
		r.filters = append(r.filters, p)
		for _, term := range group {
			if err := r.add(p, fieldTerms, term, 0, 0); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(r.filters,
		func(a, b *postings) int { return cmp.Compare(a.count, b.count) })
	return nil
}

// openWords opens the postings of each word, in texts and in names.
func (r *run) openWords(documents uint64) error {
	words := r.query.Words
	r.needed = Needed(len(words.Folded))
	for i, word := range words.Folded {
		var of []string
		if i < len(words.Parts) {
			of = words.Parts[i]
		}
		beginning := words.Beginning && i == len(words.Folded)-1
		p, err := r.word("", word, of, beginning, documents)
		if err != nil {
			return err
		}
		p.bit = 1 << i
		r.words = append(r.words, p)
		if r.query.Any {
			continue
		}
		// If longer words do not count in texts, they do not count in names.
		if p, err = r.word(nameMark, word, of, p.longer, documents); err != nil {
			return err
		}
		r.named = append(r.named, p)
	}
	if len(r.named) == 0 {
		return nil
	}
	r.exact = new(postings)
	return r.add(r.exact, fieldWords, exactMark+string(exactKey(words.Text)), documents, 1)
}

// word opens the postings of a word: of itself, of all its parts together, and of longer words.
func (r *run) word(
	mark, word string, of []string, beginning bool, documents uint64,
) (p *postings, err error) {
	p = new(postings)
	if err := r.add(p, fieldWords, mark+word, documents, 1); err != nil {
		return nil, err
	}
	if len(of) > 0 {
		all := new(conjunction)
		for _, part := range of {
			one := new(postings)
			if err := r.add(one, fieldWords, mark+part, documents, 1); err != nil {
				return nil, err
			}
			all.parts = append(all.parts, one)
		}
		if err := p.addConjunction(all); err != nil {
			return nil, err
		}
	}
	if beginning && r.weights.flag(mark != "" || p.count < commonMin) {
		p.longer = true
		return p, r.addEndings(p, mark+word, documents)
	}
	return p, nil
}

// addEndings adds words that begin with a given one.
func (r *run) addEndings(p *postings, word string, documents uint64) (err error) {
	var endings []string
	if !r.weights.repeats {
		if endings, err = r.frequentEndings(word, p.count); err != nil {
			return err
		}
	}
	return r.weights.endings(endings, func(ending string) error {
		return r.add(p, fieldWords, word+ending, documents, endingWeight)
	})
}

// frequentEndings returns the endings of the most frequent words that begin with a given one, which
// count documents contain.
func (r *run) frequentEndings(word string, count uint64) (endings []string, err error) {
	found, err := r.reader.FieldDictPrefix(fieldWords, []byte(word))
	if err != nil {
		return nil, err
	}
	var longer []index.DictEntry
	for range dictionaryMax {
		next, err := found.Next()
		if err != nil || next == nil {
			break
		}
		if next.Term != word {
			longer = append(longer, index.DictEntry{Term: next.Term, Count: next.Count})
		}
	}
	if err := found.Close(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(longer,
		func(a, b index.DictEntry) int { return cmp.Compare(b.Count, a.Count) })
	bytes := 0
	for _, one := range longer[:min(endingsMax, len(longer))] {
		ending := one.Term[len(word):]
		if bytes += len(ending); count > endingsUntil || bytes > endingsBytes {
			break
		}
		endings = append(endings, ending)
		count += one.Count
	}
	return endings, nil
}

// hits iterates over the documents that may match: those with one of the rarest words, of which
// every match must contain at least one, or those of the rarest filter if there are no words. The
// other words and filters are only tested for these documents.
func (r *run) hits() ([]Hit, error) {
	leading, asked := r.filters, []*postings(nil)
	if len(r.words) > 0 {
		lead := len(r.words) - r.needed + 1
		leading, asked = r.words[:lead], r.words[lead:]
	} else if len(r.filters) > 1 {
		leading = r.filters[:1]
	}
	at, looked := uint64(0), 0
	for ; looked < r.most; looked++ {
		number := uint64(nowhere)
		for _, p := range leading {
			if err := p.advance(at); err != nil {
				return nil, err
			}
			number = min(number, p.at)
		}
		if number == nowhere {
			break
		}
		at = number + 1
		passes, next, err := r.passes(number)
		if err != nil {
			return nil, err
		}
		if !passes {
			at = max(at, next)
			continue
		}
		if err := r.match(number, asked); err != nil {
			return nil, err
		}
		if r.query.Any && len(r.matched) >= r.query.Limit {
			break
		}
	}
	err := r.rank()
	if err == nil && looked == r.most {
		err = r.namesFrom(at)
	}
	if err != nil {
		return nil, err
	}
	return r.identified()
}

// passes tests the filters; next is the first document that may pass all of them.
func (r *run) passes(number uint64) (passes bool, next uint64, err error) {
	passes = true
	for _, p := range r.filters {
		if err := p.advance(number); err != nil {
			return false, 0, err
		}
		if p.at != number {
			passes, next = false, max(next, p.at)
		}
	}
	return passes, next, nil
}

// match scores one document if it contains enough of the words.
func (r *run) match(number uint64, asked []*postings) error {
	missed, score, words := 0, 0.0, uint32(0)
	if r.nextNamed <= number && len(r.named) > 0 {
		var err error
		if score, err = r.nameScore(number); err != nil {
			return err
		}
	}
	for i, p := range r.words {
		// The leading words are already positioned; the others are advanced only while a match is
		// possible.
		if i >= len(r.words)-len(asked) {
			if err := p.advance(number); err != nil {
				return err
			}
		}
		if p.at == number {
			score += p.score()
			words |= p.bit
		} else if missed++; missed > len(r.words)-r.needed {
			return nil
		}
		if r.beaten(score + p.later) {
			return nil
		}
	}
	if r.query.After != nil && score > r.query.After.Score {
		return nil
	}
	if r.matched = append(r.matched, match{number, score, words}); len(r.matched) == matchedMax {
		return r.rank()
	}
	return nil
}

// nameScore returns the score of the names of a document: a score for each word, and if a name
// contains all words, more than texts can score, so that names rank before texts.
func (r *run) nameScore(number uint64) (adds float64, err error) {
	found := 0
	r.nextNamed = nowhere
	for _, p := range r.named {
		if err := p.advance(number); err != nil {
			return 0, err
		}
		r.nextNamed = min(r.nextNamed, p.at)
		if p.at == number {
			adds += p.score()
			found++
		}
	}
	if found == 0 {
		return 0, nil
	}
	if found == len(r.named) {
		adds += nameComplete * float64(found)
	}
	if err := r.exact.advance(number); err != nil {
		return 0, err
	}
	if r.exact.at == number {
		adds += r.exact.score()
	}
	return adds, nil
}

// beaten reports whether enough documents have a higher score.
func (r *run) beaten(score float64) bool {
	return len(r.best) == r.query.Limit && score < r.best[len(r.best)-1].Score
}

// rank adds the collected matches to the best ones. It starts with the last document: of documents
// with equal scores the newest ranks first, and it is usually the last, so that most others are
// skipped.
func (r *run) rank() error {
	for _, one := range slices.Backward(r.matched) {
		if r.beaten(one.score) {
			continue
		}
		known, err := r.values.read(one.number)
		if err != nil {
			return err
		}
		next := candidate{
			Place{one.score, known.updatedAt, known.version}, one.number, one.words,
		}
		if r.query.After == nil || next.compare(*r.query.After) > 0 {
			r.insert(next)
		}
	}
	r.matched = r.matched[:0]
	return nil
}

func (r *run) insert(next candidate) {
	before := func(a, b candidate) int {
		return cmp.Or(a.compare(b.Place), cmp.Compare(a.number, b.number))
	}
	if full := len(r.best) == r.query.Limit; full {
		// Fast path: most candidates are not among the best.
		if before(next, r.best[len(r.best)-1]) > 0 {
			return
		}
		r.best = r.best[:len(r.best)-1]
	}
	at, _ := slices.BinarySearchFunc(r.best, next, before)
	r.best = slices.Insert(r.best, at, next)
}

func (r *run) identified() ([]Hit, error) {
	hits := make([]Hit, 0, len(r.best))
	for _, one := range r.best {
		hit, err := r.identify(one)
		if err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// identify returns the key of a document.
func (r *run) identify(one candidate) (Hit, error) {
	text, err := r.reader.ExternalID(index.NewIndexInternalID(nil, one.number))
	if err != nil {
		return Hit{}, err
	}
	key, ok := DecodeKey(text)
	if !ok {
		return Hit{}, errors.New("a document has no name")
	}
	return Hit{one.Place, key, one.words}, nil
}
