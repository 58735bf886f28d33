package search

import (
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

const (
	// keptMin is the least size of a segment whose facts are kept, and keptShare the part of it that
	// a search has read by then, as the divisor.
	keptMin, keptShare = 512, 8
	// listMin and listMax are how many documents of a segment have a term whose list is kept.
	listMin, listMax = 128, 1 << 17
	// keptListsMax bounds the places of all lists that are kept, 8 bytes each.
	keptListsMax = 2 << 20
)

// kept is what searches remember of segments, which never change: what is slow to decode, in a form
// that is fast to scan. It does not know what was deleted since.
type kept struct {
	mu        sync.Mutex
	bySegment map[uint64]*keptSegment
	// places are those of all lists.
	places atomic.Int64
}

type keptSegment struct {
	mu sync.RWMutex
	// places are those of lists.
	places int
	// facts has those of all documents, nil while they are not kept: a filter or a word that most
	// documents have asks for all of them.
	facts []facts
	// lists are by field and term.
	lists map[string]*list
}

// list are the documents of a frequent term in a segment, in their order; impacts is nil where the
// term is of a filter.
type list struct {
	numbers []uint32
	impacts []float32
	// most is the highest of impacts.
	most float32
	// left is what was counted last: above 32 bits how many of the segment were deleted by then, and
	// below them how many of the list were not. Deleted documents only become more.
	left atomic.Uint64
}

// count is how many of the list are not deleted.
func (l *list) count(deleted *roaring.Bitmap) uint64 {
	gone := deleted.GetCardinality()
	if counted := l.left.Load(); counted>>32 == gone {
		return counted & math.MaxUint32
	}
	left, rest := uint64(len(l.numbers)), l.numbers
	for each := deleted.Iterator(); each.HasNext() && len(rest) > 0; {
		at, found := slices.BinarySearch(rest, each.Next())
		if rest = rest[at:]; found {
			left--
		}
	}
	l.left.Store(gone<<32 | left)
	return left
}

// part is one segment in one search; its documents have numbers from `from` until before `end`.
type part struct {
	from, end uint64
	segment   segment.Segment
	deleted   *roaring.Bitmap
	kept      *keptSegment
	// facts are those of kept, when the search began or later; reads counts what was read before.
	facts []facts
	reads uint64
}

// parts are the segments of a snapshot; what is kept of others is forgotten.
func (k *kept) parts(reader index.IndexReader) ([]part, error) {
	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.New("the index is not of segments")
	}
	segments := snapshot.Segments()
	k.mu.Lock()
	defer k.mu.Unlock()
	full := k.places.Load() > keptListsMax
	bySegment := make(map[uint64]*keptSegment, len(segments))
	parts, from, places := make([]part, len(segments)), uint64(0), 0
	for at, one := range segments {
		known := k.bySegment[one.Id()]
		if known == nil || full {
			known = &keptSegment{lists: map[string]*list{}}
		}
		facts, size := known.content()
		places += size
		bySegment[one.Id()] = known
		end := from + uint64(one.FullSize())
		parts[at] = part{
			from: from, end: end, segment: one.Segment(), deleted: one.Deleted(), kept: known,
			facts: facts,
		}
		from = end
	}
	k.bySegment = bySegment
	k.places.Store(int64(places))
	return parts, nil
}

// content is what is kept of a segment: facts, and so many places of lists.
func (s *keptSegment) content() (known []facts, places int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.facts, s.places
}

// add keeps a list; it returns how many places that takes.
func (s *keptSegment) add(name string, known *list) (places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[name] == nil {
		places = len(known.numbers)
	}
	s.lists[name] = known
	s.places += places
	return places
}

// find opens the documents of a term in a segment; nil where it has none.
func (p *part) find(k *kept, field, term string, scored bool) (*source, error) {
	name, marked := field+term, isMarked(term)
	p.kept.mu.RLock()
	known := p.kept.lists[name]
	p.kept.mu.RUnlock()
	if known == nil {
		dictionary, err := p.segment.Dictionary(field)
		if err != nil {
			return nil, err
		}
		all, err := dictionary.PostingsList([]byte(term), nil, nil)
		if err != nil || all.Count() == 0 {
			return nil, err
		}
		count := all.Count()
		if count < listMin || count > listMax {
			return p.read(dictionary, term, scored)
		}
		if known, err = decodeList(all, scored, marked); err != nil {
			return nil, err
		}
		k.places.Add(int64(p.kept.add(name, known)))
	}
	s := &source{part: p, list: known, count: uint64(len(known.numbers)), most: known.most}
	if p.deleted != nil && !p.deleted.IsEmpty() {
		s.deleted, s.count = p.deleted, known.count(p.deleted)
	}
	return s, nil
}

