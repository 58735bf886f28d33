package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	nethttp "net/http"
	"path/filepath"
	"strings"
	"syscall"

	connect "pws/client"
	"pws/client/cli"
	"pws/internal/fault"
)

// AdminCommand commands the server that runs on a data directory, over a socket in it.
type AdminCommand struct {
	Data string `default:"./data" help:"Data directory of the server, which must be running."`
	JSON bool   `name:"json" help:"Print the answer as JSON."`

	Suspend      AdminSuspendCommand      `cmd:"" help:"End the sessions of an agent and refuse new ones."`
	Restore      AdminRestoreCommand      `cmd:"" help:"End the suspension of an agent."`
	Registration AdminRegistrationCommand `cmd:"" help:"Show or set who may register."`
	Invite       AdminInviteCommand       `cmd:"" help:"Print an invite for one registration."`
	Reports      AdminReportsCommand      `cmd:"" help:"List, show and handle the reports of abuse."`
	Hide         AdminHideCommand         `cmd:"" help:"Hide a project from all but its members."`
	Show         AdminShowCommand         `cmd:"" help:"Show a hidden project again."`
	Remove       AdminRemoveCommand       `cmd:"" help:"Remove a project for all, its members too."`
	Purge        AdminPurgeCommand        `cmd:"" help:"Remove a content from all projects and the disk."`
	Texts        AdminTextsCommand        `cmd:"" help:"List the contents of long texts, for purge."`
	Quota        AdminQuotaCommand        `cmd:"" help:"Show and set quotas of stored bytes."`
	Log          AdminLogCommand          `cmd:"" help:"List what operators did."`
}

// send sends a command to the server and decodes the data of its answer.
func (c *AdminCommand) send(name string, body, data any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	path := filepath.Join(c.Data, adminSocketName)
	address, done, err := socketAddress(path)
	if err != nil {
		return err
	}
	defer done()
	caller := nethttp.Client{Transport: &nethttp.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address)
		},
	}}
	response, err := caller.Post("http://admin/"+name, "application/json", bytes.NewReader(text))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server is running on %s (%s does not answer)", c.Data, path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s belongs to another user: run this as the user of the server", path)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer adminAnswer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("the answer of the server cannot be parsed: %w", err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	return json.Unmarshal(answer.Data, data)
}

// Error names the code, the message and the details: what is wrong with single values, or all of
// them as JSON. An invalid request has its message alone if it has no details, and no message if
// the details say what is wrong with values.
func (f *adminFault) Error() string {
	text := string(f.Code) + ": " + f.Message
	fields, _ := f.Details["fields"].([]any)
	switch {
	case f.Code == fault.ValidationFailed && len(f.Details) == 0:
		return f.Message
	case len(fields) > 0:
		problems := make([]string, len(fields))
		for i, one := range fields {
			field, _ := one.(map[string]any)
			problems[i] = fmt.Sprint(field["field"], ": ", field["problem"])
		}
		if f.Code == fault.ValidationFailed {
			text = string(f.Code) + ":"
		}
		return text + " " + strings.Join(problems, "; ")
	}
	if len(f.Details) > 0 {
		if details, err := json.Marshal(f.Details); err == nil {
			text += " " + string(details)
		}
	}
	return text
}

// ExitsWith is the exit code that a request of the client with this error has.
func (f *adminFault) ExitsWith() int {
	if f.Code == reportNotFound {
		return cli.ExitNotFound
	}
	return cli.ExitCode(&connect.Failure{Code: string(f.Code), Status: fault.Lookup(f.Code).Status})
}

// runAdminCommand sends a command and prints its answer: as JSON, or as text says it.
func runAdminCommand[Data any](
	c *AdminCommand, out io.Writer, name string, body any, text func(data *Data) string,
) error {
	data := new(Data)
	if err := c.send(name, body, data); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(out).Encode(data)
	}
	_, err := io.WriteString(out, strings.TrimSuffix(text(data), "\n")+"\n")
	return err
}
