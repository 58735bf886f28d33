package http

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

const (
	// windowMax is the largest window of a zstd body, in bytes. RFC 9659 permits no larger one.
	windowMax = 8 << 20
	// windowKept is the largest window of a decoder that is used again, in bytes.
	windowKept = 1 << 20
	// inflaterMemory is about what a decoder holds beside its window, in bytes.
	inflaterMemory = 512 << 10
)

// bodyCoding is the coding of the body. Errors: UNSUPPORTED_CONTENT_TYPE.
func (x *exchange) bodyCoding() (coding, error) {
	switch given := bytes.TrimSpace(x.headers.contentEncoding); {
	case len(given) == 0, bytes.EqualFold(given, []byte("identity")):
		return identity, nil
	case bytes.EqualFold(given, []byte("gzip")), bytes.EqualFold(given, []byte("x-gzip")):
		return gzipCoding, nil
	case bytes.EqualFold(given, []byte("zstd")):
		return zstdCoding, nil
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAcceptEncoding,
		strings.Join(api.ContentEncodings, ", "))
	return identity, fault.New(fault.UnsupportedContentType,
		"Request bodies have one of the content codings gzip and zstd, or none.").
		With("content_type", "Content-Encoding: "+printable(string(x.headers.contentEncoding))).
		With("supported", api.ContentEncodings)
}

// arrival counts the bytes of a body that arrive, and keeps the error that ended them.
type arrival struct {
	r     io.Reader
	limit int
	bytes int
	err   error
}

func (a *arrival) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.r.Read(p)
	a.bytes += n
	if a.bytes > a.limit {
		n, err = 0, errBodyTooLarge
	}
	a.err = err
	return n, err
}

// readCoded reads a coded body and keeps what it inflates to. Errors: those of readBody.
func (x *exchange) readCoded(stream io.Reader, as coding, limit int) ([]byte, error) {
	from := &arrival{r: stream, limit: limit}
	err := x.inflate(from, as, limit)
	x.chargeInflating(from.bytes + len(x.body))
	switch {
	case err == errBodyTooLarge, from.err == errBodyTooLarge:
		return nil, x.tooLarge(limit)
	case from.err != nil && from.err != io.EOF:
		return nil, x.bodyFault(from.err)
	case from.err == io.EOF:
		// A body that was cut off is refused for that, whatever its decoder says.
		if ended := x.finishBody(from.bytes, limit); ended != nil {
			return nil, ended
		}
	}
	if err == nil {
		return x.body, nil
	}
	if !x.bodyRead {
		x.ctx.SetConnectionClose()
	}
	if _, known := err.(*fault.Error); known {
		return nil, err
	}
	return nil, fault.Invalid(fault.Field{Field: "body", Problem: damage(as, err)})
}

// inflateRate is about how many bytes, coded and inflated ones together, a decoder reads and writes
// in a second. The time cannot be measured, because a decoder waits for its client in between.
const inflateRate = 200 << 20

// chargeInflating charges the caller for the bytes of a coded body. Small ones are bounded by their
// number.
func (x *exchange) chargeInflating(bytes int) {
	if bytes > heavyBody {
		x.Charge(time.Duration(bytes) * time.Second / inflateRate)
	}
}

// damage says what is wrong with a coded body.
func damage(as coding, err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ends before the end of its " + codingNames[as] + " data"
	case errors.Is(err, errBehind):
		return "has bytes behind the end of its " + codingNames[as] + " data"
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return "needs a zstd window of more than 8 MiB, or a larger one than its first frame"
	}
	return "is not valid " + codingNames[as] + " data"
}

