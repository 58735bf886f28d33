package actors

import (
	"time"

	"golang.org/x/sys/windows"
)

// processorTime returns how much time of processors this process has used, 0 if that is unknown.
func processorTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user)
	if err != nil {
		return 0
	}
	used := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
	// The unit is 100 nanoseconds.
	return time.Duration(used(kernel)+used(user)) * 100
}
