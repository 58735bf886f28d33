package identity

import (
	"bytes"
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Purged is a content that an operator has purged. The mark stays for ever: the content is neither
// read nor stored again.
type Purged struct {
	Hash [32]byte `cbor:"1,keyasint"`
	// ErasedAt is when the content had left the disk, in Unix milliseconds; 0 before.
	ErasedAt int64 `cbor:"2,keyasint,omitempty"`
}

func byHash(one Purged, hash [32]byte) int { return bytes.Compare(one.Hash[:], hash[:]) }

// Purged reports whether a content was purged. Every read of a content asks; it costs nothing while
// none was.
func (s *State) Purged(hash [32]byte) bool {
	if len(s.operator.purged) == 0 {
		return false
	}
	_, purged := slices.BinarySearchFunc(s.operator.purged, hash, byHash)
	return purged
}

// PurgedContents returns the contents that were purged, by hash. The slice must not be modified.
func (s *State) PurgedContents() []Purged { return s.operator.purged }

// PurgeContent marks a content as purged. The result is *ActionDone.
type PurgeContent struct {
	Hash   [32]byte
	Reason string
}

// Decide implements Command. VALIDATION_FAILED, QUOTA_EXCEEDED. Purging again notes the action.
func (c *PurgeContent) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := CheckReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	noted := &ActionNoted{
		Action: ActionPurge, Subject: fmt.Sprintf("%x", c.Hash), Reason: c.Reason,
	}
	if s.Purged(c.Hash) {
		return Outcome{Events: []Event{noted}, Result: &ActionDone{}}, nil
	}
	if len(s.operator.purged) >= PurgedMax {
		return Outcome{}, fault.New(fault.QuotaExceeded, "Too many contents are purged.").
			With("quota", "purged_contents").With("limit", PurgedMax)
	}
	return Outcome{
		Events: []Event{&ContentPurged{Hash: c.Hash}, noted}, Result: &ActionDone{Changed: true},
	}, nil
}

// BeginErasure separates the entries of the log that may contain purged contents from those that
// cannot. The result is *ActionDone.
type BeginErasure struct{}

// Decide implements Command; it returns no error.
func (*BeginErasure) Decide(*State, Stamp) (Outcome, error) {
	return Outcome{Events: []Event{&ErasureBegun{}}, Result: &ActionDone{Changed: true}}, nil
}

// EndErasure notes that purged contents have left the disk. The result is *ActionDone.
type EndErasure struct{ Hashes [][32]byte }

// Decide implements Command; it returns no error.
func (c *EndErasure) Decide(*State, Stamp) (Outcome, error) {
	var events []Event
	for _, hash := range c.Hashes {
		events = append(events, &ContentErased{Hash: hash})
	}
	return Outcome{Events: events, Result: &ActionDone{Changed: true}}, nil
}

// ContentPurged marks a content as purged.
type ContentPurged struct {
	Hash [32]byte `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ContentPurged) Kind() Kind { return KindContentPurged }

func (*ContentPurged) touched() (id.ID, bool) { return id.ID{}, false }

func (*ContentPurged) touchesOperator() {}

func (e *ContentPurged) apply(s *State, _ int64) {
	s.changeOperator(func(next *operator) {
		at, twice := slices.BinarySearchFunc(next.purged, e.Hash, byHash)
		if twice {
			panic(fmt.Sprintf("identity: content %x purged twice", e.Hash))
		}
		next.purged = slices.Insert(slices.Clone(next.purged), at, Purged{Hash: e.Hash})
	})
}

// ErasureBegun changes nothing. No entry of the log behind it contains a content that was purged
// before it.
type ErasureBegun struct{}

// Kind implements Event.
func (*ErasureBegun) Kind() Kind { return KindErasureBegun }

func (*ErasureBegun) touched() (id.ID, bool) { return id.ID{}, false }

func (*ErasureBegun) apply(*State, int64) {}

// ContentErased notes that a purged content has left the disk.
type ContentErased struct {
	Hash [32]byte `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ContentErased) Kind() Kind { return KindContentErased }

func (*ContentErased) touched() (id.ID, bool) { return id.ID{}, false }

func (*ContentErased) touchesOperator() {}

func (e *ContentErased) apply(s *State, now int64) {
	s.changeOperator(func(next *operator) {
		at, known := slices.BinarySearchFunc(next.purged, e.Hash, byHash)
		if !known {
			panic(fmt.Sprintf("identity: content %x erased and not purged", e.Hash))
		}
		next.purged = slices.Clone(next.purged)
		next.purged[at].ErasedAt = now
	})
}
