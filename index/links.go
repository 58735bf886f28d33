package index

import (
	"cmp"
	"sync"

	"github.com/tidwall/btree"

	"pws/internal/id"
)

// LinkKind says why a project names a thing.
type LinkKind uint8

// The kinds of links. Their numbers stand in saved sections.
const (
	// LinkRelation leads from a project to those that say how they stand to it.
	LinkRelation LinkKind = iota + 1
)

// Link is one way from a thing to a project whose own record names it.
type Link struct {
	Kind  LinkKind
	Thing id.ID
}

// Compare orders links by kind, then by thing.
func (l Link) Compare(other Link) int {
	return cmp.Or(cmp.Compare(l.Kind, other.Kind), l.Thing.Compare(other.Thing))
}

// linkPlace is a link with the project that it leads to.
type linkPlace struct {
	Link
	source id.ID
}

func byLink(a, b linkPlace) bool {
	return cmp.Or(a.Compare(b.Link), a.source.Compare(b.source)) < 0
}

// Links leads from things to the projects whose own records name them. Such records are never taken
// back, so that links only come. It is safe for concurrent use.
type Links struct {
	mu struct {
		sync.RWMutex
		order *btree.BTreeG[linkPlace]
	}
}

// NewLinks makes an empty index.
func NewLinks() *Links {
	l := new(Links)
	l.mu.order = btree.NewBTreeGOptions(byLink, btree.Options{NoLocks: true})
	return l
}

// Add says that a project names a thing; it may have been said before.
func (l *Links) Add(project id.ID, link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.order.Set(linkPlace{link, project})
}

// Projects names up to limit projects that a link leads to, in the order of their IDs, behind one;
// the zero ID stands for the start.
func (l *Links) Projects(link Link, after id.ID, limit int) (found []id.ID) {
	if limit <= 0 {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	l.mu.order.Ascend(linkPlace{link, after}, func(place linkPlace) bool {
		if place.Link != link {
			return false
		}
		if place.source != after {
			found = append(found, place.source)
		}
		return len(found) < limit
	})
	return found
}

// Len is the number of links.
func (l *Links) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.order.Len()
}
