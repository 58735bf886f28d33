package search

import "math"

// postings are the documents of a word or of a filter: of any of several terms.
type postings struct {
	cursors []*cursor
	// at is the current document, nowhere after the last one.
	at    uint64
	count uint64
	// all are the documents that contain all parts of a compound word, nil for a simple word.
	all *conjunction
	// most is an upper bound of score, rounded up slightly because floating-point sums are inexact;
	// later is an upper bound of the sum for all following words.
	most, later float64
	// bit identifies the word; longer is set if longer words match it too.
	bit    uint32
	longer bool
}

// cursor iterates over the documents of one term in all segments.
type cursor struct {
	sources []*source
	at      uint64
	weight  float64
}

func (r *run) add(p *postings, field, term string, documents uint64, weight float64) error {
	c, count, most := new(cursor), uint64(0), float32(0)
	for i := range r.values.parts {
		found, err := r.values.parts[i].find(r.cache, field, term, weight > 0)
		if err != nil {
			return err
		}
		if found != nil {
			c.sources = append(c.sources, found)
			count += found.count
			most = max(most, found.most)
		}
	}
	if c.weight = weight; weight > 0 && !isMarked(term) {
		c.weight *= r.weights.rarity(documents, count)
	}
	p.cursors = append(p.cursors, c)
	p.count += count
	p.most = max(p.most, c.weight*float64(most)*(1+1e-9))
	if err := c.advance(0); err != nil {
		return err
	}
	if len(p.cursors) == 1 {
		p.at = c.at
	}
	p.at = min(p.at, c.at)
	return nil
}

// advance moves forward to a document, or to the first after it.
func (p *postings) advance(to uint64) error {
	if p.at >= to && len(p.cursors) > 0 {
		return nil
	}
	p.at = nowhere
	for _, c := range p.cursors {
		if c.at < to {
			if err := c.advance(to); err != nil {
				return err
			}
		}
		p.at = min(p.at, c.at)
	}
	if p.all != nil {
		if err := p.all.advance(to); err != nil {
			return err
		}
		p.at = min(p.at, p.all.at)
	}
	return nil
}

// advance moves forward to a document, or to the first after it.
func (c *cursor) advance(to uint64) (err error) {
	for len(c.sources) > 0 {
		if c.sources[0].part.end > to {
			if c.at, err = c.sources[0].seek(to); err != nil || c.at != nowhere {
				return err
			}
		}
		c.sources = c.sources[1:]
	}
	c.at = nowhere
	return nil
}

// scoreUnit is the inverse of the unit of scores. They are rounded, so that sums of them are exact
// and do not depend on the order of the words, which is that of their frequencies.
const scoreUnit = 1 << 20

// score returns the score of the word at the current document. Of several terms the highest counts.
func (p *postings) score() (best float64) {
	for _, c := range p.cursors {
		if c.at == p.at {
			best = max(best, c.weight*c.sources[0].impact())
		}
	}
	if p.all != nil && p.all.at == p.at {
		best = max(best, p.all.score())
	}
	return math.Floor(best*scoreUnit) / scoreUnit
}

// conjunction iterates over the documents that contain all of several words.
type conjunction struct {
	parts []*postings
	at    uint64
}

// conjunctionWeight is the weight of the average score of all parts, lower than that of the word
// itself.
const conjunctionWeight = 0.8

// addConjunction adds the documents that contain all parts of the word.
func (p *postings) addConjunction(all *conjunction) error {
	p.all = all
	fewest, most := uint64(nowhere), 0.0
	for _, part := range all.parts {
		fewest = min(fewest, part.count)
		most += part.most
	}
	p.count += fewest
	p.most = max(p.most, conjunctionWeight*most/float64(len(all.parts))*(1+1e-9))
	if err := all.advance(0); err != nil {
		return err
	}
	p.at = min(p.at, all.at)
	return nil
}

// advance moves forward to a document that contains all parts, or to the first after it.
func (j *conjunction) advance(to uint64) error {
	if j.at >= to && to > 0 {
		return nil
	}
	for {
		j.at = to
		for _, part := range j.parts {
			if err := part.advance(to); err != nil {
				return err
			}
			j.at = max(j.at, part.at)
		}
		if j.at == to || j.at == nowhere {
			return nil
		}
		to = j.at
	}
}

func (j *conjunction) score() (sum float64) {
	for _, part := range j.parts {
		sum += part.score()
	}
	return conjunctionWeight * sum / float64(len(j.parts))
}
