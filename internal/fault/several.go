package fault

// Part is one of several faults of a request, as listed in the details.
type Part struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Several makes one error of all faults of a request: the first gives code, message and details,
// and if there are more, details.faults lists each. An error that is not a *Error is returned
// instead of all others; nil means no fault.
func Several(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	parts := make([]Part, 0, len(errs))
	for _, err := range errs {
		refusal, ok := err.(*Error)
		if !ok {
			return err
		}
		parts = append(parts, Part{refusal.Code, refusal.Message, refusal.Details})
	}
	if len(parts) == 1 {
		return errs[0]
	}
	whole := New(parts[0].Code, parts[0].Message)
	for key, value := range parts[0].Details {
		whole.With(key, value)
	}
	return whole.With("faults", parts)
}

// Together makes one error of all faults in the format of a request: the first gives code, message
// and details, and details.fields lists the faults of all. Errors that are not about the format,
// such as a body that cannot be read, are returned alone; nil means no fault.
func Together(errs ...error) error {
	var first *Error
	var fields []Field
	count := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		refusal, ok := err.(*Error)
		if !ok || !refusal.ofForm() {
			return err
		}
		if count++; first == nil {
			first = refusal
		}
		fields = append(fields, Unreported(fields, refusal.Fields())...)
	}
	switch {
	case first == nil:
		return nil
	case count == 1:
		return first
	}
	whole := New(first.Code, first.Message)
	for key, value := range first.Details {
		whole.With(key, value)
	}
	return whole.withFields(fields)
}

// fieldOf is the part of a request that a code concerns, for format codes without fields.
var fieldOf = map[Code]string{
	ValidationFailed:        "",
	InvalidJSON:             "body",
	InvalidPath:             "path",
	InvalidLicense:          "license_spdx",
	InvalidHandle:           "handle",
	ReusePolicyRequired:     "reuse_policy",
	IdempotencyKeyRequired:  "Idempotency-Key",
	IdempotencyKeyInvalid:   "Idempotency-Key",
	PaginationCursorInvalid: "cursor",
	PaginationLimitInvalid:  "limit",
	SearchQueryInvalid:      "q",
	EmptyChangeset:          "operations",
	FileTooLarge:            "content",
	UnsupportedContentType:  "content_type",
}

// ofForm reports whether the error is about the format of a request, independent of the state.
func (e *Error) ofForm() bool {
	_, form := fieldOf[e.Code]
	return form
}

// Fields returns the faults listed in the error, or one for the field that its code concerns.
func (e *Error) Fields() []Field {
	if fields, ok := e.Details["fields"].([]Field); ok {
		return fields
	}
	problem := e.Message
	if said, ok := e.Details["problem"].(string); ok {
		problem = said
	}
	return []Field{{Field: fieldOf[e.Code], Problem: problem}}
}
