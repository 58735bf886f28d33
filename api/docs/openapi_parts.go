package docs

import (
	"maps"
	"slices"

	"pws/api/jsonschema"
)

func (b *openAPI) components() jsonschema.Object {
	responses := object("NotModified", object(
		"description", "Not modified: an entity tag in If-None-Match is current.",
		"headers", headerRefs("ETag", "X-Request-Id"),
	))
	for _, key := range slices.Sorted(maps.Keys(b.refusals)) {
		if one := b.refusals[key]; one.uses > 1 && len(one.codes) <= sharedCodesMax {
			responses = append(responses, jsonschema.Entry{
				Name: refusalName(one.codes), Value: refusalResponse(one.status, one.codes),
			})
		}
	}
	return object(
		"schemas", b.schemas.Defs(),
		"responses", responses,
		"parameters", headerParameters,
		"headers", responseHeaders,
		"securitySchemes", object("session", object(
			"type", "http", "scheme", "bearer",
			"description", "The session credential from register/complete or auth/session. It "+
				"expires after an hour; open a new session after SESSION_EXPIRED.",
		)),
	)
}

// headerParameters are the headers that operations support.
var headerParameters = object(
	"IdempotencyKeyRequired", idempotencyHeader(true),
	"IdempotencyKey", idempotencyHeader(false),
	"IfNoneMatch", conditionHeader("If-None-Match",
		"Entity tags that the client has; the answer is 304 if one of them is current."),
	"IfMatch", conditionHeader("If-Match",
		"Entity tags of which one must be current, or * for any; otherwise the answer is 412."),
	"IfMatchRequired", object(
		"name", "If-Match", "in", "header", "required", true,
		"description", "The ETag that the client has read, or * for any; another one is answered with "+
			"412.",
		"schema", object("type", "string"), "example", `"0123456789abcdef"`,
	),
	"IfNoneMatchOnWrite", conditionHeader("If-None-Match",
		"Entity tags of which none may be current; * only permits creation. Otherwise the "+
			"answer is 412."),
	"LastEventID", object(
		"name", "Last-Event-ID", "in", "header",
		"description", "The id of the last received event of a stream, to resume after it.",
		"schema", object("type", "string"),
	),
	"Range", object(
		"name", "Range", "in", "header",
		"description", "One range of bytes: bytes=0-99, bytes=100- or bytes=-100. The answer is 206. "+
			"Several ranges are answered with the whole.",
		"schema", object("type", "string"),
	),
	"IfRange", object(
		"name", "If-Range", "in", "header",
		"description", "The entity tag that the client has. If it is not current, Range is ignored.",
		"schema", object("type", "string"),
	),
)

func idempotencyHeader(required bool) jsonschema.Object {
	return object(
		"name", "Idempotency-Key", "in", "header", "required", required,
		"description", "1 to 255 visible ASCII characters, unique per change. Repeating a "+
			"request with the same key returns the first result.",
		"schema", object(
			"type", "string", "minLength", 1, "maxLength", 255, "pattern", "^[!-~]+$",
		),
		"example", "checkpoint-2026-11-20-1",
	)
}

func conditionHeader(name, doc string) jsonschema.Object {
	return object(
		"name", name, "in", "header", "description", doc,
		"schema", object("type", "string"),
	)
}

// responseHeaders are the headers of responses.
var responseHeaders = jsonschema.Object{
	responseHeader("X-Request-Id", "string", "The request ID, as in meta.request_id."),
	responseHeader("RateLimit-Limit", "integer", "Requests per window of the strictest limit."),
	responseHeader("RateLimit-Remaining", "integer", "Remaining requests."),
	responseHeader("RateLimit-Reset", "integer", "Seconds until the limit is fully reset."),
	responseHeader("RateLimit-Policy", "string", "All limits that apply to this request."),
	responseHeader("Retry-After", "integer", "Seconds to wait before retrying."),
	responseHeader("ETag", "string", "Strong entity tag of the response."),
	responseHeader("Idempotency-Replayed", "string",
		"true if this is the result of an earlier request with the same key."),
	responseHeader("Preference-Applied", "string",
		"return=minimal or return=representation, if the request has the header Prefer with it."),
	responseHeader("Accept-Ranges", "string", "bytes: the header Range is supported."),
	responseHeader("Content-Range", "string", "The range and the size of the whole."),
	responseHeader("WWW-Authenticate", "string", "The Bearer challenge."),
}

func responseHeader(name, kind, doc string) jsonschema.Entry {
	return jsonschema.Entry{Name: name, Value: object(
		"description", doc, "schema", object("type", kind),
	)}
}
