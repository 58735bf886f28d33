package spill

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// supported says that files can be mapped here.
const supported = true

// mapPart makes the file so long that it has a part, and maps that.
func mapPart(f *os.File, from int64, size int) ([]byte, error) {
	if err := f.Truncate(from + int64(size)); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.Fd()), from, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmap(part []byte) { _ = unix.Munmap(part) }

// leave has the pages of a map leave the memory of the process. They are read again when needed.
func leave(part []byte) { _ = unix.Madvise(part, unix.MADV_DONTNEED) }

// writeParts writes parts behind one another.
func writeParts(f *os.File, parts [][]byte, offset int64) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	// The descriptor stays open for as long.
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var written int
	var failed error
	err = conn.Control(func(fd uintptr) {
		for {
			written, failed = unix.Pwritev(int(fd), parts, offset)
			if !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	})
	if err = errors.Join(err, failed); err == nil && written < size {
		err = io.ErrShortWrite
	}
	return err
}

// punch frees the space of a part of the file, where the file system can do that.
func punch(f *os.File, offset, size int64) {
	_ = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, size)
}
