package http

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/internal/fault"
)

// input is what a caller sends to an operation, over HTTP or as arguments of a tool. Parameters are
// in the call.
type input struct {
	// path and query are those that the fingerprint of an Idempotency-Key covers.
	path, query string
	// key is the Idempotency-Key, and keys counts how often it was sent.
	key  []byte
	keys int
	body []byte
	// queryFault and keyFault are refused together with the faults of the body.
	queryFault, keyFault error
}

// read takes the input of an operation from a request. Errors: BODY_TOO_LARGE,
// UNSUPPORTED_CONTENT_TYPE with the faults of query and key, and those of readBody.
func (x *exchange) read(found *route, at target) (input, error) {
	if err := x.checkSize(found.bodyMax); err != nil {
		return input{}, err
	}
	in := x.readParameters(found, at)
	op := found.operation
	x.readHeaders(op)
	if op.Method == fasthttp.MethodGet {
		return in, nil
	}
	if err := x.checkType(op); err != nil {
		return input{}, fault.Together(in.queryFault, in.keyFault, err)
	}
	var err error
	in.body, err = x.readBody(found.bodyMax)
	return in, err
}

// readParameters reads what is known of the input before the body.
func (x *exchange) readParameters(found *route, at target) input {
	in := input{
		path: at.path, query: at.query,
		key: x.headers.idempotencyKey, keys: x.headers.idempotencyKeys,
	}
	in.queryFault = x.readQuery(found.query, at.query)
	if found.operation.AnyQuery {
		in.queryFault = nil
	}
	in.keyFault = in.checkKey(found.operation)
	return in
}

// readHeaders gives the call the headers that its operation reads.
func (x *exchange) readHeaders(op *api.Operation) {
	x.call.IfMatch = string(x.headers.ifMatch)
	if x.call.IfMatch == "" && x.headers.ifMatches > 0 {
		// A list without tags matches nothing: a client has lost the tag that it meant to send.
		x.call.IfMatch = ","
	}
	x.call.IfNoneMatch = string(x.headers.ifNoneMatch)
	if op.Streams {
		x.call.Streams = prefersStream(x.headers.accept)
		x.call.LastEventID = string(x.headers.lastEventID)
	}
	if len(op.Media) > 0 || op.Linked || op.Page {
		x.call.Host = string(x.ctx.Request.Header.Host())
		x.call.PrefersJSON = prefersJSON(x.headers.accept)
		x.call.PrefersHTML = prefersHTML(x.headers.accept)
	}
}

// checkSize refuses a body that is declared larger than the limit, in bytes. Errors:
// BODY_TOO_LARGE.
func (x *exchange) checkSize(limit int) error {
	if x.ctx.Request.Header.ContentLength() > limit {
		return x.tooLarge(limit)
	}
	return nil
}

// checkType refuses by its headers a body that has an unknown coding, or another media type than
// the operation takes. The operation is nil if it is not known. Errors: UNSUPPORTED_CONTENT_TYPE.
func (x *exchange) checkType(op *api.Operation) error {
	if !x.hasBody() {
		return nil
	}
	if _, err := x.bodyCoding(); err != nil {
		return err
	}
	given := x.ctx.Request.Header.ContentType()
	if op != nil && op.RawMedia != nil {
		return rawTypeFault(op, given)
	}
	patches := op != nil && op.MergePatch != nil
	if patches {
		if x.mergePatch = isType(given, api.MergePatchType); x.mergePatch {
			return nil
		}
	}
	if len(bytes.TrimSpace(given)) > 0 && !isType(given, jsonType) {
		supported := []string{jsonType}
		if patches {
			supported = append(supported, api.MergePatchType)
		}
		message := "Request bodies are JSON."
		if media, _, _ := bytes.Cut(given, []byte(";")); isType(media, jsonType) {
			message = "Request bodies are JSON in UTF-8. No other charset is read."
		}
		return fault.New(fault.UnsupportedContentType, message).
			With("content_type", printable(string(given))).With("supported", supported)
	}
	return nil
}

// rawTypeFault refuses a body that is not JSON by its type. Errors: UNSUPPORTED_CONTENT_TYPE.
func rawTypeFault(op *api.Operation, given []byte) error {
	if len(bytes.TrimSpace(given)) == 0 || slices.ContainsFunc(op.RawMedia, func(one string) bool {
		return isType(given, one)
	}) {
		return nil
	}
	return fault.New(fault.UnsupportedContentType,
		"The body must be "+strings.Join(op.RawMedia, " or ")+".").
		With("content_type", printable(string(given))).With("supported", op.RawMedia)
}

const jsonType = "application/json"

// isType reports whether a Content-Type is the wanted media type, in UTF-8 if it names a charset.
func isType(given []byte, wanted string) bool {
	media, parameters, _ := bytes.Cut(given, []byte(";"))
	if !bytes.EqualFold(bytes.TrimSpace(media), []byte(wanted)) {
		return false
	}
	for one := range bytes.SplitSeq(parameters, []byte(";")) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(one), []byte("="))
		value = bytes.Trim(value, `"`)
		if bytes.EqualFold(name, []byte("charset")) && !bytes.EqualFold(value, []byte("utf-8")) {
			return false
		}
	}
	return true
}
