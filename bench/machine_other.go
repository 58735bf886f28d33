//go:build !linux

package bench

import (
	"os"
	"runtime"
)

// readSystem returns what is known on every system.
func (m *Machine) readSystem(string) error {
	m.Processor, m.Kernel, m.FileSystem = runtime.GOARCH, runtime.GOOS, "unknown"
	return nil
}

// syncData makes the bytes of a file durable.
func syncData(file *os.File) error { return file.Sync() }
