package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

const (
	formType = "application/x-www-form-urlencoded"
	// formBytes is room for a comment of 16,000 characters, escaped.
	formBytes = 256 << 10
	// tokenField is the member of each form with the token of the session.
	tokenField = "token"
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

// form declares what a form of a page does; it returns where the browser goes next.
func (w *Web) form(
	name, path string, submit func(v *visit, fields url.Values) (api.WebPage, error),
) *api.Operation {
	return api.Declare[api.RawBody, api.WebPage](api.Operation{
		Name: "form." + name, Method: "POST", Path: path, Auth: api.Optional,
		Category: api.CategoryPage, Statuses: []int{303, 200}, Page: true, Params: params(path),
		RawMedia: []string{formType}, BodyMax: formBytes,
	}, func(c *api.Call, body *api.RawBody) (api.Reply, error) {
		fields, err := url.ParseQuery(string(body.Content))
		if err != nil || !utf8.Valid(body.Content) {
			return api.Reply{}, fault.Invalid(fault.Field{Field: "form", Problem: "is no form"})
		}
		token := []byte(fields.Get(tokenField))
		if c.Session != nil && !hmac.Equal(token, []byte(formToken(c))) {
			return api.Reply{}, fault.New(fault.Forbidden,
				"The form is of another session. Load the page again.")
		}
		page, err := submit(&visit{Call: c, web: w}, fields)
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

// to sends the browser to another page.
func to(path string) api.WebPage { return api.WebPage{Location: path} }

// submit carries out an operation with the body of a form, in the form that the interface takes.
// The checks of its members are those of the interface. Errors: those of the operation.
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
	if err := jsonschema.Decode(text, request); err != nil {
		return none, err
	}
	return call[T](v, name, params, request)
}
