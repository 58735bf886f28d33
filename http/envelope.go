package http

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

var (
	headerRequestID = []byte("X-Request-Id")
	headerETag      = []byte("ETag")
	headerCaching   = []byte("Cache-Control")
	headerVary      = []byte("Vary")
	headerCoding    = []byte("Content-Encoding")
	headerSniffing  = []byte("X-Content-Type-Options")
	jsonTypeBytes   = []byte(jsonType)
	noStore         = []byte("no-store")
	noSniff         = []byte("nosniff")
	revalidate      = []byte("private, no-cache")
	varyCoding      = []byte("Accept-Encoding")
)

// write writes the reply of an operation. Errors: RATE_LIMITED.
func (x *exchange) write(reply *api.Reply) error {
	h := &x.ctx.Response.Header
	document, plain := reply.Data.(api.Document)
	if plain && document.Varies {
		defer x.vary(fasthttp.HeaderAccept)
	}
	reads := x.route.operation.Method == fasthttp.MethodGet
	if reply.ETag != "" {
		h.SetCanonical(headerETag, append(x.scratch[:0], reply.ETag...))
		h.SetCanonical(headerCaching, revalidate)
		if reads && len(x.headers.ifNoneMatch) > 0 &&
			matchesTag(x.headers.ifNoneMatch, reply.ETag) {
			x.ctx.SetStatusCode(fasthttp.StatusNotModified)
			h.SetCanonical(headerVary, varyCoding)
			return nil
		}
	} else {
		h.SetCanonical(headerCaching, noStore)
	}
	if reply.Replayed {
		h.Set("Idempotency-Replayed", "true")
	}
	x.ctx.SetStatusCode(reply.Status)
	var err error
	if plain && x.route.operation.Ranges {
		err = x.writeRange(&document, reply.ETag)
	} else {
		err = x.writeData(reply.Data)
	}
	if err != nil {
		h.DelBytes(headerETag)
	}
	return err
}

// writeData writes the data of a reply. Errors: RATE_LIMITED.
func (x *exchange) writeData(data any) error {
	h := &x.ctx.Response.Header
	switch data := data.(type) {
	case api.Document:
		h.SetContentType(data.ContentType)
		if data.Location != "" {
			h.Set(fasthttp.HeaderLocation, data.Location)
		}
		if len(data.Body) > smallBody {
			return x.setLargeBody(data.Body)
		}
		return x.setBody(append(x.emptyBody(), data.Body...))
	case api.Download:
		return x.download(&data)
	case api.WebPage:
		return x.writePage(&data)
	case api.Stream:
		return x.stream(data)
	case api.EventStream:
		return x.live(data)
	case api.Pieces:
		if data.TextBytes() > smallBody {
			if err := x.growAnswer(int64(data.TextBytes())); err != nil {
				return err
			}
			return x.sendPieces(pieceMemory, x.enveloped(func(w io.Writer) error {
				return data.WritePieces(&pieceWriter{w: w})
			}))
		}
	}
	h.SetContentTypeBytes(jsonTypeBytes)
	body := append(x.bodyFor(data), `{"ok":true,"data":`...)
	begin := len(body)
	body, err := x.appendData(body, data, 0)
	if err != nil {
		x.ctx.Response.ResetBody()
		return err
	}
	if len(x.headers.prefer) > 0 {
		body = append(body[:begin], x.preferred(body[begin:])...)
	}
	return x.setBody(x.appendMeta(body))
}

func (x *exchange) appendMeta(body []byte) []byte {
	body = append(body, `,"meta":{"request_id":"`...)
	body = append(body, x.requestID[:]...)
	return append(body, `"}}`...)
}

// emptyBody is a body to append to, in memory of the connection.
func (x *exchange) emptyBody() []byte { return x.ctx.Response.SwapBody(nil)[:0] }

// setBody sets the body, compressed if the client accepts that and it makes the body smaller. The
// connection does not keep the memory of a larger body. Errors: RATE_LIMITED.
func (x *exchange) setBody(body []byte) error {
	if len(body) > smallBody {
		return x.setLargeBody(body)
	}
	h := &x.ctx.Response.Header
	h.SetCanonical(headerVary, varyCoding)
	if len(body) > compressMin && len(x.headers.acceptEncoding) > 0 {
		if as := negotiate(x.headers.acceptEncoding); as != identity {
			x.scratch = compress(x.scratch[:0], body, as)
			if len(x.scratch) < len(body) {
				body = append(body[:0], x.scratch...)
				h.SetCanonical(headerCoding, []byte(codingNames[as]))
			}
		}
	}
	x.setMemoryBody(body)
	return nil
}

