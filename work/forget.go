package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// ForgetTexts drops what tasks keep of long texts that an operator has purged: their beginnings. It
// is about at most OrderEventsMax tasks. The service sends it until KeepsTexts finds no other task.
type ForgetTexts struct{ Hashes []Hash }

// Authorize accepts the service itself: PROJECT_NOT_FOUND.
func (c *ForgetTexts) Authorize(p *Project, agent id.ID) error {
	if p == nil || !agent.IsZero() {
		return fault.NoProject()
	}
	return nil
}

// Decide returns no errors. Forgetting what is not kept changes nothing.
func (c *ForgetTexts) Decide(p *Project, _ Stamp) (decision Decision, err error) {
	p.keepTexts(c.Hashes, func(t *Task, kept []Hash) bool {
		forgotten := &TaskTextsForgotten{Task: t.ID, Hashes: kept}
		decision.Events = append(decision.Events, forgotten)
		return len(decision.Events) < OrderEventsMax
	})
	return decision, nil
}

// KeepsTexts reports whether tasks keep beginnings of texts of these contents.
func (p *Project) KeepsTexts(hashes []Hash) (keeps bool) {
	p.keepTexts(hashes, func(*Task, []Hash) bool { keeps = true; return false })
	return keeps
}

// keepTexts yields the tasks that keep beginnings of texts of some contents, each with those that
// it keeps.
func (p *Project) keepTexts(hashes []Hash, yield func(t *Task, kept []Hash) bool) {
	wanted := setOf(hashes)
	p.Tasks(id.ID{}, AsStored, func(t *Task) bool {
		var kept []Hash
		t.Texts().Each(func(one Away) {
			if one.Kept > 0 && wanted[one.Hash] && !slices.Contains(kept, one.Hash) {
				kept = append(kept, one.Hash)
			}
		})
		return len(kept) == 0 || yield(t, kept)
	})
}

func setOf(hashes []Hash) map[Hash]bool {
	set := make(map[Hash]bool, len(hashes))
	for _, hash := range hashes {
		set[hash] = true
	}
	return set
}

// TaskTextsForgotten is the event of a task that has lost what it kept of purged texts. It raises
// neither the version of the task nor that of the project, because no agent has changed them. ETags
// of tasks change with the purge, which comes BEFORE it, and those of projects with Revision.
type TaskTextsForgotten struct {
	Task id.ID `cbor:"1,keyasint"`
	// Hashes are those of the purged texts that the task kept. In old logs they are all that were
	// purged.
	Hashes []Hash `cbor:"2,keyasint"`
}

func (e *TaskTextsForgotten) apply(p *Project, _ Moment) {
	t := p.mustTask(e.Task)
	next := *t
	if b := t.Blocked; b != nil && b.Away.keeps(e.Hashes) {
		blocked := *b
		blocked.Reason, blocked.Away.Kept = "", 0
		next.Blocked = &blocked
	}
	if a := t.Spec.Away; a != nil && a.Files.keeps(e.Hashes) {
		refs := *a
		next.Spec.RelatedFiles, refs.Files.Kept = nil, 0
		next.Spec.Away = &refs
	}
	p.storeTask(&next)
}

// keeps reports whether a beginning of a text of these contents stays with the record.
func (a *Away) keeps(hashes []Hash) bool { return a.Kept > 0 && slices.Contains(hashes, a.Hash) }

// NamesTexts reports whether tasks of the project name one of the contents, or did.
func (p *Project) NamesTexts(hashes []Hash) (names bool) {
	wanted := setOf(hashes)
	p.Tasks(id.ID{}, AsStored, func(t *Task) bool {
		t.Texts().Each(func(one Away) { names = names || wanted[one.Hash] })
		return !names
	})
	p.PastContents(func(one Hash) { names = names || wanted[one] })
	return names
}
