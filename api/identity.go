package api

import (
	"time"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// Identities are the published view of agents, keys, challenges and sessions, and the commands to
// it.
type Identities interface {
	Identity() *identity.State
	// DoIdentity gives a command to the identity actor, with the guarantees of Do.
	DoIdentity(order IdentityOrder) (IdentityDone, error)
	// SeeSession notes that a session is in use, some time later.
	SeeSession(session *identity.Session)
	// Secret returns the server's secret, from which credentials and derived IDs are made.
	Secret() []byte
}

// IdentityOrder is one command to the identity actor. Idempotency is nil without a key. With
// one, Render makes the answer that is stored with the effect.
type IdentityOrder struct {
	Command     identity.Command
	Agent       id.ID
	Idempotency *IdempotencyKey
	Render      func(state *identity.State, result identity.Result) (status int, data []byte)
}

// IdentityDone is the outcome of an IdentityOrder.
type IdentityDone struct {
	State    *identity.State
	Result   identity.Result
	Replayed bool
	Status   int
	Body     []byte
	// Spent is how long identity was busy with the order, also where it was refused.
	Spent time.Duration
}

// Agent is the public record of an agent.
type Agent struct {
	// The agent's ID.
	ID string `json:"id" check:"id=agt_"`
	// Unique without regard to case.
	Handle string `json:"handle"`
	// Name of the client that registered it.
	ClientName string `json:"client_name"`
	// Version of that client.
	ClientVersion string `json:"client_version"`
	// When it registered.
	CreatedAt Time `json:"created_at"`
	// When it was last active, to the minute.
	LastSeenAt Time `json:"last_seen_at"`
	// Its capabilities; in agent.read only.
	Capabilities *[]Capability `json:"capabilities,omitzero"`
}

// Key is a key of an agent.
type Key struct {
	// The key's ID.
	ID string `json:"id" check:"id=key_"`
	// The agent that it belongs to.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// Always Ed25519.
	Algorithm string `json:"algorithm" check:"enum=Ed25519"`
	// 32 bytes, unpadded base64url.
	PublicKey string `json:"public_key"`
	// Fingerprint of the public key.
	Fingerprint string `json:"fingerprint"`
	// Whether it can open sessions.
	Status string `json:"status" check:"enum=ACTIVE|REVOKED"`
	// When it was activated.
	CreatedAt Time `json:"created_at"`
	// When it was revoked.
	RevokedAt *Time `json:"revoked_at"`
	// When one of its sessions was last active, to the minute.
	LastUsedAt *Time `json:"last_used_at"`
}

// Session is a session of an agent. The credential is returned only once, when the session
// starts.
type Session struct {
	// The session's ID.
	ID string `json:"id" check:"id=ses_"`
	// The agent that it belongs to.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// The key that opened it.
	KeyID string `json:"key_id" check:"id=key_"`
	// Name of the client that started it.
	ClientName string `json:"client_name"`
	// The client's version.
	ClientVersion string `json:"client_version"`
	// When it started.
	CreatedAt Time `json:"created_at"`
	// When it expires: 3600 s after it started.
	ExpiresAt Time `json:"expires_at"`
	// The Bearer credential, returned only once.
	Credential *string `json:"credential,omitzero"`
}

// ChallengeData is the data of a challenge.
type ChallengeData struct {
	// The challenge's ID.
	ChallengeID string `json:"challenge_id" check:"id=cha_"`
	// To be sent back with the signature.
	Challenge string `json:"challenge"`
	// Sign exactly these bytes.
	SigningPayload string `json:"signing_payload"`
	// Always Ed25519.
	Algorithm string `json:"algorithm" check:"enum=Ed25519"`
	// When it expires: after 300 s.
	ExpiresAt Time `json:"expires_at"`
}

// RegistrationData is a new agent with its first key and session.
type RegistrationData struct {
	// The agent.
	Agent Agent `json:"agent"`
	// Its first key.
	Key Key `json:"key"`
	// Its first session, with the credential.
	Session Session `json:"session"`
}

// SessionData is the data of a session.
type SessionData struct {
	// The session.
	Session Session `json:"session"`
}

// AgentData is the data of an agent.
type AgentData struct {
	// The agent.
	Agent Agent `json:"agent"`
}

// KeyData is the data of a key.
type KeyData struct {
	// The key.
	Key Key `json:"key"`
}

// KeysData lists all keys of an agent.
type KeysData struct {
	// Oldest first.
	Keys []Key `json:"keys"`
	// Always null: the list is complete.
	NextCursor *string `json:"next_cursor"`
}

// KeyRevoked is the data of key.revoke.
type KeyRevoked struct {
	// The key after the change.
	Key Key `json:"key"`
	// Number of live sessions that were ended.
	RevokedSessions int `json:"revoked_sessions"`
}

// StartRegistration is the body of key.add_start.
type StartRegistration struct {
	// Raw 32-byte Ed25519 key, unpadded base64url.
	PublicKey string `json:"public_key" check:"required"`
	// Algorithm of the key: always Ed25519.
	Algorithm string `json:"algorithm" check:"required"`
}

// OpenRegistration is the body of agent.register_start.
type OpenRegistration struct {
	// Raw 32-byte Ed25519 key, unpadded base64url.
	PublicKey string `json:"public_key" check:"required"`
	// Algorithm of the key: always Ed25519.
	Algorithm string `json:"algorithm" check:"required"`
	// An invite of the operator; required if the service accepts registrations with one only.
	Invite string `json:"invite" check:"chars=1..64"`
}

// CompleteRegistration is the body of agent.register_complete.
type CompleteRegistration struct {
	// As returned.
	ChallengeID string `json:"challenge_id" check:"required"`
	// As returned.
	Challenge string `json:"challenge" check:"required"`
	// 64-byte Ed25519 signature of signing_payload, unpadded base64url.
	Signature string `json:"signature" check:"required"`
	// 3 to 32 of letters, digits, _ . -; begins with a letter or digit.
	Handle string `json:"handle" check:"required"`
	// The client, 1 to 100 characters.
	ClientName string `json:"client_name" check:"required"`
	// Its version, 1 to 50 characters.
	ClientVersion string `json:"client_version" check:"required"`
	// The same invite again, which is used up; only if the service requires one.
	Invite string `json:"invite" check:"chars=1..64"`
}

// RequestChallenge is the body of auth.challenge.
type RequestChallenge struct {
	// ID of the agent that signs in.
	AgentID string `json:"agent_id" check:"required"`
	// An active key of it.
	KeyID string `json:"key_id" check:"required"`
}

// StartSession is the body of auth.session.
type StartSession struct {
	// As returned.
	ChallengeID string `json:"challenge_id" check:"required"`
	// As returned.
	Challenge string `json:"challenge" check:"required"`
	// 64-byte Ed25519 signature of signing_payload, unpadded base64url.
	Signature string `json:"signature" check:"required"`
	// The client, 1 to 100 characters.
	ClientName string `json:"client_name" check:"required"`
	// Its version, 1 to 50 characters.
	ClientVersion string `json:"client_version" check:"required"`
}

// CompleteKey is the body of key.add_complete.
type CompleteKey struct {
	// As returned.
	ChallengeID string `json:"challenge_id" check:"required"`
	// As returned.
	Challenge string `json:"challenge" check:"required"`
	// Signature of signing_payload by the new key, unpadded base64url.
	Signature string `json:"signature" check:"required"`
}

var identityOperations = []*Operation{
	declare[OpenRegistration, ChallengeData](Operation{
		Name: "agent.register_start", Method: "POST", Path: "/api/v1/agents/register/start",
		Auth: Anonymous, Category: CategoryRegistrationStart, Statuses: []int{201},
		Unmetered: true,
		Errors:    []fault.Code{fault.RegistrationClosed, fault.KeyAlreadyRegistered},
		Linked:    true,
		Tag:       "identity", Summary: "Start a registration",
		Doc: "Returns the challenge to be signed with a new agent's key. It expires after 300 s.",
	}, startRegistration),
	declare[CompleteRegistration, RegistrationData](Operation{
		Name: "agent.register_complete", Method: "POST", Path: "/api/v1/agents/register/complete",
		Auth: Anonymous, Category: CategoryRegistration, Statuses: []int{201, 200},
		Unmetered: true,
		Errors: []fault.Code{
			fault.InvalidHandle, fault.SignatureInvalid, fault.HandleTaken,
			fault.RegistrationClosed, fault.KeyAlreadyRegistered, fault.ChallengeReplayMismatch,
			fault.ChallengeExpired, fault.ChallengeConsumed,
		},
		Tag: "identity", Summary: "Complete a registration",
		Doc: "Creates the agent, its key and its first session. Until the challenge expires, " +
			"the same request again returns 200 with the same result.",
	}, completeRegistration),
	declare[RequestChallenge, ChallengeData](Operation{
		Name: "auth.challenge", Method: "POST", Path: "/api/v1/auth/challenge",
		Auth: Anonymous, Category: CategoryWrite, Statuses: []int{201},
		Unmetered: true,
		Errors: []fault.Code{
			fault.AgentNotFound, fault.AgentSuspended, fault.KeyNotFound, fault.KeyRevoked,
		},
		Linked: true, Tag: "identity", Summary: "Request a session challenge",
		Doc: "Returns the challenge to be signed with an existing key to open a session. It " +
			"expires after 300 s.",
	}, requestChallenge),
	declare[StartSession, SessionData](Operation{
		Name: "auth.session", Method: "POST", Path: "/api/v1/auth/session",
		Auth: Anonymous, Category: CategoryWrite, Statuses: []int{201},
		Unmetered: true,
		Errors: []fault.Code{
			fault.SignatureInvalid, fault.AgentSuspended, fault.ChallengeReplayMismatch,
			fault.ChallengeExpired, fault.ChallengeConsumed,
		},
		Tag: "identity", Summary: "Open a session",
		Doc: "Opens a session of 3600 s. The credential is returned only in this response.",
	}, startSession),
	declare[None, SessionData](Operation{
		Name: "auth.end_session", Method: "DELETE", Path: "/api/v1/auth/session",
		Auth: Bearer, Category: CategorySecurity, Statuses: []int{200},
		Unmetered: true,
		Tag:       "identity", Summary: "Revoke the current session",
		Doc: "Ends the session of the credential and returns its record.",
	}, endSession),
	declare[None, AgentData](Operation{
		Name: "agent.me", Method: "GET", Path: "/api/v1/agents/me",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Tag: "identity", Summary: "Get your identity",
		Doc: "Returns the agent of the current session.",
	}, readMe),
	declare[None, AgentData](Operation{
		Name: "agent.read", Method: "GET", Path: "/api/v1/agents/{agent}",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Params: []Param{{Name: "agent", Doc: "ID or handle of the agent."}},
		Errors: []fault.Code{fault.AgentNotFound},
		Tag:    "identity", Summary: "Get an agent",
		Doc: "Returns the public record of an agent with its capabilities.",
	}, readAgent),
	declare[None, KeysData](Operation{
		Name: "key.list", Method: "GET", Path: "/api/v1/agents/me/keys",
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Tag: "identity", Summary: "List your keys",
		Doc: "Lists the keys of the calling agent, including revoked ones.",
	}, listKeys),
	declare[StartRegistration, ChallengeData](Operation{
		Name: "key.add_start", Method: "POST", Path: "/api/v1/agents/me/keys/start",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Unmetered: true,
		Errors:    []fault.Code{fault.KeyAlreadyRegistered, fault.QuotaExceeded},
		Linked:    true,
		Tag:       "identity", Summary: "Start adding a key",
		Doc: "Returns the challenge to be signed with the new key. It expires after 300 s.",
	}, startKey),
	declare[CompleteKey, KeyData](Operation{
		Name: "key.add_complete", Method: "POST", Path: "/api/v1/agents/me/keys/complete",
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{201, 200},
		Unmetered: true,
		Errors: []fault.Code{
			fault.SignatureInvalid, fault.KeyAlreadyRegistered, fault.ChallengeReplayMismatch,
			fault.QuotaExceeded, fault.ChallengeExpired, fault.ChallengeConsumed,
		},
		Tag: "identity", Summary: "Finish adding a key",
		Doc: "Activates the new key. The same request again returns 200 with the same key. The " +
			"agent gets a KEY_CHANGED inbox item.",
	}, completeKey),
	declare[None, KeyRevoked](Operation{
		Name: "key.revoke", Method: "DELETE", Path: "/api/v1/agents/me/keys/{key}",
		Auth: Bearer, Category: CategorySecurity, Statuses: []int{200},
		Unmetered: true,
		Params:    []Param{{Name: "key", Doc: "The key's ID."}},
		Errors:    []fault.Code{fault.KeyTooYoung, fault.KeyNotFound, fault.LastActiveKey},
		Tag:       "identity", Summary: "Revoke a key",
		Doc: "Revokes a key and all sessions that it opened. The last active key cannot be " +
			"revoked. A key that is younger than 24 hours may not revoke an older one. The " +
			"agent gets a KEY_CHANGED inbox item.",
	}, revokeKey),
}

func agentOf(a *identity.Agent) Agent {
	return Agent{
		ID: a.ID.Format(id.Agent), Handle: a.Handle, ClientName: a.ClientName,
		ClientVersion: a.ClientVersion, CreatedAt: Time(a.CreatedAt), LastSeenAt: Time(a.LastSeenAt),
	}
}

func keyOf(k *identity.Key) Key {
	return Key{
		ID: k.ID.Format(id.Key), AgentID: k.AgentID.Format(id.Agent), Algorithm: "Ed25519",
		PublicKey: k.Text(), Fingerprint: k.Fingerprint(), Status: k.Status(),
		CreatedAt: Time(k.CreatedAt), RevokedAt: timeOrNil(k.RevokedAt),
		LastUsedAt: timeOrNil(k.LastUsedAt),
	}
}

func sessionOf(s *identity.Session, credential string) Session {
	record := Session{
		ID: s.ID.Format(id.Session), AgentID: s.AgentID.Format(id.Agent),
		KeyID: s.KeyID.Format(id.Key), ClientName: s.ClientName, ClientVersion: s.ClientVersion,
		CreatedAt: Time(s.CreatedAt), ExpiresAt: Time(s.ExpiresAt),
	}
	if credential != "" {
		record.Credential = &credential
	}
	return record
}

func challengeOf(granted *identity.ChallengeGranted) ChallengeData {
	challenge := granted.Challenge
	return ChallengeData{
		ChallengeID: challenge.ID.Format(id.Challenge), Challenge: challenge.Text(),
		SigningPayload: challenge.SigningPayload(), Algorithm: "Ed25519",
		ExpiresAt: Time(challenge.ExpiresAt),
	}
}

// caller identifies this session for the rules, which look it up again.
func (c *Call) caller() identity.Caller {
	return identity.Caller{Agent: c.Session.AgentID, Session: c.Session.ID}
}

// doIdentity sends an order of this caller to identity, and charges the caller for it.
func (c *Call) doIdentity(order IdentityOrder) (IdentityDone, error) {
	done, err := c.Service.Engine.DoIdentity(order)
	c.chargeFor(done.Spent)
	return done, err
}

// identify sends a command to identity and returns its result.
func identify[R identity.Result](c *Call, command identity.Command) (R, error) {
	done, err := c.doIdentity(IdentityOrder{Command: command, Agent: c.Agent})
	if err != nil {
		var none R
		return none, err
	}
	result, ok := done.Result.(R)
	if !ok {
		return result, errUnknownResult
	}
	return result, nil
}

// identifyOnce is identify for a request with an optional Idempotency-Key, whose result is
// stored with the agent.
func (c *Call) identifyOnce(
	command identity.Command, render func(result identity.Result) Reply,
) (Reply, error) {
	order := IdentityOrder{
		Agent: c.Agent, Command: command,
		Render: func(_ *identity.State, result identity.Result) (int, []byte) {
			reply := render(result)
			return reply.Status, appendData(nil, reply.Data)
		},
	}
	if !c.Agent.IsZero() {
		order.Idempotency = c.Idempotency
	}
	done, err := c.doIdentity(order)
	if err != nil {
		return Reply{}, err
	}
	if done.Body != nil {
		return Reply{Status: done.Status, Data: Raw(done.Body), Replayed: done.Replayed}, nil
	}
	return render(done.Result), nil
}

func startRegistration(c *Call, body *OpenRegistration) (Reply, error) {
	granted, err := identify[*identity.ChallengeGranted](c, &identity.StartRegistration{
		PublicKey: body.PublicKey, Algorithm: body.Algorithm, Invite: body.Invite,
		Audience: c.audience(),
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: challengeOf(granted)}, nil
}

// proof verifies a signature here, so that the identity actor need not.
func (c *Call) proof(challengeID, challenge, signature string) identity.Proof {
	proof := identity.Proof{
		ChallengeID: challengeID, Challenge: challenge, Signature: signature,
	}
	proof.CheckAhead(c.Service.Engine.Identity())
	return proof
}

func completeRegistration(c *Call, body *CompleteRegistration) (Reply, error) {
	made, err := identify[*identity.Registration](c, &identity.CompleteRegistration{
		Proof:  c.proof(body.ChallengeID, body.Challenge, body.Signature),
		Handle: body.Handle, ClientName: body.ClientName, ClientVersion: body.ClientVersion,
		Invite: body.Invite, Secret: c.Service.Engine.Secret(),
	})
	if err != nil {
		return Reply{}, err
	}
	status := 201
	if made.Replayed {
		status = 200
	}
	return Reply{Status: status, Data: RegistrationData{
		Agent: agentOf(made.Agent), Key: keyOf(made.Key),
		Session: sessionOf(made.Session, made.Credential),
	}}, nil
}

func requestChallenge(c *Call, body *RequestChallenge) (Reply, error) {
	granted, err := identify[*identity.ChallengeGranted](c, &identity.RequestChallenge{
		AgentID: body.AgentID, KeyID: body.KeyID, Audience: c.audience(),
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: challengeOf(granted)}, nil
}

func startSession(c *Call, body *StartSession) (Reply, error) {
	granted, err := identify[*identity.SessionGranted](c, &identity.StartSession{
		Proof:      c.proof(body.ChallengeID, body.Challenge, body.Signature),
		ClientName: body.ClientName, ClientVersion: body.ClientVersion,
		Secret: c.Service.Engine.Secret(),
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: SessionData{Session: sessionOf(granted.Session, granted.Credential)}}, nil
}

func endSession(c *Call, _ *None) (Reply, error) {
	ended, err := identify[*identity.SessionEnded](c, &identity.EndSession{Caller: c.caller()})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: SessionData{Session: sessionOf(ended.Session, "")}}, nil
}

func readMe(c *Call, _ *None) (Reply, error) {
	agent, ok := c.Service.Engine.Identity().Agent(c.Agent)
	if !ok {
		return Reply{}, errUnknownResult
	}
	return Reply{Data: AgentData{Agent: agentOf(agent)}}, nil
}

func readAgent(c *Call, _ *None) (Reply, error) {
	agent, ok := findAgent(c.Service.Engine.Identity(), c.Param("agent"))
	if !ok {
		return Reply{}, fault.NoAgent()
	}
	record := agentOf(agent)
	known := c.capabilities(agent)
	record.Capabilities = &known
	return Reply{Data: AgentData{Agent: record}}, nil
}

func listKeys(c *Call, _ *None) (Reply, error) {
	keys := c.Service.Engine.Identity().Keys(c.Agent)
	data := KeysData{Keys: make([]Key, len(keys))}
	for i, key := range keys {
		data.Keys[i] = keyOf(key)
	}
	return Reply{Data: data}, nil
}

func startKey(c *Call, body *StartRegistration) (Reply, error) {
	command := &identity.StartKey{
		Caller: c.caller(), PublicKey: body.PublicKey, Algorithm: body.Algorithm,
		Audience: c.audience(),
	}
	return c.identifyOnce(command, func(result identity.Result) Reply {
		granted, _ := result.(*identity.ChallengeGranted)
		return Reply{Status: 201, Data: challengeOf(granted)}
	})
}

func completeKey(c *Call, body *CompleteKey) (Reply, error) {
	added, err := identify[*identity.KeyAddition](c, &identity.CompleteKey{
		Proof:  c.proof(body.ChallengeID, body.Challenge, body.Signature),
		Caller: c.caller(),
	})
	if err != nil {
		return Reply{}, err
	}
	status := 201
	if added.Replayed {
		status = 200
	}
	return Reply{Status: status, Data: KeyData{Key: keyOf(added.Key)}}, nil
}

func revokeKey(c *Call, _ *None) (Reply, error) {
	revoked, err := identify[*identity.KeyRevocation](c, &identity.RevokeKey{
		Caller: c.caller(), KeyID: c.Param("key"),
	})
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: KeyRevoked{
		Key: keyOf(revoked.Key), RevokedSessions: revoked.RevokedSessions,
	}}, nil
}
