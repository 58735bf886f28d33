package identity

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"pws/internal/id"
)

// ErrCorrupt marks stored bytes that this package cannot have written, or that a newer version
// wrote.
var ErrCorrupt = errors.New("identity: corrupt")

// Event is a fact about identity. Only this package defines kinds of events.
type Event interface {
	Kind() Kind
	// apply applies the event to an unpublished State; it panics if the event does not fit.
	apply(s *State, now int64)
	// touched returns the snapshot sections that the event changes.
	touched() (agent id.ID, challenges bool)
}

// Kind is the number of a kind of event in the log.
type Kind uint16

// The kinds; a number is never reused for another event.
const (
	KindAgentRegistered    Kind = 1
	KindKeyAdded           Kind = 2
	KindKeyRevoked         Kind = 3
	KindChallengeIssued    Kind = 4
	KindChallengeFailed    Kind = 5
	KindChallengeCompleted Kind = 6
	KindSessionStarted     Kind = 7
	KindSessionRevoked     Kind = 8
	KindSessionSeen        Kind = 9
	KindAgentPruned        Kind = 10
	KindResultStored       Kind = 11
	KindChallengesSwept    Kind = 12
	KindProfileDeclared    Kind = 13
	KindInboxMarked        Kind = 14
	KindReportAccepted     Kind = 15
	KindReportSettled      Kind = 16
	KindReportForgotten    Kind = 17
	KindAgentSuspended     Kind = 18
	KindAgentRestored      Kind = 19
	KindRegistrationSet    Kind = 20
	KindInviteIssued       Kind = 21
	KindInviteUsed         Kind = 22
	KindActionNoted        Kind = 23
	KindChallengeDropped   Kind = 24
	KindContentPurged      Kind = 25
	KindErasureBegun       Kind = 26
	KindContentErased      Kind = 27
	KindQuotaSet           Kind = 28
	KindProjectDropBegun   Kind = 29
	KindProjectDropEnded   Kind = 30
)

// makers maps each kind to a function that returns an empty event.
var makers = map[Kind]func() Event{}

func init() {
	for _, make := range []func() Event{
		func() Event { return new(AgentRegistered) },
		func() Event { return new(KeyAdded) },
		func() Event { return new(KeyRevoked) },
		func() Event { return new(ChallengeIssued) },
		func() Event { return new(ChallengeFailed) },
		func() Event { return new(ChallengeCompleted) },
		func() Event { return new(SessionStarted) },
		func() Event { return new(SessionRevoked) },
		func() Event { return new(SessionSeen) },
		func() Event { return new(AgentPruned) },
		func() Event { return new(ResultStored) },
		func() Event { return new(ChallengesSwept) },
		func() Event { return new(ProfileDeclared) },
		func() Event { return new(InboxMarked) },
		func() Event { return new(ReportAccepted) },
		func() Event { return new(ReportSettled) },
		func() Event { return new(ReportForgotten) },
		func() Event { return new(AgentSuspended) },
		func() Event { return new(AgentRestored) },
		func() Event { return new(RegistrationSet) },
		func() Event { return new(InviteIssued) },
		func() Event { return new(InviteUsed) },
		func() Event { return new(ActionNoted) },
		func() Event { return new(ChallengeDropped) },
		func() Event { return new(ContentPurged) },
		func() Event { return new(ErasureBegun) },
		func() Event { return new(ContentErased) },
		func() Event { return new(QuotaSet) },
		func() Event { return new(ProjectDropBegun) },
		func() Event { return new(ProjectDropEnded) },
	} {
		kind := make().Kind()
		if _, twice := makers[kind]; twice {
			panic(fmt.Sprintf("identity: event kind %d twice", kind))
		}
		makers[kind] = make
	}
}

var encoder, decoder = codec()

func codec() (cbor.UserBufferEncMode, cbor.DecMode) {
	encoder, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	decoder, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxArrayElements:  2 * ChallengesMax,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return encoder, decoder
}

// Touched returns the snapshot sections that an event changes: that of an agent, if the ID is not
// zero, and that of the challenges.
func Touched(ev Event) (agent id.ID, challenges bool) { return ev.touched() }

// EncodeEvent appends the event's stored form to dst. The kind is stored separately.
func EncodeEvent(dst []byte, ev Event) ([]byte, error) {
	buffer := bytes.NewBuffer(dst)
	if err := encoder.MarshalToBuffer(ev, buffer); err != nil {
		return dst, fmt.Errorf("identity: event kind %d: %w", ev.Kind(), err)
	}
	return buffer.Bytes(), nil
}

// DecodeEvent decodes the stored form of an event. It keeps no reference to data. An unknown
// kind, and bytes that do not match the kind, are ErrCorrupt.
func DecodeEvent(kind uint16, data []byte) (Event, error) {
	make, ok := makers[Kind(kind)]
	if !ok {
		return nil, fmt.Errorf("%w: unknown event kind %d, perhaps of a newer program", ErrCorrupt, kind)
	}
	event := make()
	if err := decoder.Unmarshal(data, event); err != nil {
		return nil, fmt.Errorf("%w: event kind %d: %w", ErrCorrupt, kind, err)
	}
	return event, nil
}
