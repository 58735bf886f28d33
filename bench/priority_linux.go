package bench

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowerPriority makes this process, and those that it starts later, yield the processors to others.
// A thread inherits the priority of the one that starts it, so all threads that exist are changed,
// until there are no new ones.
func lowerPriority(by int) error {
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	// The system call returns 20 minus the value.
	nice := niceMax + 1 - inverse
	done := map[string]bool{}
	for changed := true; changed; {
		changed = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if done[task.Name()] {
				continue
			}
			done[task.Name()], changed = true, true
			thread, err := strconv.Atoi(task.Name())
			if err != nil {
				return err
			}
			err = unix.Setpriority(unix.PRIO_PROCESS, thread, min(nice+by, niceMax))
			// A thread may have ended.
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
	}
	return nil
}

// niceMax is the lowest priority.
const niceMax = 19
