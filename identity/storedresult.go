package identity

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// StoredResult is the stored answer to a request that carried an Idempotency-Key. Key and
// fingerprint are digests that the caller computes: the key's over its scope and its bytes, the
// fingerprint's over method, path and canonical body. Status is 0 if the record holds a choice
// and no answer.
type StoredResult struct {
	Key         [16]byte `cbor:"1,keyasint,omitzero"`
	Fingerprint [16]byte `cbor:"2,keyasint,omitzero"`
	ExpiresAt   int64    `cbor:"3,keyasint,omitempty"`
	Status      uint16   `cbor:"4,keyasint,omitempty"`
	Body        []byte   `cbor:"5,keyasint,omitempty"`
}

// Check checks that a key was not used for another request: IDEMPOTENCY_KEY_REUSED.
func (r *StoredResult) Check(fingerprint [16]byte) error {
	if r.Fingerprint != fingerprint {
		return fault.New(fault.IdempotencyKeyReused,
			"The Idempotency-Key was used for another request.")
	}
	return nil
}

// StoredResult returns the live result of an agent's key.
func (s *State) StoredResult(agentID id.ID, key [16]byte, now int64) (*StoredResult, bool) {
	agent, ok := s.agents.get(agentID)
	if !ok {
		return nil, false
	}
	for _, record := range agent.results {
		if record.Key == key && record.ExpiresAt > now {
			return record, true
		}
	}
	return nil, false
}

// NoteChoice stores what a request with an Idempotency-Key has chosen, BEFORE the request acts
// on it in another state. A repeated request finds the choice by State.StoredResult, and the
// outcome in that other state. A later choice with the same key replaces the earlier one. The
// result is nil.
type NoteChoice struct {
	Caller      Caller
	Key         [16]byte
	Fingerprint [16]byte
	Choice      id.ID
}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED, IDEMPOTENCY_KEY_REUSED.
func (c *NoteChoice) Decide(s *State, st Stamp) (Outcome, error) {
	agent, _, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if earlier, ok := s.StoredResult(agent.ID, c.Key, st.Now); ok {
		if err := earlier.Check(c.Fingerprint); err != nil {
			return Outcome{}, err
		}
	}
	noted := NewResultStored(agent.ID, c.Key, c.Fingerprint, st.Now, 0,
		slices.Clone(c.Choice[:]))
	return Outcome{Events: []Event{noted}}, nil
}

// Choice returns what was chosen, if the record is one of NoteChoice.
func (r *StoredResult) Choice() (choice id.ID, ok bool) {
	if r.Status != 0 || len(r.Body) != len(choice) {
		return id.ID{}, false
	}
	return id.ID(r.Body), true
}

// ResultStored stores an answer for repeats of its request. It is in the log entry of the
// request's events. The newest 1000 of an agent are kept, one for each key.
type ResultStored struct {
	Agent       id.ID    `cbor:"1,keyasint,omitzero"`
	Key         [16]byte `cbor:"2,keyasint,omitzero"`
	Fingerprint [16]byte `cbor:"3,keyasint,omitzero"`
	ExpiresAt   int64    `cbor:"4,keyasint,omitempty"`
	Status      uint16   `cbor:"5,keyasint,omitempty"`
	Body        []byte   `cbor:"6,keyasint,omitempty"`
}

// NewResultStored makes the event that stores an answer for seven days.
func NewResultStored(
	agent id.ID, key, fingerprint [16]byte, now int64, status uint16, body []byte,
) *ResultStored {
	return &ResultStored{
		Agent: agent, Key: key, Fingerprint: fingerprint,
		ExpiresAt: now + ResultMillis, Status: status, Body: body,
	}
}

// Kind implements Event.
func (*ResultStored) Kind() Kind { return KindResultStored }

func (e *ResultStored) touched() (id.ID, bool) { return e.Agent, false }

func (e *ResultStored) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	others := slices.DeleteFunc(liveResults(agent.results, now), func(earlier *StoredResult) bool {
		return earlier.Key == e.Key
	})
	agent.results = append(others, &StoredResult{
		Key: e.Key, Fingerprint: e.Fingerprint, ExpiresAt: e.ExpiresAt,
		Status: e.Status, Body: e.Body,
	})
	if over := len(agent.results) - ResultsMax; over > 0 {
		agent.results = slices.Delete(agent.results, 0, over)
	}
	s.putAgent(&agent)
}

// liveResults returns a new slice of the records that have not expired.
func liveResults(records []*StoredResult, now int64) []*StoredResult {
	live := make([]*StoredResult, 0, len(records)+1)
	for _, record := range records {
		if record.ExpiresAt > now {
			live = append(live, record)
		}
	}
	return live
}
