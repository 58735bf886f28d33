package work

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"pws/internal/id"
)

// Event is a fact about a project. Its fields have integer keys in the log, which are never
// reused. The zero value of a field that is added later must be correct for older events.
type Event interface {
	apply(p *Project, at Moment)
}

// Moment is the time and the caller of the command of an event.
type Moment struct {
	// Now is Unix milliseconds.
	Now   int64
	Agent id.ID
}

// Kind is the number of an event type in the log.
type Kind uint16

// The kinds. A number is never reused for another event. Those that are missing up to 71 were never
// in a log; they stay free, so that the newest kind is the last one. The next event takes 72.
const (
	KindProjectCreated         Kind = 1
	KindProjectUpdated         Kind = 2
	KindMemberAdded            Kind = 3
	KindMemberChanged          Kind = 4
	KindMemberRemoved          Kind = 5
	KindChangesetPublished     Kind = 6
	KindWorkSessionOpened      Kind = 7
	KindWorkSessionEnded       Kind = 8
	KindStateUpdated           Kind = 9
	KindHandoffCreated         Kind = 10
	KindCheckpointCreated      Kind = 11
	KindTaskCreated            Kind = 12
	KindTaskUpdated            Kind = 13
	KindTaskClaimed            Kind = 14
	KindClaimRenewed           Kind = 15
	KindTaskReleased           Kind = 16
	KindTaskClaimExpired       Kind = 17
	KindWorkspaceOpened        Kind = 18
	KindWorkspaceChanged       Kind = 19
	KindWorkspaceRefreshed     Kind = 20
	KindWorkspacePublished     Kind = 21
	KindTurnTaken              Kind = 22
	KindTurnRenewed            Kind = 23
	KindContributionSubmitted  Kind = 24
	KindRevisionSubmitted      Kind = 25
	KindContributionReviewed   Kind = 26
	KindContributionConflicted Kind = 27
	KindContributionAccepted   Kind = 28
	KindContributionRejected   Kind = 29
	KindContributionWithdrawn  Kind = 30
	KindProjectForked          Kind = 31
	KindArtifactCreated        Kind = 32
	KindArtifactImported       Kind = 33
	KindRelationCreated        Kind = 34
	KindVerificationCreated    Kind = 35
	KindProjectImported        Kind = 36
	KindDiscussionCreated      Kind = 40
	KindCommentAdded           Kind = 41
	KindProjectWatched         Kind = 42
	KindProjectUnwatched       Kind = 43
	KindWorkspaceEnded         Kind = 44
	KindDiscussionSet          Kind = 45
	KindDiscussionDeleted      Kind = 46
	KindCommentDeleted         Kind = 47
	KindProjectHidden          Kind = 48
	KindProjectShown           Kind = 49
	KindProjectRemoved         Kind = 50
	KindAgentBlocked           Kind = 52
	KindAgentUnblocked         Kind = 53
	KindTurnAwaited            Kind = 54
	KindTurnEnded              Kind = 55
	KindProjectErased          Kind = 56
	KindTaskTextsForgotten     Kind = 57
	KindVerificationDeleted    Kind = 60
	KindReviewDeleted          Kind = 61
	KindContributionDeleted    Kind = 62
	KindHandoffDeleted         Kind = 63
	KindProjectDeleted         Kind = 70
	KindProjectRestored        Kind = 71
)

