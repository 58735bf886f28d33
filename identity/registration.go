package identity

import (
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// StartRegistration requests the challenge that a new agent's first key must sign. The result is
// *ChallengeGranted.
type StartRegistration struct {
	PublicKey string
	Algorithm string
	// Invite is the code of an invite; only the mode INVITE reads it.
	Invite string
	// Audience is the base URL of the service as the client knows it.
	Audience string
}

// Decide implements Command. VALIDATION_FAILED, REGISTRATION_CLOSED, KEY_ALREADY_REGISTERED.
func (c *StartRegistration) Decide(s *State, st Stamp) (Outcome, error) {
	publicKey, fields := parsePublicKey(nil, c.PublicKey, c.Algorithm)
	if len(fields) > 0 {
		return Outcome{}, fault.Invalid(fields...)
	}
	if _, err := s.checkRegistration(c.Invite, st.Now); err != nil {
		return Outcome{}, err
	}
	if err := s.checkKeyFree(publicKey); err != nil {
		return Outcome{}, err
	}
	return issueChallenge(s, st, ChallengeIssued{
		Purpose: PurposeRegister, PublicKey: publicKey, Audience: c.Audience,
	})
}

// checkKeyFree checks that a public key has never been registered: KEY_ALREADY_REGISTERED.
func (s *State) checkKeyFree(publicKey [32]byte) error {
	ref, ok := s.publicKeys.Get(string(publicKey[:]))
	if !ok {
		return nil
	}
	return fault.New(fault.KeyAlreadyRegistered, "The public key is already registered.").
		With("agent_id", ref.agent.Format(id.Agent)).With("key_id", ref.key.Format(id.Key))
}

// CompleteRegistration registers an agent with its first key and session. The result is
// *Registration.
type CompleteRegistration struct {
	Proof
	Handle        string
	ClientName    string
	ClientVersion string
	// Invite is the code of an invite; only the mode INVITE reads it and uses it up.
	Invite string
	Secret []byte // the server's, for the credential
}

// Registration is the result of CompleteRegistration.
type Registration struct {
	Agent      *Agent
	Key        *Key
	Session    *Session
	Credential string
	// Replayed means that this is the stored answer to an earlier request; nothing was changed.
	Replayed bool
}

func (*Registration) result() {}

// Decide implements Command. VALIDATION_FAILED, INVALID_HANDLE, CHALLENGE_EXPIRED,
// CHALLENGE_CONSUMED, SIGNATURE_INVALID (with an event), CHALLENGE_REPLAY_MISMATCH,
// REGISTRATION_CLOSED, KEY_ALREADY_REGISTERED, HANDLE_TAKEN.
func (c *CompleteRegistration) Decide(s *State, st Stamp) (Outcome, error) {
	if err := c.validate(); err != nil {
		return Outcome{}, err
	}
	challenge, err := s.findChallenge(c.ChallengeID, PurposeRegister, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if !c.holds(challenge) {
		return failProof(challenge)
	}
	digest := digestOf(c.Challenge, c.Signature, c.Handle, c.ClientName, c.ClientVersion)
	if done := challenge.Completion; done != nil {
		if done.Digest != digest {
			return Outcome{}, errReplayMismatch()
		}
		return c.replay(s, done)
	}
	used, err := s.checkRegistration(c.Invite, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if err := s.checkKeyFree(challenge.PublicKey); err != nil {
		return Outcome{}, err
	}
	if err := s.checkHandleFree(c.Handle); err != nil {
		return Outcome{}, err
	}
	outcome := c.register(st, challenge, digest)
	if used != nil {
		outcome.Events = append(outcome.Events, used)
	}
	return outcome, nil
}

// validate checks the syntax of the request. A bad handle has its own code if it is the only
// error; otherwise it is one error among the others.
func (c *CompleteRegistration) validate() error {
	fields := checkClient(c.check(nil), c.ClientName, c.ClientVersion)
	problem := handleProblem(c.Handle)
	if problem == "" && reservedHandle(c.Handle) {
		problem = "is reserved, because it speaks for the service"
	}
	if len(fields) > 0 {
		if problem != "" {
			fields = append(fields, fault.Field{Field: "handle", Problem: problem})
		}
		return fault.Invalid(fields...)
	}
	if problem != "" {
		// The echoed handle is bounded; a valid handle is never cut.
		shown := strings.ToValidUTF8(c.Handle[:min(len(c.Handle), 64)], "")
		return fault.New(fault.InvalidHandle, "The handle "+problem+".").With("handle", shown)
	}
	return nil
}

func (c *CompleteRegistration) register(
	st Stamp, challenge *Challenge, digest [16]byte,
) Outcome {
	registered := &AgentRegistered{
		Agent: st.newID("agent"), Handle: c.Handle,
		ClientName: c.ClientName, ClientVersion: c.ClientVersion,
	}
	added := &KeyAdded{
		Agent: registered.Agent, Key: st.newID("key"), PublicKey: challenge.PublicKey,
	}
	started, credential := startSession(st, sessionStart{
		agent: registered.Agent, key: added.Key, secret: c.Secret, signature: c.Signature,
		clientName: c.ClientName, clientVersion: c.ClientVersion,
	})
	completed := &ChallengeCompleted{
		Challenge: challenge.ID, Digest: digest, Agent: registered.Agent, Key: added.Key,
		Session: started.Session, SessionExpiresAt: started.ExpiresAt,
	}
	agent, key := registered.record(st.Now), added.record(st.Now)
	session := started.record(st.Now)
	key.LastUsedAt = st.Now
	agent.keys, agent.sessions = []*Key{key}, []*Session{session}
	agent.dueAt = agent.firstDue()
	return Outcome{
		Events: []Event{registered, added, started, completed},
		Result: &Registration{
			Agent: agent, Key: key, Session: session, Credential: credential,
		},
	}
}

// replay returns the same answer again. If the session has been dropped, its record is rebuilt from
// the challenge; its credential is no longer valid. If the secret has changed, the credential
// cannot be returned: CHALLENGE_CONSUMED.
func (c *CompleteRegistration) replay(s *State, done *Completion) (Outcome, error) {
	agent := s.mustAgent(done.AgentID)
	key, _ := agent.Key(done.KeyID)
	credential := deriveCredential(c.Secret, done.SessionID, c.Signature)
	session, ok := s.SessionByID(done.SessionID)
	if !ok {
		session = &Session{
			ID: done.SessionID, AgentID: done.AgentID, KeyID: done.KeyID,
			Hash: CredentialHash(credential), ClientName: c.ClientName,
			ClientVersion: c.ClientVersion, CreatedAt: done.At,
			ExpiresAt: done.SessionExpiresAt, LastSeenAt: done.At,
		}
	}
	if session.Hash != CredentialHash(credential) {
		return Outcome{}, errChallengeConsumed("The challenge has been used.")
	}
	return Outcome{Result: &Registration{
		Agent: agent, Key: key, Session: session, Credential: credential, Replayed: true,
	}}, nil
}
