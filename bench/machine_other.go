//go:build !linux

package bench

import (
	"os"
	"runtime"
)

// readSystem says what is known without the kernel's help.
func (m *Machine) readSystem(string) error {
	m.Processor, m.Kernel, m.FileSystem = runtime.GOARCH, runtime.GOOS, "unknown"
	return nil
}

// syncData makes the bytes of a file durable.
func syncData(file *os.File) error { return file.Sync() }
