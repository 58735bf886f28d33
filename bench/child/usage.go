package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is the resource usage of a process.
type Usage struct {
	// ResidentBytes is VmRSS without the pages of mapped files.
	ResidentBytes int64
	// RSSBytes is VmRSS: with the pages of mapped files.
	RSSBytes int64
	// PeakBytes is VmHWM: the most that was resident since the start, mapped files included.
	PeakBytes int64
	// CPU is user and system time since the start.
	CPU time.Duration
}

// clockTick is the unit of times in /proc, which Linux fixes at 1/100 s for user space.
const clockTick = 10 * time.Millisecond

// ReadUsage reads the usage of a process on this machine from /proc.
func ReadUsage(pid int) (Usage, error) {
	var usage Usage
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage, err
	}
	kilobytes, found := statusKilobytes(status, "RssAnon:")
	if !found {
		return usage, fmt.Errorf("process %d: no RssAnon in its status", pid)
	}
	usage.ResidentBytes = kilobytes << 10
	if kilobytes, found = statusKilobytes(status, "VmRSS:"); !found {
		return usage, fmt.Errorf("process %d: no VmRSS in its status", pid)
	}
	usage.RSSBytes = kilobytes << 10
	if kilobytes, found = statusKilobytes(status, "VmHWM:"); !found {
		return usage, fmt.Errorf("process %d: no VmHWM in its status", pid)
	}
	usage.PeakBytes = kilobytes << 10
	fields, err := statFields(pid)
	if err != nil {
		return usage, err
	}
	for _, at := range []int{statUserTime, statSystemTime} {
		ticks, err := strconv.ParseInt(string(fields[at]), 10, 64)
		if err != nil {
			return usage, fmt.Errorf("process %d: malformed stat: %w", pid, err)
		}
		usage.CPU += time.Duration(ticks) * clockTick
	}
	return usage, nil
}

// The fields of /proc/PID/stat that are read, counted from zero behind the program's name.
const (
	statState      = 0
	statUserTime   = 11
	statSystemTime = 12
)

func statFields(pid int) ([][]byte, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	// The second field is the program's name in parentheses, which may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= statSystemTime {
		return nil, fmt.Errorf("process %d: malformed stat", pid)
	}
	return fields, nil
}

// Frozen says whether a process on this machine has stopped by SIGSTOP.
func Frozen(pid int) (bool, error) {
	fields, err := statFields(pid)
	if err != nil {
		return false, err
	}
	return string(fields[statState]) == "T", nil
}

func statusKilobytes(status []byte, key string) (int64, bool) {
	for line := range bytes.Lines(status) {
		rest, found := bytes.CutPrefix(line, []byte(key))
		if !found {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			return 0, false
		}
		value, err := strconv.ParseInt(string(fields[0]), 10, 64)
		return value, err == nil
	}
	return 0, false
}

// WrittenBytes is what a process has had written to disks since its start. Bytes count again each
// time their page is written.
func WrittenBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "write_bytes: "); found {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, fmt.Errorf("process %d: no write_bytes in its io", pid)
}

// Sockets is the number of sockets that a process has open.
func Sockets(pid int) (count int, err error) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	for _, one := range files {
		// A file that has been closed in the meantime has no link any more.
		if to, err := os.Readlink(filepath.Join(folder, one.Name())); err == nil &&
			strings.HasPrefix(to, "socket:") {
			count++
		}
	}
	return count, nil
}
