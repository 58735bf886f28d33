package identity

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// credentialPrefix starts every credential, so that secret scanners can find leaked ones.
const credentialPrefix = "pws_"

// Session is the immutable record of a session. Times are Unix milliseconds.
type Session struct {
	ID            id.ID    `cbor:"1,keyasint,omitzero"`
	AgentID       id.ID    `cbor:"-"` // saved with the agent
	KeyID         id.ID    `cbor:"2,keyasint,omitzero"`
	Hash          [32]byte `cbor:"3,keyasint,omitzero"` // SHA-256 of the credential
	ClientName    string   `cbor:"4,keyasint,omitempty"`
	ClientVersion string   `cbor:"5,keyasint,omitempty"`
	CreatedAt     int64    `cbor:"6,keyasint,omitempty"`
	ExpiresAt     int64    `cbor:"7,keyasint,omitempty"`
	LastSeenAt    int64    `cbor:"8,keyasint,omitempty"`
	// IdleMillis is how long the session lives after each use; zero for one that ends at a time.
	IdleMillis int64 `cbor:"9,keyasint,omitempty"`
}

// Web reports whether a session is of the web page.
func (s *Session) Web() bool { return s.IdleMillis > 0 }

// SeenDue reports whether a SeeSession is due for this session.
func (s *Session) SeenDue(now int64) bool { return now-s.LastSeenAt >= SessionSeenMillis }

// forgetAt returns when the service drops the session.
func (s *Session) forgetAt() int64 { return s.ExpiresAt + SessionMemoryMillis }

// CredentialHash is the hash by which the State looks up a credential. The copy keeps credentials
// of valid length off the heap.
func CredentialHash(credential string) [32]byte {
	var buffer [64]byte
	if len(credential) > len(buffer) {
		return sha256.Sum256([]byte(credential))
	}
	return sha256.Sum256(buffer[:copy(buffer[:], credential)])
}

// deriveCredential derives the credential of a session. This requires the secret.
func deriveCredential(secret []byte, sessionID id.ID, signature string) string {
	if len(secret) < SecretBytesMin {
		panic(fmt.Sprintf("identity: a secret of %d bytes", len(secret)))
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("pws session credential v1\x00"))
	mac.Write(sessionID[:])
	mac.Write([]byte(signature))
	return credentialPrefix + base64url.EncodeToString(mac.Sum(nil))
}

// Authenticate returns the live session of a credential's hash. SESSION_EXPIRED for one day
// after its end; SESSION_INVALID if it is unknown, revoked or expired earlier.
func (s *State) Authenticate(hash [32]byte, now int64) (*Session, error) {
	session, ok := s.Session(hash)
	if !ok {
		return nil, ErrSessionInvalid()
	}
	return session.live(now)
}

// live returns SESSION_EXPIRED for an expired session.
func (s *Session) live(now int64) (*Session, error) {
	switch {
	case s.ExpiresAt > now:
		return s, nil
	case s.forgetAt() > now:
		return nil, fault.New(fault.SessionExpired, "The session has expired.").
			With("expired_at", formatTime(s.ExpiresAt))
	}
	return nil, ErrSessionInvalid()
}

// ErrSessionInvalid is SESSION_INVALID.
func ErrSessionInvalid() error {
	return fault.New(fault.SessionInvalid, "The credential does not belong to a live session.")
}

// caller returns the agent and the live session of a caller. SESSION_INVALID, SESSION_EXPIRED.
func (s *State) caller(caller Caller, now int64) (*Agent, *Session, error) {
	session, ok := s.SessionByID(caller.Session)
	if !ok || session.AgentID != caller.Agent {
		return nil, nil, ErrSessionInvalid()
	}
	if _, err := session.live(now); err != nil {
		return nil, nil, err
	}
	return s.mustAgent(session.AgentID), session, nil
}

// RequestChallenge requests the challenge that starts a session. The result is *ChallengeGranted.
type RequestChallenge struct {
	AgentID string
	KeyID   string
	// Audience is the base URL of the service as the client knows it.
	Audience string
}

// Decide implements Command. AGENT_NOT_FOUND, AGENT_SUSPENDED, KEY_NOT_FOUND, KEY_REVOKED.
func (c *RequestChallenge) Decide(s *State, st Stamp) (Outcome, error) {
	agentID, ok := id.Parse(id.Agent, c.AgentID)
	if !ok {
		return Outcome{}, fault.NoAgent()
	}
	agent, ok := s.agents.get(agentID)
	if !ok {
		return Outcome{}, fault.NoAgent()
	}
	if err := agent.requireNotSuspended(); err != nil {
		return Outcome{}, err
	}
	key, err := agent.findKey(c.KeyID)
	if err != nil {
		return Outcome{}, err
	}
	if !key.Active() {
		return Outcome{}, errKeyRevoked(key)
	}
	return issueChallenge(s, st, ChallengeIssued{
		Purpose: PurposeSession, PublicKey: key.PublicKey, Agent: agent.ID, Key: key.ID,
		Audience: c.Audience,
	})
}

