package identity

import (
	"crypto/ed25519"

	"pws/internal/fault"
	"pws/internal/id"
)

// Proof is what a client sends to complete a challenge, in its original form.
type Proof struct {
	ChallengeID string
	Challenge   string
	Signature   string

	ahead checkedProof
}

// checkedProof is the outcome of a check that was made before the decision.
type checkedProof struct {
	challenge id.ID
	holds     bool
}

// CheckAhead verifies the signature against a published State, so that the owner of the working
// State need not: it is by far the most expensive step of a decision. A challenge's payload and
// key never change, so the result stays valid. Decide itself verifies proofs that were not
// verified here. The proof must not be changed afterwards.
func (p *Proof) CheckAhead(s *State) {
	challengeID, ok := id.Parse(id.Challenge, p.ChallengeID)
	if !ok {
		return
	}
	challenge, ok := s.challenges.get(challengeID)
	if !ok {
		return
	}
	p.ahead = checkedProof{challenge: challengeID, holds: p.verify(challenge)}
}

// check appends the syntax errors of the proof.
func (p *Proof) check(fields []fault.Field) []fault.Field {
	var nonce [32]byte
	if !decodeBase64(nonce[:], p.Challenge) {
		fields = append(fields, fault.Field{
			Field: "challenge", Problem: "must be the 43 base64url characters of the challenge",
		})
	}
	var signature [ed25519.SignatureSize]byte
	if !decodeBase64(signature[:], p.Signature) {
		fields = append(fields, fault.Field{
			Field:   "signature",
			Problem: "must be 64 bytes in unpadded base64url, 86 characters",
		})
	}
	return fields
}

// holds reports whether the proof is valid for the challenge.
func (p *Proof) holds(challenge *Challenge) bool {
	if p.ahead.challenge == challenge.ID {
		return p.ahead.holds
	}
	return p.verify(challenge)
}

func (p *Proof) verify(challenge *Challenge) bool {
	var nonce [32]byte
	if !decodeBase64(nonce[:], p.Challenge) || nonce != challenge.Nonce {
		return false
	}
	var signature [ed25519.SignatureSize]byte
	if !decodeBase64(signature[:], p.Signature) {
		return false
	}
	return ed25519.Verify(challenge.PublicKey[:], challenge.payload(), signature[:])
}
