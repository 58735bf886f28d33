package identity

import (
	"reflect"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
)

func TestRegistrationMakesAgentKeyAndSession(t *testing.T) {
	v := newServer()
	made := v.register(t, "Ada.L")
	agent, ok := v.state.FindAgent("aDA.l")
	if !ok || agent.ID != made.Agent.ID || agent.Handle != "Ada.L" {
		t.Fatalf("FindAgent by handle = %+v, %v", agent, ok)
	}
	if byID, _ := v.state.FindAgent(agent.ID.Format(id.Agent)); byID != agent {
		t.Fatal("FindAgent by id finds another")
	}
	keys := v.state.Keys(agent.ID)
	if len(keys) != 1 || !reflect.DeepEqual(keys[0], made.Key) {
		t.Fatalf("Keys = %+v, returned %+v", keys, made.Key)
	}
	session, err := v.state.Authenticate(CredentialHash(made.Credential), v.now)
	if err != nil || !reflect.DeepEqual(session, made.Session) {
		t.Fatalf("Authenticate = %+v, %v, returned %+v", session, err, made.Session)
	}
	if err := checkIndexes(v.state); err != nil {
		t.Fatal(err)
	}
}

func TestReplayOfRegistrationReturnsTheSameAnswer(t *testing.T) {
	v := newServer()
	key := testKey("ada")
	granted, err := v.do(&StartRegistration{PublicKey: publicText(key), Algorithm: Algorithm})
	if err != nil {
		t.Fatal(err)
	}
	complete := func() *CompleteRegistration {
		return &CompleteRegistration{
			Proof:  prove(granted.(*ChallengeGranted).Challenge, key),
			Handle: "ada", ClientName: "c", ClientVersion: "1", Secret: testSecret,
		}
	}
	result, err := v.do(complete())
	if err != nil {
		t.Fatal(err)
	}
	first := result.(*Registration)
	v.now += ChallengeMillis - 1
	check := func() {
		t.Helper()
		events := len(v.log)
		result, err := v.do(complete())
		if err != nil {
			t.Fatal(err)
		}
		again := result.(*Registration)
		if !again.Replayed || again.Credential != first.Credential || len(v.log) != events ||
			!reflect.DeepEqual(again.Session, first.Session) ||
			again.Agent.ID != first.Agent.ID || again.Key.ID != first.Key.ID {
			t.Fatalf("replay = %+v, first %+v", again, first)
		}
	}
	check()
	if _, err := v.do(&EndSession{Caller: callerOf(first.Session)}); err != nil {
		t.Fatal(err)
	}
	check()
	if _, err := v.state.Authenticate(first.Session.Hash, v.now); fault.CodeOf(err) !=
		fault.SessionInvalid {
		t.Fatalf("a replay must not revive a session: %v", err)
	}
	v.now++
	if _, err := v.do(complete()); fault.CodeOf(err) != fault.ChallengeExpired {
		t.Fatalf("after its time: %v", err)
	}
}

func TestReplayWithAnotherSecretReturnsNoCredential(t *testing.T) {
	v := newServer()
	key := testKey("ada")
	granted, _ := v.do(&StartRegistration{PublicKey: publicText(key), Algorithm: Algorithm})
	complete := &CompleteRegistration{
		Proof:  prove(granted.(*ChallengeGranted).Challenge, key),
		Handle: "ada", ClientName: "c", ClientVersion: "1", Secret: testSecret,
	}
	if _, err := v.do(complete); err != nil {
		t.Fatal(err)
	}
	complete.Secret = make([]byte, SecretBytesMin)
	if _, err := v.do(complete); fault.CodeOf(err) != fault.ChallengeConsumed {
		t.Fatalf("err = %v", err)
	}
}
