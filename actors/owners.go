package actors

import (
	"encoding/binary"
	"fmt"
	"slices"

	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// owned is a thing that is reached by its own ID, with its project.
type owned struct {
	thing  id.ID
	handle *handle
}

// Owner implements api.Engine.
func (e *Engine) Owner(thing id.ID) (project id.ID, ok bool) {
	h, ok := e.owners.Get(thing)
	if !ok {
		return id.ID{}, false
	}
	return h.id, true
}

// own takes in what events have made, and keeps it for the next snapshot.
func (e *Engine) own(h *handle, events []work.Event) {
	for _, event := range events {
		if thing, ok := work.Made(event); ok {
			e.ownOne(owned{thing, h})
		}
	}
}

func (e *Engine) ownOne(one owned) {
	if !e.owners.Set(one.thing, one.handle) {
		return
	}
	e.unsaved.Lock()
	e.unsaved.owned = append(e.unsaved.owned, one)
	e.unsaved.Unlock()
}

// madeIn are the things that an entry of the log has made.
func madeIn(events []entryEvent) (made []id.ID, err error) {
	for _, stored := range events {
		if factsOf(stored.kind)&makes == 0 {
			continue
		}
		event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
		if err != nil {
			return nil, err
		}
		if thing, ok := work.Made(event); ok {
			made = append(made, thing)
		}
	}
	return made, nil
}

const (
	ownedBytes = 2 * len(id.ID{})
	// ownersSectionMax is how many things a section holds that is never put together with another.
	ownersSectionMax = 1 << 16
)

// ownersSection is a section of the snapshot that says of some things whose they are.
type ownersSection struct {
	sequence uint64
	things   int
}

func ownersKey(sequence uint64) string {
	return string(binary.BigEndian.AppendUint64([]byte("d"), sequence))
}

// saveOwners writes what is new as a section. A section before it that is not twice as large is put
// together with it, so that there are few of them and each thing is written few times.
func (e *Engine) saveOwners(
	writer *snapshot.Writer, position uint64, fresh []owned,
) ([]ownersSection, error) {
	sections := slices.Clone(e.saver.owners)
	next := uint64(0)
	if len(sections) > 0 {
		next = sections[len(sections)-1].sequence + 1
	}
	for part := range slices.Chunk(fresh, ownersSectionMax) {
		data := make([]byte, 0, len(part)*ownedBytes)
		for _, one := range part {
			data = append(append(data, one.thing[:]...), one.handle.id[:]...)
		}
		things := len(part)
		for len(sections) > 0 && things < ownersSectionMax {
			last := sections[len(sections)-1]
			if last.things >= ownersSectionMax || last.things >= 2*things {
				break
			}
			older, _, _, err := e.snapshot.Read(ownersKey(last.sequence))
			if err != nil {
				// It stays as it is, for verify to name.
				e.log.Error("owners cannot be read", "error", err)
				break
			}
			if err := writer.Delete(ownersKey(last.sequence)); err != nil {
				return nil, err
			}
			data, things = append(older, data...), things+last.things
			sections = sections[:len(sections)-1]
		}
		if err := writer.Put(ownersKey(next), position, data); err != nil {
			return nil, err
		}
		sections = append(sections, ownersSection{next, things})
		next++
	}
	return sections, nil
}

// ownersOf reads a section; whoever a thing belongs to is told to yield.
func ownersOf(data []byte, yield func(thing, project id.ID)) error {
	if len(data)%ownedBytes != 0 {
		return fmt.Errorf("%d bytes are no list of things", len(data))
	}
	for ; len(data) > 0; data = data[ownedBytes:] {
		yield(id.ID(data[:len(id.ID{})]), id.ID(data[len(id.ID{}):ownedBytes]))
	}
	return nil
}

// restoreOwners reads what snapshots have saved, then takes in what the log behind them has made.
// The handles of all projects are there BEFORE.
func (e *Engine) restoreOwners(made []owned) error {
	for key := range e.sectionKeys("d") {
		section := ownersSection{sequence: beUint64(key[1:])}
		data, _, _, err := e.snapshot.Read(key)
		if err == nil {
			err = ownersOf(data, func(thing, project id.ID) {
				if h, ok := e.handles.Load(project); ok {
					e.owners.Set(thing, h)
				}
				section.things++
			})
		}
		if err != nil {
			return fmt.Errorf("owners %d: %w", section.sequence, err)
		}
		e.saver.owners = append(e.saver.owners, section)
	}
	for _, one := range made {
		e.ownOne(one)
	}
	return nil
}

func beUint64(text string) uint64 { return binary.BigEndian.Uint64([]byte(text[:8])) }
