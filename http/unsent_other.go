//go:build !linux

package http

// limitUnsent does nothing where a socket has only a bound for all that is not acknowledged.
func limitUnsent(uintptr, int) {}
