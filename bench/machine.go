package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Machine describes the machine of the measurements.
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

// syncProbes is the number of syncs for one figure.
const syncProbes = 100

func readMachine(dir string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	if err := m.readSystem(dir); err != nil {
		return m, err
	}
	times, err := probeSync(dir, 2*syncProbes)
	if err != nil {
		return m, err
	}
	m.SyncP50 = times[len(times)/2].Microseconds()
	m.SyncP99 = times[len(times)*99/100].Microseconds()
	return m, nil
}

// probeSync appends to a file and syncs it repeatedly, and returns the sorted times of the syncs.
func probeSync(dir string, n int) ([]time.Duration, error) {
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("sync-probe-%d", os.Getpid())))
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, n)
	for i := range times {
		if _, err := file.Write(block); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := syncData(file); err != nil {
			return nil, err
		}
		times[i] = time.Since(begin)
	}
	slices.Sort(times)
	return times, nil
}
