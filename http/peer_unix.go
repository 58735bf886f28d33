//go:build unix

package http

import (
	"errors"
	"syscall"
)

// socketClosed reports whether the peer of a socket has closed its side. It consumes no input.
func socketClosed(fd uintptr) bool {
	var one [1]byte
	n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n == 0 && err == nil || err != nil && !errors.Is(err, syscall.EAGAIN) &&
		!errors.Is(err, syscall.EINTR)
}
