package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/internal/sorted"
	"pws/work"
)

// Memberships maps agents to the projects that they are members of, and has what lists of projects
// are filtered and sorted by. It does not know read permissions. It is safe for concurrent use.
type Memberships struct {
	mu struct {
		sync.RWMutex
		projects map[id.ID]*memberProject
		// of holds the memberships of each agent, in no order.
		of map[id.ID][]membership
		// ends are the deleted projects, by the time from which they cannot be restored.
		ends sorted.Set[Position]
	}
}

// memberProject is what the index stores of one project.
type memberProject struct {
	id, owner id.ID
	// updated is when the project last changed, in Unix milliseconds. It is the only field that
	// changes without the lock.
	updated atomic.Int64
	// name is folded.
	name       string
	visibility work.Visibility
	status     work.Status
	// ends is when a deleted project cannot be restored any more, in Unix milliseconds; 0 for others.
	ends int64
}

type membership struct {
	project *memberProject
	role    work.Role
}

// MembershipFilter selects memberships; zero fields match all, and without a status no deleted
// projects.
type MembershipFilter struct {
	Role       work.Role
	Visibility work.Visibility
	Status     work.Status
	// Name is a part of the name, folded by FoldName.
	Name string
}

// FoldName makes names comparable without regard to case.
func FoldName(name string) string { return strings.ToLower(name) }

// Matches reports whether a project and the role of an agent in it match.
func (f *MembershipFilter) Matches(p *work.Project, role work.Role) bool {
	return f.matches(role, p.Visibility, p.Status, FoldName(p.Name))
}

func (f *MembershipFilter) matches(
	role work.Role, visibility work.Visibility, status work.Status, name string,
) bool {
	return (f.Role == 0 || f.Role == role) &&
		(f.Visibility == 0 || f.Visibility == visibility) &&
		(f.Status == status || f.Status == 0 && status != work.Deleted) && strings.Contains(name, f.Name)
}

// NewMemberships makes an empty index.
func NewMemberships() *Memberships {
	m := new(Memberships)
	m.mu.projects, m.mu.of = map[id.ID]*memberProject{}, map[id.ID][]membership{}
	m.mu.ends = sorted.By(Position.Before, sorted.Degree).New()
	return m
}

// Expect makes room for a number of projects in an empty index.
func (m *Memberships) Expect(projects int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.projects = make(map[id.ID]*memberProject, projects)
}

// Of returns up to limit projects of an agent that match a filter, the one with the latest activity
// first, after a given place; the zero position is the start. Its time grows with the number of the
// agent's projects.
func (m *Memberships) Of(
	agent id.ID, filter *MembershipFilter, after Position, limit int,
) []Position {
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := make([]Position, 0, min(limit, len(m.mu.of[agent]))+1)
	for _, one := range m.mu.of[agent] {
		p := one.project
		at := Position{Millis: p.updated.Load(), ID: p.id}
		if after != (Position{}) && !after.newer(at) ||
			len(found) == limit && (limit == 0 || !at.newer(found[limit-1])) ||
			!filter.matches(one.role, p.visibility, p.status, p.name) {
			continue
		}
		place, _ := slices.BinarySearchFunc(found, at, func(a, b Position) int {
			switch {
			case a == b:
				return 0
			case a.newer(b):
				return -1
			}
			return 1
		})
		found = slices.Insert(found, place, at)
		found = found[:min(len(found), limit)]
	}
	return found
}

// Shared returns up to limit projects of an agent that are not deleted, sorted by ShareByOwner;
// those of one owner by their latest activity.
func (m *Memberships) Shared(agent id.ID, limit int) []id.ID {
	type place struct {
		Position
		owner id.ID
	}
	var all []place
	m.mu.RLock()
	for _, one := range m.mu.of[agent] {
		if p := one.project; p.status != work.Deleted {
			all = append(all, place{Position{Millis: p.updated.Load(), ID: p.id}, p.owner})
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b place) int {
		if a.newer(b.Position) {
			return -1
		}
		return 1
	})
	all = ShareByOwner(all, agent, func(one place) id.ID { return one.owner })
	found := make([]id.ID, min(limit, len(all)))
	for i := range found {
		found[i] = all[i].ID
	}
	return found
}

