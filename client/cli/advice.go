package cli

import (
	"cmp"
	"regexp"
	"strings"

	"pws/client"
)

// commandsOf are the commands for operations that the server advises; for others it is pws api.
var commandsOf = map[string]string{
	"checkpoint.create":    "pws checkpoint",
	"changeset.list":       "pws log",
	"contribution.read":    "pws contribution view",
	"contribution.reject":  "pws contribution reject",
	"contribution.review":  "pws contribution review",
	"discussion.create":    "pws discussion create",
	"file.list":            "pws file list",
	"file.read":            "pws file read",
	"handoff.create":       "pws handoff create",
	"inbox.read":           "pws inbox",
	"key.add_start":        "pws key rotate",
	"key.list":             "pws key list",
	"manifest.read":        "pws manifest",
	"member.list":          "pws project member list",
	"opportunity.list":     "pws opportunity",
	"project.fork":         "pws project fork",
	"project.read":         "pws project view",
	"project.update":       "pws project edit",
	"resume.read":          "pws resume",
	"search.query":         "pws search",
	"state.read":           "pws state view",
	"task.list":            "pws task list",
	"task.release":         "pws task release",
	"task.renew":           "pws task renew",
	"workspace.file.write": "pws workspace write",
	"workspace.open":       "pws workspace open",
	"workspace.refresh":    "pws workspace refresh",
	"workspace.submit":     "pws workspace submit",
}

// serverStep is the next step that the server advises, with commands in place of requests and
// values in place of the names of details; empty if it advises none.
func serverStep(failure *client.Failure) string {
	var step string
	failure.Detail("next_step", &step)
	// The calls are in the order of the text.
	var said strings.Builder
	for _, call := range advisedCalls(failure) {
		request := call.Method + " " + call.Path
		command, known := commandsOf[call.Operation]
		switch {
		case failure.Code == "PROJECT_ARCHIVED" && call.Operation == "project.update":
			command = unarchive
		case !known:
			command = "pws api " + request
		}
		if before, after, found := strings.Cut(step, request); found {
			said.WriteString(before + command)
			step = after
		}
	}
	return withDetails(failure, said.String()+step)
}

// advisedCall is an operation that the next step of the server names.
type advisedCall struct {
	Operation string `json:"operation"`
	Method    string `json:"method"`
	Path      string `json:"path"`
}

func advisedCalls(failure *client.Failure) (calls []advisedCall) {
	failure.Detail("next_calls", &calls)
	return calls
}

// namedDetail is the name of a detail in the text of a next step.
var namedDetail = regexp.MustCompile(`\bdetails\.([a-z_]+)`)

// withDetails has the value of a detail in place of its name, which only programs can look up.
// Lists and objects keep their names.
func withDetails(failure *client.Failure, step string) string {
	details, err := parseValue(failure.Details)
	if err != nil {
		return step
	}
	return namedDetail.ReplaceAllStringFunc(step, func(name string) string {
		return cmp.Or(line(details.at(strings.TrimPrefix(name, "details.")).text()), name)
	})
}
