package work

import "pws/internal/id"

// ChunkLen is the number of changesets, or of results of Idempotency-Keys, in a full chunk.
const ChunkLen = 512

// summary holds the data for listings that is otherwise computed from the parts that were not
// read.
type summary struct {
	Files      int
	Changesets int
	head       *Changeset
	Watchers   int
	evidence   Evidence
	// verified means that there are verification records.
	verified bool
}

// headRecord is the saved project without its full chunks.
type headRecord struct {
	Record
	savedFields
	Files      int               `cbor:"10,keyasint"`
	Changesets int               `cbor:"13,keyasint"`
	Results    []StoredResult    `cbor:"15,keyasint,omitempty"`
	Tail       []changesetRecord `cbor:"16,keyasint,omitempty"`
	// Head repeats the newest changeset without its operations, for listings.
	Head changesetRecord `cbor:"17,keyasint"`
	// ResultsEnd is the number of the next result; Results holds the results after the last chunk.
	ResultsEnd uint64 `cbor:"18,keyasint,omitempty"`
	// Handoffs is the total count; HandoffTail holds the handoffs after the last full chunk.
	Handoffs    int        `cbor:"21,keyasint,omitempty"`
	HandoffTail []*Handoff `cbor:"22,keyasint,omitempty"`
	// Tasks is the total count. TaskCounts by status and Leases are for listings.
	Tasks      int            `cbor:"23,keyasint,omitempty"`
	TaskCounts []int          `cbor:"24,keyasint,omitempty"`
	Leases     []leaseRecord  `cbor:"25,keyasint,omitempty"`
	Sessions   []*WorkSession `cbor:"26,keyasint,omitempty"`
	// Workspaces is the total count.
	Workspaces int `cbor:"29,keyasint,omitempty"`
	Artifacts  int `cbor:"31,keyasint,omitempty"`
	Imports    int `cbor:"32,keyasint,omitempty"`
	Relations  int `cbor:"33,keyasint,omitempty"`
	// Contributions and Revisions are total counts.
	Contributions int `cbor:"30,keyasint,omitempty"`
	Revisions     int `cbor:"40,keyasint,omitempty"`
	// Verifications is the total count; Tally counts the records about the project itself, for
	// listings.
	Verifications int   `cbor:"34,keyasint,omitempty"`
	Tally         Tally `cbor:"37,keyasint,omitzero"`
	// Latest and LatestFailed complete the evidence for the project itself, for listings.
	Latest       *VerificationDigest `cbor:"50,keyasint,omitempty"`
	LatestFailed *VerificationDigest `cbor:"51,keyasint,omitempty"`
	// Bundled means that there is a BundleChunk.
	Bundled bool `cbor:"38,keyasint,omitempty"`
	// Discussions and Comments are total counts; Watchers counts the current watchers, nil if
	// there never was one.
	Discussions int  `cbor:"42,keyasint,omitempty"`
	Comments    int  `cbor:"43,keyasint,omitempty"`
	Watchers    *int `cbor:"44,keyasint,omitempty"`
	// States counts the earlier versions of the state, nil if there never was one.
	States *int `cbor:"70,keyasint,omitempty"`
	// Stored is what each agent has stored, in the order of their IDs.
	Stored []StoredBytes `cbor:"65,keyasint,omitempty"`
	// Past is the total count.
	Past int `cbor:"80,keyasint,omitempty"`
}

// leaseRecord holds the data of a claim for listings: when the claim expires, its task returns
// to an earlier status.
type leaseRecord struct {
	Task      id.ID      `cbor:"1,keyasint"`
	ExpiresAt int64      `cbor:"2,keyasint"`
	Status    TaskStatus `cbor:"3,keyasint"`
	Before    TaskStatus `cbor:"4,keyasint"`
	EndsBlock bool       `cbor:"5,keyasint,omitempty"`
}

// changesetRecord is a saved changeset. Values that can be computed from the earlier history are
// not saved.
type changesetRecord struct {
	Event     ChangesetPublished `cbor:"1,keyasint"`
	Author    id.ID              `cbor:"2,keyasint"`
	CreatedAt int64              `cbor:"3,keyasint"`
}

