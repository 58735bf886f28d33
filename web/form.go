package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

const (
	formType = "application/x-www-form-urlencoded"
	// formBytes is room for a comment of 20,000 characters, escaped.
	formBytes = 256 << 10
	// tokenField is the member of each form with the token of the session, keyField the one with
	// the Idempotency-Key, and confirmedField the one that answers a question.
	tokenField, keyField, confirmedField = "token", "key", "confirmed"
)

// formToken is what proves that a form is of a page that was made for this session. It is empty for
// an anonymous caller.
func formToken(c *api.Call) string {
	if c.Session == nil {
		return ""
	}
	mac := hmac.New(sha256.New, c.Service.Engine.Secret())
	mac.Write([]byte("pws web form v1\x00"))
	mac.Write(c.Session.ID[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// newFormKey is the Idempotency-Key of the forms of a page: sent twice, they have one effect. It is
// empty for an anonymous caller.
func newFormKey(c *api.Call) string {
	if c.Session == nil {
		return ""
	}
	return rand.Text()
}

// shows makes a page.
type shows func(v *visit) (view, error)

// form declares what a form of a page does: it returns where the browser goes next. If it fails,
// the page with the form, which again makes, is shown with the reason and what was typed.
func (w *Web) form(
	name, path string, again shows, submit func(v *visit, fields url.Values) (api.WebPage, error),
) *api.Operation {
	made := w.anyForm(name, path, func(
		v *visit, fields url.Values, broken error,
	) (api.WebPage, error) {
		page, err := v.checked(fields, broken, submit)
		if err != nil {
			err = w.refusal(v, again, fields, err)
		}
		return page, err
	})
	made.Category = api.CategoryWrite
	return made
}

// openForm declares a form that needs no session, and whose refusal is a page of its own.
func (w *Web) openForm(
	name, path string, submit func(v *visit, fields url.Values) (api.WebPage, error),
) *api.Operation {
	return w.anyForm(name, path, func(
		v *visit, fields url.Values, broken error,
	) (api.WebPage, error) {
		if broken != nil {
			return api.WebPage{}, broken
		}
		return submit(v, fields)
	})
}

// anyForm declares a form. Broken is what is wrong with its fields whatever they mean.
func (w *Web) anyForm(
	name, path string,
	submit func(v *visit, fields url.Values, broken error) (api.WebPage, error),
) *api.Operation {
	w.verbs[path[strings.LastIndexByte(path, '/')+1:]] = true
	return api.Declare[api.RawBody, api.WebPage](api.Operation{
		Name: "form." + name, Method: "POST", Path: path, Auth: api.Optional,
		Category: api.CategoryPage, Statuses: []int{303, 200}, Page: true, Params: params(path),
		RawMedia: []string{formType}, BodyMax: formBytes,
	}, func(c *api.Call, body *api.RawBody) (api.Reply, error) {
		fields, err := url.ParseQuery(string(body.Content))
		if err != nil {
			return api.Reply{}, fault.Invalid(fault.Field{Field: "form", Problem: "is not a form"})
		}
		fields, broken := readable(fields)
		v := &visit{Call: c, web: w, key: fields.Get(keyField)}
		page, err := submit(v, fields, broken)
		if err != nil {
			return api.Reply{}, err
		}
		status := 303
		if page.Location == "" {
			status = 200
		}
		return api.Reply{Status: status, Data: page}, nil
	})
}

// readable are fields that can be shown again: a byte that is no UTF-8 becomes a mark, and is
// refused. Errors: VALIDATION_FAILED.
func readable(sent url.Values) (fields url.Values, broken error) {
	const mark = "\uFFFD"
	fields = url.Values{}
	var faults []fault.Field
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		shown, valid := strings.ToValidUTF8(name, mark), utf8.ValidString(name)
		for _, text := range sent[name] {
			fields.Add(shown, strings.ToValidUTF8(text, mark))
			valid = valid && utf8.ValidString(text)
		}
		if !valid {
			faults = append(faults, fault.Field{Field: shown, Problem: "must be UTF-8"})
		}
	}
	if faults == nil {
		return fields, nil
	}
	return fields, fault.Invalid(faults...)
}

// checked submits a form of a session that is of one of its own pages.
func (v *visit) checked(
	fields url.Values, broken error,
	submit func(v *visit, fields url.Values) (api.WebPage, error),
) (api.WebPage, error) {
	if v.Session == nil {
		return api.WebPage{}, fault.New(fault.AuthenticationRequired, "Sign in to send this.")
	}
	if err := v.checkToken(fields); err != nil {
		return api.WebPage{}, err
	}
	if !api.ValidIdempotencyKey(v.key) {
		return api.WebPage{}, fault.New(fault.IdempotencyKeyInvalid,
			"The form is not complete. Load the page again.")
	}
	if broken != nil {
		return api.WebPage{}, broken
	}
	return submit(v, fields)
}

// checkToken refuses a form of a page that was not made for this session. Errors: FORBIDDEN.
func (v *visit) checkToken(fields url.Values) error {
	if v.Session == nil || hmac.Equal([]byte(fields.Get(tokenField)), []byte(formToken(v.Call))) {
		return nil
	}
	return fault.New(fault.Forbidden, "The form is of another session. Load the page again.").
		With("reason", "TOKEN")
}

// to sends the browser to another page.
func to(path string) api.WebPage { return api.WebPage{Location: path} }

// submit carries out an operation with the body of a form, in the form that the interface takes,
// with the key of the form. The checks of its members are those of the interface. Errors: those of
// the operation.
func submit[T any](
	v *visit, name string, params []string, body map[string]any,
) (T, error) {
	var none T
	op := operation(name)
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return none, err
	}
	request := op.NewRequest()
	if op.Request != nil {
		if err := jsonschema.Decode(text, request); err != nil {
			return none, err
		}
	}
	keyed := api.KeyedRequest{
		Operation: op, Agent: v.Agent, Key: []byte(v.key),
	}
	if op.Request != nil {
		keyed.Body = text
	}
	keyed.Path, keyed.Project = filled(op.Path, params)
	inner := *v.Call
	inner.Idempotency = keyed.Hash()
	return call[T](&visit{Call: &inner, web: v.web}, name, params, request)
}

// filled is the path of an operation with its parameters, and the one that is the project.
func filled(template string, params []string) (path, project string) {
	segments := strings.Split(template, "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		if segments[i] = params[0]; segment == "{project}" {
			project = params[0]
		}
		params = params[1:]
	}
	return strings.Join(segments, "/"), project
}
