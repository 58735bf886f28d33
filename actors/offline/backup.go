package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/journal"
	"pws/uploads"
)

// CopyOptions say what a copy is for.
type CopyOptions struct {
	// Link makes hard links of files that never change where the file system allows it. All others are
	// copies, written through the disk.
	Link bool
	// List writes the list of a backup, which later copies and checks are compared with. A directory
	// for a server has none.
	List bool
}

// Copy copies a data directory into a folder that does not exist or is empty. A server may run on
// the directory meanwhile, and it neither helps nor waits: what was durable when Copy began is in
// the copy, and of what was written since then whatever was there. The copy is checked with verify,
// and takes its name only AFTER it was found sound. A backup that has a list has to be as the
// list says.
func Copy(
	d disk.Disk, from, to string, options CopyOptions, verify func(dir string) (*Report, error),
) (report *Report, err error) {
	if to, err = filepath.Abs(to); err != nil {
		return nil, err
	}
	if err := datadir.Check(from); err != nil {
		return nil, err
	}
	if err := datadir.MakeRoom(to); err != nil {
		return nil, err
	}
	listed, err := requireBackup(from)
	if err != nil {
		return nil, err
	}
	files, err := take(from, true)
	if err != nil {
		return nil, err
	}
	defer files.close()
	partial := to + ".partial"
	if err := makeFolders(partial); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if files.noted {
		err = d.MakeDir(filepath.Join(partial, datadir.UploadsName))
	}
	if err == nil {
		err = files.put(d, partial, options.Link)
	}
	if err != nil {
		return nil, err
	}
	if report, err = verify(partial); err != nil {
		return nil, fmt.Errorf("the copy of %s is not sound and was removed: %w", from, err)
	}
	if err := notAsListed(from, listed.checkLast(report.Log.Last)); err != nil {
		return nil, err
	}
	if options.List {
		listed = listOf(files.files, report.Log.Last)
		if err := listed.write(d, partial); err != nil {
			return nil, err
		}
	}
	report.Listed = listed.report()
	if err := d.Rename(partial, to); err != nil {
		return nil, err
	}
	if report.Log.TornFile != "" {
		report.Log.TornFile = filepath.Join(to, datadir.LogName, filepath.Base(report.Log.TornFile))
	}
	if report.Feed.TornFile != "" {
		report.Feed.TornFile = filepath.Join(to, datadir.FeedName, filepath.Base(report.Feed.TornFile))
	}
	return report, d.SyncDir(filepath.Dir(to))
}

// partNames are the folders of a copy. Uploads are temporary, and their agents send them again: of
// these, only Copy takes the notes of contents that perhaps no project names.
var partNames = []string{datadir.LogName, datadir.SnapshotName, datadir.BlobsName, datadir.FeedName}

// makeFolders makes the folder of an unfinished copy; one that is there belongs to somebody else.
func makeFolders(partial string) error {
	err := disk.OS{}.MakeDir(filepath.Dir(partial))
	if err == nil {
		err = os.Mkdir(partial, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: another copy is under way, or one was "+
			"interrupted and is to be removed", partial)
	}
	if err != nil {
		return err
	}
	for _, name := range partNames {
		if err := os.Mkdir(filepath.Join(partial, name), 0o700); err != nil {
			return errors.Join(err, os.RemoveAll(partial))
		}
	}
	return nil
}

// takenFile is a file of a data directory at a moment: open, so that it stays readable when the
// server removes it, or small and read already.
type takenFile struct {
	name    string
	path    string
	file    *os.File
	size    int64
	content []byte
	// fixed says that the file never changes under its name.
	fixed bool
	// sum is the checksum of what was copied, as a backupList has it.
	sum string
}

// takenFiles are the files of one state of a data directory.
type takenFiles struct {
	dir   string
	files []takenFile
	// notes says that notes of contents are taken, and noted that there are some.
	notes, noted bool
}

// errMoved says that the server changed the directory too much while files were taken.
var errMoved = errors.New("the data directory changes too fast to be copied")

// attemptsMax bounds how often files are taken anew. Taking opens files and copies none, so that
// it is over long before the next snapshot as a rule.
const attemptsMax = 1000

