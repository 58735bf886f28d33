package http

import (
	"strings"
	"testing"
)

func TestPrefersJSON(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                 false,
		"*/*":                              false,
		"application/*":                    false,
		"text/html,*/*;q=0.8":              false,
		"application/json":                 true,
		"Application/JSON; charset=utf-8":  true,
		"application/json, text/plain":     true,
		"application/json, text/plain;q=1": true,
		"text/html, application/json;q=.9": false,
		"text/html;q=.5, application/json": true,
		"application/json;q=0":             false,
		"application/json;q=x":             false,
		"application/jsonp":                false,
	} {
		if got := prefersJSON([]byte(accept)); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

// TestOtherCharsets: the refusal names the charset where the type is right.
func TestOtherCharsets(t *testing.T) {
	f := start(t, Config{}, nil)
	for given, want := range map[string]bool{
		"application/json; charset=latin1": true, "text/plain; charset=latin1": false,
	} {
		a := f.post(t, "/v1/echo", `{"text":"a"}`, "Content-Type: "+given)
		if a.status != 415 || strings.Contains(a.envelope(t).Error.Message, "charset") != want {
			t.Errorf("%s: %d %s", given, a.status, a.body)
		}
	}
}
