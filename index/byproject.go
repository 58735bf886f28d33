package index

import (
	"slices"
	"sync"

	"pws/internal/id"
)

// byProject holds the records of projects that agents can work on. Everybody finds those of public
// projects, and the members those of other projects. Projects without any take no room. R is what
// is kept of a record; P is what else is kept of a project. It is safe for concurrent use.
type byProject[R, P any] struct {
	// ident points to the ID of a record.
	ident func(one *R) *id.ID
	// link puts a node into the orders of the index that it belongs to now, unlink takes it out of
	// them. Both are called under the lock, which guards those orders too.
	link, unlink func(n *node[R, P])
	mu           struct {
		sync.RWMutex
		projects map[id.ID]*owner[R, P]
		// members are the projects that are not public by their members.
		members map[id.ID][]*owner[R, P]
		count   int
	}
}

// owner is a project with records. It owns its nodes.
type owner[R, P any] struct {
	id      id.ID
	public  bool
	members []id.ID
	// nodes are in the order of their IDs.
	nodes []*node[R, P]
	kept  P
}

type node[R, P any] struct {
	record  R
	project *owner[R, P]
}

// ProjectRecords is all that is kept of one project.
type ProjectRecords[R any] struct {
	Public bool
	// Members are those of a project that is not public.
	Members []id.ID
	// Entries are in the order of their IDs.
	Entries []R
}

func (b *byProject[R, P]) init(ident func(one *R) *id.ID, link, unlink func(n *node[R, P])) {
	b.ident, b.link, b.unlink = ident, link, unlink
	b.mu.projects, b.mu.members = map[id.ID]*owner[R, P]{}, map[id.ID][]*owner[R, P]{}
}

// Len is the number of records.
func (b *byProject[R, P]) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.mu.count
}

// enter takes in a record, or another state of one. It reports whether it is the first of its
// project: then nobody finds it until SetAudience has said who may.
func (b *byProject[R, P]) enter(project, ident id.ID, next R) (first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.mu.projects[project]
	if p == nil {
		p, first = &owner[R, P]{id: project}, true
		b.mu.projects[project] = p
	}
	b.put(p, ident, next)
	return first
}

func (b *byProject[R, P]) put(p *owner[R, P], ident id.ID, next R) {
	at, known := b.find(p, ident)
	if known {
		b.unlink(p.nodes[at])
		p.nodes[at].record = next
	} else {
		p.nodes = slices.Insert(p.nodes, at, &node[R, P]{record: next, project: p})
		b.mu.count++
	}
	b.link(p.nodes[at])
}

func (b *byProject[R, P]) find(p *owner[R, P], wanted id.ID) (at int, known bool) {
	// IDs rise, so that a new record nearly always comes last.
	low, high := 0, len(p.nodes)
	for middle := high - 1; low < high; middle = (low + high) / 2 {
		switch b.ident(&p.nodes[middle].record).Compare(wanted) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// Drop forgets a record that needs no work any longer.
func (b *byProject[R, P]) Drop(project, one id.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.mu.projects[project]
	if p == nil {
		return
	}
	if at, known := b.find(p, one); known {
		b.unlink(p.nodes[at])
		p.nodes = slices.Delete(p.nodes, at, at+1)
		b.mu.count--
	}
	if len(p.nodes) == 0 {
		b.forget(p)
	}
}

func (b *byProject[R, P]) forget(p *owner[R, P]) {
	for _, n := range p.nodes {
		b.unlink(n)
	}
	b.mu.count -= len(p.nodes)
	b.setMembers(p, nil)
	delete(b.mu.projects, p.id)
}

// SetAudience says who may find the records of a project, where it has any: everybody, or its
// members.
func (b *byProject[R, P]) SetAudience(project id.ID, public bool, members []id.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.mu.projects[project]
	if p == nil {
		return
	}
	if public {
		members = nil
	}
	b.setMembers(p, members)
	if p.public != public {
		b.relink(p, func() { p.public = public })
	}
}

// relink changes what the places of all records of a project depend on.
func (b *byProject[R, P]) relink(p *owner[R, P], change func()) {
	for _, n := range p.nodes {
		b.unlink(n)
	}
	change()
	for _, n := range p.nodes {
		b.link(n)
	}
}

func (b *byProject[R, P]) setMembers(p *owner[R, P], members []id.ID) {
	if slices.Equal(p.members, members) {
		return
	}
	for _, member := range p.members {
		list := b.mu.members[member]
		if at := slices.Index(list, p); at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if len(list) == 0 {
			delete(b.mu.members, member)
			continue
		}
		b.mu.members[member] = list
	}
	for _, member := range members {
		b.mu.members[member] = append(b.mu.members[member], p)
	}
	p.members = slices.Clone(members)
}

// replace makes what is kept of a project this, and nothing where it has no records.
func (b *byProject[R, P]) replace(project id.ID, all *ProjectRecords[R], kept P) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.mu.projects[project]; p != nil {
		b.forget(p)
	}
	if len(all.Entries) == 0 {
		return
	}
	p := &owner[R, P]{id: project, public: all.Public, kept: kept}
	p.nodes = make([]*node[R, P], 0, len(all.Entries))
	b.mu.projects[project] = p
	if !all.Public {
		b.setMembers(p, all.Members)
	}
	for at := range all.Entries {
		b.put(p, *b.ident(&all.Entries[at]), all.Entries[at])
	}
}

// get is what is kept of a project, for comparing.
func (b *byProject[R, P]) get(project id.ID) (all ProjectRecords[R], kept P) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p := b.mu.projects[project]
	if p == nil {
		return all, kept
	}
	all.Public, all.Members = p.public, slices.Clone(p.members)
	for _, n := range p.nodes {
		all.Entries = append(all.Entries, n.record)
	}
	return all, p.kept
}
