package disk

import (
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of b.
func Checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// UpdateChecksum extends a CRC-32C by b.
func UpdateChecksum(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// The codecs of stored content, as they are written to disk.
const (
	CodecRaw  = 0
	CodecZstd = 1
)

// ContentBytesMax is the maximum size that Decode returns.
const ContentBytesMax = 256 << 20

// One encoder and one decoder serve the process; EncodeAll and DecodeAll are safe to share.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("disk: zstd encoder options: " + err.Error())
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(ContentBytesMax),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic("disk: zstd decoder options: " + err.Error())
	}
	return d
})

// encodeBytesMin is the shortest content that is compressed. Of a shorter one, zstd would save some
// twenty bytes, and reading it would take five times as long.
const encodeBytesMin = 128

// Encode appends the stored form of data to dst and says which codec it is in: raw where data is
// short or zstd would not make it smaller.
func Encode(dst, data []byte) ([]byte, byte) {
	if len(data) < encodeBytesMin {
		return append(dst, data...), CodecRaw
	}
	start := len(dst)
	dst = encoder().EncodeAll(data, dst)
	if len(dst)-start < len(data) {
		return dst, CodecZstd
	}
	return append(dst[:start], data...), CodecRaw
}

// Content is stored content with the lengths and codec from its header.
type Content struct {
	Codec  byte
	Raw    uint32 // length when decoded
	Stored []byte
}

// Fits reports whether codec and lengths are possible results of Encode.
func (c Content) Fits() bool {
	return c.Raw <= ContentBytesMax && c.Codec <= CodecZstd &&
		(c.Codec != CodecRaw || uint64(c.Raw) == uint64(len(c.Stored)))
}

// Decode returns the content: with the raw codec the stored bytes themselves, otherwise a buffer
// that reuses dst if it is large enough. A damage error contains file and offset.
func (c Content) Decode(file string, offset int64, dst []byte) ([]byte, error) {
	if c.Codec == CodecRaw {
		return c.Stored, nil
	}
	if dst == nil || cap(dst) < int(c.Raw) {
		dst = make([]byte, 0, c.Raw)
	}
	raw, err := decoder().DecodeAll(c.Stored, dst[:0:c.Raw])
	if err != nil {
		return nil, Corrupt(file, offset, "content does not decompress: %v", err)
	}
	if len(raw) != int(c.Raw) {
		return nil, Corrupt(file, offset, "content has %d bytes instead of %d", len(raw), c.Raw)
	}
	return raw, nil
}
