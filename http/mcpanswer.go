package http

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"unsafe"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

// answerMax bounds the result of a tool whose operation streams, in bytes.
const answerMax = 4 << 20

// beginResult begins a response of JSON-RPC, up to the members of its result.
func (x *exchange) beginResult() []byte {
	m := &x.message
	h := &x.ctx.Response.Header
	x.ctx.SetStatusCode(fasthttp.StatusOK)
	h.SetCanonical(headerCaching, noStore)
	h.SetContentTypeBytes(jsonTypeBytes)
	body := append(x.emptyBody(), `{"jsonrpc":"2.0","id":`...)
	body = append(append(body, m.id...), `,"result":{`...)
	if !m.earlier {
		body = append(body, `"resultType":"complete",`...)
	}
	return body
}

// endResult ends what beginResult began.
func (x *exchange) endResult(body []byte) []byte {
	separator := `,"_meta":{`
	if !x.message.earlier {
		body = append(body, separator+`"io.modelcontextprotocol/serverInfo":`...)
		info := x.server.mcp.info
		if x.form == formTool {
			info = x.server.mcp.toolInfo
		}
		body = append(body, info...)
		separator = ","
	}
	if x.message.replayed {
		body = append(body, separator+`"pws/replay":{"replayed":true,"first_answered_at":`...)
		body = append(jsonschema.AppendString(body, jsonschema.TimeText(x.call.FirstAt())), '}')
		separator = ","
	}
	if separator == "," {
		body = append(body, '}')
	}
	return append(body, "}}"...)
}

// replayNote explains a replayed answer to its reader.
func replayNote(firstAt int64) string {
	return "This is a replay: the idempotency_key was used before, and this is the answer that was " +
		"given at " + jsonschema.TimeText(firstAt) + ". Nothing was done now, and what the answer " +
		"shows may have changed or ended since. To do it again, call with a new idempotency_key."
}

// toolResult writes the data of a tool, or its error, as structured content and as text. A replay
// has the data of the original answer and a second text that says so. Errors: RATE_LIMITED.
func (x *exchange) toolResult(data []byte, failed bool) error {
	if len(data) > smallBody/2 {
		if err := x.growAnswer(int64(cap(data))); err != nil {
			return err
		}
		x.data = nil
		return x.sendResult(pieceMemory, failed, func(w io.Writer) error {
			return writeLarge(w, data)
		})
	}
	body := append(x.beginResult(), textBegins...)
	body = jsonschema.AppendString(body, unsafe.String(unsafe.SliceData(data), len(data)))
	body = append(x.endText(body), data...)
	body = strconv.AppendBool(append(body, `,"isError":`...), failed)
	return x.setBody(x.endResult(body))
}

const textBegins = `"content":[{"type":"text","text":`

// endText ends the list of texts, up to the structured content.
func (x *exchange) endText(body []byte) []byte {
	if x.message.replayed {
		body = append(body, `},{"type":"text","text":`...)
		body = jsonschema.AppendString(body, replayNote(x.call.FirstAt()))
	}
	return append(body, `}],"structuredContent":`...)
}

// sendResult sends a large result piece by piece. The data is written twice, as a text and as the
// structured content. Errors: RATE_LIMITED.
func (x *exchange) sendResult(bytes int64, failed bool, data api.Stream) error {
	begin := append(x.beginResult(), textBegins+`"`...)
	middle := x.endText([]byte{'"'})
	end := x.endResult(strconv.AppendBool([]byte(`,"isError":`), failed))
	return x.sendPieces(bytes, func(w io.Writer) error {
		if _, err := w.Write(begin); err != nil {
			return err
		}
		if err := data(&quoting{w: w}); err != nil {
			return err
		}
		if _, err := w.Write(middle); err != nil {
			return err
		}
		if err := data(w); err != nil {
			return err
		}
		_, err := w.Write(end)
		return err
	})
}

// writeResult writes the reply of an operation as the result of a tool. That of a write is minimal
// unless the caller asks for all. Errors: QUOTA_EXCEEDED,
// RATE_LIMITED.
func (x *exchange) writeResult(called *tool, reply *api.Reply) error {
	if reply.Replayed {
		x.ctx.Response.Header.Set("Idempotency-Replayed", "true")
		x.message.replayed = x.call.FirstAt() != 0
	}
	var err error
	switch data := reply.Data.(type) {
	case api.Stream:
		err = x.collect(data)
	case api.Pieces:
		if data.TextBytes() > smallBody {
			if err := x.growAnswer(int64(data.TextBytes())); err != nil {
				return err
			}
			return x.sendResult(pieceMemory, false, func(w io.Writer) error {
				return data.WritePieces(&pieceWriter{w: w, withoutNulls: true})
			})
		}
		x.data, err = x.appendData(x.data[:0], data, 0)
	default:
		x.data, err = x.appendData(x.data[:0], data, 0)
	}
	if err != nil {
		return err
	}
	if filter := called.Operation.Minimal(); filter != nil && !x.verbose {
		x.data = filter.Apply(x.data)
	}
	return x.toolResult(withoutNulls(x.data, called.Opaque), false)
}

// collect reads a stream into the data of the exchange. Errors: QUOTA_EXCEEDED, RATE_LIMITED.
func (x *exchange) collect(stream api.Stream) error {
	if err := x.HoldMemory(streamMemory); err != nil {
		return err
	}
	into := bodyWriter{x: x, out: x.data[:0], max: answerMax, base: x.heldMemory().bytes}
	err := stream(&into)
	x.data = into.out
	if errors.Is(err, errAnswerFull) {
		return fault.New(fault.QuotaExceeded, "The answer is too large for a tool; "+
			"the same request over HTTP streams it.").
			With("quota", api.QuotaToolAnswer).With("limit", answerMax)
	}
	return err
}

