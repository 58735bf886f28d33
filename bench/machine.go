package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what a figure means nothing without.
type Machine struct {
	Processor   string `json:"processor"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
	FileSystem  string `json:"file_system"`
	Go          string `json:"go"`
	// Sync times are those of fdatasync after an append of 4 KiB, in microseconds.
	SyncP50 int64 `json:"fsync_p50_us"`
	SyncP99 int64 `json:"fsync_p99_us"`
}

// syncProbes is how often the sync time is measured for one figure.
const syncProbes = 100

func readMachine(dir string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Processor: processorName()}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return m, err
	}
	m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, err
	}
	m.Kernel = unix.ByteSliceToString(name.Release[:])
	var system unix.Statfs_t
	if err := unix.Statfs(dir, &system); err != nil {
		return m, err
	}
	m.FileSystem = fileSystemName(int64(system.Type))
	times, err := probeSync(dir, 2*syncProbes)
	if err != nil {
		return m, err
	}
	m.SyncP50 = times[len(times)/2].Microseconds()
	m.SyncP99 = times[len(times)*99/100].Microseconds()
	return m, nil
}

func processorName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range bytes.Lines(text) {
		key, value, found := bytes.Cut(line, []byte(":"))
		if found && strings.TrimSpace(string(key)) == "model name" {
			return strings.TrimSpace(string(value))
		}
	}
	return runtime.GOARCH
}

func fileSystemName(kind int64) string {
	switch kind {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.TMPFS_MAGIC:
		return "tmpfs (in memory: nothing here is durable)"
	default:
		return "type 0x" + strconv.FormatInt(kind, 16)
	}
}

// probeSync appends and syncs a file and returns the sorted times of the syncs.
func probeSync(dir string, n int) ([]time.Duration, error) {
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("sync-probe-%d", os.Getpid())))
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, n)
	for at := range times {
		if _, err := file.Write(block); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			return nil, err
		}
		times[at] = time.Since(begin)
	}
	slices.Sort(times)
	return times, nil
}