// take opens the files of one consistent state.
func take(dir string, notes bool) (*takenFiles, error) {
	var err error
	for range attemptsMax {
		t := &takenFiles{dir: dir, notes: notes}
		if err = t.all(); err == nil {
			return t, nil
		}
		t.close()
		if !errors.Is(err, errMoved) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, err
}

// all takes the parts in the reverse of the order in which a server makes them: snapshot, packs,
// log. What a snapshot needs of packs and log was there BEFORE it, and it is still there unless
// something was removed meanwhile, which each step looks for.
func (t *takenFiles) all() error {
	for _, name := range []string{datadir.FormatName, datadir.SecretName} {
		if err := t.read(name); err != nil {
			return err
		}
	}
	// Data of an earlier program has none.
	if err := t.read(datadir.SecretSumName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	noted, err := t.erasure()
	if err != nil {
		return err
	}
	before, err := t.list(datadir.LogName, segmentNumber)
	if err != nil {
		return err
	}
	if err := t.snapshot(); err != nil {
		return err
	}
	if err := t.blobs(); err != nil {
		return err
	}
	if err := t.feed(); err != nil {
		return err
	}
	if err := t.log(before); err != nil {
		return err
	}
	again, err := datadir.ReadErasure(t.dir)
	if err == nil && (again.Due != noted.Due || !bytes.Equal(again.GivenUp, noted.GivenUp)) {
		err = errMoved
	}
	return err
}

// erasure takes the note of contents that are due to leave the disk. It must be the same AFTER the
// rest is taken: it is written when the server has read in the log that others have dropped them,
// and cleared AFTER they have left its files.
func (t *takenFiles) erasure() (noted datadir.Erasure, err error) {
	noted, err = datadir.ReadErasure(t.dir)
	if err != nil || !t.notes {
		return noted, err
	}
	if err := t.read(datadir.ErasureName); !errors.Is(err, fs.ErrNotExist) {
		return noted, err
	}
	return noted, nil
}

// feed takes the files of the feed. It has what the log was cut of BEFORE that, and of the log
// nothing that is not durable; what it lacks a start reads from the log. All but the last file
// never change, but others may take their places. Data of an earlier program has none.
func (t *takenFiles) feed() error {
	files, err := t.list(datadir.FeedName, numberBehind("feed-"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	first := len(t.files)
	for i, f := range files {
		if err == nil {
			err = t.open(datadir.FeedName, f.name, i+1 < len(files))
		}
	}
	for _, one := range t.files[first:] {
		if err == nil {
			err = one.inPlace()
		}
	}
	return err
}

// inPlace returns errMoved if another file has taken the place of an open one.
func (t *takenFile) inPlace() error {
	taken, err := t.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(t.path)
	if err == nil && !os.SameFile(taken, now) {
		err = errMoved
	}
	return err
}

// snapshot takes the newest manifest and the sections up to it. The files of a generation stay
// until the second one after it is made.
func (t *takenFiles) snapshot() error {
	generations, err := t.list(datadir.SnapshotName, numberBehind("manifest-"))
	if err != nil || len(generations) == 0 {
		return err
	}
	newest := generations[len(generations)-1]
	if err := t.open(datadir.SnapshotName, newest.name, true); err != nil {
		return err
	}
	sections, err := t.list(datadir.SnapshotName, numberBehind("sections-"))
	if err != nil {
		return err
	}
	for _, s := range sections {
		if s.number > newest.number {
			continue
		}
		if err := t.open(datadir.SnapshotName, s.name, true); err != nil {
			return err
		}
	}
	generations, err = t.list(datadir.SnapshotName, numberBehind("manifest-"))
	if err == nil && generations[len(generations)-1].number > newest.number+1 {
		err = errMoved
	}
	return err
}

// blobs takes the manifest and all packs. A pack is removed AFTER a manifest without it is there.
func (t *takenFiles) blobs() error {
	name := filepath.Join(datadir.BlobsName, "manifest")
	err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		packs, lerr := t.list(datadir.BlobsName, numberBehind("pack-"))
		if lerr != nil || len(packs) > 0 {
			return errors.Join(err, lerr)
		}
		return nil
	}
	if err != nil {
		return err
	}
	manifest := t.files[len(t.files)-1].content
	packs, err := t.list(datadir.BlobsName, numberBehind("pack-"))
	if err != nil {
		return err
	}
	for _, p := range packs {
		if err := t.open(datadir.BlobsName, p.name, true); err != nil {
			return err
		}
	}
	if err := t.uploads(); err != nil {
		return err
	}
	again, err := os.ReadFile(filepath.Join(t.dir, name))
	if err == nil && !bytes.Equal(again, manifest) {
		err = errMoved
	}
	return err
}

// uploads takes the notes of contents and the records of their uploads. A note is durable BEFORE
// the contents are in packs, and is removed AFTER the project that names them is in the log, which
// is taken later, or AFTER the packs are without them.
func (t *takenFiles) uploads() error {
	if !t.notes {
		return nil
	}
	files, err := os.ReadDir(filepath.Join(t.dir, datadir.UploadsName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	for _, file := range files {
		record, ok := uploads.RecordOfNote(file.Name())
		if !ok {
			continue
		}
		err := t.open(datadir.UploadsName, record, false)
		if errors.Is(err, fs.ErrNotExist) {
			// The upload was being removed when the server stopped: a start removes the note, too.
			continue
		}
		t.noted = true
		if err == nil {
			err = t.open(datadir.UploadsName, file.Name(), false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// log takes the segments. The list has to be the same afterwards, but for new segments behind it,
// and it has to begin where it began BEFORE the snapshot was taken: then nothing was cut that this
// snapshot does not cover.
func (t *takenFiles) log(before []numbered) error {
	segments, err := t.list(datadir.LogName, segmentNumber)
	if err != nil {
		return err
	}
	first := len(t.files)
	for _, s := range segments {
		if err := t.open(datadir.LogName, s.name, false); err != nil {
			return err
		}
	}
	for i := first; i < len(t.files); i++ {
		if t.files[i].size, err = journal.Extent(t.files[i].path); err != nil {
			return err
		}
	}
	after, err := t.list(datadir.LogName, segmentNumber)
	if err != nil {
		return err
	}
	if len(before) == 0 || len(segments) == 0 || before[0] != segments[0] ||
		len(after) < len(segments) || !slices.Equal(after[:len(segments)], segments) {
		return errMoved
	}
	return nil
}

// numbered is a file whose name carries a number.
type numbered struct {
	name   string
	number uint64
}

// numberBehind reads names of a prefix and a number of eight hexadecimal digits.
func numberBehind(prefix string) func(string) (uint64, bool) {
	return func(name string) (uint64, bool) {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok || len(digits) != 8 {
			return 0, false
		}
		number, err := strconv.ParseUint(digits, 16, 32)
		return number, err == nil
	}
}

// segmentNumber reads the name of a log segment, twenty decimal digits.
func segmentNumber(name string) (uint64, bool) {
	number, err := strconv.ParseUint(name, 10, 64)
	return number, err == nil && len(name) == 20
}

// list gives the files of a part in the order of their numbers.
func (t *takenFiles) list(part string, number func(string) (uint64, bool)) ([]numbered, error) {
	names, err := os.ReadDir(filepath.Join(t.dir, part))
	if err != nil {
		return nil, err
	}
	var found []numbered
	for _, name := range names {
		if n, ok := number(name.Name()); ok {
			found = append(found, numbered{name: name.Name(), number: n})
		}
	}
	slices.SortFunc(found, func(a, b numbered) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func (t *takenFiles) read(name string) error {
	content, err := os.ReadFile(filepath.Join(t.dir, name))
	if err == nil {
		t.files = append(t.files, takenFile{name: name, content: content})
	}
	return err
}

func (t *takenFiles) open(part, name string, fixed bool) error {
	taken := takenFile{name: filepath.Join(part, name), fixed: fixed}
	taken.path = filepath.Join(t.dir, taken.name)
	file, err := os.Open(taken.path)
	if err != nil {
		return err
	}
	taken.file = file
	t.files = append(t.files, taken)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t.files[len(t.files)-1].size = info.Size()
	return nil
}

func (t *takenFiles) close() {
	for _, taken := range t.files {
		if taken.file != nil {
			taken.file.Close()
		}
	}
}

// put makes the files durable in a new folder.
func (t *takenFiles) put(d disk.Disk, dir string, link bool) error {
	for i := range t.files {
		if err := t.files[i].put(d, dir, link); err != nil {
			return err
		}
	}
	if t.noted {
		if err := d.SyncDir(filepath.Join(dir, datadir.UploadsName)); err != nil {
			return err
		}
	}
	return syncFolders(d, dir)
}

func (t *takenFile) put(d disk.Disk, dir string, link bool) error {
	name := filepath.Join(dir, t.name)
	if link && t.fixed && t.link(name) {
		t.sum = noBackupSum
		return nil
	}
	content, _ := t.reader()
	sum, err := writeFile(d, name, content)
	t.sum = sum.String()
	return err
}

// link reports false where the file has to be copied: on another file system, or where another file
// has the name by now.
func (t *takenFile) link(name string) bool {
	if err := os.Link(t.path, name); err != nil {
		return false
	}
	linked, linkedErr := os.Lstat(name)
	taken, takenErr := t.file.Stat()
	if linkedErr == nil && takenErr == nil && os.SameFile(taken, linked) {
		return true
	}
	// Where the removal fails too, making the file anew says so.
	_ = os.Remove(name)
	return false
}
