package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves space for a file up to a size, which reads as zeros, so that a later Datasync
// of what is written there has no new length to make durable. A file system that cannot reserve, or
// that has no room for it, leaves the file as it is; that is no error.
func allocate(f *os.File, size int64) (reserved bool, err error) {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS),
			errors.Is(err, unix.EFBIG), systemFull(err):
			return false, nil
		}
		return false, &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}

// Datasync makes the bytes of a file durable, with its length if that has changed, and without its
// times.
func Datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil:
			return nil
		}
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
}

// goDirect has a file read and written past the page cache, and returns the length of the blocks in
// which that is done. It returns 0 and leaves the file as it is where the file system, or a kernel
// before 6.1, does not say how long they are, or where they are longer than a page.
func goDirect(f *os.File) (block int) {
	var st unix.Statx_t
	fd := int(f.Fd())
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &st); err != nil {
		return 0
	}
	block = int(st.Dio_offset_align)
	if block == 0 || block > blockMax || blockMax%block != 0 || st.Dio_mem_align > blockMax {
		return 0
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return 0
	}
	if _, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT); err != nil {
		return 0
	}
	return block
}
