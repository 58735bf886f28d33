package cli

import (
	"errors"
	"fmt"
	"io"
)

// checkedOut is the output of a command. It remembers what hindered it, which many prints do not
// look at.
type checkedOut struct {
	io.Writer
	failed error
}

// Write implements io.Writer.
func (o *checkedOut) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if o.failed == nil {
		o.failed = err
	}
	return n, err
}

// Checked calls run, which prints what a command has done, and returns its error. If that is none
// but the failure of the output, it says that the effect is there: commands print AFTER it.
func (e *Env) Checked(run func() error) error {
	out := &checkedOut{Writer: e.Out}
	e.Out = out
	err := run()
	if out.failed != nil && (err == nil || errors.Is(err, out.failed)) {
		return &advisedError{
			fmt.Errorf("the command was carried out, but its output could not be written: %w", out.failed),
			"read what it has done: repeated, it may have a second effect",
		}
	}
	return err
}
