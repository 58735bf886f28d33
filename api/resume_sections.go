package api

import (
	"slices"
	"strconv"

	"pws/api/budget"
	"pws/internal/id"
	"pws/work"
)

// resumeBuild is one resume in the making. Each section writes its frame, finds its items and
// leaves the writing of them to the document.
type resumeBuild struct {
	call     *Call
	project  *work.Project
	wish     *resumeWish
	doc      budget.Document
	sections [rankCount]budget.Section
}

func (b *resumeBuild) raw(text string) { b.doc.Fixed = append(b.doc.Fixed, text...) }

func (b *resumeBuild) add(rank int, place *budget.Place, item budget.Item) {
	section := &b.sections[rank]
	section.Entries = append(section.Entries, budget.Entry{Place: place, Item: item})
}

// expect makes room for so many items.
func (b *resumeBuild) expect(rank, items int) {
	section := &b.sections[rank]
	section.Entries = slices.Grow(section.Entries, items)
}

// lose notes that a section does not tell all.
func (b *resumeBuild) lose(rank int) { b.sections[rank].Lost = true }

func (b *resumeBuild) text(text string) budget.Text {
	return budget.Text{Text: text, Chars: b.wish.chars}
}

// member is one member of an object that is told as far as there is room: a value, or a list.
type member struct {
	key   string
	value budget.Item
	count int
	item  func(at int) budget.Item
	// again is the rank of a list that stands elsewhere too, zero for others.
	again int
}

func (b *resumeBuild) texts(key string, list []string) member {
	return member{key: key, count: len(list), item: func(at int) budget.Item {
		return b.text(list[at])
	}}
}

func (b *resumeBuild) notes(key string, list []work.Note, text, reason string) member {
	return member{key: key, count: len(list), item: func(at int) budget.Item {
		return noteItem{note: &list[at], text: text, reason: reason, chars: b.wish.chars}
	}}
}

// again marks a list that has a section of its own too.
func again(rank int, m member) member {
	m.again = rank
	return m
}

// object adds members that are not empty: the values, then the lists, an element of each in turn,
// so that a long one does not keep the others out. Lists that have a section of their own too are
// added where there is room at the end.
func (b *resumeBuild) object(rank int, members ...member) {
	places, longest, all := make([]*budget.Place, len(members)), 0, 0
	for at := range members {
		all += max(members[at].count, 1)
	}
	b.expect(rank, all)
	for at := range members {
		switch m := &members[at]; {
		case m.value == nil:
			places[at] = b.doc.MemberList(m.key)
			if m.again == 0 {
				longest = max(longest, m.count)
			}
		case !isEmpty(m.value):
			b.add(rank, b.doc.Member(m.key), m.value)
		}
	}
	for nth := range longest {
		for at := range members {
			if m := &members[at]; m.again == 0 && nth < m.count {
				b.add(rank, places[at], m.item(nth))
			}
		}
	}
	for at := range members {
		if m := &members[at]; m.again != 0 && b.wish.repeats {
			for nth := range m.count {
				b.add(m.again, places[at], m.item(nth))
			}
		}
	}
}

// isEmpty reports whether a value is null or empty.
func isEmpty(value budget.Item) bool {
	switch value := value.(type) {
	case budget.Text:
		return value.Text == ""
	case budget.Raw:
		return string(value) == "null" || string(value) == "{}" || string(value) == "[]"
	}
	return false
}

// fixed is a value that is told whole or not at all.
func fixed(value any) budget.Raw { return appendData(nil, value) }

func idValue(prefix id.Prefix, value id.ID) budget.Raw {
	if value.IsZero() {
		return budget.Raw("null")
	}
	return appendID(nil, prefix, value)
}

// nameShare is the part of the whole that the name of the project may take.
const nameShare = 12

func (b *resumeBuild) about() {
	brief := b.call.projectBrief(b.project)
	name, fit := budget.AppendText(nil, brief.Name, budget.Unlimited, b.wish.bytes/nameShare)
	if fit != budget.Whole {
		b.lose(rankProject)
	}
	b.raw(`{"project":{"id":"` + brief.ID + `","name":`)
	b.doc.Fixed = append(b.doc.Fixed, name...)
	b.raw(`,"kind":"` + brief.Kind + `","status":"` + brief.Status + `","visibility":"` +
		brief.Visibility + `"`)
	b.object(rankProject,
		member{key: "description", value: b.text(brief.Description)},
		member{key: "owner", value: fixed(brief.Owner)},
		member{key: "counts", value: fixed(brief.Counts)},
		member{key: "languages", value: fixed(brief.Languages)},
		member{key: "topics", value: fixed(brief.Topics)},
	)
	b.raw(`},"head_changeset_id":`)
	b.doc.Fixed = appendID(b.doc.Fixed, id.Changeset, b.project.Head().ID)
}

func (b *resumeBuild) state() {
	state := b.project.State()
	said := &state.Statement
	b.raw(`,"state":{"version":` + strconv.FormatUint(state.Version, 10))
	b.object(rankState,
		member{key: "summary", value: b.text(said.Summary)},
		member{key: "objective", value: b.text(said.Objective)},
		member{key: "current_focus", value: b.text(said.CurrentFocus)},
		member{key: "updated_at", value: budget.Raw(Time(state.UpdatedAt).append(nil))},
		member{key: "updated_by", value: idValue(id.Agent, state.UpdatedBy)},
		member{key: "changeset_id", value: idValue(id.Changeset, state.Changeset)},
		b.texts("known_problems", said.KnownProblems),
		b.texts("in_progress", said.InProgress),
		b.texts("important_files", said.ImportantFiles),
		b.texts("dependencies", said.Dependencies),
		b.texts("completed", said.Completed),
		again(rankStateAgain, b.texts("decisions", said.Decisions)),
		again(rankStateAgain, b.texts("open_questions", said.OpenQuestions)),
		again(rankStateAgain, b.texts("next_actions", said.NextActions)),
	)
	b.custom(said.Custom)
	b.raw("}")
}

