package offline

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"pws/internal/datadir"
	"pws/internal/disk"
)

// Send writes a copy of a data directory, as Copy would make it, as a tar archive. A server may run
// on the directory.
func Send(from string, to io.Writer) error {
	files, err := take(from, false)
	if err != nil {
		return err
	}
	defer files.close()
	archive := tar.NewWriter(to)
	for i := range files.files {
		one := &files.files[i]
		if one.name == datadir.SecretSumName {
			// An earlier program would refuse the archive. A start writes the file.
			continue
		}
		content, size := one.reader()
		err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: filepath.ToSlash(one.name), Size: size, Mode: 0o600,
		})
		if err == nil {
			_, err = io.Copy(archive, content)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// reader reads the file as it was taken.
func (t *takenFile) reader() (content io.Reader, size int64) {
	if t.file != nil {
		return io.NewSectionReader(t.file, 0, t.size), t.size
	}
	return bytes.NewReader(t.content), int64(len(t.content))
}

// Receive makes a data directory, which does not exist, of what Send has written, and checks it. It
// makes nothing where it fails, and then the error says what is wrong with the archive or the data.
func Receive(
	d disk.Disk, from io.Reader, to string, verify func(dir string) (*Report, error),
) (report *Report, err error) {
	if err := makeFolders(to); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = receiveFile(d, to, header, archive)
		}
		if err != nil {
			return nil, fmt.Errorf("the copy: %w", err)
		}
	}
	if err := syncFolders(d, to); err != nil {
		return nil, err
	}
	if report, err = verify(to); err != nil {
		return nil, fmt.Errorf("the copy is not sound and was removed: %w", err)
	}
	return report, nil
}

// receiveFile makes one file of an archive. Only files of the parts of a copy are taken.
func receiveFile(d disk.Disk, to string, header *tar.Header, content io.Reader) error {
	folder, name := path.Split(header.Name)
	part := path.Clean(folder)
	own := part == "." && (name == datadir.FormatName || name == datadir.SecretName)
	if header.Typeflag != tar.TypeReg || !own && !slices.Contains(partNames, part) ||
		header.Name != path.Join(part, name) || !filepath.IsLocal(header.Name) {
		return fmt.Errorf("it has %q, which is not a file of a data directory", header.Name)
	}
	_, err := writeFile(d, filepath.Join(to, filepath.FromSlash(header.Name)), content)
	return err
}

// writeFile makes a durable file, and returns the checksum of its content.
func writeFile(d disk.Disk, name string, content io.Reader) (sum checksum, err error) {
	file, err := d.Create(name)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(file, io.TeeReader(content, &sum))
	return sum, errors.Join(err, file.Sync(), file.Close())
}

// syncFolders makes the names in a copy durable.
func syncFolders(d disk.Disk, dir string) error {
	for _, name := range partNames {
		if err := d.SyncDir(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return d.SyncDir(dir)
}
