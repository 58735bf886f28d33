package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// Browsers have no keys. A caller with a session asks for a code, which opens a session of the web
// page once, within a minute, while the session that asked lives. The code is a challenge that the
// service itself has signed: it is not stored, and nobody but the caller has seen it. A session of
// the web page lives while it is used.

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
	outcome, err := issue(s, &ChallengeIssued{
		Challenge: st.newID("challenge id"), Purpose: PurposeWeb, Nonce: codeNonce(st, session.ID),
		PublicKey: key.PublicKey, Agent: agent.ID, Key: key.ID, ExpiresAt: st.Now + WebCodeMillis,
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

// codeNonce is the nonce of a code: random bytes, then the ID of the session that asks. It may be
// guessed, for the service signs a code with its secret.
func codeNonce(st Stamp, session id.ID) [32]byte {
	nonce := st.derive("challenge")
	copy(nonce[len(nonce)-len(session):], session[:])
	return nonce
}

// asked reports whether the session that asked for a code lives.
func (s *State) asked(code *Challenge, now int64) bool {
	session := id.ID(code.Nonce[len(code.Nonce)-len(id.ID{}):])
	_, _, err := s.caller(Caller{Agent: code.AgentID, Session: session}, now)
	return err == nil
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

// Decide implements Command. CHALLENGE_EXPIRED (also for a code that was never one, and for one
// whose session has ended), CHALLENGE_CONSUMED, SIGNATURE_INVALID (with an event), AGENT_SUSPENDED.
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
	if !hmac.Equal([]byte(code), []byte(challenge.webCode(secret))) ||
		challenge.Completion != nil || !s.asked(challenge, now) {
		return nil, fault.New(fault.ChallengeExpired, "The code is unknown or has been used.")
	}
	return s.mustAgent(challenge.AgentID), nil
}
