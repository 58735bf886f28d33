package client

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"
)

// algorithm is the only one of the service.
const algorithm = "Ed25519"

// SignedIn is who an agent is, and its new session.
type SignedIn struct {
	Agent struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
	} `json:"agent"`
	Key struct {
		ID string `json:"id"`
	} `json:"key"`
	Session struct {
		ID         string    `json:"id"`
		AgentID    string    `json:"agent_id"`
		KeyID      string    `json:"key_id"`
		Credential string    `json:"credential"`
		CreatedAt  time.Time `json:"created_at"`
		ExpiresAt  time.Time `json:"expires_at"`
	} `json:"session"`
}

// challenge is a text of the server to sign.
type challenge struct {
	ID      string `json:"challenge_id"`
	Text    string `json:"challenge"`
	Payload string `json:"signing_payload"`
}

// errPayload: a signature of any text that a server sends could be used for something else.
var errPayload = errors.New(
	"the server asks for a signature of a text that is not the challenge that was requested")

// signature is the proof of possession of a key, for a challenge that is wanted. Errors:
// errPayload, *AudienceError.
func (c challenge) signature(key ed25519.PrivateKey, wanted wanted) (string, error) {
	parts := strings.Split(c.Payload, "|")
	const service, id, text, public, least = 0, 2, 3, 4, 6
	if len(parts) < least || parts[service] != "pws/v1" || parts[id] != c.ID ||
		parts[text] != c.Text || parts[public] != PublicText(key) {
		return "", errPayload
	}
	if err := wanted.check(parts); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(c.Payload))), nil
}

// proof is the body that answers a challenge.
type proof struct {
	ChallengeID   string `json:"challenge_id"`
	Challenge     string `json:"challenge"`
	Signature     string `json:"signature"`
	Handle        string `json:"handle,omitempty"`
	ClientName    string `json:"client_name"`
	ClientVersion string `json:"client_version"`
}

// Program is what a session says of the program that opened it.
type Program struct{ Name, Version string }

func (c challenge) prove(
	key ed25519.PrivateKey, wanted wanted, program Program,
) (proof, error) {
	signature, err := c.signature(key, wanted)
	return proof{
		ChallengeID: c.ID, Challenge: c.Text, Signature: signature,
		ClientName: program.Name, ClientVersion: program.Version,
	}, err
}

// Registration is a registration that has begun: its challenge is valid for minutes, and with
// several handles one after the other.
type Registration struct {
	client    *Client
	challenge challenge
	key       ed25519.PrivateKey
	program   Program
}

// KnownKey is the agent that a key belongs to.
type KnownKey struct {
	AgentID string `json:"agent_id"`
	KeyID   string `json:"key_id"`
}

// Register begins a registration. If the key is registered, it returns no registration but its
// agent.
func (c *Client) Register(
	ctx context.Context, key ed25519.PrivateKey, program Program,
) (*Registration, KnownKey, error) {
	begun := &Registration{client: c, key: key, program: program}
	asked, known, err := c.offerKey(ctx, "/api/v1/agents/register/start", key)
	if err != nil || known != (KnownKey{}) {
		return nil, known, err
	}
	begun.challenge = asked
	return begun, known, nil
}

// offerKey asks for the challenge of a new key. If the key is registered, it returns its agent
// instead.
func (c *Client) offerKey(
	ctx context.Context, path string, key ed25519.PrivateKey,
) (asked challenge, known KnownKey, err error) {
	input := struct {
		PublicKey string `json:"public_key"`
		Algorithm string `json:"algorithm"`
	}{PublicText(key), algorithm}
	err = c.Call(ctx, http.MethodPost, path, input, &asked)
	var failure *Failure
	if IsCode(err, codeKeyRegistered) && errors.As(err, &failure) {
		failure.Detail("agent_id", &known.AgentID)
		failure.Detail("key_id", &known.KeyID)
		err = nil
	}
	return asked, known, err
}

// Complete registers the agent under a handle. A *Failure HANDLE_TAKEN or INVALID_HANDLE leaves the
// registration as it is, for another handle.
func (r *Registration) Complete(ctx context.Context, handle string) (SignedIn, error) {
	var done SignedIn
	body, err := r.challenge.prove(r.key, r.client.wants(toRegister, ""), r.program)
	if err != nil {
		return done, err
	}
	body.Handle = handle
	err = r.client.Call(ctx, http.MethodPost, "/api/v1/agents/register/complete", body, &done)
	return done, err
}

// SignIn opens a session of a registered key. A challenge is used once: if the answer to its proof
// was lost, SignIn asks for another.
func (c *Client) SignIn(
	ctx context.Context, key ed25519.PrivateKey, known KnownKey, program Program,
) (SignedIn, error) {
	return again(func() (SignedIn, error) { return c.signInOnce(ctx, key, known, program) })
}

// again calls prove once more if its challenge was used up.
func again[T any](prove func() (T, error)) (T, error) {
	done, err := prove()
	if IsCode(err, codeChallengeConsumed, codeChallengeExpired) {
		done, err = prove()
	}
	return done, err
}

func (c *Client) signInOnce(
	ctx context.Context, key ed25519.PrivateKey, known KnownKey, program Program,
) (SignedIn, error) {
	var asked challenge
	var done SignedIn
	err := c.Call(ctx, http.MethodPost, "/api/v1/auth/challenge", known, &asked)
	if err != nil {
		return done, err
	}
	body, err := asked.prove(key, c.wants(toSignIn, known.AgentID), program)
	if err == nil {
		err = c.Call(ctx, http.MethodPost, "/api/v1/auth/session", body, &done)
	}
	return done, err
}

// AddKey adds another key to an agent, whose credential the client has. A key that is registered is
// no error: its agent and ID are returned. If the answer to the proof was lost, AddKey asks for
// another challenge.
func (c *Client) AddKey(
	ctx context.Context, key ed25519.PrivateKey, agentID string,
) (KnownKey, error) {
	return again(func() (KnownKey, error) { return c.addKeyOnce(ctx, key, agentID) })
}

func (c *Client) addKeyOnce(
	ctx context.Context, key ed25519.PrivateKey, agentID string,
) (KnownKey, error) {
	asked, known, err := c.offerKey(ctx, "/api/v1/agents/me/keys/start", key)
	if err != nil || known != (KnownKey{}) {
		return known, err
	}
	signature, err := asked.signature(key, c.wants(toAddKey, agentID))
	if err != nil {
		return known, err
	}
	body := struct {
		ChallengeID string `json:"challenge_id"`
		Challenge   string `json:"challenge"`
		Signature   string `json:"signature"`
	}{asked.ID, asked.Text, signature}
	var done struct {
		Key struct {
			ID      string `json:"id"`
			AgentID string `json:"agent_id"`
		} `json:"key"`
	}
	err = c.Call(ctx, http.MethodPost, "/api/v1/agents/me/keys/complete", body, &done)
	return KnownKey{AgentID: done.Key.AgentID, KeyID: done.Key.ID}, err
}
