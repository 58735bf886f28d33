//go:build unix

package http

import (
	"errors"
	"syscall"
)

// socketClosed reports whether the peer of a socket has closed its side. It consumes no input.
func socketClosed(fd uintptr) bool {
	n, err := peekSocket(fd)
	return n == 0 && err == nil || err != nil && !errors.Is(err, syscall.EAGAIN)
}

// socketSilent reports whether a socket is open and has no input.
func socketSilent(fd uintptr) bool {
	_, err := peekSocket(fd)
	return errors.Is(err, syscall.EAGAIN)
}

// peekSocket looks whether a socket has input, and leaves it there. The error is EAGAIN if it is
// open and has none.
func peekSocket(fd uintptr) (n int, err error) {
	var one [1]byte
	for {
		n, _, err = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
