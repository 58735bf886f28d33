package cli

import (
	"errors"
	"testing"
)

// TestTokenOfTheEnvironment has what shells and files leave around a session, and what no header
// can have.
func TestTokenOfTheEnvironment(t *testing.T) {
	for given, want := range map[string]struct {
		token   string
		refused bool
	}{
		"":               {},
		" \r\n":          {},
		"pws_1":          {"pws_1", false},
		"\t pws_1\r\n":   {"pws_1", false},
		"pws_1\npws_2\n": {"", true},
		"pws\x00":        {"", true},
		"pws\x7f":        {"", true},
		"pwsü":           {"", true},
	} {
		env := &Env{Lookup: func(name string) (string, bool) { return given, name == varToken }}
		token, set, err := env.token()
		var usage UsageError
		if token != want.token || set != (token != "" || want.refused) ||
			errors.As(err, &usage) != want.refused {
			t.Errorf("%q is %q, %v, %v", given, token, set, err)
		}
		if want.refused && nextStep(err, env) != otherToken {
			t.Errorf("%q: try %s", given, nextStep(err, env))
		}
	}
}