// kinds returns an empty event for each kind.
var kinds = map[Kind]func() Event{
	KindProjectCreated:         func() Event { return new(ProjectCreated) },
	KindProjectUpdated:         func() Event { return new(ProjectUpdated) },
	KindMemberAdded:            func() Event { return new(MemberAdded) },
	KindMemberChanged:          func() Event { return new(MemberChanged) },
	KindMemberRemoved:          func() Event { return new(MemberRemoved) },
	KindChangesetPublished:     func() Event { return new(ChangesetPublished) },
	KindWorkSessionOpened:      func() Event { return new(WorkSessionOpened) },
	KindWorkSessionEnded:       func() Event { return new(WorkSessionEnded) },
	KindStateUpdated:           func() Event { return new(StateUpdated) },
	KindHandoffCreated:         func() Event { return new(HandoffCreated) },
	KindCheckpointCreated:      func() Event { return new(CheckpointCreated) },
	KindTaskCreated:            func() Event { return new(TaskCreated) },
	KindTaskUpdated:            func() Event { return new(TaskUpdated) },
	KindTaskClaimed:            func() Event { return new(TaskClaimed) },
	KindClaimRenewed:           func() Event { return new(ClaimRenewed) },
	KindTaskReleased:           func() Event { return new(TaskReleased) },
	KindTaskClaimExpired:       func() Event { return new(TaskClaimExpired) },
	KindWorkspaceOpened:        func() Event { return new(WorkspaceOpened) },
	KindWorkspaceChanged:       func() Event { return new(WorkspaceChanged) },
	KindWorkspaceRefreshed:     func() Event { return new(WorkspaceRefreshed) },
	KindWorkspacePublished:     func() Event { return new(WorkspacePublished) },
	KindTurnTaken:              func() Event { return new(TurnTaken) },
	KindTurnRenewed:            func() Event { return new(TurnRenewed) },
	KindContributionSubmitted:  func() Event { return new(ContributionSubmitted) },
	KindRevisionSubmitted:      func() Event { return new(RevisionSubmitted) },
	KindContributionReviewed:   func() Event { return new(ContributionReviewed) },
	KindContributionConflicted: func() Event { return new(ContributionConflicted) },
	KindContributionAccepted:   func() Event { return new(ContributionAccepted) },
	KindContributionRejected:   func() Event { return new(ContributionRejected) },
	KindContributionWithdrawn:  func() Event { return new(ContributionWithdrawn) },
	KindProjectForked:          func() Event { return new(ProjectForked) },
	KindArtifactCreated:        func() Event { return new(ArtifactCreated) },
	KindArtifactImported:       func() Event { return new(ArtifactImported) },
	KindRelationCreated:        func() Event { return new(RelationCreated) },
	KindVerificationCreated:    func() Event { return new(VerificationCreated) },
	KindProjectImported:        func() Event { return new(ProjectImported) },
	KindDiscussionCreated:      func() Event { return new(DiscussionCreated) },
	KindCommentAdded:           func() Event { return new(CommentAdded) },
	KindProjectWatched:         func() Event { return new(ProjectWatched) },
	KindProjectUnwatched:       func() Event { return new(ProjectUnwatched) },
	KindWorkspaceEnded:         func() Event { return new(WorkspaceEnded) },
	KindDiscussionSet:          func() Event { return new(DiscussionSet) },
	KindDiscussionDeleted:      func() Event { return new(DiscussionDeleted) },
	KindCommentDeleted:         func() Event { return new(CommentDeleted) },
	KindProjectHidden:          func() Event { return new(ProjectHidden) },
	KindProjectShown:           func() Event { return new(ProjectShown) },
	KindProjectRemoved:         func() Event { return new(ProjectRemoved) },
	KindAgentBlocked:           func() Event { return new(AgentBlocked) },
	KindAgentUnblocked:         func() Event { return new(AgentUnblocked) },
	KindTurnAwaited:            func() Event { return new(TurnAwaited) },
	KindTurnEnded:              func() Event { return new(TurnEnded) },
	KindProjectErased:          func() Event { return new(ProjectErased) },
	KindTaskTextsForgotten:     func() Event { return new(TaskTextsForgotten) },
	KindVerificationDeleted:    func() Event { return new(VerificationDeleted) },
	KindReviewDeleted:          func() Event { return new(ReviewDeleted) },
	KindContributionDeleted:    func() Event { return new(ContributionDeleted) },
	KindHandoffDeleted:         func() Event { return new(HandoffDeleted) },
	KindProjectDeleted:         func() Event { return new(ProjectDeleted) },
	KindProjectRestored:        func() Event { return new(ProjectRestored) },
}

var kindOf = func() map[reflect.Type]Kind {
	index := make(map[reflect.Type]Kind, len(kinds))
	for kind, fresh := range kinds {
		index[reflect.TypeOf(fresh())] = kind
	}
	return index
}()

// Known reports whether DecodeEvent supports a kind.
func Known(kind Kind) bool { return kinds[kind] != nil }

// KindOf returns the kind of an event. It panics for an unregistered event, which is a bug.
func KindOf(event Event) Kind {
	switch event.(type) {
	case *ChangesetPublished:
		return KindChangesetPublished
	}
	kind, ok := kindOf[reflect.TypeOf(event)]
	if !ok {
		panic(fmt.Sprintf("event without a kind: %T", event))
	}
	return kind
}

var decoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		// The results stored in a week make a long list. Its length is bounded by the size of
		// the data, because each element takes at least one byte.
		MaxArrayElements: math.MaxInt32,
		MaxNestedLevels:  16,
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

var encoding = func() cbor.EncMode {
	options := cbor.CoreDetEncOptions()
	// A pointer to an empty list means something else than a nil pointer, even if the list is
	// nil.
	options.NilContainers = cbor.NilContainerAsEmpty
	mode, err := options.EncMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// TaskOf returns the task that an event changes. The tasks of a ProjectImported are new with their
// project.
func TaskOf(event Event) (task id.ID, ok bool) {
	switch event := event.(type) {
	case *TaskCreated:
		return event.ID, true
	case *TaskUpdated:
		return event.Task, true
	case *TaskClaimed:
		return event.Task, true
	case *ClaimRenewed:
		return event.Task, true
	case *TaskReleased:
		return event.Task, true
	case *TaskClaimExpired:
		return event.Task, true
	case *TaskTextsForgotten:
		return event.Task, true
	}
	return id.ID{}, false
}

// EncodeEvent appends the encoding of an event in the log to dst.
func EncodeEvent(dst []byte, event Event) ([]byte, error) {
	if published, ok := event.(*ChangesetPublished); ok && published.plain() {
		return published.append(slices.Grow(dst, 64+128*len(published.Ops))), nil
	}
	data, err := encoding.Marshal(event)
	return append(dst, data...), err
}

// DecodeEvent decodes an event that this or any earlier version has encoded.
func DecodeEvent(kind Kind, data []byte) (Event, error) {
	fresh, ok := kinds[kind]
	if !ok {
		return nil, fmt.Errorf("unknown event kind %d, perhaps of a newer program", kind)
	}
	event := fresh()
	if err := decoding.Unmarshal(data, event); err != nil {
		return nil, fmt.Errorf("event kind %d: %w", kind, err)
	}
	return event, nil
}

// EncodeResult encodes a stored result for the log, in the entry of the events of its command.
func EncodeResult(one *StoredResult) ([]byte, error) { return encoding.Marshal(one) }

// DecodeResult decodes a stored result that this or any earlier version has encoded.
func DecodeResult(data []byte) (one StoredResult, err error) {
	if err := decoding.Unmarshal(data, &one); err != nil {
		return StoredResult{}, fmt.Errorf("stored result: %w", err)
	}
	return one, nil
}
