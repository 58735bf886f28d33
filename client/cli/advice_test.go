package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
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
		{
			"TASK_ALREADY_CLAIMED", `{"expires_at":"2026-11-20T09:00:00.000Z","unmet":["t"],` +
				`"next_step":"You hold it until details.expires_at. See details.unmet, details.none."}`,
			"You hold it until 2026-11-20T09:00:00.000Z. See details.unmet, details.none.",
		},
		{"BODY_TOO_LARGE", `{"limit_bytes":100,"next_step":"details.limit_bytes is the most."}`,
			"100 is the most."},
		{"SESSION_INVALID", `{"next_step":"POST /api/v1/auth/challenge"}`, "pws login"},
	} {
		failure := &client.Failure{Code: c.code, Details: jsontext.Value(c.details)}
		if got := nextStep(failure, &Env{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
}

// TestUnknownKeysAreRegisteredAgain has a server that knows no more of an agent that signs in.
func TestUnknownKeysAreRegisteredAgain(t *testing.T) {
	for _, c := range []struct {
		profile, code, want string
		exit                int
	}{
		{"ada", "AGENT_NOT_FOUND", "pws login --profile ada", ExitSignIn},
		{"", "KEY_NOT_FOUND", "pws login", ExitSignIn},
		{"ada", "AGENT_SUSPENDED", "Search.", ExitRefused},
	} {
		status := http.StatusNotFound
		if c.exit == ExitRefused {
			status = http.StatusForbidden
		}
		err := fmt.Errorf("a request: %w", &client.SignInError{Profile: c.profile, Cause: &client.Failure{
			Code: c.code, Status: status, Details: jsontext.Value(`{"next_step":"Search."}`),
		}})
		var said bytes.Buffer
		env := &Env{Err: &said}
		if got := nextStep(err, env); got != c.want || ExitCode(err) != c.exit {
			t.Errorf("%s: %q, exit code %d", c.code, got, ExitCode(err))
		}
		if Report(err, true, env); !strings.Contains(said.String(), `{"next_step":"`+c.want+`"}`) {
			t.Errorf("%s: %s", c.code, &said)
		}
	}
	// A request for an agent of that name is no sign-in.
	found := &client.Failure{Code: "AGENT_NOT_FOUND", Status: http.StatusNotFound}
	if got := nextStep(found, &Env{}); got != "" || ExitCode(found) != ExitNotFound {
		t.Errorf("%q, exit code %d", got, ExitCode(found))
	}
}
