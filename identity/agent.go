package identity

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"pws/internal/fault"
	"pws/internal/id"
)

// AgentRecord holds the fields of an agent that are saved as they are. A field that is added here
// with a new key is saved and restored without further code. Times are Unix milliseconds.
type AgentRecord struct {
	ID     id.ID  `cbor:"2,keyasint,omitzero"`
	Handle string `cbor:"3,keyasint,omitempty"`
	// ClientName and ClientVersion are those of the registration; each session has its own.
	ClientName    string `cbor:"4,keyasint,omitempty"`
	ClientVersion string `cbor:"5,keyasint,omitempty"`
	CreatedAt     int64  `cbor:"6,keyasint,omitempty"`
	LastSeenAt    int64  `cbor:"7,keyasint,omitempty"`
	// SuspendedAt is 0 unless the agent is suspended, SuspendedFor the reason.
	SuspendedAt  int64  `cbor:"13,keyasint,omitempty"`
	SuspendedFor string `cbor:"14,keyasint,omitempty"`
}

// Agent is one state of an agent. It is immutable.
type Agent struct {
	AgentRecord

	keys     []*Key          // by creation
	sessions []*Session      // by start
	results  []*StoredResult // by storing
	marks    *Marks          // nil for none
	profile  *Profile        // nil for none
	dueAt    int64           // when the first of them can be forgotten, 0 for never
}

// Keys returns the agent's keys, the oldest first; the slice must not be modified.
func (a *Agent) Keys() []*Key { return slices.Clip(a.keys) }

// Sessions returns the agent's sessions, the oldest first, including expired ones that are still
// stored; the slice must not be modified.
func (a *Agent) Sessions() []*Session { return slices.Clip(a.sessions) }

// Key finds a key of the agent by ID.
func (a *Agent) Key(keyID id.ID) (*Key, bool) {
	for _, key := range a.keys {
		if key.ID == keyID {
			return key, true
		}
	}
	return nil, false
}

// activeKeys counts the keys that are not revoked.
func (a *Agent) activeKeys() int {
	count := 0
	for _, key := range a.keys {
		if key.Active() {
			count++
		}
	}
	return count
}

// firstDue returns when the oldest session or stored result can be dropped, 0 for never. After
// a prune it is later than the time of the prune.
func (a *Agent) firstDue() int64 {
	due := int64(0)
	if len(a.sessions) > 0 {
		due = a.sessions[0].forgetAt()
	}
	if len(a.results) > 0 && (due == 0 || a.results[0].ExpiresAt < due) {
		due = a.results[0].ExpiresAt
	}
	return due
}

// replaceKey makes a copy of the agent's keys in which one is replaced.
func (a *Agent) replaceKey(keyID id.ID, change func(*Key)) {
	a.keys = slices.Clone(a.keys)
	for i, key := range a.keys {
		if key.ID == keyID {
			changed := *key
			change(&changed)
			a.keys[i] = &changed
			return
		}
	}
	panic(fmt.Sprintf("identity: agent %s has no key %s",
		a.ID.Format(id.Agent), keyID.Format(id.Key)))
}

// AgentRegistered registers an agent. Its first key and session follow in the same entry.
type AgentRegistered struct {
	Agent         id.ID  `cbor:"1,keyasint,omitzero"`
	Handle        string `cbor:"2,keyasint,omitempty"`
	ClientName    string `cbor:"3,keyasint,omitempty"`
	ClientVersion string `cbor:"4,keyasint,omitempty"`
}

// Kind implements Event.
func (*AgentRegistered) Kind() Kind { return KindAgentRegistered }

func (e *AgentRegistered) touched() (id.ID, bool) { return e.Agent, false }

func (e *AgentRegistered) record(now int64) *Agent {
	return &Agent{AgentRecord: AgentRecord{
		ID: e.Agent, Handle: e.Handle,
		ClientName: e.ClientName, ClientVersion: e.ClientVersion,
		CreatedAt: now, LastSeenAt: now,
	}}
}

func (e *AgentRegistered) apply(s *State, now int64) {
	if _, ok := s.agents.get(e.Agent); ok {
		panic(fmt.Sprintf("identity: agent %s twice", e.Agent.Format(id.Agent)))
	}
	if _, taken := s.handles.Set(foldHandle(e.Handle), e.Agent); taken {
		panic(fmt.Sprintf("identity: handle %q twice", e.Handle))
	}
	s.putLook(e.Handle)
	s.putAgent(e.record(now))
}

// AgentPruned drops the expired sessions and stored results of an agent.
type AgentPruned struct {
	Agent id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*AgentPruned) Kind() Kind { return KindAgentPruned }

func (e *AgentPruned) touched() (id.ID, bool) { return e.Agent, false }

func (e *AgentPruned) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	s.pruneSessions(&agent, now)
	agent.results = liveResults(agent.results, now)
	s.putAgent(&agent)
}

// Prune drops expired records that other events have not dropped: expired challenges, and
// sessions and stored results of at most 64 agents. The owner sends it periodically, and
// again at once while it returns events.
type Prune struct{}

// Decide implements Command; it returns no error.
func (*Prune) Decide(s *State, st Stamp) (Outcome, error) {
	var events []Event
	s.due.Scan(func(entry dueEntry) bool {
		if entry.at > st.Now || len(events) == agentsPrunedMax {
			return false
		}
		events = append(events, &AgentPruned{Agent: entry.agent})
		return true
	})
	if _, oldest, ok := s.challenges.min(); ok && oldest.ExpiresAt <= st.Now {
		events = append(events, &ChallengesSwept{})
	}
	return Outcome{Events: events}, nil
}

// checkClient appends the faults of a client's name and version.
func checkClient(fields []fault.Field, name, version string) []fault.Field {
	fields = checkLabel(fields, "client_name", name, ClientNameMax)
	return checkLabel(fields, "client_version", version, ClientVersionMax)
}

func checkLabel(fields []fault.Field, field, text string, charsMax int) []fault.Field {
	problem := ""
	switch count := utf8.RuneCountInString(text); {
	case count == 0 || count > charsMax:
		problem = fmt.Sprintf("must have 1 to %d characters", charsMax)
	case !utf8.ValidString(text):
		problem = "must be valid UTF-8"
	case slices.ContainsFunc([]rune(text), unicode.IsControl):
		problem = "must not hold control characters"
	default:
		return fields
	}
	return append(fields, fault.Field{Field: field, Problem: problem})
}
