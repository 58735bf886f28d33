package api

import (
	"maps"
	"slices"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// Meta is the metadata of every answer.
type Meta struct {
	// The request ID, as in X-Request-Id.
	RequestID string `json:"request_id" check:"id=req_"`
}

// Failure is the body of every error response.
type Failure struct {
	// Always false.
	OK refused `json:"ok"`
	// The error.
	Error ErrorBody `json:"error"`
	// Metadata of the response.
	Meta Meta `json:"meta"`
}

// ErrorBody is one error.
type ErrorBody struct {
	// The stable error code; GET /api/v1/errors lists all codes.
	Code errorCode `json:"code"`
	// Human-readable message; its wording may change.
	Message string `json:"message"`
	// Details of the error; the error catalog lists the keys of each code.
	Details errorDetails `json:"details"`
	// Whether the same request, unchanged, may succeed later.
	Retryable bool `json:"retryable"`
}

// refused is the JSON value false.
type refused struct{}

// JSONSchema permits only false.
func (refused) JSONSchema() map[string]any { return map[string]any{"const": false} }

// errorCode is a code of the catalog.
type errorCode string

// JSONSchema lists the catalog.
func (errorCode) JSONSchema() map[string]any {
	codes := make([]any, len(fault.Catalog))
	for at := range fault.Catalog {
		codes[at] = fault.Catalog[at].Code
	}
	return map[string]any{"type": "string", "enum": codes}
}

// errorDetails are the details of an error.
type errorDetails struct{}

// JSONSchema names every member that the details of a code in the catalog can have.
func (errorDetails) JSONSchema() map[string]any {
	names := map[string]bool{}
	var actions []any
	for _, entry := range fault.Catalog {
		for _, name := range entry.Details {
			names[name] = true
		}
		if action := any(entry.Action); entry.Action != "" && !slices.Contains(actions, action) {
			actions = append(actions, action)
		}
	}
	properties := object("recommended_action", object(
		"type", "string", "enum", actions, "description", "The recommended next step.",
	))
	names[nextStepKey], names[nextCallsKey] = true, true
	for _, name := range slices.Sorted(maps.Keys(names)) {
		properties = append(properties, jsonschema.Entry{Name: name, Value: detailSchema(name)})
	}
	return map[string]any{
		"type": "object", "properties": properties, "additionalProperties": true,
	}
}

// detailSchema returns the schema of a member that clients act on; others can be any value.
func detailSchema(name string) jsonschema.Object {
	text := object("type", "string")
	switch name {
	case nextStepKey:
		return object("type", "string", "description", "Which operations to call next; more "+
			"specific than recommended_action.")
	case nextCallsKey:
		call := object(
			"type", "object",
			"properties", object("operation", text, "method", text, "path", text),
			"required", []any{"operation", "method", "path"},
		)
		return object(
			"type", "array", "items", call,
			"description", "The operations in next_step, all of which the caller may call.",
		)
	case "fields":
		field := object(
			"type", "object",
			"properties", object("field", text, "problem", text),
			"required", []any{"field", "problem"},
		)
		return object(
			"type", "array", "items", field,
			"description", "Every fault of the request with its location.",
		)
	case "retry_after_seconds":
		return object(
			"type", "integer", "minimum", 0, "description", "How long to wait, as in Retry-After.",
		)
	case "changed_paths":
		return object(
			"type", "array", "items", text,
			"description", "Paths that changed since the base, at most 200.",
		)
	case "base_changeset_id", "head_changeset_id", "current_blob_hash", "problem", "reason":
		return object("type", []any{"string", "null"})
	case "current_etag":
		return object(
			"type", []any{"string", "null"},
			"description", "Entity tag of the current version; null if there is none.",
		)
	case "current_version":
		return object("type", "integer")
	}
	return jsonschema.Object{}
}

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
	"IfNoneMatchOnWrite", conditionHeader("If-None-Match",
		"Entity tags of which none may be current; * only permits creation. Otherwise the "+
			"answer is 412."),
	"LastEventID", object(
		"name", "Last-Event-ID", "in", "header",
		"description", "The id of the last received event of a stream, to resume after it.",
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

// responseHeaders are the headers of answers.
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
	responseHeader("WWW-Authenticate", "string", "The Bearer challenge."),
}

func responseHeader(name, kind, doc string) jsonschema.Entry {
	return jsonschema.Entry{Name: name, Value: object(
		"description", doc, "schema", object("type", kind),
	)}
}
