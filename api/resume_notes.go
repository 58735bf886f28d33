package api

import (
	"slices"
	"strings"

	"pws/api/jsonschema"
	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// noteKind is one kind of notes that accumulates over the handoffs of a project.
type noteKind struct {
	// text, reason and handoff are the names of the members on the wire.
	text, reason, handoff string
	// notes is the kind in the record of a handoff.
	notes work.NoteKinds
	// of are those of one handoff, as notes or as texts; state those of the state.
	of    func(*work.Continuation) ([]work.Note, []string)
	state func(*work.Statement) []string
}

var (
	failureKind = noteNames(&ResumeFailure{}, &noteKind{
		notes: work.FailureNotes,
		of:    func(c *work.Continuation) ([]work.Note, []string) { return c.FailedApproaches, nil },
	})
	decisionKind = noteNames(&ResumeDecision{}, &noteKind{
		notes: work.DecisionNotes,
		of:    func(c *work.Continuation) ([]work.Note, []string) { return c.Decisions, nil },
		state: func(s *work.Statement) []string { return s.Decisions },
	})
	questionKind = noteNames(&ResumeQuestion{}, &noteKind{
		notes: work.QuestionNotes,
		of:    func(c *work.Continuation) ([]work.Note, []string) { return nil, c.OpenQuestions },
		state: func(s *work.Statement) []string { return s.OpenQuestions },
	})
	riskKind = noteNames(&ResumeRisk{}, &noteKind{
		notes: work.RiskNotes,
		of:    func(c *work.Continuation) ([]work.Note, []string) { return nil, c.ResidualRisks },
	})
	blockerKind = &noteKind{
		notes: work.BlockerNotes,
		of:    func(c *work.Continuation) ([]work.Note, []string) { return nil, c.Blockers },
	}
)

// noteNames gives a kind the names of its wire struct: a text, a reason where it has one, the
// handoff.
func noteNames(wire any, kind *noteKind) *noteKind {
	object := jsonschema.StructOf(wire)
	last := object.Len() - 1
	kind.text, kind.reason = object.At(0).Name(), object.At(1).Name()
	kind.handoff = object.At(last).Name()
	return kind
}

func (b *resumeBuild) failures() {
	b.accumulate(rankFailures, &b.resume.Failures, failureKind)
}

func (b *resumeBuild) decisions() {
	b.accumulate(rankDecisions, &b.resume.Decisions, decisionKind)
}

func (b *resumeBuild) openQuestions() {
	b.accumulate(rankQuestions, &b.resume.OpenQuestions, questionKind)
}

func (b *resumeBuild) residualRisks() {
	b.accumulate(rankRisks, &b.resume.ResidualRisks, riskKind)
}

// accumulate adds the notes of one kind.
func (b *resumeBuild) accumulate(rank int, field any, kind *noteKind) {
	place := b.doc.Place(field)
	notes, more := b.collect(kind, b.project.Handoffs())
	if more {
		b.lose(rank)
	}
	b.expect(rank, len(notes))
	for i := range notes {
		b.add(rank, place, &notes[i])
	}
}

// earlierBlockers adds what other handoffs than those of blockers named as blockers. It may be
// solved by now, so each is followed by the ID of its handoff.
func (b *resumeBuild) earlierBlockers(place *sizelimit.Place) {
	handoffs := b.project.Handoffs()
	notes, more := b.collect(blockerKind, handoffs)
	if more {
		b.lose(rankBlockers)
	}
	for _, one := range notes {
		if !one.of(b.first) && !one.of(b.guest) {
			b.add(rankBlockers, place, b.item(one.note.Text+" ("+one.handoff.Format(id.Handoff)+")"))
		}
	}
}

// of reports whether a note comes from a handoff, which is nil for none.
func (n *noteItem) of(handoff *work.Handoff) bool {
	return handoff != nil && n.handoff == handoff.ID
}

// noteBytesLeast is what a note takes beside its text at least.
const noteBytesLeast = 20

// notesRead is the reading of the notes of one kind.
type notesRead struct {
	kind  *noteKind
	level *detail
	// room is how many bytes the answer has for notes at most.
	room int
	// known leads from a text, alone and with its reason, to its place in the list.
	known *knownNotes
	notes []noteItem
	// looked counts the notes that were looked at.
	looked int
}

// collect reads the notes of a kind, newest first, duplicates once. The walk ends with the room of
// the answer, with the number of notes that the detail allows, or with the number that is looked at
// in handoffs that repeat each other. It reports whether notes were left out.
func (b *resumeBuild) collect(kind *noteKind, handoffs []*work.Handoff) ([]noteItem, bool) {
	r := notesRead{
		kind: kind, level: b.wish.detail, room: b.wish.bytes,
		known: &b.memory.known, notes: b.memory.notes[b.memory.lists],
	}
	r.known.forget()
	more := b.walk(&r, handoffs)
	b.memory.notes[b.memory.lists] = r.notes
	b.memory.lists++
	return r.notes, more
}

// walk takes the notes of the handoffs and of the state, and reports whether some were left out for
// want of room. Handoffs of blocked agents are passed over.
func (b *resumeBuild) walk(r *notesRead, handoffs []*work.Handoff) (more bool) {
	state, kind := b.project.State(), r.kind
	var ofState []string
	if kind.state != nil {
		ofState = kind.state(&state.Statement)
	}
	pending := len(ofState) > 0
	for _, handoff := range slices.Backward(handoffs) {
		if pending && handoff.CreatedAt < state.UpdatedAt {
			pending = false
			if !r.take(nil, ofState, id.ID{}) {
				return true
			}
		}
		if !handoff.Has(kind.notes) || b.blocked[handoff.Author] {
			continue
		}
		notes, texts := kind.of(&b.whole(handoff).Continuation)
		if !r.take(notes, texts, handoff.ID) {
			return true
		}
	}
	return pending && !r.take(nil, ofState, id.ID{})
}

// take adds the notes of one handoff, or of the state, and reports whether there was room for all.
func (r *notesRead) take(notes []work.Note, texts []string, handoff id.ID) bool {
	for i := range len(notes) + len(texts) {
		var note work.Note
		if i < len(notes) {
			note = notes[i]
		} else {
			note.Text = texts[i-len(notes)]
		}
		if r.looked++; r.looked > r.level.notesSeen {
			return false
		}
		text, reason := strings.TrimSpace(note.Text), strings.TrimSpace(note.Reason)
		next := len(r.notes)
		if earlier, known := r.known.find(text, "", next); known {
			// What the state names as well comes from the handoff.
			if first := &r.notes[earlier]; first.handoff.IsZero() {
				first.handoff = handoff
			}
			if reason == "" {
				continue
			}
		}
		if reason != "" {
			if _, known := r.known.find(text, reason, next); known {
				continue
			}
		}
		if next >= r.level.notes || r.room < 0 {
			return false
		}
		r.room -= noteBytesLeast + min(len(text), r.level.chars) + min(len(reason), r.level.chars)
		r.notes = append(r.notes, noteItem{
			note: note, kind: r.kind, chars: r.level.chars, object: true, handoff: handoff,
		})
	}
	return true
}
