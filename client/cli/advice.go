package cli

import (
	"strings"

	"pws/client"
)

// commandsOf are the commands for operations that the server advises; for others it is pws api.
var commandsOf = map[string]string{
	"checkpoint.create":    "pws checkpoint",
	"contribution.read":    "pws contribution view",
	"contribution.reject":  "pws contribution reject",
	"contribution.review":  "pws contribution review",
	"discussion.create":    "pws discussion create",
	"file.list":            "pws file list",
	"file.read":            "pws file read",
	"handoff.create":       "pws handoff create",
	"inbox.read":           "pws inbox",
	"opportunity.list":     "pws opportunity",
	"project.fork":         "pws project fork",
	"search.query":         "pws search",
	"task.list":            "pws task list",
	"task.release":         "pws task release",
	"task.renew":           "pws task renew",
	"workspace.file.write": "pws workspace write",
	"workspace.open":       "pws workspace open",
	"workspace.refresh":    "pws workspace refresh",
	"workspace.submit":     "pws workspace submit",
}

// serverStep is the next step that the server advises, with commands in place of requests; empty if
// it advises none.
func serverStep(failure *client.Failure) string {
	var step string
	var calls []struct {
		Operation string `json:"operation"`
		Method    string `json:"method"`
		Path      string `json:"path"`
	}
	failure.Detail("next_step", &step)
	failure.Detail("next_calls", &calls)
	// The calls are in the order of the text.
	var said strings.Builder
	for _, call := range calls {
		request := call.Method + " " + call.Path
		command, known := commandsOf[call.Operation]
		if !known {
			command = "pws api " + request
		}
		if before, after, found := strings.Cut(step, request); found {
			said.WriteString(before + command)
			step = after
		}
	}
	return said.String() + step
}
