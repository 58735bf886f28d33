package main

import (
	"fmt"
	"io"
	"strings"

	"pws/actors"
)

// AdminLogCommand lists what operators did.
type AdminLogCommand struct{}

type (
	adminLogBody struct{}
	adminLogData struct {
		// Actions are the newest thousand, the oldest first.
		Actions []adminLogLine `json:"actions"`
	}
	adminLogLine struct {
		At      string `json:"at"`
		Action  string `json:"action"`
		Subject string `json:"subject"`
		Reason  string `json:"reason"`
	}
)

var _ = registerAdminRead("log", func(e *actors.Engine, _ *adminLogBody) (any, error) {
	data := adminLogData{Actions: []adminLogLine{}}
	for _, done := range e.Identity().Actions() {
		data.Actions = append(data.Actions, adminLogLine{
			At: reportTime(done.At), Action: done.Action.String(), Subject: done.Subject,
			Reason: done.Reason,
		})
	}
	return data, nil
})

// Run prints a line for each action.
func (c *AdminLogCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "log", adminLogBody{}, func(data *adminLogData) string {
		var text strings.Builder
		for _, line := range data.Actions {
			fmt.Fprintf(&text, "%s %s %s %q\n", line.At, line.Action, line.Subject, line.Reason)
		}
		return text.String()
	})
}
