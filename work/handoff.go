package work

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Note is an item that was given as a text, or as a text with a reason.
type Note struct {
	Text   string `cbor:"1,keyasint,omitempty"`
	Reason string `cbor:"2,keyasint,omitempty"`
	// Reasoned means that it was given with a reason, which may be empty.
	Reasoned bool `cbor:"3,keyasint,omitempty"`
}

// Continuation is the information that an agent leaves for the agents that continue its work.
type Continuation struct {
	Summary          string   `cbor:"1,keyasint,omitempty"`
	CompletedWork    []string `cbor:"2,keyasint,omitempty"`
	Decisions        []Note   `cbor:"3,keyasint,omitempty"`
	FailedApproaches []Note   `cbor:"4,keyasint,omitempty"`
	Blockers         []string `cbor:"5,keyasint,omitempty"`
	Assumptions      []string `cbor:"6,keyasint,omitempty"`
	Dependencies     []string `cbor:"7,keyasint,omitempty"`
	OpenQuestions    []string `cbor:"8,keyasint,omitempty"`
	NextActions      []string `cbor:"9,keyasint,omitempty"`
	Tasks            []id.ID  `cbor:"10,keyasint,omitempty"`
	ResidualRisks    []string `cbor:"11,keyasint,omitempty"`
}

// textBytesMin is the minimum size that a text in a list counts as, because even an empty one
// takes memory.
const textBytesMin = 16

func (h *Handoff) ident() id.ID { return h.ID }

// Bytes returns the size of the texts, including the paths that the service adds.
func (h *Handoff) Bytes() int {
	if h.Away != nil {
		return h.Away.Bytes
	}
	return h.Continuation.bytes() + textBytes(h.ChangedFiles)
}

func (c *Continuation) bytes() int {
	size := len(c.Summary) + len(c.Tasks)*len(id.ID{})
	for _, list := range [][]string{
		c.CompletedWork, c.Blockers, c.Assumptions, c.Dependencies, c.OpenQuestions,
		c.NextActions, c.ResidualRisks,
	} {
		size += textBytes(list)
	}
	for _, list := range [][]Note{c.Decisions, c.FailedApproaches} {
		for _, note := range list {
			size += textBytesMin + len(note.Text) + len(note.Reason)
		}
	}
	return size
}

func textBytes(list []string) (size int) {
	for _, text := range list {
		size += textBytesMin + len(text)
	}
	return size
}

// NoteKinds is a set of kinds of notes of a handoff.
type NoteKinds uint8

// The kinds of notes.
const (
	DecisionNotes NoteKinds = 1 << iota
	FailureNotes
	BlockerNotes
	QuestionNotes
	RiskNotes
)

// notes returns the kinds of notes that there are.
func (c *Continuation) notes() (kinds NoteKinds) {
	for _, one := range []struct {
		kind  NoteKinds
		count int
	}{
		{DecisionNotes, len(c.Decisions)}, {FailureNotes, len(c.FailedApproaches)},
		{BlockerNotes, len(c.Blockers)}, {QuestionNotes, len(c.OpenQuestions)},
		{RiskNotes, len(c.ResidualRisks)},
	} {
		if one.count > 0 {
			kinds |= one.kind
		}
	}
	return kinds
}

// Has reports whether a handoff has notes of a kind, with its texts or without.
func (h *Handoff) Has(kind NoteKinds) bool {
	if h.Away != nil {
		return h.Away.Notes&kind != 0
	}
	return h.Continuation.notes()&kind != 0
}

// handoffTexts are the texts of a handoff that are stored away.
type handoffTexts struct {
	Continuation Continuation `cbor:"1,keyasint"`
	ChangedFiles []string     `cbor:"2,keyasint,omitempty"`
}

// putHandoffAway stores the texts of a handoff away if they are long. The record keeps the
// beginning of the summary and the tasks.
func putHandoffAway(c *Continuation, changed *[]string) (*Away, []Blob) {
	bytes := c.bytes() + textBytes(*changed)
	if bytes < awayBytesMin {
		return nil, nil
	}
	whole := *c
	whole.Tasks = nil
	blob := putAway(awayHandoff, &handoffTexts{Continuation: whole, ChangedFiles: *changed})
	away := &Away{Hash: blob.Hash, Size: len(blob.Content), Bytes: bytes, Notes: c.notes()}
	*c = Continuation{Summary: beginningOf(c.Summary, awayKeptBytes), Tasks: c.Tasks}
	*changed = nil
	away.Kept = c.bytes()
	return away, []Blob{blob}
}