func recordOf(c *Changeset) changesetRecord {
	record := changesetRecord{
		Event: ChangesetPublished{
			ID: c.ID, Message: c.Message, Source: c.Source, SourceID: c.SourceID, Away: c.Away,
		},
		Author:    c.Author,
		CreatedAt: c.CreatedAt,
	}
	if len(c.Ops) > 0 {
		record.Event.Ops = make([]OpRecord, len(c.Ops))
	}
	for i := range c.Ops {
		op := &c.Ops[i]
		saved := OpRecord{Action: op.Action, Path: *op.Path, Blob: op.Blob, Size: int(op.Size)}
		saved.Type = op.Type.Value()
		if op.From != nil {
			saved.From = *op.From
		}
		record.Event.Ops[i] = saved
	}
	return record
}

// records returns the saved forms of the changesets [from, to). A fork's first changeset is
// saved without its operations, which are in its tree.
func (p *Project) records(from, to int) []changesetRecord {
	records := make([]changesetRecord, to-from)
	var changeset Changeset
	for i := range records {
		sequence := uint32(from + i + 1)
		p.history.read(sequence, &changeset, sequence != 1 || p.saved.Fork == nil)
		records[i] = recordOf(&changeset)
	}
	return records
}

// ChunkKind is the kind of the records in a chunk.
type ChunkKind byte

// The kinds of chunks. Full chunks of changesets, of results of Idempotency-Keys and of handoffs
// never change, so saving a project costs only what is new; records after the last full chunk
// are in the head. Records of the other kinds are all in chunks, which are written again when
// one of their records changes.
const (
	HistoryChunk ChunkKind = 'c'
	ResultsChunk ChunkKind = 'r'
	HandoffChunk ChunkKind = 'o'
	TaskChunk    ChunkKind = 't'

	VerificationChunk ChunkKind = 'y'
	RelationChunk     ChunkKind = 'l'
	WorkspaceChunk    ChunkKind = 'w'
	ContributionChunk ChunkKind = 'b'
	RevisionChunk     ChunkKind = 'g'
	ArtifactChunk     ChunkKind = 'f'
	ImportChunk       ChunkKind = 'i'
	DiscussionChunk   ChunkKind = 'n'
	CommentChunk      ChunkKind = 'k'
	// WatcherChunk is the single chunk of the watchers.
	WatcherChunk ChunkKind = 'z'
	// StateChunk is the single chunk of the earlier versions of the state.
	StateChunk ChunkKind = 's'
	// PastChunk has contents that records named once.
	PastChunk ChunkKind = 'p'
	// BundleChunk is the single chunk of the data kept from a bundle. It never changes.
	BundleChunk ChunkKind = 'm'
)

// ChunkKinds lists all kinds.
var ChunkKinds = []ChunkKind{
	HistoryChunk, ResultsChunk, HandoffChunk, TaskChunk, VerificationChunk, RelationChunk,
	WorkspaceChunk, ContributionChunk, RevisionChunk, ArtifactChunk, ImportChunk, BundleChunk,
	DiscussionChunk, CommentChunk, WatcherChunk, StateChunk, PastChunk,
}

// Len returns the number of records in a full chunk.
func (k ChunkKind) Len() int {
	switch k {
	case HandoffChunk:
		return 32
	case HistoryChunk, ResultsChunk:
		return ChunkLen
	}
	return recordBlockLen
}

// Changes reports whether a chunk of this kind can change after it was saved.
func (k ChunkKind) Changes() bool {
	return k != HistoryChunk && k != ResultsChunk && k != HandoffChunk && k != BundleChunk
}

// savedList is a list of records that can be saved.
type savedList interface {
	chunks() int
	changedAt(n int) uint64
	encode(n int) ([]byte, error)
}

// listOf returns the list whose records are saved in chunks of a kind.
func (p *Project) listOf(kind ChunkKind) savedList {
	switch kind {
	case TaskChunk:
		return p.tasks()
	case VerificationChunk:
		return &p.verifications
	case RelationChunk:
		return &p.relations
	case WorkspaceChunk:
		return &p.workspaces
	case ContributionChunk:
		return &p.contributions
	case RevisionChunk:
		return &p.revisions
	case ArtifactChunk:
		return &p.artifacts
	case ImportChunk:
		return &p.imports
	case DiscussionChunk:
		return &p.discussions
	case CommentChunk:
		return &p.comments
	case WatcherChunk:
		return &p.watchers
	case StateChunk:
		return &p.states
	case PastChunk:
		return &p.past
	}
	panic("no list of chunks " + string(kind))
}

// Chunk names one chunk of a project.
type Chunk struct {
	Kind   ChunkKind
	Number int
}

