package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a tmpfs of a size such as 1m. It needs root privileges.
func mountSmall(dir, size string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size)
}

func unmountSmall(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// allocate reserves space for a file without writing to it.
func allocate(file *os.File, size int64) error {
	return unix.Fallocate(int(file.Fd()), 0, 0, size)
}
