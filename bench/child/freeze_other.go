//go:build !unix

package child

import "errors"

var errNoFreeze = errors.New("processes cannot be stopped for a while on this system")

// Freeze needs a signal that this system does not have.
func (p *Process) Freeze() error { return errNoFreeze }

// Thaw needs a signal that this system does not have.
func (p *Process) Thaw() error { return errNoFreeze }
