package identity

import (
	"fmt"
	"iter"
	"strings"

	"pws/internal/id"
	"pws/internal/sorted"
)

// State is the whole state of identity at one position of the log. It consists of persistent
// trees: a clone costs the same for any size. Only the owner clones; published States are only
// read.
type State struct {
	agents  idTree[*Agent]
	handles sorted.Map[id.ID] // by lower-case handle
	// looks holds the looks of all handles.
	looks      sorted.Map[struct{}]
	keyOwners  idTree[id.ID] // key ID → agent ID
	publicKeys sorted.Map[keyRef]
	sessions   sessionTrie // by credential hash
	sessionIDs idTree[*Session]
	challenges challenges
	due        sorted.Set[dueEntry]
	reports    idTree[*Report]
	// openReports counts the unhandled reports by reporter.
	openReports idTree[int]
	// unhandled is the number of all of them.
	unhandled int
	// suspended holds the agents that are suspended.
	suspended idTree[struct{}]
	operator  *operator
}

// keyRef is the agent and the ID of a public key.
type keyRef struct {
	agent id.ID
	key   id.ID
}

// New returns the empty State.
func New() *State {
	return &State{
		agents:     newIDTree[*Agent](),
		handles:    sorted.NewMap[id.ID](),
		looks:      sorted.NewMap[struct{}](),
		keyOwners:  newIDTree[id.ID](),
		publicKeys: sorted.NewMap[keyRef](),
		sessionIDs: newIDTree[*Session](),
		challenges: newChallenges(),
		due:        sorted.By(lessDue, sorted.Degree).New(),
		reports:    newIDTree[*Report](),

		openReports: newIDTree[int](),
		suspended:   newIDTree[struct{}](),
		operator:    new(operator),
	}
}

// Clone returns a State that shares everything with this one until it is changed. Only the owner
// may call it; readers of the original are not affected.
func (s *State) Clone() *State {
	return &State{
		agents:     s.agents.clone(),
		handles:    s.handles.Copy(),
		looks:      s.looks.Copy(),
		keyOwners:  s.keyOwners.clone(),
		publicKeys: s.publicKeys.Copy(),
		sessions:   s.sessions,
		sessionIDs: s.sessionIDs.clone(),
		challenges: s.challenges.clone(),
		due:        s.due.Copy(),
		reports:    s.reports.clone(),

		openReports: s.openReports.clone(),
		unhandled:   s.unhandled,
		suspended:   s.suspended.clone(),
		operator:    s.operator,
	}
}

// Apply applies an event to this State, which must be the owner's unpublished clone. now is the
// stamp's time, as stored with the event.
func (s *State) Apply(ev Event, now int64) { ev.apply(s, now) }

// Agent finds an agent by ID.
func (s *State) Agent(agentID id.ID) (*Agent, bool) { return s.agents.get(agentID) }

// AgentByHandle finds an agent by its handle, in any case.
func (s *State) AgentByHandle(handle string) (*Agent, bool) {
	agentID, ok := s.handles.Get(foldHandle(handle))
	if !ok {
		return nil, false
	}
	return s.Agent(agentID)
}

// FindAgent finds an agent by its public ID or its handle.
func (s *State) FindAgent(ref string) (*Agent, bool) {
	if agentID, ok := id.Parse(id.Agent, ref); ok {
		return s.Agent(agentID)
	}
	return s.AgentByHandle(ref)
}

// Agents yields all agents, starting at the given ID, in the order of registration.
func (s *State) Agents(from id.ID) iter.Seq[*Agent] {
	return func(yield func(*Agent) bool) {
		s.agents.scan(from, func(_ id.ID, agent *Agent) bool { return yield(agent) })
	}
}

// Key finds a key of any agent by ID.
func (s *State) Key(keyID id.ID) (*Key, bool) {
	owner, ok := s.keyOwners.get(keyID)
	if !ok {
		return nil, false
	}
	return s.mustAgent(owner).Key(keyID)
}

// KeyByPublicKey finds the key, active or revoked, with a public key.
func (s *State) KeyByPublicKey(publicKey [32]byte) (*Key, bool) {
	ref, ok := s.publicKeys.Get(string(publicKey[:]))
	if !ok {
		return nil, false
	}
	return s.Key(ref.key)
}

// Keys returns the keys of an agent, the oldest first, including revoked ones; nil if the agent
// does not exist. The slice must not be modified.
func (s *State) Keys(agentID id.ID) []*Key {
	agent, ok := s.agents.get(agentID)
	if !ok {
		return nil
	}
	return agent.Keys()
}

// Session returns the session whose credential has this hash; it may have expired. Every
// authenticated request calls it.
func (s *State) Session(hash [32]byte) (*Session, bool) {
	return s.sessions.get(&hash)
}

// SessionByID finds a session by ID; it may have expired.
func (s *State) SessionByID(sessionID id.ID) (*Session, bool) {
	return s.sessionIDs.get(sessionID)
}

// Challenge finds a challenge by ID; it may have expired.
func (s *State) Challenge(challengeID id.ID) (*Challenge, bool) {
	return s.challenges.get(challengeID)
}

// Counts holds the sizes of the State, for metrics.
type Counts struct {
	Agents     int
	Keys       int
	Sessions   int // expired ones that are still known included
	Challenges int
	Reports    int
}

// Counts returns the sizes of the State.
func (s *State) Counts() Counts {
	return Counts{
		Agents:     s.agents.len(),
		Keys:       s.keyOwners.len(),
		Sessions:   s.sessions.count,
		Challenges: s.challenges.len(),
		Reports:    s.reports.len(),
	}
}

// mustAgent returns an agent that an event or an index names; it panics if there is none.
func (s *State) mustAgent(agentID id.ID) *Agent {
	agent, ok := s.agents.get(agentID)
	if !ok {
		panic(fmt.Sprintf("identity: no agent %s", agentID.Format(id.Agent)))
	}
	return agent
}

// putAgent replaces an agent's record and updates the order of due agents.
func (s *State) putAgent(agent *Agent) {
	was := int64(0)
	if old, ok := s.agents.get(agent.ID); ok {
		was = old.dueAt
	}
	agent.dueAt = agent.firstDue()
	if was != agent.dueAt {
		if was != 0 {
			s.due.Delete(dueEntry{was, agent.ID})
		}
		if agent.dueAt != 0 {
			s.due.Set(dueEntry{agent.dueAt, agent.ID})
		}
	}
	if agent.SuspendedAt != 0 {
		s.suspended.set(agent.ID, struct{}{})
	} else if s.suspended.len() > 0 {
		s.suspended.delete(agent.ID)
	}
	s.agents.set(agent.ID, agent)
}

// putSession adds a session to the indexes by credential and by ID.
func (s *State) putSession(session *Session) {
	if old := s.sessions.set(session); old != nil && old.ID != session.ID {
		panic(fmt.Sprintf("identity: sessions %s and %s share a credential",
			old.ID.Format(id.Session), session.ID.Format(id.Session)))
	}
	s.sessionIDs.set(session.ID, session)
}

// dropSession removes a session from the indexes.
func (s *State) dropSession(session *Session) {
	s.sessions.delete(&session.Hash)
	s.sessionIDs.delete(session.ID)
}

// foldHandle returns the form in which handles are unique; handles are ASCII.
func foldHandle(handle string) string { return strings.ToLower(handle) }
