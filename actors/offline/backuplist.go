package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pws/internal/datadir"
	"pws/internal/disk"
)

// backupList is what a backup says it has. A log that lost its end looks like one whose server
// crashed, and only this list tells them apart. Its file is lines of text:
//
//	pws backup 1
//	last POSITION                the last entry of the log
//	file CHECKSUM BYTES PATH     per file, in the order of the paths
//	sum CHECKSUM                 of all lines before
//
// Checksums are CRC-32C in hexadecimal digits. A file that is a hard link has "-": it was not read,
// and its own format has checksums.
type backupList struct {
	last  uint64
	files []listedFile
}

// listedFile is a file of a backup; its path has slashes.
type listedFile struct {
	path string
	size int64
	sum  string
}

const (
	backupTitle = "pws backup 1\n"
	noBackupSum = "-"
)

// listOf lists the files of a copy AFTER they were put.
func listOf(files []takenFile, last uint64) *backupList {
	l := &backupList{last: last}
	for i := range files {
		one := &files[i]
		_, size := one.reader()
		l.files = append(l.files, listedFile{filepath.ToSlash(one.name), size, one.sum})
	}
	slices.SortFunc(l.files, func(a, b listedFile) int { return strings.Compare(a.path, b.path) })
	return l
}

// write makes the list durable in the folder of the backup.
func (l *backupList) write(d disk.Disk, dir string) error {
	text := fmt.Appendf(nil, "%slast %d\n", backupTitle, l.last)
	for i := range l.files {
		one := &l.files[i]
		text = fmt.Appendf(text, "file %s %d %s\n", one.sum, one.size, one.path)
	}
	text = fmt.Appendf(text, "sum %08x\n", disk.Checksum(text))
	_, err := writeFile(d, filepath.Join(dir, datadir.BackupName), bytes.NewReader(text))
	return errors.Join(err, d.SyncDir(dir))
}

// readBackupList returns the list of a backup, and nil where there is none: older backups and data
// directories have none. Errors: a *Damage, and what kept it from reading.
func readBackupList(dir string) (*backupList, error) {
	name := filepath.Join(dir, datadir.BackupName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, ok := parseBackupList(text)
	if !ok {
		damage := new(Damage)
		damage.addf("%s is damaged", name)
		return nil, damage
	}
	return l, nil
}

// parseBackupList reports false for what is no complete list.
func parseBackupList(text []byte) (*backupList, bool) {
	end := bytes.LastIndex(text, []byte("\nsum ")) + 1
	body, ok := strings.CutPrefix(string(text[:end]), backupTitle)
	if !ok || string(text[end:]) != fmt.Sprintf("sum %08x\n", disk.Checksum(text[:end])) {
		return nil, false
	}
	l := new(backupList)
	for line := range strings.Lines(body) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		var err error
		switch {
		case len(fields) == 2 && fields[0] == "last":
			l.last, err = strconv.ParseUint(fields[1], 10, 64)
		case len(fields) == 4 && fields[0] == "file":
			one := listedFile{path: fields[3], sum: fields[1]}
			one.size, err = strconv.ParseInt(fields[2], 10, 64)
			l.files = append(l.files, one)
		default:
			return nil, false
		}
		if err != nil {
			return nil, false
		}
	}
	return l, true
}

// check collects where a folder differs from the list. It returns what kept it from reading.
func (l *backupList) check(dir string, damage *Damage) error {
	listed := map[string]bool{}
	for i := range l.files {
		listed[l.files[i].path] = true
		if err := l.files[i].check(dir, damage); err != nil {
			return err
		}
	}
	for _, part := range append(slices.Clone(partNames), datadir.UploadsName) {
		entries, err := os.ReadDir(filepath.Join(dir, part))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if !listed[part+"/"+entry.Name()] {
				damage.addf("%s was not in the backup", filepath.Join(dir, part, entry.Name()))
			}
		}
	}
	return nil
}

func (f *listedFile) check(dir string, damage *Damage) error {
	name := filepath.Join(dir, filepath.FromSlash(f.path))
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		damage.addf("%s is missing: it was in the backup", name)
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.size {
		damage.addf("%s has %s, and had %d in the backup", name,
			counted(info.Size(), "byte", "bytes"), f.size)
		return nil
	}
	if f.sum == noBackupSum {
		return nil
	}
	var sum checksum
	if _, err := io.Copy(&sum, file); err != nil {
		return err
	}
	if sum.String() != f.sum {
		damage.addf("%s is damaged: it does not have the checksum that it had in the backup", name)
	}
	return nil
}

// checkBackup compares a folder with its list. It returns nil for one without. Errors: a *Damage,
// and what kept it from reading.
func checkBackup(dir string) (*backupList, error) {
	l, err := readBackupList(dir)
	if l == nil || err != nil {
		return nil, err
	}
	damage := new(Damage)
	if err := l.check(dir, damage); err != nil {
		return nil, err
	}
	if len(damage.Faults) > 0 {
		return nil, damage
	}
	return l, nil
}

// requireBackup is checkBackup for those who go on to use what is there.
func requireBackup(dir string) (*backupList, error) {
	l, err := checkBackup(dir)
	return l, notAsListed(dir, err)
}

// notAsListed adds to damage what to do.
func notAsListed(dir string, err error) error {
	if err != nil {
		err = fmt.Errorf("the backup in %s is not as its list %s says; use another backup, or remove "+
			"the list to use what is there unchecked: %w", dir, datadir.BackupName, err)
	}
	return err
}

// checkLast returns a fault if the log of a backup does not end where its list says.
func (l *backupList) checkLast(last uint64) error {
	if l == nil || l.last == last {
		return nil
	}
	return fmt.Errorf("the log ends with entry %d, and ended with entry %d in the backup", last,
		l.last)
}

// Listed is what is known of a backup by its list.
type Listed struct {
	Files int
	Last  uint64
}

func (l *backupList) report() *Listed {
	if l == nil {
		return nil
	}
	return &Listed{Files: len(l.files), Last: l.last}
}

// Adopt makes the folder of a backup a data directory for a server, which changes it: the list goes
// AFTER the folder was compared with it, and BEFORE a log that has lost its end could be cut. It
// does nothing to other folders. Errors: a *Damage, and those of the file system.
func Adopt(dir string) error {
	l, err := requireBackup(dir)
	if l == nil || err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, datadir.BackupName)); err != nil {
		return err
	}
	return datadir.SyncDir(dir)
}

// checksum is a CRC-32C of what is written to it.
type checksum uint32

func (c *checksum) Write(b []byte) (int, error) {
	*c = checksum(disk.UpdateChecksum(uint32(*c), b))
	return len(b), nil
}

// String gives it as a backupList has it.
func (c checksum) String() string { return fmt.Sprintf("%08x", uint32(c)) }
