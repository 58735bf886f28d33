package child

import "syscall"

// attributes end a program with the one that started it, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
