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
	// flush brings a part of the file to the disk, and pause lets others use it.
	flush func(f osFile, offset, bytes int64) error
	pause func(time.Duration)
}

func newPacedFile(f osFile) *pacedFile {
	return &pacedFile{osFile: f, flush: flushRange, pause: time.Sleep}
}

// Write implements io.Writer. Nothing is durable BEFORE Sync.
func (f *pacedFile) Write(data []byte) (written int, err error) {
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
			if err := f.flush(f.osFile, f.begun, pieceBytes); err != nil {
				return written, err
			}
			f.begun = f.end
			f.pause(time.Since(started))
		}
		if written == len(data) {
			return written, nil
		}
	}
}
