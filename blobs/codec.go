package blobs

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Hash is the SHA-256 of a blob's content.
type Hash [sha256.Size]byte

// Sum is the hash of content.
func Sum(content []byte) Hash { return sha256.Sum256(content) }

// String is the lower-case hexadecimal form.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

const (
	codecRaw  = 0
	codecZstd = 1
)

// One encoder and one decoder serve the process; EncodeAll and DecodeAll are safe to share.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("blobs: zstd encoder options: " + err.Error())
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(BlobBytesMax),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic("blobs: zstd decoder options: " + err.Error())
	}
	return d
})

// compress appends the stored form of data to dst and says which codec it is in: raw where zstd
// would not make it smaller.
func compress(dst, data []byte) ([]byte, byte) {
	if len(data) == 0 {
		return dst, codecRaw
	}
	start := len(dst)
	dst = encoder().EncodeAll(data, dst)
	if len(dst)-start < len(data) {
		return dst, codecZstd
	}
	return append(dst[:start], data...), codecRaw
}

func updateChecksum(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }
