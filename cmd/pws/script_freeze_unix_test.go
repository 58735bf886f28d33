//go:build unix

package main

import (
	"os"
	"syscall"
)

// freeze stops a process for a while, and thaw lets it go on.
func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func thaw(p *os.Process) error   { return p.Signal(syscall.SIGCONT) }
