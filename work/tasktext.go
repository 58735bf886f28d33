package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

// SpecAway names the contents of the long texts of a task; the zero Away is that of a short text.
// Each text has a content of its own, because a change replaces some of them and Decide reads no
// contents.
type SpecAway struct {
	Description Away `cbor:"1,keyasint,omitzero"`
	// Output is the expected output.
	Output     Away `cbor:"2,keyasint,omitzero"`
	Conditions Away `cbor:"3,keyasint,omitzero"`
	// Files are the related files, of which the spec has the first.
	Files Away `cbor:"4,keyasint,omitzero"`
}

// all returns the references; a may be nil.
func (a *SpecAway) all() []Away {
	if a == nil {
		return nil
	}
	return []Away{a.Description, a.Output, a.Conditions, a.Files}
}

// unlessZero returns nil if no text is stored away.
func (a SpecAway) unlessZero() *SpecAway {
	if a == (SpecAway{}) {
		return nil
	}
	return &a
}

const (
	// TaskReasonKept is how many characters of a long reason of a blocked task stay with it, for
	// lists, which show fewer.
	TaskReasonKept = 1001
	// awayFilesBytes is how much of the related files stays, for the search for opportunities.
	awayFilesBytes = 1000
)

// away accumulates contents with texts that are stored away.
type away struct{ blobs []Blob }

// text stores a long text away and leaves its beginning. It returns the zero Away for a short one.
func (a *away) text(text string, keep int) (kept string, ref Away) {
	if len(text) < awayBytesMin {
		return text, Away{}
	}
	kept = beginningOf(text, keep)
	return kept, a.put(awayText, text, len(text), len(kept))
}

// list stores a long list away and leaves its first items.
func (a *away) list(list []string, keep int) (kept []string, ref Away) {
	bytes := textBytes(list)
	if bytes < awayBytesMin {
		return list, Away{}
	}
	for i := range list {
		if textBytes(list[:i+1]) > keep {
			kept = list[:i:i]
			break
		}
	}
	return kept, a.put(awayList, list, bytes, textBytes(kept))
}

func (a *away) put(kind byte, texts any, bytes, kept int) Away {
	blob := putAway(kind, texts)
	a.blobs = append(a.blobs, blob)
	return Away{Hash: blob.Hash, Size: len(blob.Content), Bytes: bytes, Kept: kept}
}

// spec stores the long texts of a spec away.
func (a *away) spec(s *TaskSpec) {
	var refs SpecAway
	s.Description, refs.Description = a.text(s.Description, 0)
	s.ExpectedOutput, refs.Output = a.text(s.ExpectedOutput, 0)
	s.Conditions, refs.Conditions = a.list(s.Conditions, 0)
	s.RelatedFiles, refs.Files = a.list(s.RelatedFiles, awayFilesBytes)
	s.Away = refs.unlessZero()
}

// blocked returns the blocker with a long reason stored away; b may be nil.
func (a *away) blocked(b *Blocked) *Blocked {
	if b == nil || len(b.Reason) < awayBytesMin {
		return b
	}
	keep, chars := len(b.Reason), 0
	for i := range b.Reason {
		if chars == TaskReasonKept {
			keep = i
			break
		}
		chars++
	}
	if keep == len(b.Reason) {
		return b
	}
	next := *b
	next.Reason, next.Away = a.text(b.Reason, keep)
	return &next
}

// result returns the result with a long summary stored away; r may be nil.
func (a *away) result(r *TaskResult) *TaskResult {
	if r == nil || len(r.Summary) < awayBytesMin {
		return r
	}
	next := *r
	next.Summary, next.Away = a.text(r.Summary, 0)
	return &next
}

// stored returns the change with its long texts stored away, and their contents.
func (c TaskChange) stored() (TaskChange, []Blob) {
	var a away
	var refs SpecAway
	text := func(from *string, ref *Away) *string {
		if from == nil {
			return nil
		}
		var kept string
		kept, *ref = a.text(*from, 0)
		return &kept
	}
	list := func(from *[]string, keep int, ref *Away) *[]string {
		if from == nil {
			return nil
		}
		var kept []string
		if kept, *ref = a.list(*from, keep); kept == nil {
			// The encoding of a change has no lists that are nil.
			kept = []string{}
		}
		return &kept
	}
	c.Description = text(c.Description, &refs.Description)
	c.ExpectedOutput = text(c.ExpectedOutput, &refs.Output)
	c.Conditions = list(c.Conditions, 0, &refs.Conditions)
	c.RelatedFiles = list(c.RelatedFiles, awayFilesBytes, &refs.Files)
	c.Blocked, c.Result = a.blocked(c.Blocked), a.result(c.Result)
	c.Away = refs.unlessZero()
	return c, a.blobs
}

