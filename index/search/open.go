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

// formatVersion is the version of documents and words; an index with another one is rebuilt.
const formatVersion = 5

// The file names in the directory.
const (
	formatName    = "format"
	closedSumName = "seal"
	storeName     = "store"
	boltName      = "root.bolt"
)

// ErrForeign reports a directory with files that this package has not written and so must not
// remove.
var ErrForeign = errors.New("is not a search index")

// Open opens or creates the index in a directory that only the caller uses. The mark identifies the
// service: an index with another mark belongs to other data. An index that cannot be used is
// replaced by an empty one, and recreated is the reason.
func Open(dir string, mark []byte) (x *Index, recreated error, err error) {
	if err := requireOwn(dir); err != nil {
		return nil, nil, err
	}
	format := fmt.Sprintf("pws search %d %x\n", formatVersion, mark)
	found, err := os.ReadFile(filepath.Join(dir, formatName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// The format file is written last: without it there is no valid index.
	case err != nil:
		return nil, nil, err
	case string(found) != format:
		recreated = fmt.Errorf("its format is %q", strings.TrimSpace(string(found)))
	default:
		if _, _, recreated = Check(dir); recreated == nil {
			if x, recreated = openStore(dir); recreated == nil {
				return x, nil, nil
			}
		}
	}
	if x, err = recreate(dir, format); err != nil {
		return nil, recreated, err
	}
	return x, recreated, nil
}

// recreate removes any index and creates an empty one.
func recreate(dir, format string) (*Index, error) {
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

// Remove removes an index. Errors: ErrForeign.
func Remove(dir string) error {
	if err := requireOwn(dir); err != nil {
		return err
	}
	// The format file is removed first: without it, a partially removed index is not used.
	if err := os.Remove(filepath.Join(dir, formatName)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// requireOwn returns ErrForeign for a path that is not a directory or contains other files.
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
			return fmt.Errorf("%s %w: it contains %s", dir, ErrForeign, name.Name())
		}
	}
	return nil
}

func openStore(dir string) (*Index, error) {
	x := &Index{dir: dir, most: candidatesMax}
	// The checksum is that of the closed store; the store changes from now on.
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
	x.analysis, x.rounds = index.NewAnalysisQueue(1), newRounds()
	err := guarded(func() (err error) {
		if x.scorch, err = scorch.NewScorch(scorch.Name, x.config(readOnly), x.analysis); err == nil {
			roundsOf.Store(x.scorch, x.rounds)
			err = x.scorch.Open()
		}
		return err
	})
	if err != nil {
		roundsOf.Delete(x.scorch)
		x.analysis.Close()
	}
	return err
}

// Check verifies an index that is not in use: the file that names the segments by the checksum of a
// clean stop if there is one, and the segments by their own checksums. It returns the number of
// documents and the position.
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
