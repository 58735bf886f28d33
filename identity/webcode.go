package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// Browsers have no keys. A caller with a session asks for a code, which opens a session of the web
// page once, within a minute. The code is a challenge that the service itself has signed: it is not
// stored, and nobody but the caller has seen it. A session of the web page lives while it is used.

// WebCodeGranted is the result of RequestWebCode, the only answer that contains the code.
type WebCodeGranted struct {
	Code      string
	ExpiresAt int64
}

func (*WebCodeGranted) result() {}

// RequestWebCode requests a code for the caller's agent and key. The result is *WebCodeGranted.
type RequestWebCode struct {
	Caller Caller
	Secret []byte // the server's, for the code
}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED.
func (c *RequestWebCode) Decide(s *State, st Stamp) (Outcome, error) {
	agent, session, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	key, ok := agent.Key(session.KeyID)
	if !ok || !key.Active() {
		return Outcome{}, ErrSessionInvalid()
	}
	outcome, err := issueChallenge(s, st, ChallengeIssued{
		Purpose: PurposeWeb, PublicKey: key.PublicKey, Agent: agent.ID, Key: key.ID,
	})
	if err != nil {
		return Outcome{}, err
	}
	granted, _ := outcome.Result.(*ChallengeGranted)
	outcome.Result = &WebCodeGranted{
		Code:      granted.Challenge.webCode(c.Secret),
		ExpiresAt: granted.Challenge.ExpiresAt,
	}
	return outcome, nil
}

// webCodeDivider separates the ID of the challenge from its signature.
const webCodeDivider = "."

// webCode is the code of a challenge.
func (c *Challenge) webCode(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("pws web code v1\x00"))
	mac.Write(c.payload())
	return c.ID.Format(id.Challenge) + webCodeDivider + base64url.EncodeToString(mac.Sum(nil))
}

// OpenWebSession opens a session of the web page. The result is *SessionGranted.
type OpenWebSession struct {
	Code   string
	Secret []byte // the server's, for code and credential
}

// The client of sessions of the web page.
const (
	webClientName    = "web"
	webClientVersion = "1"
)

// Decide implements Command. CHALLENGE_EXPIRED (also for a code that was never one),
// CHALLENGE_CONSUMED, SIGNATURE_INVALID (with an event), AGENT_SUSPENDED.
func (c *OpenWebSession) Decide(s *State, st Stamp) (Outcome, error) {
	ref, signature, _ := strings.Cut(c.Code, webCodeDivider)
	challenge, err := s.findChallenge(ref, PurposeWeb, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if !hmac.Equal([]byte(c.Code), []byte(challenge.webCode(c.Secret))) {
		return failProof(challenge)
	}
	if challenge.Completion != nil {
		return Outcome{}, errChallengeConsumed("The code has been used.")
	}
	return s.openSession(st, challenge, digestOf(c.Code), sessionStart{
		secret: c.Secret, signature: signature, clientName: webClientName,
		clientVersion: webClientVersion, idleMillis: WebSessionIdleMillis,
	})
}

// WebCodeAgent returns the agent that a code would sign in, without using the code up. Errors:
// CHALLENGE_EXPIRED, CHALLENGE_CONSUMED.
func (s *State) WebCodeAgent(code string, secret []byte, now int64) (*Agent, error) {
	ref, _, _ := strings.Cut(code, webCodeDivider)
	challenge, err := s.findChallenge(ref, PurposeWeb, now)
	if err != nil {
		return nil, err
	}
	if !hmac.Equal([]byte(code), []byte(challenge.webCode(secret))) || challenge.Completion != nil {
		return nil, fault.New(fault.ChallengeExpired, "The code is unknown or has been used.")
	}
	return s.mustAgent(challenge.AgentID), nil
}
