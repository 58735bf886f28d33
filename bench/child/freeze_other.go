//go:build !unix

package child

import "errors"

var errNoFreeze = errors.New("processes cannot be stopped for a while on this system")

// Freeze always fails: this system has no SIGSTOP.
func (p *Process) Freeze() error { return errNoFreeze }

// Thaw always fails: this system has no SIGCONT.
func (p *Process) Thaw() error { return errNoFreeze }
