//go:build !linux

package child

import "syscall"

// attributes is the default: only Linux can kill a program when its parent ends.
func attributes() *syscall.SysProcAttr { return nil }
