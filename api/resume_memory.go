package api

import (
	"hash/maphash"
	"math/bits"
	"sync"

	"pws/api/sizelimit"
	"pws/work"
)

// resumeMemory is what a resume needs while it is built. It is used again, because it is most of
// what a resume would allocate.
type resumeMemory struct {
	// entries are those of the sections, by rank.
	entries [rankCount][]sizelimit.Entry
	// notes are the notes of one kind after another; an item of a section may point to each.
	notes [noteListsMax][]noteItem
	// lists counts the lists of notes that are in use.
	lists int
	known knownNotes
	// files are those of the resume, paths those that were looked for.
	files []work.FileInfo
	paths map[string]bool
}

// noteListsMax is how many kinds of notes a resume reads.
const noteListsMax = 5

var resumeMemories = sync.Pool{New: func() any {
	return &resumeMemory{paths: map[string]bool{}}
}}

// These bound what is kept for the next resume of a list.
const (
	resumeEntriesKept = 512
	notesKept         = 256
	filesKept         = 128
	pathsKept         = 512
)

// borrow takes memory for a resume: the sections begin with what earlier ones have left.
func (b *resumeBuild) borrow() {
	memory, _ := resumeMemories.Get().(*resumeMemory)
	b.memory = memory
	for rank := range b.sections {
		b.sections[rank].Entries = memory.entries[rank]
	}
}

// giveBack returns the memory AFTER the document was built. What it points to is forgotten.
func (b *resumeBuild) giveBack() {
	for rank := range b.sections {
		b.memory.entries[rank] = emptied(b.sections[rank].Entries, resumeEntriesKept)
	}
	for i := range b.memory.lists {
		b.memory.notes[i] = emptied(b.memory.notes[i], notesKept)
	}
	b.memory.lists = 0
	b.memory.known.forget()
	b.memory.files = emptied(b.memory.files, filesKept)
	if len(b.memory.paths) > pathsKept {
		b.memory.paths = map[string]bool{}
	}
	clear(b.memory.paths)
	resumeMemories.Put(b.memory)
	b.memory = nil
}

// emptied is an empty list in the memory of one, unless that is too much to keep.
func emptied[T any](list []T, most int) []T {
	if cap(list) > most {
		return nil
	}
	clear(list)
	return list[:0]
}

// knownNotes leads from a text and its reason to a place in a list. It is a table of hashes,
// because a map costs more than all else that happens to a note.
type knownNotes struct {
	// slots have positions in notes, counted from 1; zero is free. Their number is a power of two.
	slots []uint32
	notes []knownNote
}

type knownNote struct {
	text, reason string
	hash         uint64
	// at is the place in the list.
	at int
}

// knownSlotsLeast and knownSlotsKept are the first number of slots and the most that are kept.
const (
	knownSlotsLeast = 512
	knownSlotsKept  = 4096
)

var noteSeed = maphash.MakeSeed()

func noteHash(text, reason string) uint64 {
	hash := maphash.String(noteSeed, text)
	if reason != "" {
		hash ^= bits.RotateLeft64(maphash.String(noteSeed, reason), 1)
	}
	return hash
}

// find returns the place of a note in the list. One that is not known is added with the next place.
func (k *knownNotes) find(text, reason string, next int) (at int, known bool) {
	if 2*len(k.notes) >= len(k.slots) {
		k.grow()
	}
	hash := noteHash(text, reason)
	slot, known := k.slot(text, reason, hash)
	if known {
		return k.notes[k.slots[slot]-1].at, true
	}
	k.notes = append(k.notes, knownNote{text: text, reason: reason, hash: hash, at: next})
	k.slots[slot] = uint32(len(k.notes))
	return next, false
}

// slot is where a note is, or where it belongs.
func (k *knownNotes) slot(text, reason string, hash uint64) (slot uint64, known bool) {
	mask := uint64(len(k.slots) - 1)
	for slot = hash & mask; k.slots[slot] != 0; slot = (slot + 1) & mask {
		note := &k.notes[k.slots[slot]-1]
		if note.hash == hash && note.text == text && note.reason == reason {
			return slot, true
		}
	}
	return slot, false
}

// grow doubles the table, so that at least half of it is free.
func (k *knownNotes) grow() {
	k.slots = make([]uint32, max(knownSlotsLeast, 2*len(k.slots)))
	for i := range k.notes {
		note := &k.notes[i]
		slot, _ := k.slot(note.text, note.reason, note.hash)
		k.slots[slot] = uint32(i + 1)
	}
}

// forget empties the table for the next list.
func (k *knownNotes) forget() {
	if len(k.slots) > knownSlotsKept {
		*k = knownNotes{}
		return
	}
	clear(k.slots)
	clear(k.notes)
	k.notes = k.notes[:0]
}
