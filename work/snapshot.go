package work

import (
	"errors"
	"fmt"

	"pws/internal/id"
)

// ChunkLen is how many changesets, or results of Idempotency-Keys, stand in one full chunk.
const ChunkLen = 512

// changesetsAheadMax bounds the room that is made for a history before it was read.
const changesetsAheadMax = 1 << 16

// summary is what a listing needs of the parts that were not read.
type summary struct {
	Files      int
	Changesets int
	head       *Changeset
	taskCounts [len(taskStatusNames)]int
	nextExpiry int64
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
	// IdempotentEnd is the number of the next result; Idempotent holds those behind the last chunk.
	IdempotentEnd uint64      `cbor:"18,keyasint,omitempty"`
	State         *State      `cbor:"19,keyasint,omitempty"`
	Checkpoint    *Checkpoint `cbor:"20,keyasint,omitempty"`
	// Handoffs counts all; HandoffTail holds those behind the last full chunk.
	Handoffs    int        `cbor:"21,keyasint,omitempty"`
	HandoffTail []*Handoff `cbor:"22,keyasint,omitempty"`
	// Tasks counts all, TaskCounts by status; NextExpiry is for listings.
	Tasks      int            `cbor:"23,keyasint,omitempty"`
	TaskCounts []int          `cbor:"24,keyasint,omitempty"`
	NextExpiry int64          `cbor:"25,keyasint,omitempty"`
	Sessions   []*WorkSession `cbor:"26,keyasint,omitempty"`
	Ended      []*WorkSession `cbor:"27,keyasint,omitempty"`
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

// ChunkKind says what a chunk holds.
type ChunkKind byte

// The kinds of chunks. Full chunks of changesets, of results of Idempotency-Keys and of handoffs
// never change again, so that saving a project costs what is new and not what is old; those that
// are not full stand in the head. Tasks all stand in chunks, which are written again when one of
// their tasks has changed.
const (
	HistoryChunk ChunkKind = 'c'
	ResultsChunk ChunkKind = 'r'
	HandoffChunk ChunkKind = 'o'
	TaskChunk    ChunkKind = 't'
)

// ChunkKinds lists them all.
var ChunkKinds = []ChunkKind{HistoryChunk, ResultsChunk, HandoffChunk, TaskChunk}

// Len is how many things stand in a full chunk.
func (k ChunkKind) Len() int {
	switch k {
	case HandoffChunk:
		return 32
	case TaskChunk:
		return 128
	}
	return ChunkLen
}

// Chunk names one chunk of a project.
type Chunk struct {
	Kind   ChunkKind
	Number int
}

// Chunks is the range [first, end) of the chunks that stand apart from the head and of which
// something is still kept.
func (p *Project) Chunks(kind ChunkKind) (first, end int) {
	switch kind {
	case HistoryChunk:
		return 0, len(p.changesets) / ChunkLen
	case HandoffChunk:
		return 0, len(p.handoffs) / kind.Len()
	case TaskChunk:
		return 0, len(p.tasks.changed)
	}
	kept, last := p.IdempotentRange()
	return int(kept / ChunkLen), int(last / ChunkLen)
}

// ChunkRevision is the revision of the project that last changed a chunk since the project was
// restored; 0 where none did, and for chunks that never change.
func (p *Project) ChunkRevision(c Chunk) uint64 {
	if c.Kind != TaskChunk {
		return 0
	}
	return p.tasks.changed[c.Number]
}

// resultsRecord is a saved chunk of results, those that had run out by then left out in front.
type resultsRecord struct {
	First   uint64       `cbor:"1,keyasint"`
	Results []Idempotent `cbor:"2,keyasint"`
}

// EncodeChunk is the saved form of a chunk.
func (p *Project) EncodeChunk(c Chunk) ([]byte, error) {
	from, to := c.Number*c.Kind.Len(), (c.Number+1)*c.Kind.Len()
	switch c.Kind {
	case HistoryChunk:
		return encoding.Marshal(recordsOf(p.changesets[from:to]))
	case HandoffChunk:
		return encoding.Marshal(p.handoffs[from:to])
	case TaskChunk:
		return encoding.Marshal(p.taskRange(from, to))
	}
	first := max(p.idempotentFirst, uint64(c.Number)*ChunkLen)
	return encoding.Marshal(&resultsRecord{
		First: first, Results: p.results(first, uint64(c.Number+1)*ChunkLen),
	})
}

// taskRange are the tasks of the ranks [from, to), as far as there are any.
func (p *Project) taskRange(from, to int) []*Task {
	to = min(to, p.tasks.all.len())
	list := make([]*Task, 0, to-from)
	p.tasks.all.from(p.tasks.all.at(from), func(t *Task) bool {
		list = append(list, t)
		return len(list) < to-from
	})
	return list
}

// results are the kept ones with the numbers [first, end).
func (p *Project) results(first, end uint64) []Idempotent {
	return p.idempotent[first-p.idempotentFirst : end-p.idempotentFirst]
}

// EncodeHead is the saved form of all but the full chunks.
func (p *Project) EncodeHead() ([]byte, error) {
	head := recordOf(p.Head())
	head.Event.Ops = nil
	_, historyEnd := p.Chunks(HistoryChunk)
	_, resultsEnd := p.Chunks(ResultsChunk)
	_, handoffsEnd := p.Chunks(HandoffChunk)
	kept, last := p.IdempotentRange()
	var open []*WorkSession
	p.sessions.scan(func(s *WorkSession) bool { open = append(open, s); return true })
	return encoding.Marshal(&headRecord{
		ID: p.ID, About: p.About, Kind: p.Kind, Owner: p.Owner,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		Version: p.Version, Revision: p.Revision,
		Members: p.members, Files: p.live.Len(), Bytes: p.bytes, Languages: p.languages,
		Changesets:      len(p.changesets),
		IdempotentFirst: kept, IdempotentEnd: last,
		Idempotent: p.results(max(kept, uint64(resultsEnd)*ChunkLen), last),
		Tail:       recordsOf(p.changesets[historyEnd*ChunkLen:]),
		Head:       head,
		State:      p.state,
		Checkpoint: p.checkpoint,
		Handoffs:   len(p.handoffs), HandoffTail: p.handoffs[handoffsEnd*HandoffChunk.Len():],
		Tasks: p.tasks.all.len(), TaskCounts: p.tasks.countList(), NextExpiry: p.NextExpiry(),
		Sessions: open, Ended: p.ended,
	})
}

// countList is nil where there is no task.
func (t *tasks) countList() []int {
	if t.all.len() == 0 {
		return nil
	}
	return t.counts[:]
}

func (r *headRecord) project() *Project {
	return &Project{
		ID: r.ID, About: r.About, Kind: r.Kind, Owner: r.Owner,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Version: r.Version, Revision: r.Revision,
		members: r.Members, bytes: r.Bytes, languages: r.Languages,
		idempotentFirst: r.IdempotentFirst,
		state:           r.State, checkpoint: r.Checkpoint, ended: r.Ended,
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
		nextExpiry: record.NextExpiry,
	}
	copy(p.summary.taskCounts[:], record.TaskCounts)
	return p, nil
}

// Restore reads a saved project; chunk gives its full chunks.
func Restore(head []byte, chunk func(Chunk) ([]byte, error)) (*Project, error) {
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
		var records []changesetRecord
		if err := readChunk(chunk, Chunk{HistoryChunk, n}, &records); err != nil {
			return nil, err
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
	for _, session := range record.Sessions {
		p.sessions.set(session, byAgent)
	}
	if err := p.restoreHandoffs(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreTasks(&record, chunk); err != nil {
		return nil, err
	}
	return p, p.restoreResults(&record, chunk)
}

func (p *Project) restoreHandoffs(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	for n := range (head.Handoffs - len(head.HandoffTail)) / HandoffChunk.Len() {
		var saved []*Handoff
		if err := readChunk(chunk, Chunk{HandoffChunk, n}, &saved); err != nil {
			return err
		}
		for _, handoff := range saved {
			p.keepHandoff(handoff)
		}
	}
	for _, handoff := range head.HandoffTail {
		p.keepHandoff(handoff)
	}
	if len(p.handoffs) != head.Handoffs {
		return fmt.Errorf("project head: %d handoffs; the chunks have %d", head.Handoffs,
			len(p.handoffs))
	}
	return nil
}

func (p *Project) restoreTasks(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	chunks := (head.Tasks + TaskChunk.Len() - 1) / TaskChunk.Len()
	for n := range chunks {
		var saved []*Task
		if err := readChunk(chunk, Chunk{TaskChunk, n}, &saved); err != nil {
			return err
		}
		for _, one := range saved {
			p.putTask(one)
		}
	}
	if p.tasks.all.len() != head.Tasks {
		return fmt.Errorf("project head: %d tasks; the chunks have %d", head.Tasks,
			p.tasks.all.len())
	}
	p.tasks.changed = make([]uint64, chunks)
	return nil
}

func readChunk(read func(Chunk) ([]byte, error), c Chunk, into any) error {
	data, err := read(c)
	if err == nil {
		err = decoding.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("chunk %c %d: %w", c.Kind, c.Number, err)
	}
	return nil
}

// restoreResults puts the kept results together: those of full chunks, then those of the head.
func (p *Project) restoreResults(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	end := max(head.IdempotentEnd, head.IdempotentFirst+uint64(len(head.Idempotent)))
	inHead := end - uint64(len(head.Idempotent))
	for next := head.IdempotentFirst; next < inHead; {
		var saved resultsRecord
		number := next / ChunkLen
		if err := readChunk(chunk, Chunk{ResultsChunk, int(number)}, &saved); err != nil {
			return err
		}
		if saved.First > next || saved.First+uint64(len(saved.Results)) != (number+1)*ChunkLen {
			return fmt.Errorf("chunk %c %d: it does not hold the results from %d on",
				ResultsChunk, number, next)
		}
		p.idempotent = append(p.idempotent, saved.Results[next-saved.First:]...)
		next = (number + 1) * ChunkLen
	}
	p.idempotent = append(p.idempotent, head.Idempotent...)
	if uint64(len(p.idempotent)) != end-head.IdempotentFirst {
		return errors.New("project head: results are missing")
	}
	return nil
}

func (p *Project) republish(records []changesetRecord) {
	for at := range records {
		p.publish(&records[at].Event, records[at].Author, records[at].CreatedAt)
	}
}
