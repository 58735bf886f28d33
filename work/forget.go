package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// ForgetTexts drops what tasks keep of long texts that an operator has purged: their beginnings.
// The service sends it.
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
	p.Tasks(id.ID{}, AsStored, func(t *Task) bool {
		keeps := false
		t.Texts().Each(func(one Away) { keeps = keeps || one.keeps(c.Hashes) })
		if keeps {
			forgotten := &TaskTextsForgotten{Task: t.ID, Hashes: c.Hashes}
			decision.Events = append(decision.Events, forgotten)
		}
		return true
	})
	return decision, nil
}

// TaskTextsForgotten is the event of a task that has lost what it kept of purged texts.
type TaskTextsForgotten struct {
	Task   id.ID  `cbor:"1,keyasint"`
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
	p.Tasks(id.ID{}, AsStored, func(t *Task) bool {
		t.Texts().Each(func(one Away) { names = names || slices.Contains(hashes, one.Hash) })
		return !names
	})
	p.PastContents(func(one Hash) { names = names || slices.Contains(hashes, one) })
	return names
}
