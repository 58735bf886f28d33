package uploads

import (
	"path/filepath"

	"pws/internal/disk"
)

// Report is the result of Verify.
type Report struct {
	Uploads int
	Parts   int
	// Bytes are those of the files.
	Bytes  int64
	Damage disk.DamageList
}

// Verify reads every file and checks it, without changing anything. The error is nil if all is
// sound, a *disk.CorruptError for the first damage (the report has the rest), and otherwise what
// kept Verify from reading; ErrLocked while a store has the directory open.
func Verify(dir string) (Report, error) { return verify(disk.OS{}, dir) }

func verify(d disk.Disk, dir string) (Report, error) {
	var r Report
	lock, err := d.Lock(dir, disk.Shared)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	names, err := d.List(dir)
	if err != nil {
		return r, err
	}
	for _, name := range names {
		_, number, ok := parseName(name)
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		part, err := readHead(d, path, number)
		if err == nil {
			_, err = readContent(d, path, part)
		}
		if err != nil {
			if err := r.Damage.Note(err); err != nil {
				return r, err
			}
			continue
		}
		r.Bytes += part.fileBytes()
		switch number {
		case RecordNumber:
			r.Uploads++
		case NoteNumber:
		default:
			r.Parts++
		}
	}
	return r, r.Damage.Err()
}
