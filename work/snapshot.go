package work

import (
	"errors"
	"fmt"

	"pws/internal/id"
)

// ChunkLen is how many changesets stand in one full chunk of a saved history. A full chunk never
// changes again, so that saving a project costs what is new and not what is old.
const ChunkLen = 512

// changesetsAheadMax bounds the room that is made for a history before it was read.
const changesetsAheadMax = 1 << 16

// summary is what a listing needs of the parts that were not read.
type summary struct {
	Files      int
	Changesets int
	head       *Changeset
}

// headRecord is the saved project without its full chunks.
type headRecord struct {
	ID              id.ID             `cbor:"1,keyasint"`
	About           About             `cbor:"2,keyasint"`
	Kind            ProjectKind       `cbor:"3,keyasint"`
	Owner           id.ID             `cbor:"4,keyasint"`
	CreatedAt       int64             `cbor:"5,keyasint"`
	UpdatedAt       int64             `cbor:"6,keyasint"`
	Version         uint64            `cbor:"7,keyasint"`
	Revision        uint64            `cbor:"8,keyasint"`
	Members         []Member          `cbor:"9,keyasint"`
	Files           int               `cbor:"10,keyasint"`
	Bytes           int64             `cbor:"11,keyasint"`
	Languages       []LanguageCount   `cbor:"12,keyasint,omitempty"`
	Changesets      int               `cbor:"13,keyasint"`
	IdempotentFirst uint64            `cbor:"14,keyasint"`
	Idempotent      []Idempotent      `cbor:"15,keyasint,omitempty"`
	Tail            []changesetRecord `cbor:"16,keyasint,omitempty"`
	// Head repeats the newest changeset without its operations, for listings.
	Head changesetRecord `cbor:"17,keyasint"`
}

// changesetRecord is a saved changeset; what can be computed from the history before is not saved.
type changesetRecord struct {
	Event     ChangesetPublished `cbor:"1,keyasint"`
	Author    id.ID              `cbor:"2,keyasint"`
	CreatedAt int64              `cbor:"3,keyasint"`
}

func recordOf(c *Changeset) changesetRecord {
	record := changesetRecord{
		Event: ChangesetPublished{
			ID: c.ID, Message: c.Message, Source: c.Source, SourceID: c.SourceID,
		},
		Author:    c.Author,
		CreatedAt: c.CreatedAt,
	}
	if len(c.Ops) > 0 {
		record.Event.Ops = make([]OpRecord, len(c.Ops))
	}
	for at := range c.Ops {
		op := &c.Ops[at]
		saved := OpRecord{Action: op.Action, Path: *op.Path, Blob: op.Blob, Size: int(op.Size)}
		saved.Type = op.Type.Value()
		if op.From != nil {
			saved.From = *op.From
		}
		record.Event.Ops[at] = saved
	}
	return record
}

func recordsOf(changesets []*Changeset) []changesetRecord {
	records := make([]changesetRecord, len(changesets))
	for at, changeset := range changesets {
		records[at] = recordOf(changeset)
	}
	return records
}

// FullChunks is how many chunks of the history will never change again.
func (p *Project) FullChunks() int { return len(p.changesets) / ChunkLen }

// EncodeChunk is the saved form of a full chunk.
func (p *Project) EncodeChunk(n int) ([]byte, error) {
	return encoding.Marshal(recordsOf(p.changesets[n*ChunkLen : (n+1)*ChunkLen]))
}

// EncodeHead is the saved form of all but the full chunks.
func (p *Project) EncodeHead() ([]byte, error) {
	head := recordOf(p.Head())
	head.Event.Ops = nil
	return encoding.Marshal(&headRecord{
		ID: p.ID, About: p.About, Kind: p.Kind, Owner: p.Owner,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		Version: p.Version, Revision: p.Revision,
		Members: p.members, Files: p.live.Len(), Bytes: p.bytes, Languages: p.languages,
		Changesets:      len(p.changesets),
		IdempotentFirst: p.idempotentFirst, Idempotent: p.idempotent,
		Tail: recordsOf(p.changesets[p.FullChunks()*ChunkLen:]),
		Head: head,
	})
}

func (r *headRecord) project() *Project {
	return &Project{
		ID: r.ID, About: r.About, Kind: r.Kind, Owner: r.Owner,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Version: r.Version, Revision: r.Revision,
		members: r.Members, bytes: r.Bytes, languages: r.Languages,
		idempotent: r.Idempotent, idempotentFirst: r.IdempotentFirst,
	}
}

// RestoreSummary reads a saved head for listings: the record, its members and its counts. History
// and files of such a project are not there, and it is never changed.
func RestoreSummary(head []byte) (*Project, error) {
	var record headRecord
	if err := decoding.Unmarshal(head, &record); err != nil {
		return nil, fmt.Errorf("project head: %w", err)
	}
	p := record.project()
	p.summary = &summary{
		Files: record.Files, Changesets: record.Changesets,
		head: &Changeset{
			ID: record.Head.Event.ID, Author: record.Head.Author, CreatedAt: record.Head.CreatedAt,
			Message: record.Head.Event.Message, Sequence: uint32(record.Changesets),
			Source: record.Head.Event.Source, SourceID: record.Head.Event.SourceID,
		},
	}
	return p, nil
}

// Restore reads a saved project; chunk gives its full chunks by number.
func Restore(head []byte, chunk func(n int) ([]byte, error)) (*Project, error) {
	var record headRecord
	if err := decoding.Unmarshal(head, &record); err != nil {
		return nil, fmt.Errorf("project head: %w", err)
	}
	p := record.project()
	p.bytes, p.languages = 0, nil
	if record.Changesets < max(1, len(record.Tail)) {
		return nil, errors.New("project head: no history, or less than its tail")
	}
	p.changesets = make([]*Changeset, 0, min(record.Changesets, changesetsAheadMax))
	for n := range (record.Changesets - len(record.Tail)) / ChunkLen {
		data, err := chunk(n)
		if err != nil {
			return nil, err
		}
		var records []changesetRecord
		if err := decoding.Unmarshal(data, &records); err != nil {
			return nil, fmt.Errorf("history chunk %d: %w", n, err)
		}
		p.republish(records)
	}
	p.republish(record.Tail)
	if len(p.changesets) != record.Changesets || p.live.Len() != record.Files ||
		p.bytes != record.Bytes {
		return nil, fmt.Errorf("project head: %d changesets, %d files, %d bytes; the history has "+
			"%d, %d, %d", record.Changesets, record.Files, record.Bytes,
			len(p.changesets), p.live.Len(), p.bytes)
	}
	p.languages = record.Languages
	return p, nil
}

func (p *Project) republish(records []changesetRecord) {
	for at := range records {
		p.publish(&records[at].Event, records[at].Author, records[at].CreatedAt)
	}
}
