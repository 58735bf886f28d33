package replica

import (
	"bytes"
	"encoding/binary"
	"errors"

	"pws/internal/disk"
	"pws/journal"
)

// The kinds of commands, the first byte of the data of an entry of raft. Raft's own entries have no
// data.
const (
	// commandReign begins a reign of the member whose number follows. Its own number is the index of
	// the entry.
	commandReign = 1
	// commandBatch has entries of the journal: uvarints of their reign, the position of the first
	// and how many, and each with its length.
	commandBatch = 2
	// commandFormat raises the format of the group to the one that follows.
	commandFormat = 3
)

func encodeReign(member uint64) []byte {
	return binary.AppendUvarint([]byte{commandReign}, member)
}

func encodeFormat(format uint64) []byte {
	return binary.AppendUvarint([]byte{commandFormat}, format)
}

// command is what an entry of raft says: one of its fields is set.
type command struct {
	// member begins a reign.
	member uint64
	batch  *batch
	format uint64
}

// batch is what takes effect together, or not at all.
type batch struct {
	reign    journal.Reign
	first    uint64
	payloads [][]byte
}

func (b *batch) encode() []byte {
	size := 1 + 3*binary.MaxVarintLen64
	for _, payload := range b.payloads {
		size += binary.MaxVarintLen64 + len(payload)
	}
	data := append(make([]byte, 0, size), commandBatch)
	data = appendUvarints(data, uint64(b.reign), b.first, uint64(len(b.payloads)))
	for _, payload := range b.payloads {
		data = append(appendUvarints(data, uint64(len(payload))), payload...)
	}
	return data
}

var errCommand = errors.New("command is not understood")

// decodeCommand decodes the data of an entry.
func decodeCommand(data []byte) (c command, err error) {
	r := disk.NewReader(data[1:])
	switch data[0] {
	case commandReign:
		if c.member = r.Uvarint(); c.member == 0 {
			r.Fail()
		}
	case commandBatch:
		b := &batch{reign: journal.Reign(r.Uvarint()), first: r.Uvarint()}
		for range r.Count() {
			b.payloads = append(b.payloads, bytes.Clone(r.Bytes()))
		}
		if len(b.payloads) == 0 {
			r.Fail()
		}
		c.batch = b
	case commandFormat:
		if c.format = r.Uvarint(); c.format == 0 {
			r.Fail()
		}
	default:
		r.Fail()
	}
	if r.Failed() || r.Len() > 0 {
		return command{}, errCommand
	}
	return c, nil
}
