package api

import (
	"bytes"
	"errors"
	"maps"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/work"
)

// DecisionNote is an item of decisions: a text, or an object with a reason. It is returned in
// the form in which it was sent.
type DecisionNote struct{ sent note }

// FailureNote is an item of failed_approaches: a text, or an object with a reason. It is
// returned in the form in which it was sent.
type FailureNote struct{ sent note }

// Text is what was decided.
func (n DecisionNote) Text() string { return n.sent.item.Text }

// Reason is why, empty if nobody said it.
func (n DecisionNote) Reason() string { return n.sent.item.Reason }

// Text is what was tried.
func (n FailureNote) Text() string { return n.sent.item.Text }

// Reason is why it failed, empty if nobody said it.
func (n FailureNote) Reason() string { return n.sent.item.Reason }

// note is an item and its errors. Decoding never fails, so that the errors of all items are
// reported together.
type note struct {
	item     work.Note
	problems []fault.Field
}

// noteCheck bounds the texts of a note.
var noteCheck = jsonschema.CompileCheck("chars=1..2000,text")

// decision and failure are the object forms. They are used even if the reason is absent.
type decision struct {
	Decision  string `json:"decision" check:"required,chars=1..2000,text"`
	Rationale string `json:"rationale" check:"chars=1..2000,text"`
}

type failure struct {
	Approach string `json:"approach" check:"required,chars=1..2000,text"`
	Reason   string `json:"reason" check:"chars=1..2000,text"`
}

// UnmarshalJSON accepts both forms; see Problems.
func (n *DecisionNote) UnmarshalJSON(raw []byte) error {
	var object decision
	n.sent = readNote(raw, &object, func() work.Note {
		return work.Note{Text: object.Decision, Reason: object.Rationale, Reasoned: true}
	})
	return nil
}

// UnmarshalJSON accepts both forms; see Problems.
func (n *FailureNote) UnmarshalJSON(raw []byte) error {
	var object failure
	n.sent = readNote(raw, &object, func() work.Note {
		return work.Note{Text: object.Approach, Reason: object.Reason, Reasoned: true}
	})
	return nil
}

// Problems implements jsonschema.Checker.
func (n *DecisionNote) Problems() []fault.Field { return n.sent.problems }

// Problems implements jsonschema.Checker.
func (n *FailureNote) Problems() []fault.Field { return n.sent.problems }

// MarshalJSON writes the form in which it was sent.
func (n DecisionNote) MarshalJSON() ([]byte, error) {
	return n.sent.append(nil, "decision", "rationale"), nil
}

// MarshalJSON writes the form in which it was sent.
func (n FailureNote) MarshalJSON() ([]byte, error) {
	return n.sent.append(nil, "approach", "reason"), nil
}

// JSONBytesMax implements jsonschema.Sizer.
func (DecisionNote) JSONBytesMax() int { return noteBytesMax }

// JSONBytesMax implements jsonschema.Sizer.
func (FailureNote) JSONBytesMax() int { return noteBytesMax }

// noteBytesMax bounds a note in a body: its texts, and the names of its members.
var noteBytesMax = jsonschema.MaxBytes(reflect.TypeFor[decision](), RequestBytesMax)

// JSONSchema describes both forms.
func (DecisionNote) JSONSchema() map[string]any { return noteForms("decision", "rationale") }

// JSONSchema describes both forms.
func (FailureNote) JSONSchema() map[string]any { return noteForms("approach", "reason") }

// readNote decodes a text, or an object with its own rules.
func readNote(raw []byte, object any, taken func() work.Note) note {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	switch raw[0] {
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return note{problems: problemsOf(err)}
		}
		read := note{item: work.Note{Text: string(text)}}
		if problem := noteCheck.Text(read.item.Text); problem != "" {
			read.problems = []fault.Field{{Problem: problem}}
		}
		return read
	case '{':
		if err := jsonschema.Decode(raw, object); err != nil {
			return note{problems: problemsOf(err)}
		}
		return note{item: taken()}
	}
	return note{problems: []fault.Field{{Problem: "must be a string or an object"}}}
}

// problemsOf returns the errors of a part of a body.
func problemsOf(err error) []fault.Field {
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		if fields, ok := refusal.Details["fields"].([]fault.Field); ok {
			return fields
		}
	}
	return []fault.Field{{Problem: "does not fit"}}
}

func (n *note) append(dst []byte, text, reason string) []byte {
	if !n.item.Reasoned {
		return jsonschema.AppendString(dst, n.item.Text)
	}
	dst = append(jsonschema.AppendString(append(dst, '{'), text), ':')
	dst = jsonschema.AppendString(dst, n.item.Text)
	if n.item.Reason != "" {
		dst = append(jsonschema.AppendString(append(dst, ','), reason), ':')
		dst = jsonschema.AppendString(dst, n.item.Reason)
	}
	return append(dst, '}')
}

// noteForms describes the same rules as the checks. A null reason counts as absent.
func noteForms(text, reason string) map[string]any {
	plain := map[string]any{"type": "string", "minLength": 1, "maxLength": work.ItemCharsMax}
	orNull := maps.Clone(plain)
	orNull["type"] = []any{"string", "null"}
	return map[string]any{"anyOf": []any{plain, map[string]any{
		"type": "object", "required": []any{text}, "additionalProperties": false,
		"properties": map[string]any{text: plain, reason: orNull},
	}}}
}

// decisionNotes and failureNotes return the wire form of stored notes.
func decisionNotes(kept []work.Note) []DecisionNote {
	list := make([]DecisionNote, len(kept))
	for i := range kept {
		list[i].sent.item = kept[i]
	}
	return list
}

func failureNotes(kept []work.Note) []FailureNote {
	list := make([]FailureNote, len(kept))
	for i := range kept {
		list[i].sent.item = kept[i]
	}
	return list
}

// decisionItems and failureItems return the stored form of notes.
func decisionItems(sent []DecisionNote) []work.Note {
	list := make([]work.Note, len(sent))
	for i := range sent {
		list[i] = sent[i].sent.item
	}
	return list
}

func failureItems(sent []FailureNote) []work.Note {
	list := make([]work.Note, len(sent))
	for i := range sent {
		list[i] = sent[i].sent.item
	}
	return list
}
