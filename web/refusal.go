package web

import (
	"cmp"
	"errors"
	"html/template"
	"net/url"
	"slices"

	"pws/api"
	"pws/internal/fault"
)

// failed is a form that was refused: what was typed, and why.
type failed struct {
	Fields  url.Values
	Message string
	// Faults are those of members that have them beside them, Others what else is wrong.
	Faults map[string]string
	Others []string
	key    string
}

// explained are the members of forms that have their fault beside them, typed those that a person
// writes.
var (
	explained = []string{
		"title", "body", "description", "reason", "agent", "path", "line", "conditions",
	}
	typed = append(explained[:len(explained):len(explained)], "priority")
)

// sentences are what refusals mean to a person who has sent a form.
var sentences = map[fault.Code]string{
	fault.RevisionSuperseded: "There is a newer revision, so nothing was decided. This page shows " +
		"it now.",
	fault.IdempotencyKeyReused: "This form was sent before, with something else in it, and that " +
		"was carried out. To send this too, send it again.",
	fault.ContributionClosed: "Somebody has decided on this contribution already.",
	fault.ValidationFailed:   "Nothing was sent yet.",
}

// refusal is the refusal of a form as a page: the page with the form again, or else one that has
// what was typed.
func (w *Web) refusal(v *visit, again shows, fields url.Values, err error) error {
	refused := fault.New(fault.Internal, "The service failed. Nothing may have been saved.")
	errors.As(err, &refused)
	form := failed{
		Fields: fields, Message: refused.Message, Faults: map[string]string{}, key: v.key,
	}
	if sentence, said := sentences[refused.Code]; said {
		form.Message = sentence
	}
	if refused.Code == fault.IdempotencyKeyReused || refused.Code == fault.IdempotencyKeyInvalid {
		form.key = ""
	}
	listed, _ := refused.Details["fields"].([]fault.Field)
	for _, one := range listed {
		if fields.Has(one.Field) && slices.Contains(explained, one.Field) {
			form.Faults[one.Field] = one.Problem
		} else {
			form.Others = append(form.Others, one.Field+" "+one.Problem)
		}
	}
	status := fault.Lookup(refused.Code).Status
	if status != 401 && status != 404 && refused.Details["reason"] != "TOKEN" {
		if made, missing := again(v); missing == nil {
			made.Form = form
			return &api.PageRefusal{Err: err, Body: w.render(v.Call, made)}
		}
	}
	return &api.PageRefusal{Err: err, Body: w.render(v.Call, view{
		Template: "failure", Title: form.Message, Form: failed{Fields: fields},
		Data: api.WebFailure{
			Status: status, Code: string(refused.Code), Message: form.Message,
			RequestID: v.RequestID,
		},
	})}
}

// renamed gives faults of members of the interface the names that the form has for them.
func renamed(err error, pairs ...string) error {
	var refused *fault.Error
	if !errors.As(err, &refused) {
		return err
	}
	listed, _ := refused.Details["fields"].([]fault.Field)
	for i := range listed {
		if name := slices.Index(pairs, listed[i].Field); name >= 0 && name%2 == 0 {
			listed[i].Field = pairs[name+1]
		}
	}
	return err
}

// Typed is what was typed into a field of a form that was refused.
func (s shown) Typed(field string) string { return s.Form.Fields.Get(field) }

// TypedTexts are all texts of a form that was refused.
func (s shown) TypedTexts() (texts []string) {
	for _, field := range typed {
		if text := s.Form.Fields.Get(field); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// TypedOr is what was typed into a field, or what it has at first.
func (s shown) TypedOr(field, first string) string {
	return cmp.Or(s.Typed(field), first)
}

// Priorities are those that a new task may have.
func (shown) Priorities() []string { return []string{"LOW", "NORMAL", "HIGH", "URGENT"} }

// fieldFault is what is wrong with a field; its text is empty if nothing is.
type fieldFault struct{ Field, Text string }

// Fault is what is wrong with a field.
func (s shown) Fault(field string) fieldFault { return fieldFault{field, s.Form.Faults[field]} }

// Marks are the attributes of a field: a wrong one has the focus, and its fault is read with it.
func (s shown) Marks(field string) template.HTMLAttr {
	if s.Form.Faults[field] == "" {
		return ""
	}
	return template.HTMLAttr(`aria-invalid="true" autofocus aria-describedby="fault-` + field + `"`)
}

// question is what a page asks before something is done that is hard to undo.
type question struct {
	Title, Text string
	// Button says what is done, Back is where the browser goes otherwise.
	Button, Back string
	Action       string
	Hidden       url.Values
}

// may checks that the visitor may do what a question is about, BEFORE it is asked. Errors: those of
// the operation that need no look at what it changes.
func (v *visit) may(name string, params []string, body map[string]any) error {
	inner := *v.Call
	inner.OnlyAsks = true
	_, err := submit[any](&visit{Call: &inner, web: v.web}, name, params, body)
	switch {
	case errors.Is(err, api.ErrPermitted):
		return nil
	case err == nil:
		panic("web: " + name + " was carried out without an answer to its question")
	}
	return err
}

// ask is the page of a question, whose answer is the same form again.
func (v *visit) ask(fields url.Values, asked question) api.WebPage {
	asked.Hidden = url.Values{}
	for name := range fields {
		if name != tokenField && name != keyField {
			asked.Hidden.Set(name, fields.Get(name))
		}
	}
	asked.Hidden.Set(confirmedField, "yes")
	made := view{Template: "question", Title: asked.Title, Data: asked}
	made.Form.key = v.key
	return api.WebPage{Body: v.web.render(v.Call, made)}
}
