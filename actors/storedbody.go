package actors

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// bodyBytesMax bounds the body of a stored answer.
const bodyBytesMax = 64 << 20

var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(bodyBytesMax)))
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// pack compresses the body of a stored answer. The encoder reserves as much as the body takes
// uncompressed, so what is kept for days is a copy.
func pack(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return bytes.Clone(packer.EncodeAll(body, nil))
}

func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	body, err := unpacker.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("stored answer: %w", err)
	}
	return body, nil
}