// custom comes last: it is told whole or not at all.
func (b *resumeBuild) custom(object []byte) {
	place := b.doc.Member("custom")
	switch {
	case !b.wish.texts || len(object) == 0:
	case len(object) > b.wish.chars:
		b.lose(rankState)
	default:
		b.add(rankState, place, budget.Raw(object))
	}
}

// changedFilesMax is how many of its changed files a handoff shows in a resume.
const changedFilesMax = 20

// countValue is null for zero, which is left out.
func countValue(count int) budget.Raw {
	if count == 0 {
		return budget.Raw("null")
	}
	return strconv.AppendInt(nil, int64(count), 10)
}

func (b *resumeBuild) handoff() {
	handoff := b.project.LatestHandoff()
	if handoff == nil {
		return
	}
	changed := handoff.ChangedFiles
	if len(changed) > changedFilesMax {
		changed = changed[:changedFilesMax]
		b.lose(rankHandoff)
	}
	said := &handoff.Continuation
	b.raw(`,"handoff":{"id":`)
	b.doc.Fixed = appendID(b.doc.Fixed, id.Handoff, handoff.ID)
	b.object(rankHandoff,
		member{key: "summary", value: b.text(said.Summary)},
		member{key: "author", value: fixed(b.call.agentRef(handoff.Author))},
		member{key: "created_at", value: budget.Raw(Time(handoff.CreatedAt).append(nil))},
		member{key: "changeset_id", value: idValue(id.Changeset, handoff.Changeset)},
		member{key: "work_session_id", value: idValue(id.WorkSession, handoff.WorkSession)},
		member{key: "previous_handoff_id", value: idValue(id.Handoff, handoff.Previous)},
		b.texts("completed_work", said.CompletedWork),
		member{key: "changed_files_count", value: countValue(len(handoff.ChangedFiles))},
		b.texts("assumptions", said.Assumptions),
		b.texts("dependencies", said.Dependencies),
		member{key: "task_ids", count: len(said.Tasks), item: func(at int) budget.Item {
			return idValue(id.Task, said.Tasks[at])
		}},
		b.texts("changed_files", changed),
		again(rankHandoffAgain, b.notes("decisions", said.Decisions, "decision", "rationale")),
		again(rankHandoffAgain, b.texts("open_questions", said.OpenQuestions)),
		again(rankHandoffAgain, b.texts("residual_risks", said.ResidualRisks)),
		again(rankHandoffAgain, b.texts("next_actions", said.NextActions)),
		again(rankHandoffAgain, b.texts("blockers", said.Blockers)),
		again(rankHandoffAgain,
			b.notes("failed_approaches", said.FailedApproaches, "approach", "reason")),
	)
	b.raw("}")
}

// nextActions are those of the latest handoff and those of the state, each once. The newer of the
// two goes first, because it describes the present. A checkpoint writes both at once.
func (b *resumeBuild) nextActions() {
	place := b.doc.MemberList("next_actions")
	state := b.project.State()
	lists := [][]string{state.Statement.NextActions}
	if handoff := b.project.LatestHandoff(); handoff != nil {
		lists = append(lists, handoff.Continuation.NextActions)
		if handoff.CreatedAt >= state.UpdatedAt {
			slices.Reverse(lists)
		}
	}
	seen := map[string]bool{}
	for _, list := range lists {
		for _, action := range list {
			if !seen[action] {
				seen[action] = true
				b.add(rankNextActions, place, b.text(action))
			}
		}
	}
}

// blockedTasksMax bounds the tasks among the blockers.
const blockedTasksMax = 100

func (b *resumeBuild) blockers() {
	place := b.doc.MemberList("blockers")
	if handoff := b.project.LatestHandoff(); handoff != nil {
		for _, blocker := range handoff.Continuation.Blockers {
			b.add(rankBlockers, place, b.text(blocker))
		}
	}
	count := 0
	tell := func(t *work.Task) bool {
		if t.Status != work.TaskBlocked {
			return true
		}
		if count++; count > blockedTasksMax {
			b.lose(rankBlockers)
			return false
		}
		b.add(rankBlockers, place, blockerItem{t, b.wish.chars})
		return true
	}
	b.project.StalledTasks(b.call.Now, tell)
	if count <= blockedTasksMax {
		b.project.ClaimedTasks(b.call.Now, tell)
	}
	if b.wish.whole {
		b.earlierBlockers(place)
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
	place, rank := b.doc.MemberList("changes"), rankChanges
	if b.wish.since != nil {
		rank = rankSince
	}
	after, to, more := b.changeRange()
	if more {
		b.lose(rank)
	}
	b.expect(rank, to-after)
	for sequence := to; sequence > after; sequence-- {
		b.add(rank, place, budget.Record{Parts: changeItem{
			call: b.call, project: b.project, level: b.wish.detail,
			changeset: b.project.ChangesetNumber(uint32(sequence)),
		}})
	}
}

// workSessionsMax bounds the work sessions.
const workSessionsMax = 10

func (b *resumeBuild) workSessions() {
	place := b.doc.MemberList("work_sessions")
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
		b.add(rankSessions, place, budget.Record{Parts: sessionItem{b.call, s}})
	}
}

func (b *resumeBuild) sinceChangeset() {
	if b.wish.since == nil {
		return
	}
	b.raw(`,"since_changeset_id":`)
	b.doc.Fixed = appendID(b.doc.Fixed, id.Changeset, b.wish.since.ID)
}
