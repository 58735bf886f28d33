//go:build !linux

package http

import "time"

var threadEpoch = time.Now()

// threadTime is the elapsed time, which is not less than the processor time of the thread.
func threadTime() time.Duration { return time.Since(threadEpoch) }
