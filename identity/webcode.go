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
	outcome, err := issueChallenge(s, st, PurposeWeb, key.PublicKey, agent.ID, key.ID)
	if err != nil {
		return Outcome{}, err
	}
	granted, _ := outcome.Result.(*ChallengeGranted)
	outcome.Result = &WebCodeGranted{
		Code:      granted.Challenge.webCode(session.ID, c.Secret),
		ExpiresAt: granted.Challenge.ExpiresAt,
	}
	return outcome, nil
}

// webCodeDivider separates the parts of a code: the ID of the challenge, that of the session which
// asked for the code, and a signature.
const webCodeDivider = "."

// webCode is the code of a challenge that a session asked for.
func (c *Challenge) webCode(session id.ID, secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("pws web code v2\x00"))
	mac.Write(session[:])
	mac.Write(c.payload())
	return strings.Join([]string{
		c.ID.Format(id.Challenge), session.Format(id.Session),
		base64url.EncodeToString(mac.Sum(nil)),
	}, webCodeDivider)
}

// webCodeParts are the parts of a code; they are empty where it has not as many.
func webCodeParts(code string) (challenge, session, signature string) {
	if parts := strings.Split(code, webCodeDivider); len(parts) == 3 {
		return parts[0], parts[1], parts[2]
	}
	return "", "", ""
}

// isWebCode reports whether a code is that of a challenge.
func (c *Challenge) isWebCode(code string, secret []byte) bool {
	_, text, _ := webCodeParts(code)
	session, ok := id.Parse(id.Session, text)
	return ok && hmac.Equal([]byte(code), []byte(c.webCode(session, secret)))
}

// requireAsking returns CHALLENGE_EXPIRED if the session that asked for a code has ended, unless
// the agent is suspended, which says more.
func (s *State) requireAsking(code string, agent id.ID, now int64) error {
	if s.Suspended(agent) {
		return nil
	}
	_, text, _ := webCodeParts(code)
	session, _ := id.Parse(id.Session, text)
	if _, _, err := s.caller(Caller{Agent: agent, Session: session}, now); err != nil {
		return fault.New(fault.ChallengeExpired, "The session that asked for the code has ended.")
	}
	return nil
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
	ref, _, signature := webCodeParts(c.Code)
	challenge, err := s.findChallenge(ref, PurposeWeb, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	if !challenge.isWebCode(c.Code, c.Secret) {
		return failProof(challenge)
	}
	if err := s.requireAsking(c.Code, challenge.AgentID, st.Now); err != nil {
		return Outcome{}, err
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
	ref, _, _ := webCodeParts(code)
	challenge, err := s.findChallenge(ref, PurposeWeb, now)
	if err != nil {
		return nil, err
	}
	if !challenge.isWebCode(code, secret) || challenge.Completion != nil {
		return nil, fault.New(fault.ChallengeExpired, "The code is unknown or has been used.")
	}
	if err := s.requireAsking(code, challenge.AgentID, now); err != nil {
		return nil, err
	}
	return s.mustAgent(challenge.AgentID), nil
}
