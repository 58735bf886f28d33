package api

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/work"
)

// MergePatchType is the media type of a merge patch (RFC 7396).
const MergePatchType = "application/merge-patch+json"

// StatePatch changes some members of the state; absent members stay unchanged, null clears.
type StatePatch struct {
	// Summary of the current status of the work.
	Summary jsonschema.Nullable[string] `json:"summary" check:"chars=0..4000,text"`
	// Objective of the work.
	Objective jsonschema.Nullable[string] `json:"objective" check:"chars=0..4000,text"`
	// What is worked on now.
	CurrentFocus jsonschema.Nullable[string] `json:"current_focus" check:"chars=0..4000,text"`
	// Completed work.
	Completed jsonschema.Nullable[[]string] `json:"completed" check:"items=0..100" each:"chars=1..2000,text"`
	// Work in progress.
	InProgress jsonschema.Nullable[[]string] `json:"in_progress" check:"items=0..100" each:"chars=1..2000,text"`
	// Not solved yet.
	KnownProblems jsonschema.Nullable[[]string] `json:"known_problems" check:"items=0..100" each:"chars=1..2000,text"`
	// What was decided.
	Decisions jsonschema.Nullable[[]string] `json:"decisions" check:"items=0..100" each:"chars=1..2000,text"`
	// Next actions, the first to do first.
	NextActions jsonschema.Nullable[[]string] `json:"next_actions" check:"items=0..100" each:"chars=1..2000,text"`
	// Entry points.
	ImportantFiles jsonschema.Nullable[[]string] `json:"important_files" check:"items=0..100" each:"chars=1..2000,text"`
	// Needed from outside.
	Dependencies jsonschema.Nullable[[]string] `json:"dependencies" check:"items=0..100" each:"chars=1..2000,text"`
	// Not answered yet.
	OpenQuestions jsonschema.Nullable[[]string] `json:"open_questions" check:"items=0..100" each:"chars=1..2000,text"`
	// Members to add, to replace, or, with null, to remove, at all levels of objects. The result has
	// at most 32 KiB.
	Custom CustomPatch `json:"custom"`
	// The version to change; if the current version is another one, the answer is STATE_CONFLICT.
	ExpectedVersion *uint64 `json:"expected_version"`
}

// CustomPatch is a merge patch for a Custom.
type CustomPatch struct {
	Custom
	// sent means that the member is present; a null removes all members.
	sent bool
}

// UnmarshalJSON accepts any value; see Problems.
func (c *CustomPatch) UnmarshalJSON(raw []byte) error {
	c.sent = true
	return c.Custom.UnmarshalJSON(raw)
}

// merged returns the changed object for the current one, nil if it has no members.
func (c *CustomPatch) merged(current []byte) []byte {
	if c.text == nil {
		return nil
	}
	next := Custom{text: mergePatch(current, c.text)}
	return next.kept()
}

// command returns the command for a body; field is the path of the body in a larger request.
func (s *StatePatch) command(field string) work.UpdateState {
	patch := &work.StatementPatch{
		Summary: changed(s.Summary), Objective: changed(s.Objective),
		CurrentFocus: changed(s.CurrentFocus), Completed: changed(s.Completed),
		InProgress: changed(s.InProgress), KnownProblems: changed(s.KnownProblems),
		Decisions: changed(s.Decisions), NextActions: changed(s.NextActions),
		ImportantFiles: changed(s.ImportantFiles), Dependencies: changed(s.Dependencies),
		OpenQuestions: changed(s.OpenQuestions),
	}
	if s.Custom.sent {
		patch.Custom = s.Custom.merged
	}
	return work.UpdateState{Patch: patch, Expected: s.ExpectedVersion, Field: field}
}

// changed returns nil for an absent member and the zero value for null.
func changed[T any](member jsonschema.Nullable[T]) *T {
	if member.Cleared() {
		return new(T)
	}
	return member.Value
}

// jsonObject is an object without duplicate names, in order.
type jsonObject []jsonMember

// jsonMember has either a text or, if its value is an object, members.
type jsonMember struct {
	// name is quoted and key is not.
	name, key string
	text      []byte
	isObject  bool
	members   jsonObject
}

// mergePatch applies a merge patch that is an object (RFC 7396). Both texts are valid JSON without
// white space; an empty target is an empty object.
func mergePatch(target, patch []byte) []byte {
	var into jsonObject
	if len(target) > 0 {
		into = readObject(jsontext.NewDecoder(bytes.NewReader(target)))
	}
	into = into.merge(readObject(jsontext.NewDecoder(bytes.NewReader(patch))))
	return into.append(nil)
}

// readObject reads an object that is valid.
func readObject(d *jsontext.Decoder) jsonObject {
	must := func(err error) {
		if err != nil {
			panic("api: an object that was valid is not: " + err.Error())
		}
	}
	_, err := d.ReadToken()
	must(err)
	object := jsonObject{}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		must(err)
		key, err := jsontext.AppendUnquote(nil, name)
		must(err)
		one := jsonMember{name: string(name), key: string(key)}
		if d.PeekKind() == '{' {
			one.isObject, one.members = true, readObject(d)
		} else {
			value, err := d.ReadValue()
			must(err)
			one.text = bytes.Clone(value)
		}
		object = append(object, one)
	}
	_, err = d.ReadToken()
	must(err)
	return object
}

// merge changes an object as a patch says.
func (o jsonObject) merge(patch jsonObject) jsonObject {
	places := make(map[string]int, len(o))
	for i := range o {
		places[o[i].key] = i
	}
	removed := map[int]bool{}
	for _, one := range patch {
		at, exists := places[one.key]
		switch {
		case one.text != nil && string(one.text) == "null":
			if exists {
				removed[at] = true
			}
			continue
		case one.isObject && exists:
			// The members of a value that is no object are none.
			one.members = o[at].members.merge(one.members)
		case one.isObject:
			one.members = jsonObject(nil).merge(one.members)
		}
		if exists {
			o[at] = one
		} else {
			o = append(o, one)
		}
	}
	kept := o[:0]
	for i, one := range o {
		if !removed[i] {
			kept = append(kept, one)
		}
	}
	return kept
}

func (o jsonObject) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, o[i].name...), ':')
		if o[i].isObject {
			dst = o[i].members.append(dst)
		} else {
			dst = append(dst, o[i].text...)
		}
	}
	return append(dst, '}')
}