// fail writes an error of JSON-RPC.
func (x *exchange) fail(e *rpcError) {
	h := &x.ctx.Response.Header
	x.ctx.SetStatusCode(e.status)
	h.SetCanonical(headerCaching, noStore)
	h.SetContentTypeBytes(jsonTypeBytes)
	body := append(x.emptyBody(), `{"jsonrpc":"2.0"`...)
	if x.message.id != nil {
		body = append(append(body, `,"id":`...), x.message.id...)
	}
	body = strconv.AppendInt(append(body, `,"error":{"code":`...), int64(e.code), 10)
	body = jsonschema.AppendString(append(body, `,"message":`...), e.message)
	if e.data != nil {
		body = append(append(body, `,"data":`...), e.data...)
	}
	x.setError(append(body, "}}"...))
}

// refuseMessage writes the error for a message: as the result of a tool, which the agent reads,
// or as an error with a status if the client has to act.
func (x *exchange) refuseMessage(
	refusal *fault.Error, entry *fault.Entry, details map[string]any,
) {
	e := &rpcError{status: entry.Status, code: rpcRefused, message: refusal.Message}
	switch refusal.Code {
	case fault.Internal:
		e.code = rpcInternal
	case fault.RateLimited:
		e.code = rpcRateLimited
	case fault.SessionInvalid, fault.SessionExpired:
		e.code = rpcCredential
		x.ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, `Bearer error="invalid_token"`)
	default:
		if x.form == formTool {
			x.carriedOut = true
			if err := x.toolResult(x.problem(refusal, details), true); err != nil {
				panic(err)
			}
			return
		}
	}
	e.data = x.problem(refusal, details)
	x.fail(e)
}

// problem is a refusal as JSON for agents: code, message, details and the next step.
func (x *exchange) problem(refusal *fault.Error, details map[string]any) []byte {
	out := append(x.data[:0], `{"code":"`...)
	out = append(append(out, refusal.Code...), `","message":`...)
	out = jsonschema.AppendString(out, refusal.Message)
	out, err := plainData(append(out, `,"details":`...), details)
	if err != nil {
		panic("http: details of " + string(refusal.Code) + ": " + err.Error())
	}
	step := x.call.Next(refusal, api.Client{MCP: true, Core: x.message.core, Base: x.base()})
	text := x.server.mcp.renameTools(step.Text, x.message.plain)
	out = jsonschema.AppendString(append(out, `,"next_step":`...), text)
	x.data = append(x.appendNextTool(x.appendCalls(out, step.Calls), refusal), '}')
	return withoutNulls(x.data, opaqueArguments)
}

// opaqueArguments are the data of a call that keep their nulls.
var opaqueArguments = [][]byte{[]byte(`"arguments"`)}

// appendCalls writes the calls of a step: tools with their known arguments.
func (x *exchange) appendCalls(out []byte, calls []api.StepCall) []byte {
	if len(calls) == 0 {
		return out
	}
	out = append(out, `,"next_calls":[`...)
	for i := range calls {
		if i > 0 {
			out = append(out, ',')
		}
		name := x.server.mcp.renameTools(calls[i].Operation.Tool, x.message.plain)
		out = jsonschema.AppendString(append(out, `{"tool":`...), name)
		out = append(out, `,"arguments":{`...)
		for nth, name := range slices.Sorted(maps.Keys(calls[i].Params)) {
			if nth > 0 {
				out = append(out, ',')
			}
			out = append(jsonschema.AppendString(out, name), ':')
			out = jsonschema.AppendString(out, calls[i].Params[name])
		}
		out = append(out, "}}"...)
	}
	return append(out, ']')
}

// withoutNulls removes the members that are null from JSON without white space, in place. It does
// not change the elements of lists, nor the values of opaque names, which are data of users.
func withoutNulls(data []byte, opaque [][]byte) []byte {
	null := []byte(":null")
	if !bytes.Contains(data, null) {
		return data
	}
	out, name := data[:0], 0
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := stringEnd(data, i)
			name = len(out)
			out = append(out, data[i:end]...)
			i = end
		case c == ':' && bytes.HasPrefix(data[i:], null):
			i += len(null)
			out = out[:name]
			if len(out) > 0 && out[len(out)-1] == ',' {
				out = out[:len(out)-1]
			} else if data[i] == ',' {
				i++
			}
		case c == ':' && listsName(opaque, out[name:]):
			end := valueEnd(data, i+1)
			out = append(out, data[i:end]...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

func listsName(names [][]byte, quoted []byte) bool {
	for _, one := range names {
		if bytes.Equal(one, quoted) {
			return true
		}
	}
	return false
}

// stringEnd is the offset after the string that begins at an offset of valid JSON.
func stringEnd(data []byte, at int) int {
	for at++; ; at++ {
		at += bytes.IndexByte(data[at:], '"')
		slashes := 0
		for data[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at + 1
		}
	}
}

// valueEnd is the offset after the value that begins at an offset of valid JSON.
func valueEnd(data []byte, at int) int {
	for depth := 0; at < len(data); at++ {
		switch data[at] {
		case '"':
			at = stringEnd(data, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
