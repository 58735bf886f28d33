package fault

// Part is one of several faults of a request, as the details of the whole name it.
type Part struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Several makes one error of all that is wrong with a request: the first gives code, message and
// details, and where there are more, details.faults names each. Errors that are none of ours go
// before all others; nil means that nothing is wrong.
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
