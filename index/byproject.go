package index

import (
	"slices"
	"sync"

	"pws/internal/id"
)

// byProject holds the records of projects that agents can work on. Records of public projects are
// visible to everybody, those of other projects only to the members. A project without records
// takes no memory. R is the record type; P is additional data per project. It is safe for
// concurrent use.
type byProject[R, P any] struct {
	// ident returns a pointer to the ID of a record.
	ident func(one *R) *id.ID
	// link adds a node to the sorted lists that it currently belongs to, unlink removes it from
	// them. relist removes all records of a project from the sorted lists, calls change, and adds
	// them again; its time does not grow with the number of records. All are called under the lock,
	// which guards those lists too.
	link, unlink func(n *node[R, P])
	relist       func(p *owner[R, P], change func())
	mu           struct {
		sync.RWMutex
		projects map[id.ID]*owner[R, P]
		// members maps an agent to its projects that are not public, and to some that were not.
		members map[id.ID][]*owner[R, P]
		count   int
	}
}

// owner is a project with records. It owns its nodes.
type owner[R, P any] struct {
	id     id.ID
	public bool
	// members are those of the time when the project was last not public.
	members []id.ID
	// nodes are sorted by ID.
	nodes []*node[R, P]
	kept  P
}

type node[R, P any] struct {
	record  R
	project *owner[R, P]
}

// ProjectRecords is everything stored for one project.
type ProjectRecords[R any] struct {
	Public bool
	// Members are set if the project is not public.
	Members []id.ID
	// Entries are sorted by ID.
	Entries []R
}

func (b *byProject[R, P]) init(
	ident func(one *R) *id.ID, link, unlink func(n *node[R, P]),
	relist func(p *owner[R, P], change func()),
) {
	b.ident, b.link, b.unlink, b.relist = ident, link, unlink, relist
	b.mu.projects, b.mu.members = map[id.ID]*owner[R, P]{}, map[id.ID][]*owner[R, P]{}
}

// Len returns the number of records.
func (b *byProject[R, P]) Len() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.mu.count
}

// enter adds or updates a record. It reports whether it is the first of its project; then nobody
// can find it until SetAudience is called.
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
	// New IDs are larger than old ones, so a new record is nearly always appended.
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

// Drop removes a record that needs no more work.
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
	for len(p.nodes) > 0 {
		last := len(p.nodes) - 1
		b.unlink(p.nodes[last])
		p.nodes = p.nodes[:last]
		b.mu.count--
	}
	b.setMembers(p, nil)
	delete(b.mu.projects, p.id)
}

// SetAudience makes the records of a project visible to everybody or only to its members. It has no
// effect on a project without records.
func (b *byProject[R, P]) SetAudience(project id.ID, public bool, members []id.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.mu.projects[project]
	if p == nil {
		return
	}
	if !public {
		b.setMembers(p, members)
	}
	if p.public != public {
		b.relist(p, func() { p.public = public })
	}
}

// setMembers stores the members of a project that is not public. Those of a public one are kept:
// its visibility may change any number of times.
func (b *byProject[R, P]) setMembers(p *owner[R, P], members []id.ID) {
	if slices.Equal(p.members, members) {
		return
	}
	stay := make(map[id.ID]bool, len(p.members))
	for _, member := range p.members {
		stay[member] = false
	}
	for _, member := range members {
		if _, known := stay[member]; !known {
			b.mu.members[member] = append(b.mu.members[member], p)
		}
		stay[member] = true
	}
	for _, member := range p.members {
		if stay[member] {
			continue
		}
		list := b.mu.members[member]
		if at := slices.Index(list, p); at >= 0 {
			list = slices.Delete(list, at, at+1)
		}
		if b.mu.members[member] = list; len(list) == 0 {
			delete(b.mu.members, member)
		}
	}
	p.members = slices.Clone(members)
}

// replace replaces everything stored for a project. It removes a project without records.
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
	for i := range all.Entries {
		b.put(p, *b.ident(&all.Entries[i]), all.Entries[i])
	}
}

// get returns everything stored for a project. Tests compare it.
func (b *byProject[R, P]) get(project id.ID) (all ProjectRecords[R], kept P) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p := b.mu.projects[project]
	if p == nil {
		return all, kept
	}
	if all.Public = p.public; !p.public {
		all.Members = slices.Clone(p.members)
	}
	for _, n := range p.nodes {
		all.Entries = append(all.Entries, n.record)
	}
	return all, p.kept
}
