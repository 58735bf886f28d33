package work

import (
	"encoding/binary"
	"slices"
	"unique"

	"pws/internal/id"
)

// begin starts the record of a changeset with all that stands before its operations.
func (h *history) begin(c *Changeset) {
	var parts byte
	if !c.SourceID.IsZero() {
		parts |= partSource
	}
	if c.Message != "" {
		parts |= partMessage
	}
	if c.Away != nil {
		parts |= partAway
	}
	if c.ofTree {
		parts |= partTree
	}
	author := h.agent(c.Author)
	h.places = appended(h.places, uint32(len(h.open)))
	data := append(h.open, c.ID[:]...)
	data = binary.AppendVarint(data, c.CreatedAt-c.ID.Millis())
	data = append(data, byte(c.Source), parts)
	data = binary.AppendUvarint(data, author)
	if parts&partSource != 0 {
		data = append(data, c.SourceID[:]...)
	}
	if parts&partMessage != 0 {
		data = append(binary.AppendUvarint(data, uint64(len(c.Message))), c.Message...)
	}
	if away := c.Away; away != nil {
		data = append(data, away.Hash[:]...)
		for _, number := range [...]int{away.Size, away.Bytes, away.Kept, int(away.Notes)} {
			data = binary.AppendUvarint(data, uint64(number))
		}
	}
	h.open = data
}

// add writes an operation. Its paths have the indices path and from.
func (h *history) add(op *Op, path, from uint32) {
	kind := byte(op.Action)
	if op.From != nil {
		kind |= opFrom
	}
	hasContent := op.Blob != Hash{} || op.Size != 0 || op.Type != noType
	if hasContent {
		kind |= opContent
	}
	op.at = uint32(len(h.open)) - h.places[len(h.places)-1]
	var mediaType uint64
	if hasContent {
		mediaType = h.mediaType(op.Type)
	}
	data := binary.AppendUvarint(append(h.open, kind), uint64(path))
	if op.From != nil {
		data = binary.AppendUvarint(data, uint64(from))
	}
	if hasContent {
		data = append(data, op.Blob[:]...)
		data = binary.AppendUvarint(data, uint64(op.Size))
		data = binary.AppendUvarint(data, mediaType)
	}
	h.open = data
}

// end completes the record of a changeset, AFTER its operations.
func (h *history) end(c *Changeset) {
	begin := len(h.open)
	data := binary.AppendUvarint(h.open, uint64(c.OpCount))
	data = binary.AppendUvarint(data, uint64(c.files))
	data = binary.AppendUvarint(data, uint64(c.AddedBytes))
	data = binary.AppendUvarint(data, uint64(c.DeletedBytes))
	h.open = append(data, byte(len(data)-begin))
	h.head = c
	if len(h.places)%blockChangesets != 0 {
		return
	}
	full := h.open
	if cap(full)-len(full) > len(full)/8 {
		full = slices.Clone(full)
	}
	h.blocks = append(h.blocks, full)
	h.blockBytes += len(full)
	// The next block is likely to be as large as this one.
	h.open = make([]byte, 0, len(full)+len(full)/16)
}

// settle frees the memory that only a longer history needs, AFTER a project is restored.
func (h *history) settle() {
	if !h.head.ofTree && cap(h.head.Ops) > len(h.head.Ops) {
		h.head.Ops = slices.Clip(slices.Clone(h.head.Ops))
	}
	h.open = slices.Clip(slices.Clone(h.open))
}

// appended is append for a list that lives long: of its memory, at most a fifth is spare.
func appended[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = append(make([]T, 0, len(list)+len(list)/4+1), list...)
	}
	return append(list, one)
}

// path returns the path with an index.
func (n *names) path(nth uint32) *string {
	if n.tree != nil {
		if int(nth) < len(n.tree.ops) {
			return n.tree.ops[nth].Path
		}
		nth -= uint32(len(n.tree.ops))
	}
	return &n.paths[nth]
}

// ownNames returns the names for adding to them.
func (h *history) ownNames() *names {
	if h.namesShared || h.names == nil {
		next := new(names)
		if h.names != nil {
			*next = *h.names
		}
		h.names, h.namesShared = next, false
	}
	return h.names
}

// addPath returns the index of a new path.
func (h *history) addPath(path string) (nth uint32) {
	n := h.ownNames()
	n.paths = append(n.paths, path)
	nth = uint32(len(n.paths) - 1)
	if n.tree != nil {
		nth += uint32(len(n.tree.ops))
	}
	return nth
}

// agent returns the index of an author.
func (h *history) agent(agent id.ID) uint64 {
	if h.names != nil {
		if nth, known := newest(h.names.agents, agent); known {
			return nth
		}
	}
	n := h.ownNames()
	n.agents = append(n.agents, agent)
	return uint64(len(n.agents) - 1)
}

// mediaType returns the index of a media type.
func (h *history) mediaType(text unique.Handle[string]) uint64 {
	if nth, known := newest(h.names.types, text); known {
		return nth
	}
	n := h.ownNames()
	n.types = append(n.types, text)
	return uint64(len(n.types) - 1)
}

// newest returns the index of a value among the newest ones of a list.
func newest[T comparable](list []T, wanted T) (nth uint64, found bool) {
	for nth := len(list) - 1; nth >= max(0, len(list)-nameLookback); nth-- {
		if list[nth] == wanted {
			return uint64(nth), true
		}
	}
	return 0, false
}
