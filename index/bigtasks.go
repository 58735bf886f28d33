package index

import (
	"cmp"
	"slices"

	"pws/work"
)

// bigLimits decide which projects have lists of their own. Tests use low limits.
type bigLimits struct {
	// big is the weight above which a project has such lists, small the weight below which it gives
	// them up.
	big, small int32
	// wide is the number of terms above which a big project is in the list of no term, and looked at
	// by every query for one instead. With fewer than narrow terms it is listed again.
	wide, narrow int
}

var usualLimits = bigLimits{big: 256, small: 64, wide: 128, narrow: 64}

// bigTasks are the lists of a project whose tasks and terms are many. The common lists have only
// the first of each of its lists, so that a project is added to them and removed in a time that
// does not grow with its tasks.
type bigTasks struct {
	// ranked holds all nodes by status and by rank.
	ranked []*taskNode
	// terms holds the OPEN tasks of each term by rank.
	terms termLists[*taskNode]
	wide  bool
}

// compareRank compares a node with a place in the order of bigTasks.ranked.
func (t *Tasks) compareRank(n *taskNode, status work.TaskStatus, at TaskPosition) int {
	return cmp.Or(cmp.Compare(t.status(n), status), n.record.position().Compare(at))
}

// rankOf returns the index of a place in the list of all nodes.
func (t *Tasks) rankOf(b *bigTasks, status work.TaskStatus, at TaskPosition) (nth int, known bool) {
	return slices.BinarySearchFunc(b.ranked, at, func(n *taskNode, at TaskPosition) int {
		return t.compareRank(n, status, at)
	})
}

// alike returns the nodes from an index on with the status and the priority of the first.
func (t *Tasks) alike(b *bigTasks, from int) []*taskNode {
	first := b.ranked[from]
	end, known := t.rankOf(b, t.status(first), TaskPosition{first.record.Priority, lastID})
	if known {
		end++
	}
	return b.ranked[from:end]
}

// behind returns the nodes of a status and a priority after a position; the zero ID is the start.
func (t *Tasks) behind(b *bigTasks, status work.TaskStatus, after TaskPosition) []*taskNode {
	from, known := t.rankOf(b, status, after)
	if known && !after.Task.IsZero() {
		from++
	}
	if from == len(b.ranked) || t.status(b.ranked[from]) != status ||
		b.ranked[from].record.Priority != after.Priority {
		return nil
	}
	return t.alike(b, from)
}

// regroup gives a project lists of its own, or takes them. A node is left out.
func (t *Tasks) regroup(p *taskProject, except *taskNode, big bool) {
	t.unlist(p, except)
	if p.kept.big = nil; big {
		p.kept.big = t.bigOf(p, except)
	}
	t.list(p, except)
}

func (t *Tasks) bigOf(p *taskProject, except *taskNode) *bigTasks {
	b := &bigTasks{terms: newTermLists(lessRank)}
	for _, n := range p.nodes {
		if n != except {
			b.ranked = append(b.ranked, n)
		}
	}
	slices.SortFunc(b.ranked, func(x, y *taskNode) int {
		return t.compareRank(x, t.status(y), y.record.position())
	})
	for _, n := range b.ranked {
		if t.status(n) == work.TaskOpen {
			n.record.Terms.each(func(term string) { b.terms.add(term, n) })
		}
	}
	b.wide = len(b.terms.lists) > t.limits.wide
	return b
}

// linkBig adds a node to the lists of its project, and to the common lists where it is the first.
func (t *Tasks) linkBig(n *taskNode) {
	p, b, status := n.project, n.project.kept.big, t.status(n)
	at, _ := t.rankOf(b, status, n.record.position())
	b.ranked = slices.Insert(b.ranked, at, n)
	if p.public {
		t.moveHead(b, at, func(next *taskNode) {
			if next != nil {
				t.orders.heads[status].Delete(next)
			}
			t.orders.heads[status].Set(n)
		})
	}
	if status != work.TaskOpen {
		return
	}
	named := offered(p) && !b.wide
	n.record.Terms.each(func(term string) {
		list := b.terms.add(term, n)
		if !named || list[0] != n {
			return
		}
		if len(list) > 1 {
			t.orders.terms.delete(term, list[1])
		}
		t.orders.terms.set(term, n)
	})
	if len(b.terms.lists) > t.limits.wide {
		t.widen(p, true)
	}
}

// unlinkBig is the reverse of linkBig.
func (t *Tasks) unlinkBig(n *taskNode) {
	p, b, status := n.project, n.project.kept.big, t.status(n)
	at, _ := t.rankOf(b, status, n.record.position())
	if p.public {
		t.moveHead(b, at, func(next *taskNode) {
			t.orders.heads[status].Delete(n)
			if next != nil {
				t.orders.heads[status].Set(next)
			}
		})
	}
	b.ranked = slices.Delete(b.ranked, at, at+1)
	if status != work.TaskOpen {
		return
	}
	named := offered(p) && !b.wide
	n.record.Terms.each(func(term string) {
		list, first := b.terms.remove(term, n)
		if !named || !first {
			return
		}
		if t.orders.terms.delete(term, n); len(list) > 0 {
			t.orders.terms.set(term, list[0])
		}
	})
	if len(b.terms.lists) < t.limits.narrow {
		t.widen(p, false)
	}
}

// moveHead calls change if the node at an index is the first of its status and priority, with the
// second, nil if there is none.
func (t *Tasks) moveHead(b *bigTasks, at int, change func(next *taskNode)) {
	like := func(other *taskNode) bool {
		return other.record.Priority == b.ranked[at].record.Priority &&
			t.status(other) == t.status(b.ranked[at])
	}
	switch {
	case at > 0 && like(b.ranked[at-1]):
	case at+1 < len(b.ranked) && like(b.ranked[at+1]):
		change(b.ranked[at+1])
	default:
		change(nil)
	}
}

// widen changes whether a big project is found by its terms.
func (t *Tasks) widen(p *taskProject, wide bool) {
	if p.kept.big.wide == wide {
		return
	}
	if offered(p) {
		t.withdrawTerms(p, nil)
	}
	if p.kept.big.wide = wide; offered(p) {
		t.offerTerms(p, nil)
	}
}