// inflate reads a coded body to its end. The memory of the decoder is reserved until then.
// Errors: RATE_LIMITED, errBodyTooLarge, and those of the decoder.
func (x *exchange) inflate(from *arrival, as coding, limit int) error {
	buffer, ok := arrivals.Get().(*bufio.Reader)
	if !ok {
		panic("http: foreign value in the pool")
	}
	buffer.Reset(from)
	defer func() {
		buffer.Reset(nil)
		arrivals.Put(buffer)
	}()
	if _, err := buffer.Peek(1); err != nil {
		if err == io.EOF {
			return nil
		}
		return err
	}
	if as == gzipCoding {
		return x.inflateGzip(buffer, limit)
	}
	return x.inflateZstd(buffer, limit)
}

var arrivals = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// fill reads what a decoder produces to its end. Errors: RATE_LIMITED, errBodyTooLarge, and those
// of the decoder.
func (x *exchange) fill(decoder io.Reader, limit int) error {
	for {
		if done, err := x.readPart(decoder, -1, limit); done || err != nil {
			return err
		}
	}
}

// holdInflater reserves the memory of a decoder. Errors: RATE_LIMITED.
func (x *exchange) holdInflater(bytes int64) error {
	x.inflating = bytes
	return x.heldMemory().growTo(bytes)
}

// dropInflater gives the memory of the decoder back. The body keeps its own.
func (x *exchange) dropInflater() {
	x.inflating = 0
	kept := int64(0)
	if cap(x.body) > smallBody {
		kept = int64(cap(x.body))
	}
	x.heldMemory().shrinkTo(kept)
}

var gunzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

// inflateGzip reads all members. Their ends are found here, because the decoder takes a header that
// ends early for the end of the body.
func (x *exchange) inflateGzip(from *bufio.Reader, limit int) error {
	r, ok := gunzips.Get().(*gzip.Reader)
	if !ok {
		panic("http: foreign value in the pool")
	}
	defer func() {
		_ = r.Reset(bufferOfNothing())
		gunzips.Put(r)
	}()
	for {
		if err := r.Reset(from); err != nil {
			return early(err)
		}
		r.Multistream(false)
		if err := x.fill(r, limit); err != nil {
			return err
		}
		switch next, err := from.Peek(len(gzipMagic)); {
		case len(next) > 0 && !strings.HasPrefix(gzipMagic, string(next)):
			return errBehind
		case err == nil, len(next) > 0:
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// gzipMagic begins each member.
const gzipMagic = "\x1f\x8b"

var errBehind = errors.New("bytes that are no further member")

// bufferOfNothing keeps a pooled decoder from holding the input of a request.
func bufferOfNothing() io.Reader { return bytes.NewReader(nil) }

// early is the error for input that ends where it must not.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

var unzstds = sync.Pool{New: func() any {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowKept))
	if err != nil {
		panic(err)
	}
	return r
}}

// inflateZstd reads all frames. The first one decides which window is reserved.
func (x *exchange) inflateZstd(from *bufio.Reader, limit int) error {
	start, err := from.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return err
	}
	var header zstd.Header
	if err := header.Decode(start); err != nil {
		return early(err)
	}
	window := header.WindowSize
	if header.SingleSegment {
		window = header.FrameContentSize
	}
	if header.Skippable || window <= windowKept {
		return x.inflateSmall(from, limit)
	}
	if err := x.holdInflater(windowMax + inflaterMemory); err != nil {
		return err
	}
	defer x.dropInflater()
	r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(windowMax))
	if err != nil {
		return err
	}
	defer r.Close()
	return x.fill(r, limit)
}

// inflateSmall reads frames with small windows. Its decoder is used again.
func (x *exchange) inflateSmall(from io.Reader, limit int) error {
	if err := x.holdInflater(windowKept + inflaterMemory); err != nil {
		return err
	}
	defer x.dropInflater()
	r, ok := unzstds.Get().(*zstd.Decoder)
	if !ok {
		panic("http: foreign value in the pool")
	}
	defer func() {
		_ = r.Reset(nil)
		unzstds.Put(r)
	}()
	if err := r.Reset(from); err != nil {
		return err
	}
	return x.fill(r, limit)
}