// refuse writes an error. An error that is not a fault is logged with the request ID and not shown.
func (x *exchange) refuse(err error) {
	if protocol, ok := err.(*rpcError); ok {
		x.fail(protocol)
		return
	}
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code == fault.Internal {
		x.server.log.Error("request failed", slog.String("request_id", string(x.requestID[:])),
			slog.String("operation", x.operationName()), slog.Any("error", err))
		refusal = fault.New(fault.Internal, "The service failed. Its log has the request id.")
	} else if refusal.Code == fault.BlobCorrupt {
		x.server.log.Error("corrupt blob", slog.String("request_id", string(x.requestID[:])),
			slog.Any("details", refusal.Details))
	}
	entry := fault.Lookup(refusal.Code)
	x.code = string(refusal.Code)
	x.ctx.SetStatusCode(entry.Status)
	h := &x.ctx.Response.Header
	h.SetCanonical(headerCaching, noStore)
	h.SetContentTypeBytes(jsonTypeBytes)
	details := x.details(refusal, &entry)
	if entry.Action == "RETRY_AFTER" {
		x.reason, _ = details["reason"].(string)
	}
	x.noteOutcome(refusal.Code, details["reason"])
	if after, ok := details["retry_after_seconds"]; ok {
		h.Set(fasthttp.HeaderRetryAfter, fmt.Sprint(after))
	}
	if x.form != formEnvelope {
		x.refuseMessage(refusal, &entry, details)
		return
	}
	if x.isPage() {
		x.refusePage(err, refusal, &entry, details)
		return
	}
	x.advise(refusal, details)
	if entry.Status == fasthttp.StatusUnauthorized {
		challenge := `Bearer realm="pws"`
		if refusal.Code == fault.SessionInvalid || refusal.Code == fault.SessionExpired {
			challenge += `, error="invalid_token"`
		}
		h.Set(fasthttp.HeaderWWWAuthenticate, challenge)
	}
	body := append(x.emptyBody(), `{"ok":false,"error":{"code":"`...)
	body = append(body, refusal.Code...)
	body = append(body, `","message":`...)
	body = jsonschema.AppendString(body, refusal.Message)
	body = append(body, `,"details":`...)
	body, err = plainData(body, details)
	if err != nil {
		panic(fmt.Sprintf("details of %s: %v", refusal.Code, err))
	}
	body = append(body, `,"retryable":`...)
	body = strconv.AppendBool(body, entry.Retryable)
	x.setError(x.appendMeta(append(body, '}')))
}

// setError sets the body of an error, which is not refused for its size.
func (x *exchange) setError(body []byte) {
	x.carriedOut = true
	if err := x.setBody(body); err != nil {
		panic(err)
	}
}

// details are those of a fault, completed by the catalog's entry of its code.
func (x *exchange) details(refusal *fault.Error, entry *fault.Entry) map[string]any {
	details := make(map[string]any, len(refusal.Details)+2)
	for name, value := range refusal.Details {
		details[name] = value
	}
	if entry.Action != "" {
		details["recommended_action"] = entry.Action
	}
	if _, said := details["retry_after_seconds"]; !said && entry.Action == "RETRY_AFTER" {
		details["retry_after_seconds"] = 1
	}
	if refusal.Code == fault.RateLimited {
		x.fillRate(details)
	}
	return details
}

// nextCall is an operation of the next step in details.
type nextCall struct {
	Operation string `json:"operation"`
	Method    string `json:"method"`
	Path      string `json:"path"`
}

// advise adds the next step to the details if it consists of calls of operations.
func (x *exchange) advise(refusal *fault.Error, details map[string]any) {
	if next := x.nextRequest(refusal); next != nil {
		details[api.NextCallKey] = next
	}
	step := x.call.Next(refusal, api.Client{})
	if len(step.Calls) == 0 {
		return
	}
	calls := make([]nextCall, len(step.Calls))
	for i := range step.Calls {
		one := &step.Calls[i]
		calls[i] = nextCall{one.Operation.Name, one.Operation.Method, one.Target()}
	}
	details["next_step"], details["next_calls"] = step.Text, calls
}

// fillRate completes the details of a refusal by a queue, which has fewer than one by a limit.
func (x *exchange) fillRate(details map[string]any) {
	after := int64(1)
	if seconds, ok := details["retry_after_seconds"].(int); ok {
		after = int64(seconds)
	}
	retryAt := jsonschema.TimeText(x.call.Now + after*1000)
	for name, value := range map[string]any{
		"limit": 0, "remaining": 0, "reset_at": retryAt, "reason": "OVERLOADED",
		"recommended_retry_at": retryAt,
	} {
		if _, said := details[name]; !said {
			details[name] = value
		}
	}
}
