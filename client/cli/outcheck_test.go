package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestOutputThatFails: the effect is there, whether the print looks at its error or not. An error
// of the command itself stays.
func TestOutputThatFails(t *testing.T) {
	other := errors.New("refused")
	for name, c := range map[string]struct {
		returned func(printed error) error
		carried  bool
	}{
		"returned":      {func(printed error) error { return fmt.Errorf("printing: %w", printed) }, true},
		"not looked at": {func(error) error { return nil }, true},
		"another":       {func(error) error { return other }, false},
	} {
		env := &Env{Out: full{}}
		err := env.Checked(func() error {
			_, err := fmt.Fprintln(env.Out, "Created.")
			return c.returned(err)
		})
		carried := err != nil && strings.HasPrefix(err.Error(), "the command was carried out, but its")
		if carried != c.carried || errors.Is(err, errFull) != c.carried {
			t.Errorf("%s: %v", name, err)
		}
	}
	env := &Env{Out: new(strings.Builder)}
	if err := env.Checked(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
