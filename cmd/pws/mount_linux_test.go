package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// mountSmall mounts a file system in memory of a size, such as 1m. It takes the rights of root.
func mountSmall(dir, size string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
}

func unmountSmall(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// allocate gives a file space without writing it.
func allocate(file *os.File, size int64) error {
	return unix.Fallocate(int(file.Fd()), 0, 0, size)
}