// StartSession starts a session of a registered key. The result is *SessionGranted.
type StartSession struct {
	Proof
	ClientName    string
	ClientVersion string
	Secret        []byte // the server's, for the credential
}

// SessionGranted is the result of StartSession, the only answer that contains the credential.
type SessionGranted struct {
	Session    *Session
	Credential string
}

func (*SessionGranted) result() {}

// Decide implements Command. VALIDATION_FAILED, CHALLENGE_EXPIRED, CHALLENGE_CONSUMED (also for a
// repeat, because the credential is returned once), SIGNATURE_INVALID (with an event),
// CHALLENGE_REPLAY_MISMATCH, AGENT_SUSPENDED. A challenge ends with its key; a request for another
// one returns KEY_REVOKED.
func (c *StartSession) Decide(s *State, st Stamp) (Outcome, error) {
	fields := checkClient(c.check(nil), c.ClientName, c.ClientVersion)
	if len(fields) > 0 {
		return Outcome{}, fault.Invalid(fields...)
	}
	challenge, err := s.findChallenge(c.ChallengeID, PurposeSession, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if !c.holds(challenge) {
		return failProof(challenge)
	}
	digest := digestOf(c.Challenge, c.Signature, c.ClientName, c.ClientVersion)
	if done := challenge.Completion; done != nil {
		if done.Digest != digest {
			return Outcome{}, errReplayMismatch()
		}
		return Outcome{}, errChallengeConsumed("The challenge has been used.")
	}
	return s.openSession(st, challenge, digest, sessionStart{
		secret: c.Secret, signature: c.Signature,
		clientName: c.ClientName, clientVersion: c.ClientVersion,
	})
}

// openSession completes a challenge whose proof holds by a session of its agent and key, which it
// fills in. Errors: AGENT_SUSPENDED, CHALLENGE_EXPIRED.
func (s *State) openSession(
	st Stamp, challenge *Challenge, digest [16]byte, from sessionStart,
) (Outcome, error) {
	agent := s.mustAgent(challenge.AgentID)
	if err := agent.requireNotSuspended(); err != nil {
		return Outcome{}, err
	}
	if key, _ := agent.Key(challenge.KeyID); !key.Active() {
		return Outcome{}, errChallengeExpired()
	}
	from.agent, from.key = challenge.AgentID, challenge.KeyID
	started, credential := startSession(st, from)
	completed := &ChallengeCompleted{
		Challenge: challenge.ID, Digest: digest, Agent: challenge.AgentID,
		Key: challenge.KeyID, Session: started.Session, SessionExpiresAt: started.ExpiresAt,
	}
	return Outcome{
		Events: []Event{started, completed},
		Result: &SessionGranted{Session: started.record(st.Now), Credential: credential},
	}, nil
}

// sessionStart holds the values of a new session.
type sessionStart struct {
	agent, key    id.ID
	secret        []byte
	signature     string
	clientName    string
	clientVersion string
	// idleMillis is how long the session lives after each use; zero for SessionMillis in all.
	idleMillis int64
}

// startSession returns the event and the credential of a new session.
func startSession(st Stamp, from sessionStart) (*SessionStarted, string) {
	sessionID := st.newID("session")
	credential := deriveCredential(from.secret, sessionID, from.signature)
	return &SessionStarted{
		Agent: from.agent, Key: from.key, Session: sessionID, Hash: CredentialHash(credential),
		ClientName: from.clientName, ClientVersion: from.clientVersion,
		ExpiresAt: st.Now + cmp.Or(from.idleMillis, SessionMillis), IdleMillis: from.idleMillis,
	}, credential
}

// EndSession revokes the caller's session. The result is *SessionEnded.
type EndSession struct{ Caller Caller }

// SessionEnded is the result of EndSession: the session as it was.
type SessionEnded struct{ Session *Session }

func (*SessionEnded) result() {}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED.
func (c *EndSession) Decide(s *State, st Stamp) (Outcome, error) {
	agent, session, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{
		Events: []Event{&SessionRevoked{Agent: agent.ID, Session: session.ID}},
		Result: &SessionEnded{Session: session},
	}, nil
}

// SeeSession records that a session was used. The server sends it when Session.SeenDue is true, at
// most once a minute for a session; otherwise, and for an ended session, it does nothing.
type SeeSession struct{ Caller Caller }

// Decide implements Command; it returns no error and no result.
func (c *SeeSession) Decide(s *State, st Stamp) (Outcome, error) {
	agent, session, err := s.caller(c.Caller, st.Now)
	if err != nil || !session.SeenDue(st.Now) {
		return Outcome{}, nil
	}
	seen := &SessionSeen{Agent: agent.ID, Session: session.ID}
	return Outcome{Events: []Event{seen}}, nil
}

// SessionStarted starts a session. It ends the oldest live sessions beyond 100.
type SessionStarted struct {
	Agent         id.ID    `cbor:"1,keyasint,omitzero"`
	Key           id.ID    `cbor:"2,keyasint,omitzero"`
	Session       id.ID    `cbor:"3,keyasint,omitzero"`
	Hash          [32]byte `cbor:"4,keyasint,omitzero"`
	ClientName    string   `cbor:"5,keyasint,omitempty"`
	ClientVersion string   `cbor:"6,keyasint,omitempty"`
	ExpiresAt     int64    `cbor:"7,keyasint,omitempty"`
	IdleMillis    int64    `cbor:"8,keyasint,omitempty"`
}

// Kind implements Event.
func (*SessionStarted) Kind() Kind { return KindSessionStarted }

func (e *SessionStarted) touched() (id.ID, bool) { return e.Agent, false }

func (e *SessionStarted) record(now int64) *Session {
	return &Session{
		ID: e.Session, AgentID: e.Agent, KeyID: e.Key, Hash: e.Hash,
		ClientName: e.ClientName, ClientVersion: e.ClientVersion,
		CreatedAt: now, ExpiresAt: e.ExpiresAt, LastSeenAt: now,
		IdleMillis: e.IdleMillis,
	}
}

func (e *SessionStarted) apply(s *State, now int64) {
	session := e.record(now)
	agent := *s.mustAgent(e.Agent)
	agent.sessions = append(slices.Clip(agent.sessions), session)
	s.putSession(session)
	s.pruneSessions(&agent, now)
	agent.noteUse(e.Key, now)
	s.putAgent(&agent)
}

// pruneSessions drops sessions that expired more than a day ago, ends the oldest live sessions
// beyond the limit, and drops the oldest of all beyond the larger limit.
func (s *State) pruneSessions(agent *Agent, now int64) {
	live := 0
	for _, session := range agent.sessions {
		if session.ExpiresAt > now {
			live++
		}
	}
	s.keepSessions(agent, func(session *Session) bool {
		if session.ExpiresAt > now && live > SessionsLiveMax {
			live--
			return false
		}
		return session.forgetAt() > now
	})
	if over := len(agent.sessions) - SessionsKeptMax; over > 0 {
		s.keepSessions(agent, func(*Session) bool {
			over--
			return over < 0
		})
	}
}

// keepSessions drops the sessions of an agent's copy for which keep returns false.
func (s *State) keepSessions(agent *Agent, keep func(*Session) bool) {
	kept := make([]*Session, 0, len(agent.sessions))
	for _, session := range agent.sessions {
		if keep(session) {
			kept = append(kept, session)
		} else {
			s.dropSession(session)
		}
	}
	agent.sessions = kept
}

// noteUse updates the coarse times of an agent's copy and its key to now.
func (a *Agent) noteUse(keyID id.ID, now int64) {
	a.LastSeenAt = max(a.LastSeenAt, now)
	a.replaceKey(keyID, func(key *Key) { key.LastUsedAt = max(key.LastUsedAt, now) })
}

// SessionRevoked revokes a session; its credential is unknown from then on.
type SessionRevoked struct {
	Agent   id.ID `cbor:"1,keyasint,omitzero"`
	Session id.ID `cbor:"2,keyasint,omitzero"`
}

// Kind implements Event.
func (*SessionRevoked) Kind() Kind { return KindSessionRevoked }

func (e *SessionRevoked) touched() (id.ID, bool) { return e.Agent, false }

func (e *SessionRevoked) apply(s *State, _ int64) {
	agent := *s.mustAgent(e.Agent)
	s.keepSessions(&agent, func(session *Session) bool { return session.ID != e.Session })
	s.putAgent(&agent)
}

// SessionSeen records that a session was used. One of the web page lives on from then.
type SessionSeen struct {
	Agent   id.ID `cbor:"1,keyasint,omitzero"`
	Session id.ID `cbor:"2,keyasint,omitzero"`
}

// Kind implements Event.
func (*SessionSeen) Kind() Kind { return KindSessionSeen }

func (e *SessionSeen) touched() (id.ID, bool) { return e.Agent, false }

func (e *SessionSeen) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	at := slices.IndexFunc(agent.sessions, func(session *Session) bool {
		return session.ID == e.Session
	})
	if at < 0 {
		panic(fmt.Sprintf("identity: no session %s", e.Session.Format(id.Session)))
	}
	seen := *agent.sessions[at]
	seen.LastSeenAt = max(seen.LastSeenAt, now)
	if seen.Web() {
		ends := min(now+seen.IdleMillis, seen.CreatedAt+WebSessionMillis)
		seen.ExpiresAt = max(seen.ExpiresAt, ends)
	}
	agent.sessions = slices.Clone(agent.sessions)
	agent.sessions[at] = &seen
	s.putSession(&seen)
	agent.noteUse(seen.KeyID, now)
	s.putAgent(&agent)
}