// Owners returns the owner of each of some projects, zero where it is unknown.
func (m *Memberships) Owners(projects []id.ID) []id.ID {
	owners := make([]id.ID, len(projects))
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, project := range projects {
		if p := m.mu.projects[project]; p != nil {
			owners[i] = p.owner
		}
	}
	return owners
}

// AtLeast returns the ACTIVE projects in which an agent has at least a role, in no order.
func (m *Memberships) AtLeast(agent id.ID, role work.Role) (found []id.ID) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, one := range m.mu.of[agent] {
		if one.role >= role && one.project.status == work.Active {
			found = append(found, one.project.id)
		}
	}
	return found
}

// Count returns the number of the projects that an agent is a member of, or has deleted.
func (m *Memberships) Count(agent id.ID) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.mu.of[agent])
}

// Hides reports whether a project is PRIVATE and an agent is certainly no member of it. Its time
// grows with the number of the agent's projects.
func (m *Memberships) Hides(project, agent id.ID) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := m.mu.projects[project]
	if p == nil || p.visibility != work.Private {
		return false
	}
	return !slices.ContainsFunc(m.mu.of[agent], func(one membership) bool { return one.project == p })
}

// Named reports whether the name of a project contains a folded text.
func (m *Memberships) Named(project id.ID, text string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := m.mu.projects[project]
	return p != nil && strings.Contains(p.name, text)
}

// Touch records that a project has changed at a time. A start calls it for entries of the log that
// change nothing else of what is stored here, BEFORE it restores the project.
func (m *Memberships) Touch(project id.ID, millis int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(project).raise(millis)
}

// get returns the record of a project, which it adds if there is none. The lock is held.
func (m *Memberships) get(project id.ID) *memberProject {
	p := m.mu.projects[project]
	if p == nil {
		p = &memberProject{id: project}
		m.mu.projects[project] = p
	}
	return p
}

func (p *memberProject) raise(millis int64) {
	for {
		was := p.updated.Load()
		if millis <= was || p.updated.CompareAndSwap(was, millis) {
			return
		}
	}
}

// Kinds implements Projection. All events that count as work change when a project was updated.
func (m *Memberships) Kinds() []work.Kind { return work.WorkKinds() }

// OnlyTouches reports whether events of a kind change nothing that is stored here but the time of
// the last change, which is then the time of their entry.
func OnlyTouches(kind work.Kind) bool {
	switch kind {
	case work.KindProjectCreated, work.KindProjectUpdated, work.KindProjectImported,
		work.KindMemberAdded, work.KindMemberChanged, work.KindMemberRemoved,
		work.KindProjectDeleted, work.KindProjectRestored,
		// An expired workspace counts as no work.
		work.KindWorkspaceEnded, work.KindProjectErased:
		return false
	}
	return true
}

// Update implements Projection.
func (m *Memberships) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		p := m.describe(next)
		for _, member := range listedMembers(next) {
			m.mu.of[member.Agent] = append(m.mu.of[member.Agent], membership{p, member.Role})
		}
		return
	}
	for _, event := range events {
		if !OnlyTouches(work.KindOf(event)) {
			m.change(before, next, events)
			return
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if p := m.mu.projects[next.ID]; p != nil {
		p.raise(next.UpdatedAt)
	}
}

// drop removes the members of a project that was erased.
func (m *Memberships) drop(before *work.Project) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.get(before.ID)
	for _, member := range listedMembers(before) {
		m.set(member.Agent, p, work.NoRole)
	}
	m.setEnd(p, 0)
}

