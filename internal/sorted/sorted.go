// Package sorted has sets and maps in an order, which are B-trees.
//
// A type that contains a B-tree of the library makes each package that mentions the type compile
// the hundred methods of that tree again, which was half of the time of a build. A type that
// contains a Set or a Map does not, as these are interfaces. For the same reason, a method of a
// generic type never calls By or NewMap.
package sorted

import "github.com/tidwall/btree"

// Set is a set in a total order. It is safe for concurrent readers, not beside a writer.
type Set[T any] interface {
	// Get returns the element that is equal to another one in the order.
	Get(like T) (one T, found bool)
	// Set adds an element, or replaces the equal one and returns it.
	Set(one T) (was T, replaced bool)
	// Load is Set for an element above all others, which it adds faster.
	Load(one T) (was T, replaced bool)
	// Delete removes the equal element, and returns it.
	Delete(like T) (was T, found bool)
	Len() int
	// Min returns the first element.
	Min() (one T, found bool)
	// GetAt returns the nth element.
	GetAt(nth int) (one T, found bool)
	// Scan yields all elements in order, until yield returns false.
	Scan(yield func(one T) bool)
	// Ascend is Scan from the first element that is not below another one.
	Ascend(from T, yield func(one T) bool)
	// Descend yields elements in the reverse order, from the last that is not above another one.
	Descend(from T, yield func(one T) bool)
	// Copy returns a set with the same elements, which shares memory until one of them changes. It
	// writes to this set, but nothing that readers read.
	Copy() Set[T]
}

// Order is a total order.
type Order[T any] struct {
	less func(a, b T) bool
	make func() Set[T]
}

// Degree is the usual number of branches of a node.
const Degree = 32

// By is the order in which less says whether a is before b. Its sets have nodes of a degree: small
// nodes are copied faster when one of two sets that share them changes.
func By[T any](less func(a, b T) bool, degree int) Order[T] {
	return Order[T]{less: less, make: func() Set[T] {
		return set[T]{btree.NewBTreeGOptions(less, btree.Options{NoLocks: true, Degree: degree})}
	}}
}

// New makes an empty set.
func (o Order[T]) New() Set[T] { return o.make() }

// Less reports whether a is before b.
func (o Order[T]) Less(a, b T) bool { return o.less(a, b) }

// set has one pointer, so that an interface holds it without another allocation.
type set[T any] struct{ *btree.BTreeG[T] }

func (s set[T]) Copy() Set[T] { return set[T]{s.BTreeG.Copy()} }

// Map maps texts, in the order of their bytes. It is safe for concurrent readers, not beside a
// writer.
type Map[V any] interface {
	Get(key string) (value V, found bool)
	// Set adds or replaces a value, and returns the one that was there.
	Set(key string, value V) (was V, replaced bool)
	// Load is Set for a key above all others, which it adds faster.
	Load(key string, value V) (was V, replaced bool)
	// Delete removes a key, and returns its value.
	Delete(key string) (was V, found bool)
	Len() int
	// Scan yields all entries in order, until yield returns false.
	Scan(yield func(key string, value V) bool)
	// Ascend is Scan from the first key that is not below another one.
	Ascend(from string, yield func(key string, value V) bool)
	// Entries returns an iterator that is before the first entry.
	Entries() Entries[V]
	// Copy returns a map with the same entries, which shares memory until one of them changes. It
	// writes to this map, but nothing that readers read.
	Copy() Map[V]
	// CopyFrozen is Copy for a map that nobody changes any more, for any number of callers at once.
	CopyFrozen() Map[V]
}

// Entries iterates over a map that nobody changes until it ends.
type Entries[V any] interface {
	// Seek moves to the first key that is not below another one, Next to the next key. They report
	// whether there is one.
	Seek(from string) bool
	Next() bool
	Key() string
	Value() V
}

// NewMap makes an empty map.
func NewMap[V any]() Map[V] { return texts[V]{new(btree.Map[string, V])} }

type texts[V any] struct{ *btree.Map[string, V] }

func (t texts[V]) Entries() Entries[V] {
	at := t.Map.Iter()
	return &at
}

func (t texts[V]) Copy() Map[V] { return texts[V]{t.Map.Copy()} }

func (t texts[V]) CopyFrozen() Map[V] {
	same := *t.Map
	return texts[V]{same.Copy()}
}
