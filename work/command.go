package work

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"pws/internal/id"
)

// Hash is the SHA-256 of a content.
type Hash [sha256.Size]byte

// Blob is a content that a command brings with it.
type Blob struct {
	Hash    Hash
	Content []byte
}

// StoredBlob is a content that was stored BEFORE the command that names it.
type StoredBlob struct {
	Hash Hash
	// Size is in bytes.
	Size int
}

// Stamp holds the time, caller and entropy of a command. The actor makes it once for each
// command.
type Stamp struct {
	// Now is Unix milliseconds.
	Now int64
	// Agent is the caller; zero for an anonymous one.
	Agent id.ID
	// Entropy is fresh random bytes, from which all IDs of the command are derived.
	Entropy [16]byte
}

// In returns the stamp for a command to a project: the IDs that it derives belong to the
// project's family.
func (s Stamp) In(project id.ID) Stamp {
	binary.BigEndian.PutUint32(s.Entropy[:], project.ProjectBits())
	return s
}

// ID derives the nth ID of a command. IDs from one stamp differ, and a higher n sorts higher.
func (s Stamp) ID(n uint16) id.ID {
	var entropy [10]byte
	copy(entropy[:], s.Entropy[:8])
	// The bit is cleared so that Next never carries into the family.
	entropy[4] &= 0x7f
	binary.BigEndian.PutUint16(entropy[8:], n)
	return id.New(s.Now, entropy)
}

// Command is a request to change a project. It must not modify the project, which is nil before it
// exists.
type Command interface {
	// Authorize reports whether the caller may see the project and send this command at all. It
	// is called BEFORE a repeated request is answered from its stored result.
	Authorize(p *Project, agent id.ID) error
	// Decide turns the command into events.
	Decide(p *Project, stamp Stamp) (Decision, error)
}

// Decision is the outcome of a command.
type Decision struct {
	// Events are empty if there is nothing to change.
	Events []Event
	// Blobs are contents that the events name.
	Blobs []Blob
	// Again are contents that the request has and that no event names: they are there already. Where
	// one is damaged it is stored again.
	Again []Blob
	// Stored are contents that the events name first and that were stored BEFORE the command.
	Stored []StoredBlob
	Result Result
	// Refusal is returned to the caller although the events are stored; they record its reason. No
	// result is stored for its key.
	Refusal error
}

// Result identifies what a command created or changed, for its answer.
type Result struct {
	// Created means that something new was created, as opposed to replaced or unchanged.
	Created bool `cbor:"1,keyasint,omitempty"`
	// Changeset is the published changeset, zero if there is none.
	Changeset id.ID `cbor:"2,keyasint"`
	// Subject is the other entity that the command was about, such as the agent of a member.
	Subject id.ID `cbor:"3,keyasint"`
}

// Authorize authorizes any command: the errors of its own Authorize, and FORBIDDEN for a blocked
// agent.
func Authorize(command Command, p *Project, agent id.ID) error {
	if err := command.Authorize(p, agent); err != nil {
		return err
	}
	if p == nil || Leaves(command) {
		return nil
	}
	return p.RequireNotBlocked(agent)
}

// Leaves reports whether a command is accepted from agents that may no longer read the project. It
// opens no work session.
func Leaves(command Command) bool {
	switch command.(type) {
	case *UnwatchProject, *ReleaseAll:
		return true
	}
	return false
}

// Decide decides any command. It records expired claims first, so that the command sees the
// project as readers do, and opens a work session on the first write of an agent, see Leaves. It
// records the expiry of a workspace BEFORE a change of its contribution.
func Decide(command Command, p *Project, stamp Stamp) (Decision, error) {
	p, expired := expireClaims(p, stamp)
	decision, err := command.Decide(p, stamp)
	if err != nil {
		return Decision{}, err
	}
	if _, noting := command.(*ExpireClaims); !noting && len(decision.Events) == 0 {
		return decision, nil
	}
	decision.putAway()
	decision.Events = p.expiring(decision.Events, stamp.Now)
	if !Leaves(command) {
		decision.Events = opened(p, decision.Events, stamp)
	}
	if len(expired) > 0 {
		decision.Events = slices.Concat(recorded(expired, decision.Events), decision.Events)
	}
	return decision, nil
}

// recorded returns the expiries that are recorded with other events: the oldest, at most
// OrderEventsMax, and those of the tasks that the other events are about, which follow on them. The
// rest is recorded with later commands, and reads as expired until then.
func recorded(expired, with []Event) []Event {
	if len(expired) <= OrderEventsMax {
		return expired
	}
	needed := map[id.ID]bool{}
	for _, event := range with {
		if task, ok := TaskOf(event); ok {
			needed[task] = true
		}
	}
	some := slices.Clone(expired[:OrderEventsMax])
	for _, event := range expired[OrderEventsMax:] {
		if one, ok := event.(*TaskClaimExpired); ok && needed[one.Task] {
			some = append(some, event)
		}
	}
	return some
}

// opened inserts the event of a new work session before the events that belong to it.
func opened(p *Project, events []Event, stamp Stamp) []Event {
	if len(events) == 0 || stamp.Agent.IsZero() || !slices.ContainsFunc(events, countsAsWork) {
		return events
	}
	place := 0
	if p == nil {
		// The first event of a project is its creation.
		place = 1
	} else if _, open := p.OpenSession(stamp.Agent); open {
		return events
	}
	return slices.Insert(events, place, Event(&WorkSessionOpened{ID: stamp.ID(sessionNumber)}))
}
