package index

import (
	"errors"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Ended returns up to limit deleted projects that cannot be restored at a time, those that ended
// first. It does not know whether operators have removed them since.
func (m *Memberships) Ended(now int64, limit int) (ended []id.ID) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	m.mu.ends.Scan(func(at Position) bool {
		if at.Millis > now || len(ended) == limit {
			return false
		}
		ended = append(ended, at.ID)
		return true
	})
	return ended
}

// endOf returns when a deleted project cannot be restored any more, 0 for others.
func endOf(p *work.Project) int64 {
	if end := p.End(); end != nil {
		return end.Until()
	}
	return 0
}

// shownVisibility returns the visibility of a project in lists of its members: of a deleted project
// that from before.
func shownVisibility(p *work.Project) work.Visibility {
	if end := p.End(); end != nil {
		return end.Visibility
	}
	return p.Visibility
}

// listedMembers returns those who find the project in their lists: its members, or the owner of a
// deleted one.
func listedMembers(p *work.Project) []work.Member {
	if p.End() != nil {
		return []work.Member{{Agent: p.Owner, Role: work.Owner}}
	}
	return p.Members()
}

// setEnd stores when a project ends, 0 for one that is not deleted. The lock is held.
func (m *Memberships) setEnd(p *memberProject, end int64) {
	if p.ends == end {
		return
	}
	if p.ends != 0 {
		m.mu.ends.Delete(Position{Millis: p.ends, ID: p.id})
	}
	if p.ends = end; end != 0 {
		m.mu.ends.Set(Position{Millis: end, ID: p.id})
	}
}

// decodeEnd reads what the part of a deleted project has more than others.
func (p *memberProject) decodeEnd(part *disk.Reader) error {
	p.ends = int64(part.Uvarint())
	p.visibility = work.Visibility(part.Byte())
	switch {
	case part.Failed():
		return errPart
	case p.ends <= 0 || p.visibility < work.Public || p.visibility > work.Private:
		return errors.New("a deleted project with an invalid end or visibility")
	}
	return nil
}

// replace replaces all memberships of a project that was deleted or restored. The lock is held.
func (m *Memberships) replace(p *memberProject, before, next *work.Project) {
	for _, member := range listedMembers(before) {
		m.set(member.Agent, p, work.NoRole)
	}
	for _, member := range listedMembers(next) {
		m.set(member.Agent, p, member.Role)
	}
}
