package api

import (
	"slices"

	"pws/api/jsonschema"
	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// resumeBuild is one resume that is being written. Each section finds its items and leaves the
// writing of them to the document.
type resumeBuild struct {
	call    *Call
	project *work.Project
	wish    *resumeWish
	// resume has the objects; the lists beside them are places of the document.
	resume   Resume
	doc      *sizelimit.Document
	sections [rankCount]sizelimit.Section
	memory   *resumeMemory
	// own is what the caller holds, nil for nothing.
	own *heldWork
	// brief is the task that is being written.
	brief TaskBrief
	// shown is the newest handoff, first the newest that no guest wrote, and guest that of a guest if
	// it is newer; nil for none.
	shown, first, guest *work.Handoff
	// blocked are the agents that may no longer write in the project: none of their notes is shown.
	blocked map[id.ID]bool
	// handoffs have the texts that were read; handoffBytes is their size.
	handoffs     map[id.ID]*work.Handoff
	handoffBytes int
	// taskBytes is the size of the texts of tasks that were read.
	taskBytes int
}

func (b *resumeBuild) add(rank int, place *sizelimit.Place, item sizelimit.Item) {
	section := &b.sections[rank]
	section.Entries = append(section.Entries, sizelimit.Entry{Place: place, Item: item})
}

// expect makes room for so many items.
func (b *resumeBuild) expect(rank, items int) {
	section := &b.sections[rank]
	section.Entries = slices.Grow(section.Entries, items)
}

// lose notes that a section does not have everything.
func (b *resumeBuild) lose(rank int) { b.sections[rank].Lost = true }

// nameShare is the part of the whole that the name of the project may take.
const nameShare = 12

// fill sets the members of the resume that are objects. What is optional in these is written as far
// as there is room.
func (b *resumeBuild) fill() {
	p, out := b.project, &b.resume
	out.Project, out.HeadChangesetID = b.call.projectBrief(p), p.Head().ID.Format(id.Changeset)
	name, fit := sizelimit.CutText(p.Name, b.wish.bytes/nameShare)
	if out.Project.Name = name; fit != sizelimit.Whole {
		b.lose(rankProject)
	}
	if b.wish.shows(rankOwn) {
		b.own = b.call.heldWork(p)
		out.You = b.ownObject()
	}
	if b.wish.shows(rankState) {
		out.State = b.state()
	}
	b.findHandoffs()
	if b.shown != nil && b.wish.shows(rankHandoff) {
		out.Handoff = b.handoff(b.whole(b.shown))
	}
	if b.wish.shows(rankTasks) {
		out.Tasks = new(ResumeTasks)
		for _, status := range unfinished {
			out.Tasks.Total += p.TaskCount(status, b.call.Now)
		}
	}
	if b.wish.since != nil {
		out.Since = idOrNil(id.Changeset, b.wish.since.ID)
	}
	b.doc = sizelimit.New(out, &out.Truncated)
	b.object(rankProject, 0, &out.Project)
	if out.State != nil {
		b.object(rankState, rankStateAgain, out.State)
		b.custom()
	}
	if out.Handoff != nil {
		b.object(rankHandoff, rankHandoffAgain, out.Handoff)
	}
}

// object adds the optional members of an object: the values, then the lists, an element of each in
// turn, so that a long one does not keep the others out. Lists that have a section of their own too
// are added where there is room at the end.
func (b *resumeBuild) object(rank, againRank int, pointer any) {
	object, longest, count := jsonschema.StructOf(pointer), 0, 0
	var lists, again []placed
	for i := range object.Len() {
		m := object.At(i)
		if !m.Optional() || m.Absent() {
			continue
		}
		place := b.doc.Place(m.Field())
		switch {
		case m.IsList() && m.Sized("again"):
			again = append(again, placed{m, place})
		case m.IsList() && !m.Sized("whole"):
			lists = append(lists, placed{m, place})
			longest, count = max(longest, m.Len()), count+m.Len()
		case m.Sized("cut"):
			b.add(rank, place, b.item(m.Text()))
		default:
			b.add(rank, place, sizelimit.Raw(m.AppendValue(make([]byte, 0, valueBytes))))
		}
	}
	b.expect(rank, count)
	for nth := range longest {
		for _, list := range lists {
			if nth < list.Len() {
				b.add(rank, list.place, b.element(list.Member, nth))
			}
		}
	}
	for _, list := range again {
		for nth := range list.Len() {
			if b.wish.repeats {
				b.add(againRank, list.place, b.element(list.Member, nth))
			}
		}
	}
}

// valueBytes is what a value takes, roughly.
const valueBytes = 128

// placed is a list with its place.
type placed struct {
	jsonschema.Member
	place *sizelimit.Place
}

// element is one of a list.
func (b *resumeBuild) element(m jsonschema.Member, at int) sizelimit.Item {
	switch value := m.Element(at).(type) {
	case *DecisionNote:
		return noteItem{note: value.sent.item, kind: decisionKind, chars: b.wish.chars}
	case *FailureNote:
		return noteItem{note: value.sent.item, kind: failureKind, chars: b.wish.chars}
	case *string:
		if m.Sized("cut") {
			return b.item(*value)
		}
	}
	return sizelimit.Raw(jsonschema.Append(nil, m.Element(at)))
}

func (b *resumeBuild) item(text string) sizelimit.Text {
	return sizelimit.Text{Text: text, Chars: b.wish.chars}
}

func (b *resumeBuild) state() *ResumeState {
	state := b.project.State()
	said := &state.Statement
	return &ResumeState{
		Version: state.Version, Summary: present(&said.Summary),
		Objective: present(&said.Objective), CurrentFocus: present(&said.CurrentFocus),
		UpdatedAt: Time(state.UpdatedAt), UpdatedBy: idText(id.Agent, state.UpdatedBy),
		ChangesetID:   idText(id.Changeset, state.Changeset),
		KnownProblems: said.KnownProblems, InProgress: said.InProgress,
		ImportantFiles: said.ImportantFiles, Dependencies: said.Dependencies,
		Completed: said.Completed, Decisions: said.Decisions, OpenQuestions: said.OpenQuestions,
		NextActions: said.NextActions,
	}
}

// custom comes last: it is written whole or not at all.
func (b *resumeBuild) custom() {
	switch object := b.project.State().Statement.Custom; {
	case !b.wish.texts || len(object) == 0:
	case len(object) > b.wish.chars:
		b.lose(rankState)
	default:
		b.add(rankState, b.doc.Place(&b.resume.State.Custom), sizelimit.Raw(object))
	}
}

// wholeBytesMax bounds the texts of handoffs that are kept while a resume is built.
const wholeBytesMax = 8 << 20

// whole returns a handoff with the texts that are stored away. Without them, because they are
// damaged or were removed, the sections that show them are marked as truncated.
func (b *resumeBuild) whole(from *work.Handoff) *work.Handoff {
	if from.Away == nil {
		return from
	}
	if known := b.handoffs[from.ID]; known != nil {
		return known
	}
	whole, err := b.call.whole(from)
	if err != nil {
		// It was logged, and reading the handoff reports it.
		b.lose(rankHandoff)
		whole = from
	}
	if b.handoffs == nil {
		b.handoffs = map[id.ID]*work.Handoff{}
	}
	if b.handoffBytes += from.Bytes(); b.handoffBytes > wholeBytesMax {
		clear(b.handoffs)
		b.handoffBytes = from.Bytes()
	}
	b.handoffs[from.ID] = whole
	return whole
}

// changedFilesMax is how many of its changed files a handoff shows in a resume.
const changedFilesMax = 20

func (b *resumeBuild) handoff(from *work.Handoff) *ResumeHandoff {
	changed := from.ChangedFiles
	if len(changed) > changedFilesMax {
		changed = changed[:changedFilesMax]
		b.lose(rankHandoff)
	}
	said := &from.Continuation
	return &ResumeHandoff{
		ID: from.ID.Format(id.Handoff), Summary: present(&said.Summary),
		Author: b.call.agentRef(from.Author), CreatedAt: Time(from.CreatedAt),
		ChangesetID:       idText(id.Changeset, from.Changeset),
		WorkSessionID:     idText(id.WorkSession, from.WorkSession),
		PreviousHandoffID: idOrNil(id.Handoff, from.Previous),
		CompletedWork:     said.CompletedWork, ChangedFilesCount: len(from.ChangedFiles),
		Assumptions: said.Assumptions, Dependencies: said.Dependencies,
		TaskIDs: taskIDs(said.Tasks), ChangedFiles: changed,
		Decisions: decisionNotes(said.Decisions), OpenQuestions: said.OpenQuestions,
		ResidualRisks: said.ResidualRisks, NextActions: said.NextActions, Blockers: said.Blockers,
		FailedApproaches: failureNotes(said.FailedApproaches),
	}
}

// idText is empty for no ID.
func idText(prefix id.Prefix, value id.ID) string {
	if value.IsZero() {
		return ""
	}
	return value.Format(prefix)
}

// findHandoffs finds the handoffs that the resume shows. A guest can leave one too: what it asks
// for comes after what others do, so that it neither hides nor replaces that.
func (b *resumeBuild) findHandoffs() {
	b.first, b.guest = b.project.CurrentHandoffs()
	if b.shown = b.first; b.guest != nil {
		b.shown = b.guest
	}
	blocks := b.project.Blocks()
	if len(blocks) == 0 {
		return
	}
	b.blocked = make(map[id.ID]bool, len(blocks))
	for i := range blocks {
		b.blocked[blocks[i].Agent] = true
	}
}

// nextActions are those of the newest handoff that no guest wrote and those of the state, then
// those of a guest's newer handoff, each once. The newer of the first two goes first, because it
// describes the present. A checkpoint writes both at once.
func (b *resumeBuild) nextActions() {
	place := b.doc.Place(&b.resume.NextActions)
	state := b.project.State()
	lists := [][]string{state.Statement.NextActions}
	if b.first != nil {
		lists = append(lists, b.whole(b.first).Continuation.NextActions)
		if b.first.CreatedAt >= state.UpdatedAt {
			slices.Reverse(lists)
		}
	}
	if b.guest != nil {
		lists = append(lists, b.whole(b.guest).Continuation.NextActions)
	}
	seen := map[string]bool{}
	for _, list := range lists {
		for _, action := range list {
			if !seen[action] {
				seen[action] = true
				b.add(rankNextActions, place, b.item(action))
			}
		}
	}
}

// blockedTasksMax bounds the tasks among the blockers.
const blockedTasksMax = 100

func (b *resumeBuild) blockers() {
	place := b.doc.Place(&b.resume.Blockers)
	var named []string
	if b.first != nil {
		named = b.whole(b.first).Continuation.Blockers
	}
	for _, blocker := range named {
		b.add(rankBlockers, place, b.item(blocker))
	}
	b.blockedTasks(place)
	if b.guest != nil {
		for _, blocker := range b.whole(b.guest).Continuation.Blockers {
			if !slices.Contains(named, blocker) {
				b.add(rankBlockers, place, b.item(blocker))
			}
		}
	}
	if b.wish.whole {
		b.earlierBlockers(place)
	}
}

func (b *resumeBuild) blockedTasks(place *sizelimit.Place) {
	count := 0
	take := func(t *work.Task) bool {
		if t.Status != work.TaskBlocked {
			return true
		}
		if count++; count > blockedTasksMax {
			b.lose(rankBlockers)
			return false
		}
		if b.wish.whole && t.Blocked != nil && t.Blocked.Away != (work.Away{}) {
			if t = b.wholeTask(t); t == nil {
				b.lose(rankBlockers)
				return true
			}
		}
		b.add(rankBlockers, place, blockerItem{t, b.wish.chars})
		return true
	}
	b.project.StalledTasks(b.call.Now, take)
	if count <= blockedTasksMax {
		b.project.ClaimedTasks(b.call.Now, take)
	}
}

// changesSinceMax bounds the changes after since_changeset.
const changesSinceMax = 200

// changeRange are the sequences (after, to] of the changes that are shown, the newest first, and
// whether there are older ones that were asked for.
func (b *resumeBuild) changeRange() (after, to int, more bool) {
	to = b.project.ChangesetsCount()
	if b.wish.since == nil {
		return max(0, to-b.wish.changes), to, to > b.wish.changes
	}
	after = int(b.wish.since.Sequence)
	return max(after, to-changesSinceMax), to, to-after > changesSinceMax
}

func (b *resumeBuild) changes() {
	place, rank := b.doc.Place(&b.resume.Changes), rankChanges
	if b.wish.since != nil {
		rank = rankSince
	}
	after, to, more := b.changeRange()
	if more {
		b.lose(rank)
	}
	b.expect(rank, to-after)
	for sequence := to; sequence > after; sequence-- {
		b.add(rank, place, b.change(b.project.ChangesetNumber(uint32(sequence))))
	}
}

// workSessionsMax bounds the work sessions.
const workSessionsMax = 10

func (b *resumeBuild) workSessions() {
	place := b.doc.Place(&b.resume.WorkSessions)
	newest := make([]*work.WorkSession, 0, workSessionsMax+1)
	b.project.OpenSessions(func(s *work.WorkSession) bool {
		at, _ := slices.BinarySearchFunc(newest, s, func(one, s *work.WorkSession) int {
			if one.LastActiveAt != s.LastActiveAt {
				return int(min(max(s.LastActiveAt-one.LastActiveAt, -1), 1))
			}
			return s.ID.Compare(one.ID)
		})
		if at < workSessionsMax {
			newest = slices.Insert(newest, at, s)
		}
		if len(newest) > workSessionsMax || at >= workSessionsMax {
			b.lose(rankSessions)
			newest = newest[:workSessionsMax]
		}
		return true
	})
	for _, s := range newest {
		b.add(rankSessions, place, b.session(s))
	}
}
