package work

import (
	"errors"
	"fmt"
	"slices"

	"pws/internal/id"
)

// changesetsAheadMax limits the memory allocated for a history before it is read.
const changesetsAheadMax = 1 << 16

func (r *headRecord) project() *Project {
	p := NewProject()
	p.Record, p.saved = r.Record, r.savedFields
	return p
}

// RestoreSummary reads a saved head for listings: the record, the members and the counts. The
// result has no history, no files, no state and no work sessions, and must not be changed.
func RestoreSummary(head []byte) (*Project, error) {
	var record headRecord
	if err := decoding.Unmarshal(head, &record); err != nil {
		return nil, fmt.Errorf("project head: %w", err)
	}
	p := record.project()
	p.saved.State, p.saved.Ended = nil, nil
	p.summary = &summary{
		Files: record.Files, Changesets: record.Changesets, Watchers: valueOr(record.Watchers, 0),
		head: &Changeset{
			ID: record.Head.Event.ID, Author: record.Head.Author, CreatedAt: record.Head.CreatedAt,
			Message: record.Head.Event.Message, Sequence: uint32(record.Changesets),
			Source: record.Head.Event.Source, SourceID: record.Head.Event.SourceID,
			Away: record.Head.Event.Away,
		},
		evidence: Evidence{
			Tally: record.Tally, Latest: record.Latest, LatestFailed: record.LatestFailed,
		},
		verified: record.Verifications > 0,
	}
	p.queues = new(taskQueues)
	copy(p.queues.counts[:], record.TaskCounts)
	for i := range record.Leases {
		lease := &record.Leases[i]
		claimed := &Task{ID: lease.Task, Status: lease.Status}
		claimed.Claim = &Claim{
			ExpiresAt: lease.ExpiresAt, Before: lease.Before, EndsBlock: lease.EndsBlock,
		}
		p.queues.claimed.set(claimed, byExpiry)
	}
	return p, nil
}

