// Package fault holds the one error type of the service and the catalog of its codes.
//
// Rules return *Error; any other error is an internal error, which is logged and never shown to
// clients. The catalog has for each code its meaning, its status, whether the same request may
// succeed later, and the recommended action.
package fault

import (
	"errors"
	"slices"
	"strings"
)

// Error is a refusal that a client can act on.
type Error struct {
	Code    Code
	Message string
	// Details are the structured data of the refusal; their keys are in the catalog. Values are
	// strings, numbers, booleans, or slices and structs of those that marshal to JSON.
	Details map[string]any
}

// New makes an error of a code and a message for people.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// With adds one detail and returns the same error.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any, 2)
	}
	e.Details[key] = value
	return e
}

// Error is for logs and tests; clients receive code, message and details separately.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Field is one fault of a request body or parameter: its path and the problem.
type Field struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Invalid makes a VALIDATION_FAILED error with all faults, up to FieldsMax.
func Invalid(fields ...Field) *Error {
	return New(ValidationFailed, "The request is not valid.").withFields(fields)
}

// FieldsMax is the maximum number of faults in one response.
const FieldsMax = 100

// withFields adds faults to the details, and fields_truncated if there may be more of them.
func (e *Error) withFields(fields []Field) *Error {
	if len(fields) < FieldsMax {
		return e.With("fields", fields)
	}
	return e.With("fields", fields[:FieldsMax]).With("fields_truncated", true)
}

// Unreported returns the faults that are not covered by known ones: it leaves out faults of the
// same fields and of fields that contain them.
func Unreported(known, faults []Field) (unreported []Field) {
	for _, one := range faults {
		if !Within(known, one.Field) {
			unreported = append(unreported, one)
		}
	}
	return unreported
}

// Within reports whether any fault concerns a field or a part of it.
func Within(faults []Field, field string) bool {
	return slices.ContainsFunc(faults, func(one Field) bool {
		rest, within := strings.CutPrefix(one.Field, field)
		return within && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// CodeOf returns the code of an error: Internal if it is not an *Error, empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var fault *Error
	if errors.As(err, &fault) {
		return fault.Code
	}
	return Internal
}
