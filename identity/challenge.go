package identity

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/logformat"
)

// Purpose is the only operation that a challenge can be used for.
type Purpose uint8

// The purposes; the numbers are stored in events.
const (
	PurposeRegister Purpose = 1
	PurposeSession  Purpose = 2
	PurposeAddKey   Purpose = 3
	PurposeWeb      Purpose = 4
)

// String is the purpose in the signing payload.
func (p Purpose) String() string {
	switch p {
	case PurposeRegister:
		return "register"
	case PurposeSession:
		return "session"
	case PurposeAddKey:
		return "add-key"
	case PurposeWeb:
		return "web"
	}
	panic(fmt.Sprintf("identity: purpose %d", uint8(p)))
}

// life is how long a challenge can be completed, in milliseconds.
func (p Purpose) life() int64 {
	if p == PurposeWeb {
		return WebCodeMillis
	}
	return ChallengeMillis
}

// Challenge is the immutable record of a challenge. Times are Unix milliseconds.
type Challenge struct {
	ID        id.ID    `cbor:"1,keyasint,omitzero"`
	Purpose   Purpose  `cbor:"2,keyasint,omitempty"`
	Nonce     [32]byte `cbor:"3,keyasint,omitzero"`
	PublicKey [32]byte `cbor:"4,keyasint,omitzero"` // the key that has to sign
	AgentID   id.ID    `cbor:"5,keyasint,omitzero"` // zero for a registration
	KeyID     id.ID    `cbor:"6,keyasint,omitzero"` // the key of a session or code, else zero
	ExpiresAt int64    `cbor:"7,keyasint,omitempty"`
	Failures  uint8    `cbor:"8,keyasint,omitempty"`
	// Completion is nil until the challenge is completed.
	Completion *Completion `cbor:"9,keyasint,omitempty"`
	// Audience is the base URL of the service as the client knows it; empty in challenges of older
	// programs. It is kept because the request with the proof may be sent to another address.
	Audience string `cbor:"10,keyasint,omitempty"`
}

// Completion records how a challenge was completed, and the outcome.
type Completion struct {
	Digest           [16]byte `cbor:"1,keyasint,omitzero"` // of the values of the request
	AgentID          id.ID    `cbor:"2,keyasint,omitzero"`
	KeyID            id.ID    `cbor:"3,keyasint,omitzero"`
	SessionID        id.ID    `cbor:"4,keyasint,omitzero"` // zero where no session was started
	At               int64    `cbor:"5,keyasint,omitempty"`
	SessionExpiresAt int64    `cbor:"6,keyasint,omitempty"`
}

// Text returns the challenge as it is sent to the client and back.
func (c *Challenge) Text() string { return base64url.EncodeToString(c.Nonce[:]) }

// SigningPayload returns the text whose bytes the key signs. Its elements are separated by bars,
// which no element can contain: service and version, purpose, challenge ID, challenge, public
// key, expiry, the agent if it already exists, and the audience. A server that passes the challenge
// of another one on cannot make a client sign it that looks at the audience.
func (c *Challenge) SigningPayload() string { return string(c.payload()) }

func (c *Challenge) payload() []byte {
	out := append(make([]byte, 0, 320), "pws/v1|"...)
	out = append(out, c.Purpose.String()...)
	out = c.ID.Append(append(out, '|'), id.Challenge)
	out = base64url.AppendEncode(append(out, '|'), c.Nonce[:])
	out = base64url.AppendEncode(append(out, '|'), c.PublicKey[:])
	out = append(append(out, '|'), formatTime(c.ExpiresAt)...)
	if !c.AgentID.IsZero() {
		out = c.AgentID.Append(append(out, '|'), id.Agent)
	}
	if c.Audience != "" {
		out = append(append(out, '|'), c.Audience...)
	}
	return out
}

// remaining returns how many signatures may still fail.
func (c *Challenge) remaining() int { return max(0, ChallengeAttempts-int(c.Failures)) }

// ChallengeGranted is the result of the commands that ask for a challenge.
type ChallengeGranted struct{ Challenge *Challenge }

func (*ChallengeGranted) result() {}

// issueChallenge issues a challenge as it is wanted. Older ones may go for it.
func issueChallenge(s *State, st Stamp, wanted ChallengeIssued) (Outcome, error) {
	event := &wanted
	event.Challenge, event.Nonce = st.newID("challenge id"), st.derive("challenge")
	event.ExpiresAt = st.Now + event.Purpose.life()
	if !st.NamesAudience {
		event.Audience = ""
	}
	made := event.record()
	var events []Event
	for _, displaced := range s.challenges.displaced(made) {
		events = append(events, &ChallengeDropped{Challenge: displaced})
	}
	return Outcome{
		Events: append(events, event), Result: &ChallengeGranted{Challenge: made},
	}, nil
}

// findChallenge returns the challenge that a proof names. CHALLENGE_EXPIRED: unknown, expired or
// for another purpose. CHALLENGE_CONSUMED: too many signatures failed.
func (s *State) findChallenge(ref string, purpose Purpose, now int64) (*Challenge, error) {
	challengeID, ok := id.Parse(id.Challenge, ref)
	if !ok {
		return nil, errChallengeExpired()
	}
	challenge, ok := s.challenges.get(challengeID)
	if !ok || challenge.Purpose != purpose || challenge.ExpiresAt <= now {
		return nil, errChallengeExpired()
	}
	if challenge.Completion == nil && challenge.remaining() == 0 {
		return nil, errChallengeConsumed("Too many signatures failed.")
	}
	return challenge, nil
}

func errChallengeExpired() error {
	return fault.New(fault.ChallengeExpired, "The challenge is unknown or has expired.")
}

func errChallengeConsumed(message string) error {
	return fault.New(fault.ChallengeConsumed, message)
}

