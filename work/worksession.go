package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// WorkSession is a period of one agent's work in a project, from its first write until it ends
// the session. While open, it is active or idle depending on the time of its last write.
type WorkSession struct {
	ID    id.ID `cbor:"1,keyasint"`
	Agent id.ID `cbor:"2,keyasint"`
	// StartedAt, LastActiveAt and EndedAt are Unix milliseconds; EndedAt is zero while open.
	StartedAt    int64 `cbor:"3,keyasint"`
	LastActiveAt int64 `cbor:"4,keyasint"`
	EndedAt      int64 `cbor:"5,keyasint,omitempty"`
	// Summary is that of the end, BEFORE it that of the newest checkpoint; "" where open sessions
	// together had more than EndedBytesMax. Handoff is what the agent left at the end.
	Summary string `cbor:"6,keyasint,omitempty"`
	Handoff id.ID  `cbor:"7,keyasint,omitzero"`
	// Changesets are the sequences of the changesets that the agent published, Tasks the tasks
	// that it created, claimed, changed or released. Both hold the newest in order, at least
	// WorkSessionItemsMax if there are so many.
	Changesets []uint32 `cbor:"8,keyasint,omitempty"`
	Tasks      []id.ID  `cbor:"9,keyasint,omitempty"`
}

// SessionStatus is the status of a work session.
type SessionStatus uint8

// The statuses of a work session.
const (
	SessionActive SessionStatus = iota + 1
	SessionIdle
	SessionEnded
)

var sessionStatusNames = [...]string{"", "ACTIVE", "IDLE", "ENDED"}

// String is the name on the wire.
func (s SessionStatus) String() string { return sessionStatusNames[s] }

// Status returns the status at a time in Unix milliseconds.
func (s *WorkSession) Status(now int64) SessionStatus {
	switch {
	case s.EndedAt != 0:
		return SessionEnded
	case now >= s.LastActiveAt+WorkSessionActiveSeconds*1000:
		return SessionIdle
	}
	return SessionActive
}

// OpenSession returns the open work session of an agent.
func (p *Project) OpenSession(agent id.ID) (*WorkSession, bool) {
	return p.sessions.get(agent)
}

// WorkSession finds a work session by ID, open or ended, as long as it is kept.
func (p *Project) WorkSession(wanted id.ID) (found *WorkSession, ok bool) {
	p.sessions.scan(func(s *WorkSession) bool {
		if s.ID == wanted {
			found = s
		}
		return found == nil
	})
	for i := len(p.saved.Ended) - 1; i >= 0 && found == nil; i-- {
		if p.saved.Ended[i].ID == wanted {
			found = p.saved.Ended[i]
		}
	}
	return found, found != nil
}

// WorkSessions returns all work sessions that are kept, the newest first.
func (p *Project) WorkSessions() []*WorkSession {
	list := slices.Clone(p.saved.Ended)
	p.sessions.scan(func(s *WorkSession) bool { list = append(list, s); return true })
	slices.SortFunc(list, func(a, b *WorkSession) int { return b.ID.Compare(a.ID) })
	return list
}

// OpenSessions yields the open work sessions in no particular order.
func (p *Project) OpenSessions(yield func(*WorkSession) bool) { p.sessions.scan(yield) }

// ActiveSessions returns the number of sessions with recent activity at a time.
func (p *Project) ActiveSessions(now int64) (count int) {
	p.sessions.scan(func(s *WorkSession) bool {
		if s.Status(now) == SessionActive {
			count++
		}
		return true
	})
	return count
}

// sessionNumber is the number of a new work session's ID among the IDs of a stamp.
const sessionNumber = 1<<16 - 1

// sessionOf returns the work session that a command of this stamp belongs to: the agent's open
// one, or the one that Decide opens with it.
func (p *Project) sessionOf(stamp Stamp) id.ID {
	if open, ok := p.OpenSession(stamp.Agent); ok {
		return open.ID
	}
	return stamp.ID(sessionNumber)
}

// WorkSessionOpened is the event of an agent's first write.
type WorkSessionOpened struct {
	ID id.ID `cbor:"1,keyasint"`
}

func (e *WorkSessionOpened) apply(p *Project, at Moment) {
	if p.sessions.len() >= WorkSessionsMax {
		p.endLongestIdle(at.Now)
	}
	p.sessions.set(&WorkSession{
		ID: e.ID, Agent: at.Agent, StartedAt: at.Now, LastActiveAt: at.Now,
	})
}

// endLongestIdle limits the number of open sessions, for projects that very many agents visit
// once.
func (p *Project) endLongestIdle(now int64) {
	var idle *WorkSession
	p.sessions.scan(func(s *WorkSession) bool {
		if idle == nil || s.LastActiveAt < idle.LastActiveAt {
			idle = s
		}
		return true
	})
	p.end(idle, now, "", id.ID{})
}

// touch records that the agent has written, and what it wrote.
func (p *Project) touch(at Moment, changeset uint32, task id.ID) {
	open, ok := p.OpenSession(at.Agent)
	if !ok || changeset == 0 && task.IsZero() && open.LastActiveAt >= at.Now {
		return
	}
	next := *open
	next.LastActiveAt = max(next.LastActiveAt, at.Now)
	if changeset != 0 {
		next.Changesets = appendNewest(next.Changesets, changeset)
	}
	if !task.IsZero() && !slices.Contains(next.Tasks, task) {
		next.Tasks = appendNewest(next.Tasks, task)
	}
	p.sessions.set(&next)
}

