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
	// cacheMin is the minimum size of a segment whose facts are cached. They are cached once a
	// search has read 1/cacheShare of them.
	cacheMin, cacheShare = 512, 8
	// listMin and listMax bound the number of documents of a term in a segment whose list is
	// cached.
	listMin, listMax = 128, 1 << 17
	// cachedPlacesMax limits the entries of all cached lists, 8 bytes each.
	cachedPlacesMax = 2 << 20
)

// cache holds decoded data of segments, which never change, in a form that is fast to scan. It does
// not include later deletions.
type cache struct {
	mu        sync.Mutex
	bySegment map[uint64]*cachedSegment
	// places is the number of entries of all lists.
	places atomic.Int64
}

type cachedSegment struct {
	mu sync.RWMutex
	// places is the number of entries of lists.
	places int
	// facts has those of all documents, nil if they are not cached. A filter or word that most
	// documents have reads nearly all of them.
	facts []facts
	// lists are by field and term.
	lists map[string]*list
}

// list is the sorted documents of a frequent term in a segment; impacts is nil if the term is a
// filter.
type list struct {
	numbers []uint32
	impacts []float32
	// most is the maximum of impacts.
	most float32
	// left caches the last count: the upper 32 bits are the number of deleted documents in the
	// segment at that time, the lower 32 bits the number of remaining documents in the list. The
	// number of deleted documents only increases.
	left atomic.Uint64
}

// count returns the number of documents in the list that are not deleted.
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

// part is one segment in one search; its documents have the numbers from `from` to `end`-1.
type part struct {
	from, end uint64
	segment   segment.Segment
	deleted   *roaring.Bitmap
	cache     *cachedSegment
	// facts are the cached ones, if any; reads counts the facts read individually.
	facts []facts
	reads uint64
}

// parts returns the segments of a snapshot, and removes other segments from the cache.
func (c *cache) parts(reader index.IndexReader) ([]part, error) {
	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok {
		return nil, errors.New("the index reader is not a scorch snapshot")
	}
	segments := snapshot.Segments()
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.places.Load() > cachedPlacesMax
	bySegment := make(map[uint64]*cachedSegment, len(segments))
	parts, from, places := make([]part, len(segments)), uint64(0), 0
	for i, one := range segments {
		known := c.bySegment[one.Id()]
		if known == nil || full {
			known = &cachedSegment{lists: map[string]*list{}}
		}
		facts, size := known.content()
		places += size
		bySegment[one.Id()] = known
		end := from + uint64(one.FullSize())
		parts[i] = part{
			from: from, end: end, segment: one.Segment(), deleted: one.Deleted(), cache: known,
			facts: facts,
		}
		from = end
	}
	c.bySegment = bySegment
	c.places.Store(int64(places))
	return parts, nil
}

// content returns the cached facts of a segment, and the number of entries of its lists.
func (s *cachedSegment) content() (known []facts, places int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.facts, s.places
}

// add caches a list and returns the number of entries added.
func (s *cachedSegment) add(name string, known *list) (places int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists[name] == nil {
		places = len(known.numbers)
	}
	s.lists[name] = known
	s.places += places
	return places
}

// find returns the documents of a term in a segment, nil if there are none.
func (p *part) find(c *cache, field, term string, scored bool) (*source, error) {
	name, marked := field+term, isMarked(term)
	p.cache.mu.RLock()
	known := p.cache.lists[name]
	p.cache.mu.RUnlock()
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
		c.places.Add(int64(p.cache.add(name, known)))
	}
	s := &source{part: p, list: known, count: uint64(len(known.numbers)), most: known.most}
	if p.deleted != nil && !p.deleted.IsEmpty() {
		s.deleted, s.count = p.deleted, known.count(p.deleted)
	}
	return s, nil
}

// read iterates over the documents of a term in the segment itself.
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

// source iterates forward over the documents of a term in one segment, either in a cached list or
// in the segment itself.
type source struct {
	part  *part
	count uint64
	// most is an upper bound of impact.
	most float32

	list *list
	at   int
	// deleted is nil if no document has to be skipped.
	deleted *roaring.Bitmap

	// marked is set if the term belongs to a name.
	marked   bool
	iterator segment.PostingsIterator
	posting  segment.Posting
}

// seek moves forward to a document, or to the first after it, and returns its number; nowhere if
// there is none.
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

// seekList uses exponential search.
func (s *source) seekList(local uint32) uint64 {
	numbers, at := s.list.numbers, s.at
	// Fast path: it is usually the next one.
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

// impact returns the score of the term at the current document, without its rarity.
func (s *source) impact() float64 {
	if s.list != nil {
		return float64(s.list.impacts[s.at])
	}
	return float64(impactOf(s.posting, s.marked))
}

const (
	// saturation is k1 of BM25 and lengthWeight is b. lengthUsual is used as the average length of
	// texts. It is constant, so that scores do not depend on other documents.
	saturation   = 1.2
	lengthWeight = 0.4
	lengthUsual  = 300
)

// impactOf returns the part of BM25 (Robertson, Zaragoza 2009) that depends only on the document.
// It is rounded to 32 bits, as in a cached list. The impact of a name is its frequency.
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

// nowhere is a position after all documents.
const nowhere = math.MaxUint64
