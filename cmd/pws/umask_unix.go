//go:build unix

package main

import "syscall"

// keepPrivate makes all files that the process creates private to its user, also those of
// libraries.
func keepPrivate() { syscall.Umask(0o077) }