// Chunks returns the range [first, end) of the chunks that are saved separately from the head
// and not dropped.
func (p *Project) Chunks(kind ChunkKind) (first, end int) {
	switch kind {
	case HistoryChunk:
		return 0, p.history.len() / ChunkLen
	case HandoffChunk:
		return 0, len(p.handoffs) / kind.Len()
	case BundleChunk:
		return 0, p.bundleChunks()
	case ResultsChunk:
		kept, last := p.ResultRange()
		return int(kept / ChunkLen), int(last / ChunkLen)
	}
	return 0, p.listOf(kind).chunks()
}

// ChunkRevision returns the revision of the project that last changed a chunk since the project
// was restored. It is 0 if the chunk did not change since, and for chunks that never change.
func (p *Project) ChunkRevision(c Chunk) uint64 {
	if !c.Kind.Changes() {
		return 0
	}
	return p.listOf(c.Kind).changedAt(c.Number)
}

// resultsRecord is a saved chunk of results without the expired ones, which come first.
type resultsRecord struct {
	First   uint64         `cbor:"1,keyasint"`
	Results []StoredResult `cbor:"2,keyasint"`
}

// EncodeChunk returns the encoding of a chunk.
func (p *Project) EncodeChunk(c Chunk) ([]byte, error) {
	from, to := c.Number*c.Kind.Len(), (c.Number+1)*c.Kind.Len()
	switch c.Kind {
	case HistoryChunk:
		return encoding.Marshal(p.records(from, to))
	case HandoffChunk:
		return encoding.Marshal(p.handoffs[from:to])
	case BundleChunk:
		return encoding.Marshal(p.bundled)
	case ResultsChunk:
		first := max(p.saved.ResultsFirst, uint64(from))
		return encoding.Marshal(&resultsRecord{
			First: first, Results: p.resultsBetween(first, uint64(to)),
		})
	}
	return p.listOf(c.Kind).encode(c.Number)
}

// EncodeHead returns the encoding of everything except the full chunks.
func (p *Project) EncodeHead() ([]byte, error) {
	head := p.records(p.history.len()-1, p.history.len())[0]
	head.Event.Ops = nil
	_, historyEnd := p.Chunks(HistoryChunk)
	_, resultsEnd := p.Chunks(ResultsChunk)
	_, handoffsEnd := p.Chunks(HandoffChunk)
	kept, last := p.ResultRange()
	var open []*WorkSession
	p.sessions.scan(func(s *WorkSession) bool { open = append(open, s); return true })
	evidence := p.OwnEvidence()
	return encoding.Marshal(&headRecord{
		Record: p.Record, savedFields: p.saved, Files: p.live.Len(),
		Changesets: p.history.len(),
		ResultsEnd: last,
		Results:    p.resultsBetween(max(kept, uint64(resultsEnd)*ChunkLen), last),
		Tail:       p.records(historyEnd*ChunkLen, p.history.len()),
		Head:       head,
		Handoffs:   len(p.handoffs), HandoffTail: p.handoffs[handoffsEnd*HandoffChunk.Len():],
		Tasks: p.tasks().len(), TaskCounts: p.tasks().countList(), Leases: p.tasks().leases(),
		Sessions: open, Workspaces: p.workspaces.len(),
		Contributions: p.contributions.len(), Revisions: p.revisions.len(),
		Artifacts: p.artifacts.len(), Imports: p.imports.len(),
		Bundled:   p.bundled != nil,
		Relations: p.relations.len(), Verifications: p.verifications.len(),
		Tally: evidence.Tally, Latest: evidence.Latest, LatestFailed: evidence.LatestFailed,
		Discussions: p.discussions.len(), Comments: p.comments.len(),
		Watchers: p.watchers.count(), States: p.states.count(), Stored: p.StoredByAgents(),
		Past: p.past.len(),
	})
}

// countList returns the counts by status, nil if there is no task.
func (b *taskQueues) countList() []int {
	if b.len() == 0 {
		return nil
	}
	return b.counts[:]
}

func (b *taskQueues) leases() (list []leaseRecord) {
	b.claimed.scan(func(t *Task) bool {
		list = append(list, leaseRecord{
			Task: t.ID, ExpiresAt: t.Claim.ExpiresAt, Status: t.Status, Before: t.Claim.Before,
			EndsBlock: t.Claim.EndsBlock,
		})
		return true
	})
	return list
}
