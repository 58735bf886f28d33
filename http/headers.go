package http

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// headers are the request headers that the server reads, in the memory of the request.
type headers struct {
	authorization, idempotencyKey, ifMatch, ifNoneMatch, acceptEncoding   []byte
	contentEncoding, origin, forwardedFor, forwardedProto                 []byte
	preflightMethod                                                       []byte
	accept, lastEventID, protocol, method, name, byteRange, ifRange       []byte
	prefer                                                                []byte
	authorizations, idempotencyKeys, ifMatches, ifNoneMatches, forwardeds int
	protocols, methods, names                                             int
	// others counts all other headers of MCP.
	others int
	// forwarded says that the header Forwarded was sent, which the server does not read.
	forwarded bool
	// pages says that headerPages was sent, which only members are believed.
	pages bool
	// spaced says that the name of a header has a space or a tab.
	spaced bool
}

// add notes one request header; names come in their canonical form.
func (h *headers) add(key, value []byte) {
	switch string(key) {
	case fasthttp.HeaderAuthorization:
		h.authorization = value
		h.authorizations++
	case "Idempotency-Key":
		h.idempotencyKey = value
		h.idempotencyKeys++
	case fasthttp.HeaderIfMatch:
		h.ifMatch = joinList(h.ifMatch, value, &h.ifMatches)
	case fasthttp.HeaderIfNoneMatch:
		h.ifNoneMatch = joinList(h.ifNoneMatch, value, &h.ifNoneMatches)
	case fasthttp.HeaderAccept:
		h.accept = joinList(h.accept, value, nil)
	case fasthttp.HeaderRange:
		h.byteRange = joinList(h.byteRange, value, nil)
	case fasthttp.HeaderIfRange:
		h.ifRange = joinList(h.ifRange, value, nil)
	case "Prefer":
		h.prefer = joinList(h.prefer, value, nil)
	case "Last-Event-Id":
		h.lastEventID = value
	case "Mcp-Protocol-Version":
		h.protocol = value
		h.protocols++
	case "Mcp-Method":
		h.method = value
		h.methods++
	case "Mcp-Name":
		h.name = value
		h.names++
	case fasthttp.HeaderAcceptEncoding:
		h.acceptEncoding = joinList(h.acceptEncoding, value, nil)
	case fasthttp.HeaderContentEncoding:
		h.contentEncoding = joinList(h.contentEncoding, value, nil)
	case fasthttp.HeaderOrigin:
		h.origin = value
	case fasthttp.HeaderXForwardedFor:
		h.forwardedFor = joinList(h.forwardedFor, value, &h.forwardeds)
	case fasthttp.HeaderForwarded:
		h.forwarded = true
	case headerPages:
		h.pages = true
	case fasthttp.HeaderXForwardedProto:
		h.forwardedProto = joinList(h.forwardedProto, value, nil)
	case fasthttp.HeaderAccessControlRequestMethod:
		h.preflightMethod = value
	default:
		h.spaced = h.spaced || bytes.IndexByte(key, ' ') >= 0 || bytes.IndexByte(key, '\t') >= 0
		if len(key) > len(mcpHeaders) && string(key[:len(mcpHeaders)]) == mcpHeaders {
			h.others++
		}
	}
}

// joinList makes one list of a header that may be sent in several lines.
func joinList(have, value []byte, count *int) []byte {
	if count != nil {
		*count++
	}
	if len(have) == 0 {
		return value
	}
	joined := append(append([]byte{}, have...), ", "...)
	return append(joined, value...)
}
