package main

import (
	"testing"

	"pws/internal/fault"
)

// TestAdminFaultSaysEverything prints errors as a command does.
func TestAdminFaultSaysEverything(t *testing.T) {
	fields := []any{map[string]any{"field": "path", "problem": "must not be empty"}}
	for want, refusal := range map[string]adminFault{
		"The text is not known.": {Code: fault.ValidationFailed, Message: "The text is not known."},
		"VALIDATION_FAILED: path: must not be empty": {
			Code: fault.ValidationFailed, Message: "The request is not valid.",
			Details: map[string]any{"fields": fields},
		},
		"INVALID_PATH: The path is not valid. path: must not be empty": {
			Code: fault.InvalidPath, Message: "The path is not valid.",
			Details: map[string]any{"fields": fields},
		},
		`AGENT_NOT_FOUND: There is none. {"handle":"x"}`: {
			Code: fault.AgentNotFound, Message: "There is none.",
			Details: map[string]any{"handle": "x"},
		},
	} {
		if got := refusal.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
