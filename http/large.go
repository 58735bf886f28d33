package http

import (
	"errors"
	"fmt"
	"io"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
)

// pieceMemory is about what is held to write an answer in pieces, beside its texts, in bytes.
const pieceMemory = 256 << 10

// setLargeBody sends a body that is in memory. It is reserved until it is written, and compressed
// while it is written. Errors: RATE_LIMITED.
func (x *exchange) setLargeBody(body []byte) error {
	x.ctx.Response.Header.SetCanonical(headerVary, varyCoding)
	return x.setLargeBodyAs(body, negotiate(x.headers.acceptEncoding))
}

// setLargeBodyAs is setLargeBody with a coding. Errors: RATE_LIMITED.
func (x *exchange) setLargeBodyAs(body []byte, as coding) error {
	size := int64(cap(body) + streamChunk)
	if as != identity {
		size += coderMemory
	}
	if err := x.growAnswer(size); err != nil {
		return err
	}
	h := &x.ctx.Response.Header
	sent := x.newStream(as, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
	// The body of the request is not needed any more.
	sent.account.shrinkTo(size)
	if as == identity {
		x.ctx.Response.SetBodyStream(sent, len(body))
		return nil
	}
	h.SetCanonical(headerCoding, []byte(codingNames[as]))
	x.sendStream(sent)
	return nil
}

// plainData appends the data of an answer.
func plainData(dst []byte, data any) ([]byte, error) {
	into := sliceWriter{out: dst}
	err := json.MarshalWrite(&into, data, json.Deterministic(true))
	return into.out, err
}

// appendData appends the data of an answer, whose memory is reserved as it grows. It may take that
// many bytes; zero means no bound. Errors: RATE_LIMITED.
func (x *exchange) appendData(dst []byte, data any, most int) ([]byte, error) {
	switch data := data.(type) {
	case nil:
		return append(dst, "{}"...), nil
	case api.Appender:
		before := x.account.bytes
		if sized, known := data.(api.Sized); known {
			if size := len(dst) + sized.JSONBytes(); size > smallBody {
				if err := x.growAnswer(before + int64(size)); err != nil {
					return nil, err
				}
			}
		}
		dst = data.AppendJSON(dst)
		if cap(dst) > smallBody {
			return dst, x.growAnswer(before + int64(cap(dst)))
		}
		return dst, nil
	}
	into := bodyWriter{x: x, out: dst, max: most, base: x.account.bytes}
	known, err := jsonschema.Write(&into, data)
	if !known {
		err = json.MarshalWrite(&into, data, json.Deterministic(true))
	}
	switch {
	case into.err != nil:
		return nil, into.err
	case err != nil:
		return nil, fmt.Errorf("encoding the answer: %w", err)
	}
	return into.out, nil
}

var errAnswerFull = errors.New("http: the answer is too large")

// bodyWriter collects what is written, up to a size in bytes; zero means no bound. The memory is
// reserved on top of what the request held before.
type bodyWriter struct {
	x    *exchange
	out  []byte
	max  int
	base int64
	err  error
}

func (b *bodyWriter) Write(p []byte) (int, error) {
	size := len(b.out) + len(p)
	switch {
	case b.err != nil:
	case b.max > 0 && size > b.max:
		b.err = errAnswerFull
	case size > cap(b.out) && size > smallBody:
		size = max(size, 2*cap(b.out))
		if b.err = b.x.growAnswer(b.base + int64(size)); b.err == nil {
			b.out = append(make([]byte, 0, size), b.out...)
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	b.out = append(b.out, p...)
	return len(p), nil
}

// pieceWriter writes pieces as JSON.
type pieceWriter struct {
	w            io.Writer
	withoutNulls bool
}

// JSON implements api.PieceWriter.
func (p *pieceWriter) JSON(piece []byte) error {
	if p.withoutNulls {
		piece = withoutNulls(piece, nil)
	}
	return writeLarge(p.w, piece)
}

// Text implements api.PieceWriter.
func (p *pieceWriter) Text(text string) error { return jsonschema.WriteString(p.w, text) }

// quoteBytes is how much is quoted at one time.
const quoteBytes = 16 << 10

// writeLarge writes UTF-8 in parts that end between characters.
func writeLarge(w io.Writer, data []byte) error {
	for len(data) > 0 {
		n := jsonschema.CutText(unsafe.String(unsafe.SliceData(data), len(data)), quoteBytes)
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// quoting writes what it gets as the inside of a string. Each write ends between characters.
type quoting struct {
	w       io.Writer
	scratch []byte
}

func (q *quoting) Write(p []byte) (int, error) {
	q.scratch = jsonschema.AppendString(q.scratch[:0], unsafe.String(unsafe.SliceData(p), len(p)))
	if _, err := q.w.Write(q.scratch[1 : len(q.scratch)-1]); err != nil {
		return 0, err
	}
	return len(p), nil
}

var _ fasthttp.BodyWriterTo = (*stream)(nil)
