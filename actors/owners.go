package actors

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// ownerIndex finds the projects that may own a record, by the project bits of its ID. It takes some
// 12 bytes a project.
type ownerIndex struct {
	mu    sync.RWMutex
	order sorted.Set[*handle]
}

func newOwnerIndex() *ownerIndex {
	return &ownerIndex{order: sorted.By(byProjectBits, sorted.Degree).New()}
}

func byProjectBits(a, b *handle) bool {
	if one, other := a.id.ProjectBits(), b.id.ProjectBits(); one != other {
		return one < other
	}
	return a.id.Compare(b.id) < 0
}

func (o *ownerIndex) add(h *handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.order.Set(h)
}

// load adds many handles to an empty index. They are sorted by copies of their bits first, so that
// neither the sort nor the tree looks up handles all over the memory.
func (o *ownerIndex) load(all []*handle) {
	type ordered struct {
		bits uint32
		*handle
	}
	order := make([]ordered, len(all))
	for i, h := range all {
		order[i] = ordered{h.id.ProjectBits(), h}
	}
	slices.SortFunc(order, func(a, b ordered) int {
		if a.bits != b.bits {
			return cmp.Compare(a.bits, b.bits)
		}
		return a.id.Compare(b.id)
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range order {
		o.order.Load(order[i].handle)
	}
}

// candidatesMax bounds the projects in which one record is looked for. Nobody can choose the
// project bits of a project, and of ten million projects hardly four share them.
const candidatesMax = 8

// of are the projects that may own a record.
func (o *ownerIndex) of(record id.ID) (candidates []*handle) {
	var entropy [10]byte
	bits := record.ProjectBits()
	binary.BigEndian.PutUint32(entropy[:], bits)
	o.mu.RLock()
	defer o.mu.RUnlock()
	o.order.Ascend(&handle{id: id.New(0, entropy)}, func(h *handle) bool {
		if h.id.ProjectBits() != bits || len(candidates) == candidatesMax {
			return false
		}
		candidates = append(candidates, h)
		return true
	})
	return candidates
}

// Owner implements api.Engine. It loads candidates that are not in memory and that the agent may
// read. One that cannot be loaded is an error only where no other owns the record.
func (e *Engine) Owner(
	kind id.Prefix, record, agent id.ID,
) (owner *work.Project, fault error) {
	for _, h := range e.owners.of(record) {
		p, err := e.ProjectFor(h.id, agent)
		switch {
		case err != nil:
			fault = err
		case p != nil && p.Has(kind, record):
			return p, nil
		}
	}
	return nil, fault
}