// WithTexts returns the handoff with the texts of its Away content.
func (h *Handoff) WithTexts(content []byte) (*Handoff, error) {
	var texts handoffTexts
	if err := takeAway(awayHandoff, content, &texts); err != nil {
		return nil, fmt.Errorf("handoff %s: %w", h.ID.Format(id.Handoff), err)
	}
	whole := *h
	whole.Away = nil
	whole.Continuation, whole.ChangedFiles = texts.Continuation, texts.ChangedFiles
	whole.Continuation.Tasks = h.Continuation.Tasks
	return &whole, nil
}

// Handoff is a note for the next agent. It never changes until it is deleted.
type Handoff struct {
	ID           id.ID        `cbor:"1,keyasint"`
	Author       id.ID        `cbor:"2,keyasint"`
	WorkSession  id.ID        `cbor:"3,keyasint"`
	Continuation Continuation `cbor:"4,keyasint"`
	// Changeset was the head when the handoff was written.
	Changeset id.ID `cbor:"5,keyasint"`
	// Previous is the newest handoff that was not deleted at that time, zero for the first.
	Previous id.ID `cbor:"6,keyasint,omitzero"`
	// ChangedFiles are paths that changed since the previous handoff, or since the project began,
	// at most ChangedPathsMax.
	ChangedFiles []string `cbor:"7,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"8,keyasint"`
	// Away has the texts, of which Continuation then has only the beginning of the summary and the
	// tasks; nil if all are here. See WithTexts.
	Away *Away `cbor:"9,keyasint,omitempty"`
	// Deleted is zero unless the handoff was deleted. The head of a saved project has it, because a
	// full chunk of handoffs never changes.
	Deleted Deletion `cbor:"-"`
}

// Handoffs returns all handoffs with the deleted ones, the oldest first. Callers must not modify
// the slice.
func (p *Project) Handoffs() []*Handoff { return p.handoffs }

// LatestHandoff returns the newest handoff that was not deleted, nil if there is none. What events
// record follows from it; see CurrentHandoff for what readers are shown.
func (p *Project) LatestHandoff() *Handoff {
	for _, handoff := range slices.Backward(p.handoffs) {
		if !handoff.Deleted.Is() {
			return handoff
		}
	}
	return nil
}

// CurrentHandoff returns the newest handoff that was not deleted and whose author is not blocked,
// nil if there is none. It is the one that readers are shown.
func (p *Project) CurrentHandoff() *Handoff {
	return p.newestHandoff(true)
}

// CurrentHandoffs returns the newest of the handoffs that readers are shown which no guest wrote,
// and CurrentHandoff if a guest wrote that; nil for none.
//
// A guest could write its handoff only while it held a claim, and can do no more now. A member's
// handoff stays a member's when the member leaves, so that older ones do not come back before it.
// A guest's becomes a member's with its author: the owner has taken it in. In a community project
// nobody is a guest.
func (p *Project) CurrentHandoffs() (first, guest *Handoff) {
	newest := p.CurrentHandoff()
	if newest == nil || !p.byGuest(newest) {
		return newest, nil
	}
	return p.newestHandoff(false), newest
}

// byGuest reports whether a guest wrote a handoff; see CurrentHandoffs.
func (p *Project) byGuest(handoff *Handoff) bool {
	_, found := slices.BinarySearchFunc(p.saved.GuestHandoffs, handoff.ID, id.ID.Compare)
	return found && p.needsClaim(handoff.Author)
}

// newestHandoff returns the newest handoff that was not deleted and whose author is not blocked,
// with those of guests or without. It looks once for the block of an author whose handoffs follow
// each other.
func (p *Project) newestHandoff(guests bool) *Handoff {
	var passed id.ID
	for _, handoff := range slices.Backward(p.handoffs) {
		if handoff.Deleted.Is() || handoff.Author == passed || !guests && p.byGuest(handoff) {
			continue
		}
		if _, blocked := p.Block(handoff.Author); !blocked {
			return handoff
		}
		passed = handoff.Author
	}
	return nil
}

// lastHandoff returns the newest handoff, deleted or not; nil if there is none.
func (p *Project) lastHandoff() *Handoff {
	if len(p.handoffs) == 0 {
		return nil
	}
	return p.handoffs[len(p.handoffs)-1]
}

// Handoff finds a handoff by ID; IDs are in the order of their creation.
func (p *Project) Handoff(wanted id.ID) (*Handoff, bool) {
	at, found := p.findHandoff(wanted)
	if !found {
		return nil, false
	}
	return p.handoffs[at], true
}

func (p *Project) findHandoff(wanted id.ID) (nth int, found bool) {
	return slices.BinarySearchFunc(p.handoffs, wanted, func(h *Handoff, i id.ID) int {
		return h.ID.Compare(i)
	})
}

