//go:build unix

package actors

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns how much time of processors this process has used, 0 if that is unknown.
func processorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
