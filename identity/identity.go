package identity

import (
	"crypto/sha256"

	"pws/internal/id"
)

// The limits of identity. Durations are milliseconds.
const (
	ChallengeMillis     = 300 * 1000
	ChallengeAttempts   = 5
	ChallengesPerKeyMax = 5       // that wait for the same public key
	ChallengesMax       = 100_000 // for registrations, and as many for agents that exist
	SessionMillis       = 3600 * 1000
	WebCodeMillis       = 60 * 1000

	WebSessionIdleMillis = 12 * 3600 * 1000 // how long a session of the web page lives unused
	WebSessionMillis     = 30 * 24 * 3600 * 1000

	SessionMemoryMillis = 24 * 3600 * 1000
	SessionSeenMillis   = 60 * 1000
	SessionFreshMillis  = 300 * 1000 // how long a session shows that its client has the key
	SessionsLiveMax     = 100
	SessionsKeptMax     = 200
	KeyTrustedMillis    = 24 * 3600 * 1000 // from when on a key may revoke older ones
	KeysActiveMax       = 20
	KeysMax             = 500
	ResultMillis        = 604_800 * 1000
	ResultsMax          = 1000
	MarksMax            = 5000 // items that one agent has marked one by one
	MarkStepsMax        = 64
	ProfileItemsMax     = 50 // values of one list of a profile
	ProfileItemCharsMax = 64
	ClientNameMax       = 100
	ClientVersionMax    = 50
	SecretBytesMin      = 32
)

// The maximum numbers of stored reports: in all, and of unhandled reports by anonymous callers
// and by each agent.
const (
	ReportsMax          = 10_000
	ReportsAnonymousMax = 5000
	ReportsPerAgentMax  = 500 // also by the network of an anonymous caller
	// reportsPart is the part of the room left that one reporter may have: one of so many.
	reportsPart      = 8
	ReportDetailsMax = 2000 // characters
)

// The limits of operators.
const (
	ActionsMax      = 1000 // actions that the log of actions keeps
	ActionReasonMax = 500  // characters
	InvitesMax      = 1000 // unused invites
	PurgedMax       = 10_000
	LimitsMax       = 10_000 // quotas that are set
	DropsMax        = 1000   // projects that are being dropped
	InviteMillisMax = 90 * 24 * 3600 * 1000
)

// Sweeps are bounded so that no single event is expensive after a long idle time.
const (
	challengesSweptMax = 16   // by an event about another challenge
	challengesPruneMax = 1024 // by ChallengesSwept
	agentsPrunedMax    = 64   // by one Prune
)

// Stamp holds the external input of a decision: the time and fresh random bytes. All IDs and
// challenges of the decision are derived from it, each with its own label.
type Stamp struct {
	Now     int64 // Unix milliseconds
	Entropy [16]byte
	// NamesAudience says that all programs that may use the data next understand challenges which
	// name their audience.
	NamesAudience bool
}

// derive returns the SHA-256 of a domain, the label and the entropy. The entropy and other
// derived values cannot be computed from a derived value.
func (st Stamp) derive(label string) [32]byte {
	var buffer [96]byte
	text := append(buffer[:0], "pws identity entropy v1\x00"...)
	text = append(text, label...)
	text = append(text, 0)
	text = append(text, st.Entropy[:]...)
	return sha256.Sum256(text)
}

// newID derives an ID from this stamp with a label.
func (st Stamp) newID(label string) id.ID {
	sum := st.derive(label)
	return id.New(st.Now, [10]byte(sum[:10]))
}

// Caller names the authenticated session on whose behalf a command runs. Decide looks the session
// up again, because it may have ended after authentication.
type Caller struct {
	Agent   id.ID
	Session id.ID
}

// Command is a request of a caller. Decide must not modify the State. The events of the Outcome
// are stored and applied even if an error comes with them.
type Command interface {
	Decide(s *State, st Stamp) (Outcome, error)
}

// Outcome is the result of a command: the events to store, in order, and the answer to the caller.
type Outcome struct {
	Events []Event
	Result Result
}

// Result is one of *ChallengeGranted, *Registration, *SessionGranted, *SessionEnded,
// *KeyAddition, *KeyRevocation, *InboxMarking, *ReportMade and *ActionDone; nil for a command
// without a result. Its records are those after the events.
type Result interface{ result() }
