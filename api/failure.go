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
	for i := range fault.Catalog {
		codes[i] = fault.Catalog[i].Code
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
	properties := jsonschema.Pairs("recommended_action", jsonschema.Pairs(
		"type", "string", "enum", actions, "description", "The recommended next step.",
	))
	names[nextStepKey], names[nextCallsKey], names[NextCallKey] = true, true, true
	for _, name := range slices.Sorted(maps.Keys(names)) {
		properties = append(properties, jsonschema.Entry{Name: name, Value: detailSchema(name)})
	}
	return map[string]any{
		"type": "object", "properties": properties, "additionalProperties": true,
	}
}

// detailSchema returns the schema of a member that clients act on; others can be any value.
func detailSchema(name string) jsonschema.Object {
	text := jsonschema.Pairs("type", "string")
	switch name {
	case nextStepKey:
		return jsonschema.Pairs("type", "string", "description", "Which operations to call next; more "+
			"specific than recommended_action.")
	case nextCallsKey:
		call := jsonschema.Pairs(
			"type", "object",
			"properties", jsonschema.Pairs("operation", text, "method", text, "path", text),
			"required", []any{"operation", "method", "path"},
		)
		return jsonschema.Pairs(
			"type", "array", "items", call,
			"description", "The operations in next_step, all of which the caller may call.",
		)
	case NextCallKey:
		return jsonschema.Pairs(
			"type", "object",
			"properties", jsonschema.Pairs(
				"operation", text, "method", text, "path", text,
				"headers", jsonschema.Pairs("type", "object"),
				"body", jsonschema.Pairs("type", "object"),
				"anonymous", jsonschema.Pairs("type", "boolean"),
			),
			"required", []any{"operation", "method", "path"},
			"description", "A complete request that the caller can send as it is: the refused one "+
				"with its faults corrected, or another one that helps. If anonymous is true, it is sent "+
				"without the credential.",
		)
	case "fields":
		field := jsonschema.Pairs(
			"type", "object",
			"properties", jsonschema.Pairs("field", text, "problem", text),
			"required", []any{"field", "problem"},
		)
		return jsonschema.Pairs(
			"type", "array", "items", field,
			"description", "Every fault of the request with its location.",
		)
	case "retry_after_seconds":
		return jsonschema.Pairs(
			"type", "integer", "minimum", 0, "description", "How long to wait, as in Retry-After.",
		)
	case "changed_paths":
		return jsonschema.Pairs(
			"type", "array", "items", text,
			"description", "Paths that changed since the base, at most 200.",
		)
	case "base_changeset_id", "head_changeset_id", "current_blob_hash", "problem", "reason":
		return jsonschema.Pairs("type", []any{"string", "null"})
	case "current_etag":
		return jsonschema.Pairs(
			"type", []any{"string", "null"},
			"description", "Entity tag of the current version; null if there is none.",
		)
	case "current_version":
		return jsonschema.Pairs("type", "integer")
	}
	return jsonschema.Object{}
}
