package cli

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// TestNextStepIsOfTheSituation has refusals whose code alone does not say what helps.
func TestNextStepIsOfTheSituation(t *testing.T) {
	for _, c := range []struct{ code, details, want string }{
		{"FORBIDDEN", `{"recommended_action":"ASK"}`, ""},
		{"ROLE_REQUIRED", `{}`, ""},
		{
			"CLAIM_LOST", `{"next_step":"Stop. GET /api/v1/projects/p/tasks shows whether it is free.",` +
				`"next_calls":[{"operation":"task.list","method":"GET","path":"/api/v1/projects/p/tasks"}]}`,
			"Stop. pws task list shows whether it is free.",
		},
		{
			"PROJECT_IS_COMMUNITY", `{"next_step":"Take one: POST /api/v1/projects/p/turn.",` +
				`"next_calls":[{"operation":"turn.take","method":"POST","path":"/api/v1/projects/p/turn"}]}`,
			"Take one: pws api POST /api/v1/projects/p/turn.",
		},
		{
			"TASK_ALREADY_CLAIMED", `{"next_step":"GET /a/b, or GET /a.","next_calls":[` +
				`{"operation":"x","method":"GET","path":"/a/b"},` +
				`{"operation":"inbox.read","method":"GET","path":"/a"}]}`,
			"pws api GET /a/b, or pws inbox.",
		},
		{"SESSION_INVALID", `{"next_step":"POST /api/v1/auth/challenge"}`, "pws login"},
	} {
		failure := &client.Failure{Code: c.code, Details: jsontext.Value(c.details)}
		if got := nextStep(failure, &Env{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
}
