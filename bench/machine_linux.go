package bench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readSystem reads the kernel's description of the machine and of a directory's file system.
func (m *Machine) readSystem(dir string) error {
	m.Processor = processorName()
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return err
	}
	m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	m.Kernel = unix.ByteSliceToString(name.Release[:])
	var system unix.Statfs_t
	if err := unix.Statfs(dir, &system); err != nil {
		return err
	}
	m.FileSystem = fileSystemName(int64(system.Type))
	return nil
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

// syncData makes the bytes of a file durable.
func syncData(file *os.File) error { return unix.Fdatasync(int(file.Fd())) }
