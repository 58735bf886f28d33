package disk

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Lengths in bytes of the parts in the package doc.
const (
	HeaderBytes  = 24
	FooterBytes  = 48
	FileRefBytes = 16

	// FileRefsMax is the maximum number of files in a manifest.
	FileRefsMax = 1 << 16
)

var le = binary.LittleEndian

// NumberedName returns a prefix followed by a number.
func NumberedName(prefix string, number uint32) string {
	return fmt.Sprintf("%s%08x", prefix, number)
}

// ParseName returns the number in a name made by NumberedName.
func ParseName(name, prefix string) (uint32, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || len(digits) != 8 {
		return 0, false
	}
	var n uint32
	for _, c := range []byte(digits) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// AppendHeader appends the header of a numbered file.
func AppendHeader(b []byte, magic string, version, number uint32) []byte {
	start := len(b)
	b = append(b, magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, number)
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, Checksum(b[start:]))
}

// CheckHeader checks a header made by AppendHeader. Its errors are ErrCorrupt and ErrNewer.
func CheckHeader(name string, b []byte, magic string, version, number uint32) error {
	switch {
	case len(b) < HeaderBytes:
		return Corrupt(name, 0, "file ends inside its header")
	case string(b[:8]) != magic:
		return Corrupt(name, 0, "file does not begin with %s", magic)
	case Checksum(b[:20]) != le.Uint32(b[20:]):
		return Corrupt(name, 0, "header checksum does not match")
	case le.Uint32(b[8:]) != version:
		return UnknownVersion(name, 8, le.Uint32(b[8:]), version)
	case le.Uint32(b[12:]) != number:
		return Corrupt(name, 12, "header says file %d", le.Uint32(b[12:]))
	}
	return nil
}

// Footer is the end of a numbered file. Each store has its own meaning of the words.
type Footer struct {
	Words            [3]uint64
	Number, IndexCRC uint32
	Salt             uint32 // 0 in the files of a store that has none
	CRC              uint32 // of the footer; AppendFooter computes it
}

// AppendFooter appends the footer of a numbered file.
func AppendFooter(b []byte, magic string, f Footer) []byte {
	start := len(b)
	for _, word := range f.Words {
		b = le.AppendUint64(b, word)
	}
	b = le.AppendUint32(b, f.Number)
	b = le.AppendUint32(b, f.IndexCRC)
	b = le.AppendUint32(b, f.Salt)
	b = append(b, magic...)
	return le.AppendUint32(b, Checksum(b[start:]))
}

// ParseFooter checks the last FooterBytes of a file of the given size. The caller checks the words.
func ParseFooter(name string, b []byte, size int64, magic string) (Footer, error) {
	at := size - FooterBytes
	if len(b) != FooterBytes || at < HeaderBytes {
		return Footer{}, Corrupt(name, 0, "file of %d bytes is too short", size)
	}
	f := Footer{Number: le.Uint32(b[24:]), IndexCRC: le.Uint32(b[28:]),
		Salt: le.Uint32(b[32:]), CRC: le.Uint32(b[44:])}
	if string(b[36:44]) != magic || Checksum(b[:44]) != f.CRC {
		return Footer{}, Corrupt(name, at, "footer checksum does not match")
	}
	for i := range f.Words {
		f.Words[i] = le.Uint64(b[8*i:])
	}
	return f, nil
}

// FileRef is the entry of a numbered file in a manifest.
type FileRef struct {
	Number, FooterCRC uint32
	Size              int64
}

// AppendFileRefs appends the end of a manifest that begins at start: its files and the checksum.
func AppendFileRefs(b []byte, start int, files []FileRef) []byte {
	b = le.AppendUint32(b, uint32(len(files)))
	for _, f := range files {
		b = le.AppendUint32(b, f.Number)
		b = le.AppendUint64(b, uint64(f.Size))
		b = le.AppendUint32(b, f.FooterCRC)
	}
	return le.AppendUint32(b, Checksum(b[start:]))
}

// CheckManifest checks length, magic, checksum and version of a manifest. headBytes is the length
// of everything before the files. Its errors are ErrCorrupt and ErrNewer.
func CheckManifest(name string, b []byte, magic string, version uint32, headBytes int) error {
	if len(b) < headBytes+4 {
		return Corrupt(name, int64(len(b)), "manifest ends early")
	}
	if string(b[:8]) != magic {
		return Corrupt(name, 0, "not a manifest")
	}
	end := len(b) - 4
	if Checksum(b[:end]) != le.Uint32(b[end:]) {
		return Corrupt(name, 0, "manifest checksum does not match")
	}
	if v := le.Uint32(b[8:]); v != version {
		return UnknownVersion(name, 8, v, version)
	}
	return nil
}

// ParseFileRefs returns the files of a manifest that CheckManifest has checked. Their numbers must
// increase and be less than limit; on a violation the files before it are returned with the error.
func ParseFileRefs(name string, b []byte, headBytes int, limit uint64) ([]FileRef, error) {
	head := int64(headBytes)
	n := int64(le.Uint32(b[head-4:]))
	if n > FileRefsMax || head+n*FileRefBytes != int64(len(b)-4) {
		return nil, Corrupt(name, head-4, "manifest length does not fit %d files", n)
	}
	var files []FileRef
	for i := range n {
		at := head + i*FileRefBytes
		size := le.Uint64(b[at+4:])
		f := FileRef{Number: le.Uint32(b[at:]), FooterCRC: le.Uint32(b[at+12:]), Size: int64(size)}
		if size > math.MaxInt64 || uint64(f.Number) >= limit ||
			(i > 0 && f.Number <= files[i-1].Number) {
			return files, Corrupt(name, at, "manifest names file %d out of order", f.Number)
		}
		files = append(files, f)
	}
	return files, nil
}

// ReadManifest reads a whole open manifest, which has at most FileRefsMax files.
func ReadManifest(f File, name string, headBytes int64) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > headBytes+FileRefsMax*FileRefBytes+4 {
		return nil, Corrupt(name, 0, "manifest of %d bytes is too long", size)
	}
	b := make([]byte, size)
	return b, ReadRange(f, name, 0, b)
}
