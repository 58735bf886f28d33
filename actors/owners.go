package actors

import (
	"encoding/binary"

	"github.com/tidwall/btree"

	"pws/internal/id"
	"pws/work"
)

// families finds projects by the family of their IDs, in some 12 bytes each.
type families struct{ order *btree.BTreeG[*handle] }

func newFamilies() families { return families{order: btree.NewBTreeG(byFamily)} }

func byFamily(a, b *handle) bool {
	if one, other := a.id.Family(), b.id.Family(); one != other {
		return one < other
	}
	return a.id.Compare(b.id) < 0
}

func (f families) add(h *handle) { f.order.Set(h) }

// candidatesMax bounds the projects in which one thing is looked for. Nobody can choose the family
// of a project, and of ten million projects hardly four are of one.
const candidatesMax = 8

// of are the projects that may have a thing.
func (f families) of(thing id.ID) (candidates []*handle) {
	var entropy [10]byte
	family := thing.Family()
	binary.BigEndian.PutUint32(entropy[:], family)
	f.order.Ascend(&handle{id: id.New(0, entropy)}, func(h *handle) bool {
		if h.id.Family() != family || len(candidates) == candidatesMax {
			return false
		}
		candidates = append(candidates, h)
		return true
	})
	return candidates
}

// Owner implements api.Engine. Candidates that rest are loaded. One that cannot be is an error only
// where no other has the thing.
func (e *Engine) Owner(kind id.Prefix, thing id.ID) (owner *work.Project, fault error) {
	for _, h := range e.families.of(thing) {
		p, err := e.Project(h.id)
		switch {
		case err != nil:
			fault = err
		case p != nil && p.Has(kind, thing):
			return p, nil
		}
	}
	return nil, fault
}