// Restore reads a saved project; chunk returns its full chunks, tree the tree that a fork begins
// with.
func Restore(
	head []byte, chunk func(Chunk) ([]byte, error), tree func(root Hash) (*Tree, error),
) (*Project, error) {
	var record headRecord
	if err := decoding.Unmarshal(head, &record); err != nil {
		return nil, fmt.Errorf("project head: %w", err)
	}
	p := record.project()
	p.saved.Bytes, p.saved.Languages, p.saved.Pending = 0, nil, 0
	if record.Changesets < max(1, len(record.Tail)) {
		return nil, errors.New("project head: no history, or less than its tail")
	}
	if p.saved.Fork != nil {
		var err error
		if p.saved.Fork.tree, err = tree(p.saved.Fork.Root); err != nil {
			return nil, err
		}
	}
	p.history.places = make([]uint32, 0, min(record.Changesets, changesetsAheadMax))
	for n := range (record.Changesets - len(record.Tail)) / ChunkLen {
		var records []changesetRecord
		if err := readChunk(chunk, Chunk{HistoryChunk, n}, &records); err != nil {
			return nil, err
		}
		p.republish(records)
	}
	p.republish(record.Tail)
	p.history.settle()
	if p.history.len() != record.Changesets || p.live.Len() != record.Files ||
		p.saved.Bytes != record.Bytes {
		return nil, fmt.Errorf("project head: %d changesets, %d files, %d bytes; the history has "+
			"%d, %d, %d", record.Changesets, record.Files, record.Bytes,
			p.history.len(), p.live.Len(), p.saved.Bytes)
	}
	p.saved.Languages = record.Languages
	if err := p.restoreSessions(&record); err != nil {
		return nil, err
	}
	if err := p.restoreHandoffs(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreTasks(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreWorkspaces(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreContributions(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreVerifications(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreRecords(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreDiscussions(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreWatchers(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreImported(&record, chunk); err != nil {
		return nil, err
	}
	if err := p.restoreStored(record.Stored); err != nil {
		return nil, err
	}
	return p, p.restoreResults(&record, chunk)
}

// restoreRecords reads the artifacts, imports, relations, earlier states and past contents of a
// project.
func (p *Project) restoreRecords(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	err := p.artifacts.restore(ArtifactChunk, head.Artifacts, chunk, p.keepArtifact)
	if err != nil {
		return err
	}
	if err := p.imports.restore(ImportChunk, head.Imports, chunk, p.keepImport); err != nil {
		return err
	}
	if err := p.restoreStates(head, chunk); err != nil {
		return err
	}
	if err := p.past.restore(head.Past, chunk); err != nil {
		return err
	}
	keep := func(*Relation) {}
	return p.relations.restore(RelationChunk, head.Relations, chunk, keep)
}

func (p *Project) restoreSessions(head *headRecord) error {
	for _, one := range slices.Concat(head.Sessions, head.Ended) {
		if one == nil {
			return errors.New("project head: a work session that is none")
		}
	}
	for _, one := range head.Ended {
		p.endedBytes += len(one.Summary)
	}
	for _, one := range head.Sessions {
		p.sessions.set(one)
	}
	if p.sessions.len() != len(head.Sessions) {
		return errors.New("project head: an agent with several open work sessions")
	}
	return nil
}

func (p *Project) restoreHandoffs(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	for n := range (head.Handoffs - len(head.HandoffTail)) / HandoffChunk.Len() {
		var saved []*Handoff
		if err := readChunk(chunk, Chunk{HandoffChunk, n}, &saved); err != nil {
			return err
		}
		if err := p.keepHandoffs(saved); err != nil {
			return fmt.Errorf("chunk %c %d: %w", HandoffChunk, n, err)
		}
	}
	if err := p.keepHandoffs(head.HandoffTail); err != nil {
		return fmt.Errorf("project head: %w", err)
	}
	if len(p.handoffs) != head.Handoffs {
		return fmt.Errorf("project head: %d handoffs; the chunks have %d", head.Handoffs,
			len(p.handoffs))
	}
	return p.checkHandoffMarks()
}

func (p *Project) keepHandoffs(saved []*Handoff) error {
	for _, one := range saved {
		last := p.lastHandoff()
		if one == nil || !one.Away.sound() || last != nil && one.ID.Compare(last.ID) <= 0 {
			return errors.New("a handoff that is none, or in another's place")
		}
		if nth, marked := p.findHandoffMark(one.ID); marked {
			one = one.deleted(p.saved.HandoffMarks[nth].Deletion)
		}
		p.keepHandoff(one)
	}
	return nil
}

func (p *Project) restoreTasks(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	if head.Tasks == 0 {
		return nil
	}
	all := p.ownTasks()
	err := all.restore(TaskChunk, head.Tasks, chunk, func(one *Task) {
		all.enter(one)
		p.countTask(one, 1)
	})
	p.linkTasks()
	return err
}

func (t *Task) ident() id.ID { return t.ID }

// sound reports whether a saved task is valid.
func (t *Task) sound() bool {
	return t != nil && t.Texts().sound() && t.Status >= TaskOpen && t.Status <= TaskCancelled &&
		t.Spec.Priority >= PriorityLow && t.Spec.Priority <= PriorityUrgent &&
		(t.Blocked == nil || t.Blocked.Kind >= BlockedByDependency &&
			t.Blocked.Kind <= BlockedByTransient) &&
		(t.Claim == nil || !t.Status.Final() && t.Claim.Before >= TaskOpen &&
			!t.Claim.Before.Final())
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

// restoreResults reads the stored results: first those of full chunks, then those of the head.
func (p *Project) restoreResults(head *headRecord, chunk func(Chunk) ([]byte, error)) error {
	end := max(head.ResultsEnd, head.ResultsFirst+uint64(len(head.Results)))
	inHead := end - uint64(len(head.Results))
	p.results.first, p.results.end = head.ResultsFirst, head.ResultsFirst
	for next := head.ResultsFirst; next < inHead; {
		var saved resultsRecord
		number := next / ChunkLen
		if err := readChunk(chunk, Chunk{ResultsChunk, int(number)}, &saved); err != nil {
			return err
		}
		if saved.First > next || saved.First+uint64(len(saved.Results)) != (number+1)*ChunkLen {
			return fmt.Errorf("chunk %c %d: it does not hold the results from %d on",
				ResultsChunk, number, next)
		}
		p.keepResults(saved.Results[next-saved.First:])
		next = (number + 1) * ChunkLen
	}
	p.keepResults(head.Results)
	if uint64(p.results.len()) != end-head.ResultsFirst {
		return errors.New("project head: results are missing")
	}
	return nil
}

func (p *Project) keepResults(saved []StoredResult) {
	for i := range saved {
		one := &saved[i]
		if p.forgotten(p.results.end, one) {
			// The chunk was saved before.
			one.Body = nil
		}
		p.addResult(one)
	}
}

// republish appends saved changesets to the history of a project that nobody else has.
func (p *Project) republish(records []changesetRecord) {
	head := p.history.head
	if head == nil {
		head = new(Changeset)
	}
	for i := range records {
		p.append(head, &records[i].Event, records[i].Author, records[i].CreatedAt)
	}
}
