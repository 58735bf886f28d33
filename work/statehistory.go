package work

import (
	"fmt"
	"slices"
)

// stateHistory holds earlier versions of the state, the oldest first: at most StateVersionsMax with
// at most StateHistoryBytesMax of texts. It is the single chunk of its kind. A slice is never
// changed, because older states of the project read it.
type stateHistory struct {
	versions []*State
	// bytes is the size of their texts.
	bytes int
	// begun means that there was a version at some time, so that there is a chunk.
	begun bool
	// changed is the revision of the project that last changed the list.
	changed uint64
}

// keepState adds the current state to the history, BEFORE it is replaced. The empty first version
// is not stored.
func (p *Project) keepState() {
	current := p.saved.State
	if current == nil {
		return
	}
	versions := make([]*State, 0, len(p.states.versions)+1)
	p.states.keep(append(append(versions, p.states.versions...), current), p.Revision+1)
}

// keep replaces the list by the newest versions of another one that are kept.
func (h *stateHistory) keep(versions []*State, revision uint64) {
	h.begun, h.changed, h.bytes = true, revision, 0
	first := len(versions)
	for first > 0 && len(versions)-first < StateVersionsMax {
		size := versions[first-1].Statement.bytes()
		if h.bytes+size > StateHistoryBytesMax {
			break
		}
		h.bytes += size
		first--
	}
	h.versions = slices.Clone(versions[first:])
}

// StateVersions yields the versions of the state that are kept, the newest first, before a version
// number; 0 yields all of them.
func (p *Project) StateVersions(before uint64, yield func(*State) bool) {
	give := func(s *State) bool { return before != 0 && s.Version >= before || yield(s) }
	current, all := p.State(), p.states.versions
	if !give(current) {
		return
	}
	oldest := current
	for i := len(all) - 1; i >= 0; i-- {
		if oldest = all[i]; !give(oldest) {
			return
		}
	}
	if oldest.Version == 2 {
		give(p.firstState())
	}
}

// StateAt returns the newest version that was written at a changeset or before it, nil if it is no
// longer kept.
func (p *Project) StateAt(changeset *Changeset) (found *State) {
	p.StateVersions(0, func(s *State) bool {
		if s.Changeset.Compare(changeset.ID) <= 0 {
			found = s
		}
		return found == nil
	})
	return found
}

// chunks, changedAt and encode implement savedList.
func (h *stateHistory) chunks() int {
	if !h.begun {
		return 0
	}
	return 1
}

func (h *stateHistory) changedAt(int) uint64 { return h.changed }

func (h *stateHistory) encode(int) ([]byte, error) { return encoding.Marshal(h.versions) }

// count returns the number of versions for the head, nil if there never was one.
func (h *stateHistory) count() *int {
	if !h.begun {
		return nil
	}
	count := len(h.versions)
	return &count
}

func (p *Project) restoreStates(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	if head.States == nil {
		return nil
	}
	var saved []*State
	if err := readChunk(chunk, Chunk{StateChunk, 0}, &saved); err != nil {
		return err
	}
	if len(saved) != *head.States || p.saved.State == nil {
		return fmt.Errorf("project head: %d versions of the state; the chunk has %d", *head.States,
			len(saved))
	}
	last := uint64(0)
	for _, one := range saved {
		if one == nil || one.Version <= last || one.Version >= p.saved.State.Version {
			return fmt.Errorf("chunk %c 0: %w", StateChunk, errMisplaced)
		}
		last = one.Version
	}
	p.states.keep(saved, 0)
	return nil
}

// StateOrigin returns the origin of a version of the state; nil if it was written here.
func (p *Project) StateOrigin(s *State) *Origin {
	for i := range p.bundle().States {
		if from := &p.bundle().States[i]; from.Version == s.Version {
			return &from.Origin
		}
	}
	return nil
}

// VersionOrigin is the origin of a version of the state.
type VersionOrigin struct {
	Version uint64 `cbor:"1,keyasint"`
	Origin  Origin `cbor:"2,keyasint"`
}
