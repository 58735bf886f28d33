package actors

import (
	"bytes"
	"os"
	"strconv"
)

// systemTime returns how much time all processors of the machine have had, and how much of it they
// were not idle, in ticks; 0 if that is unknown.
func systemTime() (all, used uint64) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 || string(fields[0]) != "cpu" {
		return 0, 0
	}
	// The order is user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user.
	const idle, iowait, last = 3, 4, 7
	for i, field := range fields[1:min(len(fields), 2+last)] {
		ticks, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return 0, 0
		}
		if all += ticks; i != idle && i != iowait {
			used += ticks
		}
	}
	return all, used
}
