package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/disk"
)

// recordVersion is the first byte of a record, whose layout the package doc has.
const recordVersion = 1

// The parts of a record.
const (
	partHardState = 1 << iota
	partBase
	partEntries
	partsKnown = partHardState | partBase | partEntries
)

// record is what becomes durable together.
type record struct {
	hard    *raftpb.HardState
	base    *raftpb.Snapshot
	entries []*raftpb.Entry
}

func (r *record) empty() bool {
	return r.hard == nil && r.base == nil && len(r.entries) == 0
}

func (r *record) encode() []byte {
	parts, size := byte(0), 2
	if r.hard != nil {
		parts |= partHardState
		size += 3 * binary.MaxVarintLen64
	}
	if r.base != nil {
		parts |= partBase
		size += confBytes(r.base.GetMetadata().GetConfState()) + len(r.base.GetData())
	}
	if len(r.entries) > 0 {
		parts |= partEntries
		for _, e := range r.entries {
			size += 3*binary.MaxVarintLen64 + len(e.GetData())
		}
	}
	b := append(make([]byte, 0, size), recordVersion, parts)
	if r.hard != nil {
		b = appendUvarints(b, r.hard.GetTerm(), r.hard.GetVote(), r.hard.GetCommit())
	}
	if r.base != nil {
		b = appendBase(b, r.base)
	}
	if len(r.entries) > 0 {
		b = appendUvarints(b, uint64(len(r.entries)), r.entries[0].GetIndex())
		for _, e := range r.entries {
			b = appendUvarints(b, e.GetTerm(), uint64(e.GetType()), uint64(len(e.GetData())))
			b = append(b, e.GetData()...)
		}
	}
	return b
}

func appendUvarints(b []byte, values ...uint64) []byte {
	for _, value := range values {
		b = binary.AppendUvarint(b, value)
	}
	return b
}

// confBytes bounds the length of a configuration and of the rest of a base, without its data.
func confBytes(c *raftpb.ConfState) int {
	members := len(c.GetVoters()) + len(c.GetLearners()) + len(c.GetVotersOutgoing()) +
		len(c.GetLearnersNext())
	return (8 + members) * binary.MaxVarintLen64
}

func appendBase(b []byte, s *raftpb.Snapshot) []byte {
	meta := s.GetMetadata()
	conf := meta.GetConfState()
	b = appendUvarints(b, meta.GetIndex(), meta.GetTerm())
	for _, members := range [][]uint64{
		conf.GetVoters(), conf.GetLearners(), conf.GetVotersOutgoing(), conf.GetLearnersNext(),
	} {
		b = appendUvarints(b, uint64(len(members)))
		b = appendUvarints(b, members...)
	}
	leaves := uint64(0)
	if conf.GetAutoLeave() {
		leaves = 1
	}
	b = appendUvarints(b, leaves, uint64(len(s.GetData())))
	return append(b, s.GetData()...)
}

var errRecord = errors.New("record is not understood")

// reader reads a record. AFTER an error it returns zeros.
type reader struct{ disk.Reader }

func (r *reader) members() []uint64 {
	var all []uint64
	for range r.Count() {
		all = append(all, r.Uvarint())
	}
	return all
}

func (r *reader) hardState() *raftpb.HardState {
	return &raftpb.HardState{
		Term: new(r.Uvarint()), Vote: new(r.Uvarint()), Commit: new(r.Uvarint()),
	}
}

func (r *reader) base() *raftpb.Snapshot {
	index, term := r.Uvarint(), r.Uvarint()
	conf := &raftpb.ConfState{
		Voters: r.members(), Learners: r.members(), VotersOutgoing: r.members(),
		LearnersNext: r.members(), AutoLeave: new(r.Uvarint() == 1),
	}
	return &raftpb.Snapshot{
		Metadata: &raftpb.SnapshotMetadata{Index: &index, Term: &term, ConfState: conf},
		Data:     bytes.Clone(r.Bytes()),
	}
}

func (r *reader) entries() []*raftpb.Entry {
	n := r.Count()
	first := r.Uvarint()
	all := make([]*raftpb.Entry, 0, min(n, uint64(r.Len())))
	for i := range n {
		term, kind := r.Uvarint(), r.Uvarint()
		all = append(all, &raftpb.Entry{
			Index: new(first + i), Term: &term, Type: raftpb.EntryType(kind).Enum(),
			Data: bytes.Clone(r.Bytes()),
		})
		if _, known := raftpb.EntryType_name[int32(kind)]; !known || kind > 1<<30 || r.Failed() {
			r.Fail()
			return nil
		}
	}
	return all
}

// decodeRecord decodes a record, and keeps nothing of data.
func decodeRecord(data []byte) (rec record, err error) {
	if len(data) > 0 && data[0] > recordVersion {
		return rec, fmt.Errorf("%w: record version %d, known is %d", disk.ErrNewer, data[0],
			recordVersion)
	}
	if len(data) < 2 || data[0] != recordVersion || data[1]&^partsKnown != 0 {
		return rec, fmt.Errorf("%w: unknown version or parts", errRecord)
	}
	parts, r := data[1], reader{disk.NewReader(data[2:])}
	if parts&partHardState != 0 {
		rec.hard = r.hardState()
	}
	if parts&partBase != 0 {
		rec.base = r.base()
	}
	if parts&partEntries != 0 {
		if rec.entries = r.entries(); len(rec.entries) == 0 {
			r.Fail()
		}
	}
	if r.Failed() || r.Len() > 0 {
		return record{}, fmt.Errorf("%w: it is too short or too long", errRecord)
	}
	return rec, nil
}
