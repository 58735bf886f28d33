package http

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressMin is the size from which answers are compressed.
const compressMin = 1 << 10

// coding is a content coding that answers can have.
type coding uint8

const (
	identity coding = iota
	gzipCoding
	zstdCoding
)

// codingNames are the names of the codings on the wire.
var codingNames = [...]string{identity: "", gzipCoding: "gzip", zstdCoding: "zstd"}

// negotiate chooses the coding that an Accept-Encoding header prefers by its q-values. Of equals it
// takes the first of zstd, gzip, identity.
func negotiate(accept []byte) coding {
	if len(accept) == 0 {
		return identity
	}
	// A negative weight means that the coding is not named.
	weights, any := [3]float64{-1, -1, -1}, -1.0
	for one := range bytes.SplitSeq(accept, []byte(",")) {
		name, weight, ok := parseCoding(one)
		if !ok {
			continue
		}
		switch name {
		case "identity":
			weights[identity] = weight
		case "gzip", "x-gzip":
			weights[gzipCoding] = weight
		case "zstd":
			weights[zstdCoding] = weight
		case "*":
			any = weight
		}
	}
	// Identity is acceptable unless refused. Any named coding comes before it.
	best, bestWeight := identity, max(weights[identity], 0)
	for _, one := range []coding{gzipCoding, zstdCoding} {
		weight := weights[one]
		if weight < 0 {
			weight = any
		}
		if weight > 0 && weight >= bestWeight {
			best, bestWeight = one, weight
		}
	}
	return best
}

func parseCoding(one []byte) (name string, weight float64, ok bool) {
	rawName, parameters, weighted := bytes.Cut(one, []byte(";"))
	name = string(bytes.ToLower(bytes.TrimSpace(rawName)))
	if !weighted {
		return name, 1, name != ""
	}
	key, value, _ := bytes.Cut(bytes.TrimSpace(parameters), []byte("="))
	if !bytes.EqualFold(bytes.TrimSpace(key), []byte("q")) {
		return "", 0, false
	}
	weight, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	if err != nil || weight < 0 || weight > 1 {
		return "", 0, false
	}
	return name, weight, name != ""
}

var gzips = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err)
	}
	return w
}}

// zstdEncoder is shared, because EncodeAll is safe for concurrent use. The window bounds the memory
// of each of its encoders.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(512<<10))
	if err != nil {
		panic(err)
	}
	return encoder
})

// sliceWriter appends what is written to a slice.
type sliceWriter struct{ out []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// compress appends the coded form of a body.
func compress(dst, body []byte, as coding) []byte {
	if as == zstdCoding {
		return zstdEncoder().EncodeAll(body, dst)
	}
	w, ok := gzips.Get().(*gzip.Writer)
	if !ok {
		panic("http: foreign value in the pool")
	}
	into := &sliceWriter{out: dst}
	w.Reset(into)
	// Writing to memory does not fail.
	_, _ = w.Write(body)
	_ = w.Close()
	w.Reset(nil)
	gzips.Put(w)
	return into.out
}