// CreateHandoff creates a handoff.
type CreateHandoff struct{ Continuation Continuation }

// Authorize accepts every agent that may see the project; Decide checks the claim.
func (c *CreateHandoff) Authorize(p *Project, agent id.ID) error {
	return MayRead.Require(p, agent)
}

// Decide accepts contributors, any agent in a community project, and holders of a live claim. It
// returns ROLE_REQUIRED, PROJECT_ARCHIVED, QUOTA_EXCEEDED, and VALIDATION_FAILED for tasks that
// are not in the project.
func (c *CreateHandoff) Decide(p *Project, stamp Stamp) (Decision, error) {
	if err := MayHandOff.Require(p, stamp.Agent); err != nil {
		return Decision{}, err
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	created, err := decideHandoff(p, &c.Continuation, stamp, 0, "", nil)
	if err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{created}, Blobs: created.putAway(),
		Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// decideHandoff returns QUOTA_EXCEEDED and VALIDATION_FAILED; field is the path of the body in
// the request. The ID is the nth of the stamp. Published is the changeset that comes with the
// handoff, nil for none.
func decideHandoff(
	p *Project, body *Continuation, stamp Stamp, nth uint16, field string,
	published *ChangesetPublished,
) (*HandoffCreated, error) {
	if err := p.requireQuota(stamp.Agent, quotaHandoffs, 1); err != nil {
		return nil, err
	}
	if faults := p.unknownTasks(body.Tasks, field+"task_ids"); len(faults) > 0 {
		return nil, fault.Invalid(faults...)
	}
	created := &HandoffCreated{
		ID: stamp.ID(nth), Continuation: *body, WorkSession: p.sessionOf(stamp),
		Changeset: p.Head().ID,
	}
	since := uint32(1)
	if last := p.lastHandoff(); last != nil {
		created.ID = above(last.ID, created.ID)
	}
	if latest := p.LatestHandoff(); latest != nil {
		if known, ok := p.history.find(latest.Changeset); ok {
			since = known
		}
	}
	created.ChangedFiles = p.changedSince(since)
	if published != nil {
		created.Changeset = published.ID
		created.ChangedFiles = withPaths(created.ChangedFiles, published)
	}
	bytes := body.bytes() + textBytes(created.ChangedFiles)
	return created, p.requireQuota(stamp.Agent, quotaTexts, bytes)
}

func errHandoffNotFound() error {
	return fault.New(fault.HandoffNotFound, "There is no such handoff.")
}

// HandoffCreated is the event of a new handoff.
type HandoffCreated struct {
	ID           id.ID        `cbor:"1,keyasint"`
	Continuation Continuation `cbor:"2,keyasint"`
	WorkSession  id.ID        `cbor:"3,keyasint"`
	Changeset    id.ID        `cbor:"4,keyasint"`
	ChangedFiles []string     `cbor:"5,keyasint,omitempty"`
	// Away is that of the record.
	Away *Away `cbor:"6,keyasint,omitempty"`
}

// putAway stores the texts away if they are long, and returns their content.
func (e *HandoffCreated) putAway() (blobs []Blob) {
	e.Away, blobs = putHandoffAway(&e.Continuation, &e.ChangedFiles)
	return blobs
}

func (e *HandoffCreated) apply(p *Project, at Moment) {
	handoff := &Handoff{
		ID: e.ID, Author: at.Agent, WorkSession: e.WorkSession, Continuation: e.Continuation,
		Changeset: e.Changeset, ChangedFiles: e.ChangedFiles, CreatedAt: at.Now, Away: e.Away,
	}
	if latest := p.LatestHandoff(); latest != nil {
		handoff.Previous = latest.ID
	}
	if p.needsClaim(at.Agent) {
		p.saved.GuestHandoffs = append(slices.Clip(p.saved.GuestHandoffs), e.ID)
	}
	p.keepHandoff(handoff)
}

func (p *Project) keepHandoff(handoff *Handoff) {
	p.handoffs = append(p.handoffs, handoff)
	p.countHandoff(handoff, 1)
}

// countHandoff counts a handoff, or removes it from the counts if times is -1.
func (p *Project) countHandoff(handoff *Handoff, times int) {
	p.texts += times * (handoff.Bytes() + len(handoff.Deleted.Reason))
	p.awayBytes += times * handoff.Away.bytes()
	if !handoff.Deleted.frees(handoff.Author) {
		p.countUsage(handoff.Author, quotaHandoffs, times)
	}
	p.countUsage(handoff.Author, quotaTexts, times*handoff.Bytes())
}
