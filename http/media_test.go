package http

import "testing"

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