// awayOn returns the references of a changed spec.
func (c *TaskChange) awayOn(before *SpecAway) *SpecAway {
	if before == nil && c.Away == nil {
		return nil
	}
	next, given := valueOr(before, SpecAway{}), valueOr(c.Away, SpecAway{})
	if c.Description != nil {
		next.Description = given.Description
	}
	if c.ExpectedOutput != nil {
		next.Output = given.Output
	}
	if c.Conditions != nil {
		next.Conditions = given.Conditions
	}
	if c.RelatedFiles != nil {
		next.Files = given.Files
	}
	if before != nil && next == *before {
		return before
	}
	return next.unlessZero()
}

// TaskTexts names the contents of the texts of one version of a task that are stored away.
type TaskTexts struct {
	Spec    *SpecAway `cbor:"1,keyasint,omitempty"`
	Blocked Away      `cbor:"2,keyasint,omitzero"`
	Result  Away      `cbor:"3,keyasint,omitzero"`
}

// Texts names the contents of the texts that are not here.
func (t *Task) Texts() TaskTexts {
	texts := TaskTexts{Spec: t.Spec.Away}
	if t.Blocked != nil {
		texts.Blocked = t.Blocked.Away
	}
	if t.Result != nil {
		texts.Result = t.Result.Away
	}
	return texts
}

// None reports whether no text is stored away.
func (t TaskTexts) None() bool { return t == TaskTexts{} }

// Each yields the references.
func (t TaskTexts) Each(yield func(Away)) {
	if t.None() {
		return
	}
	for _, one := range append(t.Spec.all(), t.Blocked, t.Result) {
		if one.Size > 0 {
			yield(one)
		}
	}
}

// Bytes is the size of what is not in memory.
func (t TaskTexts) Bytes() (size int) {
	t.Each(func(one Away) { size += one.bytes() })
	return size
}

func (t TaskTexts) sound() bool {
	if t.None() {
		return true
	}
	return !slices.ContainsFunc(append(t.Spec.all(), t.Blocked, t.Result), func(one Away) bool {
		return one != (Away{}) && !one.sound()
	})
}

// TaskFields points to the texts of a task that may be stored away. Reason and Summary are nil
// without a blocker and a result.
type TaskFields struct {
	Description, Output, Reason, Summary *string
	Conditions, Files                    *[]string
}

// Fill sets the texts that are stored away. load returns the contents, or nil for one that was
// removed: that text stays as it is.
func (t TaskTexts) Fill(into TaskFields, load func(Hash) ([]byte, error)) error {
	spec := valueOr(t.Spec, SpecAway{})
	for _, one := range [...]struct {
		ref  Away
		text *string
		list *[]string
	}{
		{ref: spec.Description, text: into.Description}, {ref: spec.Output, text: into.Output},
		{ref: t.Blocked, text: into.Reason}, {ref: t.Result, text: into.Summary},
		{ref: spec.Conditions, list: into.Conditions}, {ref: spec.Files, list: into.Files},
	} {
		if one.ref.Size == 0 || one.text == nil && one.list == nil {
			continue
		}
		content, err := load(one.ref.Hash)
		switch {
		case err != nil || content == nil:
		case one.text != nil:
			err = takeAway(awayText, content, one.text)
		default:
			err = takeAway(awayList, content, one.list)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WithTexts returns the task with its texts; load is as for Fill.
func (t *Task) WithTexts(load func(Hash) ([]byte, error)) (*Task, error) {
	texts := t.Texts()
	if texts.None() {
		return t, nil
	}
	whole := *t
	spec := &whole.Spec
	into := TaskFields{
		Description: &spec.Description, Output: &spec.ExpectedOutput,
		Conditions: &spec.Conditions, Files: &spec.RelatedFiles,
	}
	spec.Away = nil
	if t.Blocked != nil {
		blocked := *t.Blocked
		blocked.Away = Away{}
		whole.Blocked, into.Reason = &blocked, &blocked.Reason
	}
	if t.Result != nil {
		result := *t.Result
		result.Away = Away{}
		whole.Result, into.Summary = &result, &result.Summary
	}
	if err := texts.Fill(into, load); err != nil {
		return nil, fmt.Errorf("task %s: %w", t.ID.Format(id.Task), err)
	}
	return &whole, nil
}