// credit adds a changeset to the open work session of its author, if another agent published it.
func (p *Project) credit(author id.ID, changeset uint32) {
	if open, ok := p.OpenSession(author); ok {
		next := *open
		next.Changesets = appendNewest(next.Changesets, changeset)
		p.sessions.set(&next)
	}
}

// summarize keeps the summary of a checkpoint with the open work session of its author. Where those
// of all open sessions become too many bytes, the others lose theirs.
func (p *Project) summarize(author id.ID, summary string) {
	open, ok := p.OpenSession(author)
	if !ok {
		return
	}
	next := *open
	next.Summary = summary
	p.sessions.set(&next)
	bytes, others := 0, []*WorkSession(nil)
	p.sessions.scan(func(s *WorkSession) bool {
		if bytes += len(s.Summary); s.Agent != author && s.Summary != "" {
			others = append(others, s)
		}
		return true
	})
	if bytes <= EndedBytesMax {
		return
	}
	for _, s := range others {
		other := *s
		other.Summary = ""
		p.sessions.set(&other)
	}
}

// appendNewest appends to a list that older states share, and occasionally drops the oldest
// elements.
func appendNewest[T any](list []T, one T) []T {
	if len(list) >= 2*WorkSessionItemsMax {
		list = slices.Clone(list[len(list)-WorkSessionItemsMax+1:])
	}
	return append(list, one)
}

// EndWorkSession ends a work session.
type EndWorkSession struct {
	Session id.ID
	Summary string
	// Handoff is the handoff of the session, zero for none.
	Handoff id.ID
}

// Authorize accepts every agent that may see the project; Decide checks whose session it is.
func (c *EndWorkSession) Authorize(p *Project, agent id.ID) error {
	return readableOr(p, agent, errSessionNotFound())
}

// Decide returns SESSION_NOT_FOUND, FORBIDDEN for another agent's session, and
// HANDOFF_NOT_FOUND. Ending an ended session changes nothing.
func (c *EndWorkSession) Decide(p *Project, stamp Stamp) (Decision, error) {
	s, ok := p.WorkSession(c.Session)
	if !ok {
		return Decision{}, errSessionNotFound()
	}
	if s.Agent != stamp.Agent {
		return Decision{}, fault.New(fault.Forbidden, "The work session belongs to another agent.")
	}
	result := Result{Subject: s.ID}
	if s.EndedAt != 0 {
		return Decision{Result: result}, nil
	}
	if !c.Handoff.IsZero() {
		if _, ok := p.Handoff(c.Handoff); !ok {
			return Decision{}, errHandoffNotFound()
		}
	}
	ended := &WorkSessionEnded{ID: s.ID, Summary: c.Summary, Handoff: c.Handoff}
	return Decision{Events: []Event{ended}, Result: result}, nil
}

func errSessionNotFound() error {
	return fault.New(fault.SessionNotFound, "There is no such work session.")
}

// WorkSessionEnded is the event of a work session that its agent has ended.
type WorkSessionEnded struct {
	ID      id.ID  `cbor:"1,keyasint"`
	Summary string `cbor:"2,keyasint,omitempty"`
	Handoff id.ID  `cbor:"3,keyasint,omitzero"`
}

func (e *WorkSessionEnded) apply(p *Project, at Moment) {
	open, ok := p.OpenSession(at.Agent)
	if !ok || open.ID != e.ID {
		return
	}
	p.end(open, at.Now, e.Summary, e.Handoff)
}

func (p *Project) end(open *WorkSession, now int64, summary string, handoff id.ID) {
	ended := *open
	ended.EndedAt, ended.Handoff = now, handoff
	if summary != "" {
		ended.Summary = summary
	}
	p.sessions.remove(open.Agent)
	p.saved.Ended = append(p.saved.Ended, &ended)
	p.endedBytes += len(ended.Summary)
	for len(p.saved.Ended) > WorkSessionsMax || p.endedBytes > EndedBytesMax {
		p.forgetEnded()
	}
}

// forgetEnded drops the oldest ended session of an agent that is no member where such sessions take
// more than half of the room, else the oldest of all: so strangers push out only each other.
func (p *Project) forgetEnded() {
	members := make(map[id.ID]bool, len(p.saved.Members))
	for _, one := range p.saved.Members {
		members[one.Agent] = true
	}
	first, count, bytes := 0, 0, 0
	for i, one := range p.saved.Ended {
		if !members[one.Agent] {
			if count == 0 {
				first = i
			}
			count++
			bytes += len(one.Summary)
		}
	}
	if 2*count <= len(p.saved.Ended) && 2*bytes <= p.endedBytes {
		first = 0
	}
	p.endedBytes -= len(p.saved.Ended[first].Summary)
	if first == 0 {
		p.saved.Ended = p.saved.Ended[1:]
		return
	}
	p.saved.Ended = slices.Delete(slices.Clone(p.saved.Ended), first, first+1)
}
