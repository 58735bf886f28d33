//go:build unix

package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFilesMax is how many descriptors the process may have, math.MaxInt64 where that is unknown.
// The runtime has raised the soft limit to the hard one at the start.
func openFilesMax() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt64
	}
	return int64(min(uint64(limit.Cur), math.MaxInt64))
}
