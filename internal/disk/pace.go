package disk

import "time"

// pieceBytes is how much of a new file the kernel may hold BEFORE it has to be on its way to the
// disk. A sync of the log waits for all that other files have given to the disk, so a file that is
// written in the background goes there in pieces, with as much time between them as each took.
const pieceBytes = 1 << 20

// pacedFile is a new file that is written in pieces.
type pacedFile struct {
	osFile
	// begun is the offset of the piece that is being written, and end that of the next byte.
	begun, end int64
	// failed is the error of a piece. The kernel reports it only once, so that a sync of the file
	// would succeed AFTER it although the piece is not on the disk.
	failed error
	// flush brings a part of the file to the disk, and pause lets others use it.
	flush func(f osFile, offset, bytes int64) error
	pause func(time.Duration)
}

func newPacedFile(f osFile) *pacedFile {
	return &pacedFile{osFile: f, flush: flushRange, pause: time.Sleep}
}

// Write implements io.Writer. Nothing is durable BEFORE Sync. AFTER a piece has failed, all further
// writes and syncs fail.
func (f *pacedFile) Write(data []byte) (written int, err error) {
	if f.failed != nil {
		return 0, f.failed
	}
	for {
		part := data[written:min(len(data), written+int(f.begun+pieceBytes-f.end))]
		n, err := f.osFile.Write(part)
		written += n
		f.end += int64(n)
		if err != nil {
			return written, err
		}
		if f.end-f.begun == pieceBytes {
			started := time.Now()
			if f.failed = f.flush(f.osFile, f.begun, pieceBytes); f.failed != nil {
				return written, f.failed
			}
			f.begun = f.end
			f.pause(time.Since(started))
		}
		if written == len(data) {
			return written, nil
		}
	}
}

// Sync makes what was written durable.
func (f *pacedFile) Sync() error {
	if f.failed != nil {
		return f.failed
	}
	return f.osFile.Sync()
}
