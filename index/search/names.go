package search

// namesFrom examines documents from a number on, which are behind the last candidate: those whose
// name is the query, and then those whose names have all words. They rank before texts, so they are
// found however many texts have the words.
func (r *run) namesFrom(from uint64) error {
	if len(r.named) == 0 {
		return nil
	}
	seen := map[uint64]bool{}
	for _, exact := range []bool{true, false} {
		again := &run{
			query: r.query, reader: r.reader, cache: r.cache, weights: newWeighing(r.query.Weights),
			best: r.best,
		}
		if err := again.open(); err != nil {
			return err
		}
		leading := again.named
		if exact {
			leading = []*postings{again.exact}
		}
		if err := again.names(leading, from, seen); err != nil {
			return err
		}
		r.best = again.best
	}
	return nil
}

// names examines documents that are in all of the leading postings, and were not seen.
func (r *run) names(leading []*postings, from uint64, seen map[uint64]bool) error {
	for range namesMax {
		number, err := meet(leading, from)
		if err != nil {
			return err
		}
		if number == nowhere {
			break
		}
		passes, next, err := r.passes(number)
		if err != nil {
			return err
		}
		if from = max(number+1, next); !passes || seen[number] {
			continue
		}
		seen[number] = true
		if err := r.match(number, r.words); err != nil {
			return err
		}
	}
	return r.rank()
}

// meet returns the first document from a number on that all postings have, nowhere if there is
// none.
func meet(all []*postings, from uint64) (uint64, error) {
	for i := 0; i < len(all); {
		if err := all[i].advance(from); err != nil {
			return 0, err
		}
		switch {
		case all[i].at == nowhere:
			return nowhere, nil
		case all[i].at > from:
			from, i = all[i].at, 0
		default:
			i++
		}
	}
	return from, nil
}
