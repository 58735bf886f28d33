// Package brotli replaces the brotli library that fasthttp imports. The server neither offers nor
// accepts brotli, so the library and its dictionary need not be in the program. Every read and
// every write fails.
package brotli

import (
	"errors"
	"io"
)

// The compression levels that fasthttp names.
const (
	BestSpeed       = 0
	BestCompression = 11
)

// ErrUnsupported is the error of every read and write.
var ErrUnsupported = errors.New("brotli is not part of this program")

// Reader fails to read.
type Reader struct{}

// NewReader returns a reader that fails.
func NewReader(io.Reader) *Reader { return &Reader{} }

// Reset does nothing.
func (*Reader) Reset(io.Reader) {}

// Read returns ErrUnsupported.
func (*Reader) Read([]byte) (int, error) { return 0, ErrUnsupported }

// Writer fails to write.
type Writer struct{}

// NewWriter returns a writer that fails.
func NewWriter(io.Writer, int) (*Writer, error) { return &Writer{}, nil }

// Reset does nothing.
func (*Writer) Reset(io.Writer) {}

// Write returns ErrUnsupported.
func (*Writer) Write([]byte) (int, error) { return 0, ErrUnsupported }

// Flush does nothing.
func (*Writer) Flush() error { return nil }

// Close does nothing.
func (*Writer) Close() error { return nil }
