package http

import (
	"bytes"
	"strings"

	"pws/internal/fault"
)

// target is what a request asks for. Its texts are parts of one copy, which may be kept.
type target struct {
	whole, path, query string
}

// splitTarget splits a request target into path and query and refuses what could be read in two
// ways: fragments, bytes outside of visible ASCII, and forms other than /path and
// http://host/path. Errors: VALIDATION_FAILED.
func splitTarget(whole string) (path, query string, err error) {
	for i := range len(whole) {
		if c := whole[i]; c <= ' ' || c >= 0x7f || c == '#' {
			return "", "", badTarget("must be visible ASCII without #; encode other bytes as %XX")
		}
	}
	if whole != "" && whole[0] != '/' {
		scheme, rest, absolute := strings.Cut(whole, "://")
		if !absolute || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
			return "", "", badTarget("must be a path that starts with /")
		}
		at := strings.IndexAny(rest, "/?")
		switch {
		case at == 0 || rest == "":
			return "", "", badTarget("must name a host between http:// and the path")
		case at < 0:
			whole = "/"
		case rest[at] == '?':
			whole = "/" + rest[at:]
		default:
			whole = rest[at:]
		}
	}
	path, query, _ = strings.Cut(whole, "?")
	if path == "" {
		return "", "", badTarget("must not be empty")
	}
	return path, query, nil
}

func badTarget(problem string) error {
	return fault.New(fault.ValidationFailed, "The request target is not valid.").
		With("fields", []fault.Field{{Field: "target", Problem: problem}})
}

// hasBody reports whether the request declares a body.
func (x *exchange) hasBody() bool {
	length := x.ctx.Request.Header.ContentLength()
	return length > 0 || length == -1
}

// checkFraming refuses requests whose end this server and a proxy in front of it could see in
// different places. Their connection is closed, for what follows may be part of them. Errors:
// VALIDATION_FAILED.
func (x *exchange) checkFraming() error {
	h := &x.ctx.Request.Header
	raw := h.RawHeaders()
	field, problem := "", ""
	switch version := string(h.Protocol()); {
	case version != "HTTP/1.1" && version != "HTTP/1.0":
		field, problem = "request", "must be of HTTP/1.1 or HTTP/1.0"
	case version == "HTTP/1.0" && rawHas(raw, "transfer-encoding"):
		field, problem = "Transfer-Encoding", "must not be sent with HTTP/1.0"
	case x.headers.spaced:
		field, problem = "request", "must not have white space in the name of a header"
	case bareLineFeed(raw):
		field, problem = "request", "must end its lines with CR LF"
	case (h.ContentLength() == -1 || h.ConnectionClose()) &&
		rawHas(raw, "content-length") && rawHas(raw, "transfer-encoding"):
		field, problem = "Transfer-Encoding", "must not be sent together with Content-Length"
	default:
		return nil
	}
	x.ctx.SetConnectionClose()
	return fault.Invalid(fault.Field{Field: field, Problem: problem})
}

// bareLineFeed reports whether a line of the head ends without a carriage return. The transport has
// refused carriage returns elsewhere, so comparing the counts is enough.
func bareLineFeed(raw []byte) bool {
	return bytes.Count(raw, lineFeed) != bytes.Count(raw, carriageReturn)
}

var lineFeed, carriageReturn = []byte("\n"), []byte("\r")

// rawHas reports whether a header block has a line of this name, given in lower case.
func rawHas(raw []byte, name string) bool {
	for line := range bytes.Lines(raw) {
		if len(line) > len(name) && line[len(name)] == ':' &&
			bytes.EqualFold(line[:len(name)], []byte(name)) {
			return true
		}
	}
	return false
}