// read goes through the documents of a term as the segment has them.
func (p *part) read(
	dictionary segment.TermDictionary, term string, scored bool,
) (*source, error) {
	there, err := dictionary.PostingsList([]byte(term), p.deleted, nil)
	if err != nil || there.Count() == 0 {
		return nil, err
	}
	return &source{
		part: p, count: there.Count(), most: saturation + 1, marked: isMarked(term),
		iterator: there.Iterator(scored, scored, false, nil),
	}, nil
}

func decodeList(all segment.PostingsList, scored, marked bool) (*list, error) {
	decoded := &list{numbers: make([]uint32, 0, all.Count())}
	if scored {
		decoded.impacts = make([]float32, 0, all.Count())
	}
	iterator := all.Iterator(scored, scored, false, nil)
	for {
		next, err := iterator.Next()
		if err != nil || next == nil {
			return decoded, err
		}
		decoded.numbers = append(decoded.numbers, uint32(next.Number()))
		if scored {
			impact := impactOf(next, marked)
			decoded.impacts = append(decoded.impacts, impact)
			decoded.most = max(decoded.most, impact)
		}
	}
}

// source goes forward through the documents of a term in one segment: through a list that is kept,
// or through what the segment has.
type source struct {
	part  *part
	count uint64
	// most bounds impact.
	most float32

	list *list
	at   int
	// deleted is nil where nothing is to be passed over.
	deleted *roaring.Bitmap

	// marked says that the term is one of a name.
	marked   bool
	iterator segment.PostingsIterator
	posting  segment.Posting
}

// seek goes to a document, or to the first behind it, and returns its number; nowhere where there
// is none. It never goes back.
func (s *source) seek(to uint64) (number uint64, err error) {
	local := uint64(0)
	if to > s.part.from {
		local = to - s.part.from
	}
	if s.list != nil {
		return s.seekList(uint32(local)), nil
	}
	switch {
	case s.posting != nil && s.posting.Number() >= local:
	case s.posting != nil && s.posting.Number()+1 == local:
		s.posting, err = s.iterator.Next()
	default:
		s.posting, err = s.iterator.Advance(local)
	}
	if err != nil || s.posting == nil {
		return nowhere, err
	}
	return s.part.from + s.posting.Number(), nil
}

// seekList looks ahead in steps that double, and then between the last two.
func (s *source) seekList(local uint32) uint64 {
	numbers, at := s.list.numbers, s.at
	// Mostly it is the next.
	if at < len(numbers) && numbers[at] < local {
		at++
	}
	ahead := at
	for step := 1; ahead < len(numbers) && numbers[ahead] < local; step *= 2 {
		at = ahead + 1
		ahead += step
	}
	if ahead > at {
		behind, _ := slices.BinarySearch(numbers[at:min(ahead, len(numbers))], local)
		at += behind
	}
	for s.deleted != nil && at < len(numbers) && s.deleted.Contains(numbers[at]) {
		at++
	}
	if s.at = at; at == len(numbers) {
		return nowhere
	}
	return s.part.from + uint64(numbers[at])
}

// impact is what the term adds at the current document, without its rarity.
func (s *source) impact() float64 {
	if s.list != nil {
		return float64(s.list.impacts[s.at])
	}
	return float64(impactOf(s.posting, s.marked))
}

const (
	// saturation says how soon repeats of a word no longer count, lengthWeight how much longer
	// texts count less, and lengthUsual the words of a usual text. The last is fixed, so that
	// scores do not move with the other documents.
	saturation   = 1.2
	lengthWeight = 0.4
	lengthUsual  = 300
)

// impactOf is the part of BM25 (Robertson, Zaragoza 2009) that is of the document. It is rounded,
// so that it is the same from a list that is kept. That of a name is its frequency.
func impactOf(posting segment.Posting, marked bool) float32 {
	if marked {
		return float32(posting.Frequency())
	}
	often, length := float64(posting.Frequency()), float64(lengthUsual)
	if norm := posting.Norm(); norm > 0 {
		length = 1 / (norm * norm)
	}
	long := 1 - lengthWeight + lengthWeight*length/lengthUsual
	return float32(often * (saturation + 1) / (often + saturation*long))
}

// nowhere is behind all documents.
const nowhere = math.MaxUint64
