package disktest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// Holding returns a file below a folder that contains a text, in its bytes or in what a part of it
// holds in compressed form; "" for none. Letters of either case are equal.
func Holding(dir, text string) (name string, err error) {
	wanted := bytes.ToLower([]byte(text))
	err = filepath.WalkDir(dir, func(path string, one fs.DirEntry, err error) error {
		if err == nil && !one.Type().IsRegular() {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(path)
		}
		if path != dir && errors.Is(err, fs.ErrNotExist) {
			// A service that runs has removed it meanwhile.
			return nil
		}
		if err == nil && holds(data, wanted) {
			name = path
			err = fs.SkipAll
		}
		return err
	})
	return name, err
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// holds reports whether data, or what a zstd frame in it holds, contains a text in lower case.
func holds(data, text []byte) bool {
	if containsFold(data, text) {
		return true
	}
	for i := bytes.Index(data, zstdMagic); i >= 0; {
		data = data[i:]
		// Of one thread a decoder costs little where what looks like a frame is none.
		decoder, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
		if err == nil {
			// What follows the frame is none, so that an error comes AFTER its content.
			plain, _ := io.ReadAll(decoder)
			decoder.Close()
			if containsFold(plain, text) {
				return true
			}
		}
		data = data[1:]
		i = bytes.Index(data, zstdMagic)
	}
	return false
}

// containsFold reports whether data contains a text in lower case, in letters of either case. The
// race detector looks at each byte of a copy in lower case, which takes seconds for a data
// directory: this looks only where the first letter is.
func containsFold(data, text []byte) bool {
	for _, first := range [][]byte{text[:1], bytes.ToUpper(text[:1])} {
		for rest := data; ; rest = rest[1:] {
			i := bytes.IndexByte(rest, first[0])
			if i < 0 || len(rest)-i < len(text) {
				break
			}
			rest = rest[i:]
			if bytes.EqualFold(rest[:len(text)], text) {
				return true
			}
		}
	}
	return false
}
