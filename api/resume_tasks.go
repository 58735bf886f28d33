package api

import (
	"slices"

	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// taskList collects tasks for one place.
type taskList struct {
	place *sizelimit.Place
	tasks []*work.Task
	more  bool
}

// take keeps a task while there are not too many, and reports whether it did.
func (l *taskList) take(t *work.Task, most int) bool {
	if l.more = l.more || len(l.tasks) >= most; l.more {
		return false
	}
	l.tasks = append(l.tasks, t)
	return true
}

func (b *resumeBuild) tasks() {
	out := b.resume.Tasks
	open := taskList{place: b.doc.Place(&out.Open)}
	held := taskList{place: b.doc.Place(&out.Claimed)}
	claimed := taskList{place: held.place}
	blocked := taskList{place: b.doc.Place(&out.Blocked)}
	p, now, most := b.project, b.call.Now, b.wish.tasks
	p.ClaimedTasks(now, func(t *work.Task) bool {
		if b.call.holds(t) {
			held.take(t, most)
		} else {
			claimed.take(t, most)
		}
		return true
	})
	p.StalledTasks(now, func(t *work.Task) bool {
		return t.Status != work.TaskBlocked || blocked.take(t, most)
	})
	p.OpenTasks(now, func(t *work.Task) bool {
		if p.Waits(t) {
			blocked.take(t, most)
			return true
		}
		return open.take(t, most)
	})
	p.StalledTasks(now, func(t *work.Task) bool {
		return t.Status == work.TaskBlocked || open.take(t, most)
	})
	b.addTasks(rankHeld, &held)
	b.addTasks(rankTasks, &open, &blocked, &claimed)
}

// addTasks adds a task of each list in turn: first those that matter, then the others as lines.
func (b *resumeBuild) addTasks(rank int, lists ...*taskList) {
	for _, list := range lists {
		b.expect(rank, len(list.tasks))
		if list.more {
			b.lose(rank)
		}
	}
	matters := b.mattering(rank)
	whole := 0
	for _, lines := range []bool{false, true} {
		for nth, more := 0, true; more; nth++ {
			more = false
			for _, list := range lists {
				if nth >= len(list.tasks) {
					continue
				}
				more = true
				task := list.tasks[nth]
				if (nth < tasksFirst || matters(task)) == lines {
					continue
				}
				whole++
				b.sections[rank].Entries = append(b.sections[rank].Entries, sizelimit.Entry{
					Place: list.place, Line: lines || whole > tasksWhole,
					Item: b.task(task),
				})
			}
		}
	}
}

const (
	// tasksFirst of each list matter whatever their priority; tasksWhole is how many tasks besides
	// the caller's are whole before the other sections had their turn.
	tasksFirst = 2
	tasksWhole = 12
)

// taskTextsMax is the size of the texts of tasks that are read for a resume, in relation to its own
// size. Most of what does not fit is cut to the length of the detail.
const taskTextsMax = 8

// wholeTask returns a task with the texts that the resume shows. It returns nil if they are
// damaged, or if too many texts were read already.
func (b *resumeBuild) wholeTask(t *work.Task) *work.Task {
	texts := t.Texts()
	if !b.wish.texts || texts.Spec == nil && !b.wish.whole {
		return t
	}
	if bytes := texts.Bytes(); bytes > 0 {
		if b.taskBytes+bytes > taskTextsMax*b.wish.bytes {
			return nil
		}
		b.taskBytes += bytes
	}
	whole, err := t.WithTexts(b.call.texts)
	if err != nil {
		// It was logged, and reading the task reports it.
		return nil
	}
	return whole
}

// mattering selects the important tasks: those of the caller, those of priority HIGH or URGENT, and
// those that the handoffs of nextActions name.
func (b *resumeBuild) mattering(rank int) func(*work.Task) bool {
	var named []id.ID
	for _, handoff := range []*work.Handoff{b.first, b.guest} {
		if handoff != nil {
			named = append(named, handoff.Continuation.Tasks...)
		}
	}
	return func(t *work.Task) bool {
		return rank == rankHeld || t.Spec.Priority >= work.PriorityHigh ||
			slices.Contains(named, t.ID)
	}
}

// unfinished are the statuses of tasks that are not over.
var unfinished = []work.TaskStatus{
	work.TaskOpen, work.TaskInProgress, work.TaskBlocked, work.TaskInReview,
}
