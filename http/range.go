package http

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// headerSecurity keeps browsers from running what is in a document of an agent.
var (
	headerSecurity = []byte("Content-Security-Policy")
	sandboxed      = []byte("sandbox")
)

// attached makes browsers keep a document of an agent instead of showing it.
const attached = "attachment"

// writeRange writes a document or the range of it that the client asks for. It is not compressed,
// because ranges are of the bytes of the document. Errors: RANGE_NOT_SATISFIABLE, RATE_LIMITED.
func (x *exchange) writeRange(d *api.Document, tag string) error {
	h := &x.ctx.Response.Header
	h.Set(fasthttp.HeaderAcceptRanges, "bytes")
	x.markForeign(d.Foreign)
	if d.Foreign {
		h.Set(fasthttp.HeaderContentDisposition, attached)
	}
	body := d.Body
	if x.asksRange(tag) {
		switch first, behind, kind := parseRange(x.headers.byteRange, len(body)); kind {
		case rangeNone:
		case rangeBehind:
			h.Set(fasthttp.HeaderContentRange, fmt.Sprintf("bytes */%d", len(body)))
			return fault.New(fault.RangeNotSatisfiable, "The range is behind the end.").
				With("size_bytes", len(body))
		case rangeInside:
			h.Set(fasthttp.HeaderContentRange,
				fmt.Sprintf("bytes %d-%d/%d", first, behind-1, len(body)))
			x.ctx.SetStatusCode(fasthttp.StatusPartialContent)
			body = body[first:behind]
		}
	}
	h.SetContentType(d.ContentType)
	if len(body) > smallBody {
		return x.setLargeBodyAs(body, identity)
	}
	x.ctx.Response.SwapBody(append(x.emptyBody(), body...))
	return nil
}

// asksRange reports whether Range applies: to GET, and to the version that the client has.
func (x *exchange) asksRange(tag string) bool {
	return len(x.headers.byteRange) > 0 && x.ctx.IsGet() &&
		(len(x.headers.ifRange) == 0 || string(x.headers.ifRange) == tag)
}

// markForeign marks a document that an agent has written.
func (x *exchange) markForeign(foreign bool) {
	if foreign {
		x.ctx.Response.Header.SetCanonical(headerSecurity, sandboxed)
	}
}

type rangeKind uint8

const (
	// rangeNone is a header that is ignored: another unit, several ranges, or not valid.
	rangeNone rangeKind = iota
	rangeInside
	rangeBehind
)

// parseRange reads a Range header with one range of bytes, for a document of a size.
func parseRange(text []byte, size int) (first, behind int, kind rangeKind) {
	const unit = "bytes="
	if len(text) < len(unit) || !bytes.EqualFold(text[:len(unit)], []byte(unit)) {
		return 0, 0, rangeNone
	}
	from, to, found := bytes.Cut(bytes.TrimSpace(text[len(unit):]), []byte("-"))
	start, hasStart := rangeNumber(from)
	end, hasEnd := rangeNumber(to)
	switch {
	case !found || !hasStart && len(from) > 0 || !hasEnd && len(to) > 0 || !hasStart && !hasEnd,
		hasStart && hasEnd && end < start:
		return 0, 0, rangeNone
	case !hasStart:
		start, end = max(0, size-end), size-1
	case !hasEnd:
		end = size - 1
	}
	if start >= size {
		return 0, 0, rangeBehind
	}
	return start, min(end, size-1) + 1, rangeInside
}

// rangeNumber reads digits. Numbers that are too large are the largest.
func rangeNumber(digits []byte) (int, bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	number, err := strconv.Atoi(string(digits))
	if err != nil && len(digits) > 0 {
		number = 1<<31 - 1
	}
	return number, len(digits) > 0
}

// download sends a document that is produced while it is sent. Errors: RATE_LIMITED.
func (x *exchange) download(d *api.Download) error {
	// Both formats compress.
	if err := x.sendCoded(identity, streamMemory+coderMemory, d.Write); err != nil {
		return err
	}
	h := &x.ctx.Response.Header
	h.SetContentType(d.ContentType)
	h.Set(fasthttp.HeaderContentDisposition, `attachment; filename="`+d.Name+`"`)
	x.markForeign(true)
	return nil
}
