package identity

import (
	"testing"

	"pws/internal/fault"
)

// TestCallerIsItsOwnSession uses a session of another agent, which is not found.
func TestCallerIsItsOwnSession(t *testing.T) {
	v := newServer()
	ada, eve := v.register(t, "ada"), v.register(t, "eve")
	mixed := Caller{Agent: eve.Agent.ID, Session: ada.Session.ID}
	for _, command := range []Command{
		&EndSession{Caller: mixed},
		&StartKey{Caller: mixed, Algorithm: Algorithm, PublicKey: publicText(testKey("new"))},
	} {
		if _, err := v.do(command); fault.CodeOf(err) != fault.SessionInvalid {
			t.Errorf("%T: %v", command, err)
		}
	}
	if _, ok := v.state.SessionByID(ada.Session.ID); !ok {
		t.Error("the session of the other agent has ended")
	}
}

// TestStoredAnswerEndsToTheMillisecond looks up an answer in its last millisecond and in the next,
// in which a further answer takes its place.
func TestStoredAnswerEndsToTheMillisecond(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada").Agent.ID
	first := NewResultStored(ada, [16]byte{1}, [16]byte{2}, v.now, 201, []byte("a"))
	v.apply(v.now, first)
	if _, ok := v.state.StoredResult(ada, first.Key, first.ExpiresAt-1); !ok {
		t.Error("not found in the last millisecond")
	}
	if _, ok := v.state.StoredResult(ada, first.Key, first.ExpiresAt); ok {
		t.Error("found when it has run out")
	}
	v.apply(first.ExpiresAt, NewResultStored(ada, [16]byte{3}, [16]byte{4}, first.ExpiresAt, 201, nil))
	agent, _ := v.state.Agent(ada)
	if len(agent.results) != 1 {
		t.Errorf("%d answers are kept, one of them has run out", len(agent.results))
	}
}
