package identity

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Key is the immutable record of a public key. Times are Unix milliseconds, 0 for never.
type Key struct {
	ID         id.ID    `cbor:"1,keyasint,omitzero"`
	AgentID    id.ID    `cbor:"-"` // saved with the agent
	PublicKey  [32]byte `cbor:"2,keyasint,omitzero"`
	CreatedAt  int64    `cbor:"3,keyasint,omitempty"`
	RevokedAt  int64    `cbor:"4,keyasint,omitempty"`
	LastUsedAt int64    `cbor:"5,keyasint,omitempty"`
}

// Active reports whether the key may start sessions.
func (k *Key) Active() bool { return k.RevokedAt == 0 }

// Status is ACTIVE or REVOKED.
func (k *Key) Status() string {
	if k.Active() {
		return "ACTIVE"
	}
	return "REVOKED"
}

// Text returns the public key as it was sent: unpadded base64url.
func (k *Key) Text() string { return base64url.EncodeToString(k.PublicKey[:]) }

// Fingerprint returns "SHA256:" and the unpadded base64url SHA-256 of the raw public key.
func (k *Key) Fingerprint() string {
	sum := sha256.Sum256(k.PublicKey[:])
	return "SHA256:" + base64url.EncodeToString(sum[:])
}

// findKey returns the agent's key with a public ID: KEY_NOT_FOUND.
func (a *Agent) findKey(ref string) (*Key, error) {
	if keyID, ok := id.Parse(id.Key, ref); ok {
		if key, ok := a.Key(keyID); ok {
			return key, nil
		}
	}
	return nil, fault.New(fault.KeyNotFound, "The agent has no such key.")
}

func errKeyRevoked(key *Key) error {
	return fault.New(fault.KeyRevoked, "The key has been revoked.").
		With("key_id", key.ID.Format(id.Key))
}

// checkKeyQuota checks the limits for an agent's active keys and for all its keys:
// QUOTA_EXCEEDED.
func (a *Agent) checkKeyQuota() error {
	refuse := func(quota string, limit int) error {
		return fault.New(fault.QuotaExceeded, "The agent has the maximum number of keys.").
			With("quota", quota).With("limit", limit)
	}
	if a.activeKeys() >= KeysActiveMax {
		return refuse("active_keys", KeysActiveMax)
	}
	if len(a.keys) >= KeysMax {
		return refuse("keys", KeysMax)
	}
	return nil
}

// StartKey requests the challenge that a new key of the caller's agent must sign. The result is
// *ChallengeGranted.
type StartKey struct {
	Caller    Caller
	PublicKey string
	Algorithm string
	// Audience is the base URL of the service as the client knows it.
	Audience string
}

// Decide implements Command. VALIDATION_FAILED, SESSION_INVALID, SESSION_EXPIRED,
// KEY_ALREADY_REGISTERED, QUOTA_EXCEEDED.
func (c *StartKey) Decide(s *State, st Stamp) (Outcome, error) {
	agent, _, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	publicKey, fields := parsePublicKey(nil, c.PublicKey, c.Algorithm)
	if len(fields) > 0 {
		return Outcome{}, fault.Invalid(fields...)
	}
	if err := s.checkKeyFree(publicKey); err != nil {
		return Outcome{}, err
	}
	if err := agent.checkKeyQuota(); err != nil {
		return Outcome{}, err
	}
	return issueChallenge(s, st, ChallengeIssued{
		Purpose: PurposeAddKey, PublicKey: publicKey, Agent: agent.ID, Audience: c.Audience,
	})
}

// CompleteKey adds a key to the caller's agent; the new key signs. The result is *KeyAddition.
type CompleteKey struct {
	Proof
	Caller Caller
}

// KeyAddition is the result of CompleteKey.
type KeyAddition struct {
	Key *Key
	// Replayed means that this is the stored answer to an earlier request; nothing was changed.
	Replayed bool
}

func (*KeyAddition) result() {}

// Decide implements Command. VALIDATION_FAILED, SESSION_INVALID, SESSION_EXPIRED,
// CHALLENGE_EXPIRED (another agent's challenge included), CHALLENGE_CONSUMED, SIGNATURE_INVALID
// (with an event), CHALLENGE_REPLAY_MISMATCH, KEY_ALREADY_REGISTERED, QUOTA_EXCEEDED.
func (c *CompleteKey) Decide(s *State, st Stamp) (Outcome, error) {
	agent, _, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if fields := c.check(nil); len(fields) > 0 {
		return Outcome{}, fault.Invalid(fields...)
	}
	challenge, err := s.findChallenge(c.ChallengeID, PurposeAddKey, st.Now)
	if challenge != nil && challenge.AgentID != agent.ID {
		err = errChallengeExpired()
	}
	if err != nil {
		return Outcome{}, err
	}
	if !c.holds(challenge) {
		return failProof(challenge)
	}
	digest := digestOf(c.Challenge, c.Signature)
	if done := challenge.Completion; done != nil {
		if done.Digest != digest {
			return Outcome{}, errReplayMismatch()
		}
		key, _ := agent.Key(done.KeyID)
		return Outcome{Result: &KeyAddition{Key: key, Replayed: true}}, nil
	}
	if err := s.checkKeyFree(challenge.PublicKey); err != nil {
		return Outcome{}, err
	}
	if err := agent.checkKeyQuota(); err != nil {
		return Outcome{}, err
	}
	added := &KeyAdded{
		Agent: agent.ID, Key: st.newID("key"), PublicKey: challenge.PublicKey,
	}
	completed := &ChallengeCompleted{
		Challenge: challenge.ID, Digest: digest, Agent: agent.ID, Key: added.Key,
	}
	return Outcome{
		Events: []Event{added, completed},
		Result: &KeyAddition{Key: added.record(st.Now)},
	}, nil
}

