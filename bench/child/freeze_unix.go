//go:build unix

package child

import "syscall"

// Freeze stops the process by SIGSTOP, and returns BEFORE it has stopped. Thaw lets it go on.
func (p *Process) Freeze() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a process go on that Freeze has stopped.
func (p *Process) Thaw() error { return p.command.Process.Signal(syscall.SIGCONT) }
