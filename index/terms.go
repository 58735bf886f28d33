package index

import (
	"slices"
	"sort"
	"strings"
	"unique"

	"pws/internal/sorted"
)

// Terms are the words by which a task or a project is found, folded to lower case, sorted, without
// duplicates. The zero value is empty. Equal values share memory.
type Terms struct{ joined unique.Handle[string] }

// termBreak separates two terms, which never contain it.
const termBreak = "\x00"

// MakeTerms makes terms of words.
func MakeTerms(words ...string) Terms {
	list := make([]string, 0, len(words))
	for _, word := range words {
		if word = FoldTerm(word); word != "" {
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return JoinedTerms(strings.Join(slices.Compact(list), termBreak))
}

// FoldTerm returns a word as a term.
func FoldTerm(word string) string { return strings.ToLower(strings.TrimSpace(word)) }

// JoinedTerms parses the result of String.
func JoinedTerms(joined string) Terms {
	if joined == "" {
		return Terms{}
	}
	return Terms{unique.Make(joined)}
}

// String returns the terms joined by termBreak.
func (t Terms) String() string {
	if t == (Terms{}) {
		return ""
	}
	return t.joined.Value()
}

// Equal reports whether both contain the same terms.
func (t Terms) Equal(other Terms) bool { return t == other }

// each yields the terms.
func (t Terms) each(yield func(term string)) {
	if t == (Terms{}) {
		return
	}
	for term := range strings.SplitSeq(t.joined.Value(), termBreak) {
		yield(term)
	}
}

func (t Terms) has(wanted string) (found bool) {
	t.each(func(term string) { found = found || term == wanted })
	return found
}

// weight is the number of entries in the lists of records that a record with these terms has.
func (t Terms) weight() int32 {
	if t == (Terms{}) {
		return 1
	}
	// #nosec G115 -- the terms of a record are bounded
	return int32(2 + strings.Count(t.joined.Value(), termBreak))
}

// postings maps a term to the sorted values that have it. The empty term is used as the list of all
// values.
type postings[T any] struct {
	orders map[string]sorted.Set[T]
	order  sorted.Order[T]
}

func newPostings[T any](less func(a, b T) bool) postings[T] {
	return postings[T]{orders: map[string]sorted.Set[T]{}, order: sorted.By(less, taskDegree)}
}

func (p postings[T]) set(term string, one T) {
	order := p.orders[term]
	if order == nil {
		order = p.order.New()
		p.orders[strings.Clone(term)] = order
	}
	order.Set(one)
}

func (p postings[T]) delete(term string, one T) {
	order := p.orders[term]
	if order == nil {
		return
	}
	if order.Delete(one); order.Len() == 0 {
		delete(p.orders, term)
	}
}

// scan yields the values that have a term, in order.
func (p postings[T]) scan(term string, yield func(one T) bool) {
	if order := p.orders[term]; order != nil {
		order.Scan(yield)
	}
}

// termLists maps a term to the values of one project that have it, in order. There are no empty
// lists.
type termLists[T comparable] struct {
	lists map[string][]T
	less  func(a, b T) bool
}

func newTermLists[T comparable](less func(a, b T) bool) termLists[T] {
	return termLists[T]{lists: map[string][]T{}, less: less}
}

// place returns the index of a value in a list, or where it has to be inserted.
func (l termLists[T]) place(list []T, one T) int {
	if last := len(list) - 1; last < 0 || l.less(list[last], one) {
		// A new record is nearly always appended.
		return last + 1
	}
	return sort.Search(len(list), func(at int) bool { return !l.less(list[at], one) })
}

// add adds a value to the list of a term, and returns that list.
func (l termLists[T]) add(term string, one T) []T {
	list, known := l.lists[term]
	if !known {
		term = strings.Clone(term)
	}
	list = slices.Insert(list, l.place(list, one), one)
	l.lists[term] = list
	return list
}

// remove removes a value from the list of a term. It returns what is left of the list, and whether
// the value was the first.
func (l termLists[T]) remove(term string, one T) (list []T, first bool) {
	list = l.lists[term]
	at := l.place(list, one)
	list = slices.Delete(list, at, at+1)
	if l.lists[term] = list; len(list) == 0 {
		delete(l.lists, term)
	}
	return list, at == 0
}
