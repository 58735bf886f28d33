package search

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// formatVersion counts the forms of documents and words; an index of another one is made anew.
const formatVersion = 4

// The names in the folder.
const (
	formatName    = "format"
	closedSumName = "seal"
	storeName     = "store"
	boltName      = "root.bolt"
)

// ErrForeign says that a folder holds what this package has not written, and so will not remove.
var ErrForeign = errors.New("is not a search index")

// Open opens the index in a folder that the caller alone uses, or makes one. The mark is the
// service's own: an index with another one belongs to other data. Where there was one that cannot
// be used it is removed, and anew says why.
func Open(dir string, mark []byte) (x *Index, anew error, err error) {
	if err := requireOwn(dir); err != nil {
		return nil, nil, err
	}
	format := fmt.Sprintf("pws search %d %x\n", formatVersion, mark)
	found, err := os.ReadFile(filepath.Join(dir, formatName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Nothing is in force before the file of the format is written.
	case err != nil:
		return nil, nil, err
	case string(found) != format:
		anew = fmt.Errorf("its format is %q", strings.TrimSpace(string(found)))
	default:
		if _, _, anew = Check(dir); anew == nil {
			if x, anew = openStore(dir); anew == nil {
				return x, nil, nil
			}
		}
	}
	if x, err = makeAnew(dir, format); err != nil {
		return nil, anew, err
	}
	return x, anew, nil
}

// makeAnew removes what there is and makes an empty index.
func makeAnew(dir, format string) (*Index, error) {
	if err := Remove(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	x, err := openStore(dir)
	if err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(dir, formatName), format); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Remove takes an index away. Errors: ErrForeign.
func Remove(dir string) error {
	if err := requireOwn(dir); err != nil {
		return err
	}
	// Without the format the rest is no longer in force, should this end in the middle.
	if err := os.Remove(filepath.Join(dir, formatName)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// requireOwn refuses what is no folder, or a folder with something else in it.
func requireOwn(dir string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %w: %w", dir, ErrForeign, err)
	}
	for _, name := range names {
		switch name.Name() {
		case formatName, closedSumName, storeName:
		default:
			return fmt.Errorf("%s %w: it holds %s", dir, ErrForeign, name.Name())
		}
	}
	return nil
}

func openStore(dir string) (*Index, error) {
	x := &Index{dir: dir}
	// The checksum is that of the store as it was closed; from now on the store changes.
	if err := os.Remove(filepath.Join(dir, closedSumName)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	opened.Store(filepath.Join(dir, storeName), x)
	if err := x.openScorch(false); err != nil {
		opened.Delete(filepath.Join(dir, storeName))
		return nil, err
	}
	return x, nil
}

func (x *Index) openScorch(readOnly bool) error {
	x.analysis = index.NewAnalysisQueue(1)
	err := guarded(func() (err error) {
		if x.scorch, err = scorch.NewScorch(scorch.Name, x.config(readOnly), x.analysis); err == nil {
			err = x.scorch.Open()
		}
		return err
	})
	if err != nil {
		x.analysis.Close()
	}
	return err
}

// Check reads an index that nobody uses, and finds what is damaged in it: the file that names the
// segments by the checksum of a clean stop where there is one, and the segments by their own. It
// returns how many documents there are, and the position.
func Check(dir string) (documents, position uint64, err error) {
	bolt := filepath.Join(dir, storeName, boltName)
	if err := checkClosedSum(dir, bolt); err != nil {
		return 0, 0, err
	}
	if _, err := os.Stat(bolt); err != nil {
		return 0, 0, err
	}
	x := &Index{dir: dir}
	if err := x.openScorch(true); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", bolt, err)
	}
	defer func() { err = errors.Join(err, x.closeStore(false)) }()
	if position, err = x.Position(); err != nil {
		return 0, 0, err
	}
	err = x.read(func(reader index.IndexReader) (err error) {
		if documents, err = reader.DocCount(); err != nil {
			return err
		}
		snapshot, ok := reader.(*scorch.IndexSnapshot)
		if !ok {
			return fmt.Errorf("the reader is a %T", reader)
		}
		for _, one := range snapshot.Segments() {
			stored, ok := one.Segment().(segment.PersistedSegment)
			if !ok {
				continue
			}
			if err := checkSegment(stored.Path()); err != nil {
				return err
			}
		}
		return nil
	})
	return documents, position, err
}

// checkSegment compares the CRC-32 at the end of a segment with the bytes before it.
func checkSegment(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	const tail = 4
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, file, info.Size()-tail); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var want [tail]byte
	if _, err := io.ReadFull(file, want[:]); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if sum.Sum32() != binary.BigEndian.Uint32(want[:]) {
		return fmt.Errorf("%s: its checksum is wrong", name)
	}
	return nil
}

func checkClosedSum(dir, bolt string) error {
	want, err := os.ReadFile(filepath.Join(dir, closedSumName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sum, err := hashOf(bolt)
	if err == nil && sum != strings.TrimSpace(string(want)) {
		err = fmt.Errorf("%s has changed since it was closed", bolt)
	}
	return err
}

func (x *Index) writeClosedSum() error {
	sum, err := hashOf(filepath.Join(x.dir, storeName, boltName))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(x.dir, closedSumName), sum+"\n")
}

func hashOf(name string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

func writeFile(name, text string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}