// describe stores what is known of a project itself. The lock is held.
func (m *Memberships) describe(next *work.Project) *memberProject {
	p := m.get(next.ID)
	p.name, p.status, p.owner = FoldName(next.Name), next.Status, next.Owner
	p.visibility = shownVisibility(next)
	m.setEnd(p, endOf(next))
	p.raise(next.UpdatedAt)
	return p
}

// change applies events that change more than the time.
func (m *Memberships) change(before, next *work.Project, events []work.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.describe(next)
	for _, event := range events {
		switch event := event.(type) {
		case *work.MemberAdded:
			m.set(event.Member.Agent, p, next.RoleOf(event.Member.Agent))
		case *work.MemberRemoved:
			m.set(event.Agent, p, next.RoleOf(event.Agent))
		case *work.MemberChanged:
			m.set(event.Agent, p, next.RoleOf(event.Agent))
			m.set(before.Owner, p, next.RoleOf(before.Owner))
		case *work.ProjectDeleted, *work.ProjectRestored:
			m.replace(p, before, next)
		}
	}
}

// set stores the role of an agent in a project. The lock is held.
func (m *Memberships) set(agent id.ID, p *memberProject, role work.Role) {
	list := m.mu.of[agent]
	at := slices.IndexFunc(list, func(one membership) bool { return one.project == p })
	switch {
	case at < 0 && role == work.NoRole:
	case at < 0:
		m.mu.of[agent] = append(list, membership{p, role})
	case role != work.NoRole:
		list[at].role = role
	case len(list) == 1:
		delete(m.mu.of, agent)
	default:
		last := len(list) - 1
		list[at], list[last] = list[last], membership{}
		m.mu.of[agent] = list[:last]
	}
}

// Append implements Projection:
//
//	updated     uvarint Unix milliseconds
//	status      1 byte
//	ends        uvarint Unix milliseconds, of a deleted project only
//	visibility  1 byte, of a deleted project only
//	name        uvarint length, then its bytes
//	members     until the end, in the order in which they joined, each: 16 bytes agent, 1 byte role;
//	            of a deleted project the owner only
func (m *Memberships) Append(out []byte, p *work.Project) []byte {
	out = binary.AppendUvarint(out, uint64(p.UpdatedAt))
	out = append(out, byte(p.Status))
	if end := endOf(p); end != 0 {
		out = append(binary.AppendUvarint(out, uint64(end)), byte(shownVisibility(p)))
	}
	out = appendText(out, p.Name)
	for _, member := range listedMembers(p) {
		out = append(append(out, member.Agent[:]...), byte(member.Role))
	}
	return out
}

// Restore implements Projection.
func (m *Memberships) Restore(c *Card, part *disk.Reader) error {
	read := memberProject{id: c.Project, visibility: c.Visibility}
	updated := int64(part.Uvarint())
	read.status = work.Status(part.Byte())
	if read.status == work.Deleted {
		if err := read.decodeEnd(part); err != nil {
			return err
		}
	}
	read.name = FoldName(part.Text())
	members := part.Fixed(part.Len())
	if part.Failed() || len(members)%memberBytes != 0 {
		return errPart
	}
	for i := 0; i < len(members); i += memberBytes {
		if role := work.Role(members[i+len(id.ID{})]); role <= work.NoRole || role > work.Owner {
			return errors.New("a member with an unknown role")
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.get(c.Project)
	p.name, p.visibility, p.status = read.name, read.visibility, read.status
	m.setEnd(p, read.ends)
	p.raise(updated)
	for ; len(members) > 0; members = members[memberBytes:] {
		agent, role := id.ID(members[:len(id.ID{})]), work.Role(members[len(id.ID{})])
		if role == work.Owner {
			p.owner = agent
		}
		m.mu.of[agent] = append(m.mu.of[agent], membership{p, role})
	}
	return nil
}

// memberBytes is the size of a member in a card.
const memberBytes = len(id.ID{}) + 1
