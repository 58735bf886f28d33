package http

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the current thread has used.
func threadTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}
