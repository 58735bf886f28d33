package work

import (
	"crypto/sha256"
	"encoding/binary"

	"pws/internal/fault"
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

func errProjectNotFound() error {
	return fault.New(fault.ProjectNotFound, "There is no such project.")
}
