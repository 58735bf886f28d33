package disk

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// flushRange writes a part of a file to the disk and waits for that. It makes nothing durable, but
// leaves less to do for the next sync. A failure of the disk is reported here or by Sync, not by
// both. File systems without it have an error that does not matter.
func flushRange(f osFile, offset, bytes int64) error {
	for {
		err := unix.SyncFileRange(int(f.Fd()), offset, bytes, unix.SYNC_FILE_RANGE_WAIT_BEFORE|
			unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		switch {
		case err == nil, errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL),
			errors.Is(err, unix.ESPIPE):
			return nil
		case errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("write %s to the disk: %w", f.Name(), err)
		}
	}
}