// RevokeKey revokes a key of the caller's agent and every session rooted in it. The result is
// *KeyRevocation.
type RevokeKey struct {
	Caller Caller
	KeyID  string
}

// KeyRevocation is the result of RevokeKey.
type KeyRevocation struct {
	Key             *Key
	RevokedSessions int // live ones
}

func (*KeyRevocation) result() {}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED, KEY_NOT_FOUND, LAST_ACTIVE_KEY,
// KEY_TOO_YOUNG.
// Revoking a revoked key changes nothing.
func (c *RevokeKey) Decide(s *State, st Stamp) (Outcome, error) {
	agent, session, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	key, err := agent.findKey(c.KeyID)
	if err != nil {
		return Outcome{}, err
	}
	if !key.Active() {
		return Outcome{Result: &KeyRevocation{Key: key}}, nil
	}
	if agent.activeKeys() == 1 {
		return Outcome{}, fault.New(fault.LastActiveKey,
			"The last active key of an agent cannot be revoked.")
	}
	if err := agent.checkRevoker(session, key, st.Now); err != nil {
		return Outcome{}, err
	}
	count := 0
	for _, session := range agent.sessions {
		if session.KeyID == key.ID && session.ExpiresAt > st.Now {
			count++
		}
	}
	revoked := *key
	revoked.RevokedAt = st.Now
	return Outcome{
		Events: []Event{&KeyRevoked{Agent: agent.ID, Key: key.ID}},
		Result: &KeyRevocation{Key: &revoked, RevokedSessions: count},
	}, nil
}

// checkRevoker keeps an older key from being revoked on behalf of a new one, which a stolen session
// may have added: KEY_TOO_YOUNG. A new session shows that its client has the key itself, so it may
// revoke that key.
func (a *Agent) checkRevoker(session *Session, key *Key, now int64) error {
	allowedAt := int64(0)
	for _, other := range a.keys {
		switch {
		case other.ID == key.ID:
			if session.KeyID == key.ID && now-session.CreatedAt < SessionFreshMillis {
				return nil
			}
			// The keys that follow are younger.
			allowedAt = math.MaxInt64
		case !other.Active() || session.KeyID != key.ID && session.KeyID != other.ID:
		case allowedAt == 0:
			return nil
		default:
			allowedAt = min(allowedAt, other.CreatedAt+KeyTrustedMillis)
		}
	}
	if allowedAt <= now {
		return nil
	}
	return fault.New(fault.KeyTooYoung, "Only a new session of this key, or a session of another "+
		"old key, may revoke it now.").
		With("key_id", key.ID.Format(id.Key)).With("allowed_at", formatTime(allowedAt))
}

// KeyAdded adds a key to an agent.
type KeyAdded struct {
	Agent     id.ID    `cbor:"1,keyasint,omitzero"`
	Key       id.ID    `cbor:"2,keyasint,omitzero"`
	PublicKey [32]byte `cbor:"3,keyasint,omitzero"`
}

// Kind implements Event.
func (*KeyAdded) Kind() Kind { return KindKeyAdded }

func (e *KeyAdded) touched() (id.ID, bool) { return e.Agent, false }

func (e *KeyAdded) record(now int64) *Key {
	return &Key{ID: e.Key, AgentID: e.Agent, PublicKey: e.PublicKey, CreatedAt: now}
}

func (e *KeyAdded) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	ref := keyRef{agent: e.Agent, key: e.Key}
	if _, known := s.publicKeys.Set(string(e.PublicKey[:]), ref); known {
		panic(fmt.Sprintf("identity: public key %x twice", e.PublicKey))
	}
	s.keyOwners.set(e.Key, e.Agent)
	agent.keys = append(slices.Clip(agent.keys), e.record(now))
	s.putAgent(&agent)
}

// KeyRevoked revokes a key and the sessions rooted in it.
type KeyRevoked struct {
	Agent id.ID `cbor:"1,keyasint,omitzero"`
	Key   id.ID `cbor:"2,keyasint,omitzero"`
}

// Kind implements Event.
func (*KeyRevoked) Kind() Kind { return KindKeyRevoked }

func (e *KeyRevoked) touched() (id.ID, bool) { return e.Agent, false }

func (e *KeyRevoked) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	agent.replaceKey(e.Key, func(key *Key) { key.RevokedAt = now })
	s.keepSessions(&agent, func(session *Session) bool { return session.KeyID != e.Key })
	s.putAgent(&agent)
}
