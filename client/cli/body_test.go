package cli

import (
	"errors"
	"strings"
	"testing"
)

// TestInputThatIsNoJSON gives it to the commands that take a body.
func TestInputThatIsNoJSON(t *testing.T) {
	p := newHookPlace(t)
	for _, input := range []string{`{"a`, "", "{} {}", "{\"a\":\"\xff\"}"} {
		env, _ := p.env(strings.NewReader(input))
		other, _ := p.env(strings.NewReader(input))
		for name, err := range map[string]error{
			"checkpoint": (&CheckpointCommand{Input: "-"}).Run(t.Context(), env),
			"state edit": (&StateEditCommand{Input: "-"}).Run(t.Context(), other),
		} {
			var usage UsageError
			if !errors.As(err, &usage) || err.Error() != "the input is no JSON" {
				t.Errorf("%s with %q: %v", name, input, err)
			}
		}
	}
}
