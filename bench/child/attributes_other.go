//go:build !linux

package child

import "syscall"

// attributes are those of any program: only Linux can end one with the program that started it.
func attributes() *syscall.SysProcAttr { return nil }