func errReplayMismatch() error {
	return fault.New(fault.ChallengeReplayMismatch,
		"The challenge was completed with other values.")
}

// failProof is the outcome of an invalid proof: SIGNATURE_INVALID, and an event that counts it.
// A completed challenge has no attempts left to count.
func failProof(challenge *Challenge) (Outcome, error) {
	refusal := fault.New(fault.SignatureInvalid,
		"The signature does not match the challenge and the key.")
	if challenge.Completion != nil {
		return Outcome{}, refusal.With("remaining_attempts", challenge.remaining())
	}
	return Outcome{Events: []Event{&ChallengeFailed{Challenge: challenge.ID}}},
		refusal.With("remaining_attempts", challenge.remaining()-1)
}

// digestOf hashes the values of a completing request; lengths separate them.
func digestOf(values ...string) [16]byte {
	out := []byte("pws identity completion v1\x00")
	for _, value := range values {
		out = binary.AppendUvarint(out, uint64(len(value)))
		out = append(out, value...)
	}
	sum := sha256.Sum256(out)
	return [16]byte(sum[:16])
}

// sweepChallenges drops a limited number of expired challenges, the oldest first.
func (s *State) sweepChallenges(now int64, countMax int) {
	for range countMax {
		_, challenge, ok := s.challenges.min()
		if !ok || challenge.ExpiresAt > now {
			return
		}
		s.challenges.delete(challenge)
	}
}

// changeChallenge replaces a challenge with a changed copy, and then drops expired ones.
func (s *State) changeChallenge(challengeID id.ID, now int64, change func(*Challenge)) {
	challenge, ok := s.challenges.get(challengeID)
	if !ok {
		panic(fmt.Sprintf("identity: no challenge %s", challengeID.Format(id.Challenge)))
	}
	changed := *challenge
	change(&changed)
	s.challenges.set(challengeID, &changed)
	s.sweepChallenges(now, challengesSweptMax)
}

// ChallengeIssued makes a challenge.
type ChallengeIssued struct {
	Challenge id.ID    `cbor:"1,keyasint,omitzero"`
	Purpose   Purpose  `cbor:"2,keyasint,omitempty"`
	Nonce     [32]byte `cbor:"3,keyasint,omitzero"`
	PublicKey [32]byte `cbor:"4,keyasint,omitzero"`
	Agent     id.ID    `cbor:"5,keyasint,omitzero"`
	Key       id.ID    `cbor:"6,keyasint,omitzero"`
	ExpiresAt int64    `cbor:"7,keyasint,omitempty"`
	Audience  string   `cbor:"8,keyasint,omitempty"`
}

// Kind implements Event.
func (*ChallengeIssued) Kind() Kind { return KindChallengeIssued }

// Format implements datadir.Newer.
func (e *ChallengeIssued) Format() uint64 {
	if e.Audience != "" {
		return logformat.NamesAudience
	}
	return 0
}

func (*ChallengeIssued) touched() (id.ID, bool) { return id.ID{}, true }

func (e *ChallengeIssued) record() *Challenge {
	return &Challenge{
		ID: e.Challenge, Purpose: e.Purpose, Nonce: e.Nonce, PublicKey: e.PublicKey,
		AgentID: e.Agent, KeyID: e.Key, ExpiresAt: e.ExpiresAt, Audience: e.Audience,
	}
}

func (e *ChallengeIssued) apply(s *State, now int64) {
	if _, ok := s.challenges.get(e.Challenge); ok {
		panic(fmt.Sprintf("identity: challenge %s twice", e.Challenge.Format(id.Challenge)))
	}
	s.sweepChallenges(now, challengesSweptMax)
	s.challenges.set(e.Challenge, e.record())
}

// ChallengeFailed counts an invalid proof.
type ChallengeFailed struct {
	Challenge id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ChallengeFailed) Kind() Kind { return KindChallengeFailed }

func (*ChallengeFailed) touched() (id.ID, bool) { return id.ID{}, true }

func (e *ChallengeFailed) apply(s *State, now int64) {
	s.changeChallenge(e.Challenge, now, func(challenge *Challenge) { challenge.Failures++ })
}

// ChallengeCompleted uses up a challenge. The events before it hold the outcome.
type ChallengeCompleted struct {
	Challenge        id.ID    `cbor:"1,keyasint,omitzero"`
	Digest           [16]byte `cbor:"2,keyasint,omitzero"`
	Agent            id.ID    `cbor:"3,keyasint,omitzero"`
	Key              id.ID    `cbor:"4,keyasint,omitzero"`
	Session          id.ID    `cbor:"5,keyasint,omitzero"`
	SessionExpiresAt int64    `cbor:"6,keyasint,omitempty"`
}

// Kind implements Event.
func (*ChallengeCompleted) Kind() Kind { return KindChallengeCompleted }

func (*ChallengeCompleted) touched() (id.ID, bool) { return id.ID{}, true }

func (e *ChallengeCompleted) apply(s *State, now int64) {
	s.changeChallenge(e.Challenge, now, func(challenge *Challenge) {
		challenge.Completion = &Completion{
			Digest: e.Digest, AgentID: e.Agent, KeyID: e.Key, SessionID: e.Session,
			At: now, SessionExpiresAt: e.SessionExpiresAt,
		}
	})
}

// ChallengesSwept drops expired challenges if no other event does.
type ChallengesSwept struct{}

// Kind implements Event.
func (*ChallengesSwept) Kind() Kind { return KindChallengesSwept }

func (*ChallengesSwept) touched() (id.ID, bool) { return id.ID{}, true }

func (*ChallengesSwept) apply(s *State, now int64) { s.sweepChallenges(now, challengesPruneMax) }
