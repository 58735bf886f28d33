package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pws/actors"
	"pws/client/cli"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// AdminQuotaCommand shows and sets quotas of stored bytes.
type AdminQuotaCommand struct {
	Show AdminQuotaShowCommand `cmd:"" default:"withargs" help:"Show quotas and their use."`
	Set  AdminQuotaSetCommand  `cmd:"" help:"Set a quota."`
}

// adminQuotaSubject names an agent or a project; the server is neither.
type adminQuotaSubject struct {
	Agent   string `xor:"subject" help:"ID or handle of an agent."`
	Project string `xor:"subject" help:"ID of a project."`
}

// AdminQuotaShowCommand shows quotas.
type AdminQuotaShowCommand struct{ adminQuotaSubject }

// AdminQuotaSetCommand sets quotas of an agent, of a project, or of the server.
type AdminQuotaSetCommand struct {
	adminQuotaSubject
	StoredBytes string `placeholder:"BYTES" help:"What may be stored: bytes, none or default."`
	HourBytes   string `placeholder:"BYTES" help:"What an agent may store in an hour: bytes, none or default."`
	Reason      string `required:"" help:"Why; it is noted in the log of actions."`
}

type (
	adminQuotaShowBody struct {
		// Agent is an ID or handle. Without agent and project the quotas of the server are meant.
		Agent   string `json:"agent"`
		Project string `json:"project"`
	}
	adminQuotaSetBody struct {
		adminQuotaShowBody
		// Hourly selects the hourly quota of an agent.
		Hourly bool `json:"hourly"`
		// Bytes is the limit, 0 for none. With Default the limit of the settings holds again.
		Bytes   int64  `json:"bytes"`
		Default bool   `json:"default"`
		Reason  string `json:"reason"`
	}
	adminQuotaData struct {
		// Subject is the ID of the agent or project, empty for the server.
		Subject string           `json:"subject"`
		Quotas  []adminQuotaLine `json:"quotas"`
	}
	adminQuotaLine struct {
		Quota string `json:"quota"`
		// Limit is 0 where there is none.
		Limit int64 `json:"limit"`
		Used  int64 `json:"used"`
		// Set is false where the limit is that of the settings of the server.
		Set bool `json:"set"`
	}
)

func (b *adminQuotaShowBody) project() (id.ID, error) {
	project, ok := id.Parse(id.Project, b.Project)
	if !ok {
		return project, fault.NoProject()
	}
	return project, nil
}

var _ = registerAdminRead("quota-show", showQuotas)

func showQuotas(e *actors.Engine, body *adminQuotaShowBody) (any, error) {
	data := adminQuotaData{Quotas: []adminQuotaLine{}}
	var quotas []actors.StoredQuota
	switch {
	case body.Agent != "":
		agent, found, err := e.QuotasOfAgent(body.Agent)
		if err != nil {
			return nil, err
		}
		data.Subject, quotas = agent.ID.Format(id.Agent), found
	case body.Project != "":
		project, err := body.project()
		if err == nil {
			quotas, err = e.QuotasOfProject(project)
		}
		if err != nil {
			return nil, err
		}
		data.Subject = body.Project
	default:
		quotas = e.QuotasOfServer()
	}
	for _, one := range quotas {
		data.Quotas = append(data.Quotas, adminQuotaLine{
			Quota: one.Quota.String(), Limit: one.Limit, Used: one.Used, Set: one.Set,
		})
	}
	return data, nil
}

var _ = registerAdmin("quota-set", setQuota)

func setQuota(e *actors.Engine, body *adminQuotaSetBody) (any, error) {
	command := &identity.SetQuota{
		Agent: body.Agent, Bytes: body.Bytes, Default: body.Default, Reason: body.Reason,
	}
	switch {
	case body.Agent != "" && body.Project != "" || body.Hourly && body.Agent == "":
		return nil, fault.Invalid(fault.Field{
			Field: "agent", Problem: "must be given for the hourly quota, and not with a project",
		})
	case body.Agent != "" && body.Hourly:
		command.Quota = identity.QuotaAgentHour
	case body.Agent != "":
		command.Quota = identity.QuotaAgent
	case body.Project != "":
		project, err := body.project()
		if err != nil {
			return nil, err
		}
		command.Quota, command.Project = identity.QuotaProject, project
	default:
		command.Quota = identity.QuotaServer
	}
	if _, err := e.SetQuota(command); err != nil {
		return nil, err
	}
	return showQuotas(e, &body.adminQuotaShowBody)
}

// Run prints a line for each quota.
func (c *AdminQuotaShowCommand) Run(admin *AdminCommand, out io.Writer) error {
	body := adminQuotaShowBody{c.Agent, c.Project}
	return runAdminCommand(admin, out, "quota-show", body, quotaText)
}

// Run sets one quota after the other and prints them.
func (c *AdminQuotaSetCommand) Run(admin *AdminCommand, out io.Writer) error {
	var bodies []adminQuotaSetBody
	for i, text := range []string{c.StoredBytes, c.HourBytes} {
		if text == "" {
			continue
		}
		body := adminQuotaSetBody{
			adminQuotaShowBody: adminQuotaShowBody{c.Agent, c.Project}, Hourly: i == 1,
			Reason: c.Reason,
		}
		if err := body.parse(text); err != nil {
			return cli.UsageError{Err: err}
		}
		bodies = append(bodies, body)
	}
	if len(bodies) == 0 {
		return cli.UsageError{Err: errors.New("give --stored-bytes or, for an agent, --hour-bytes")}
	}
	if c.HourBytes != "" && c.Agent == "" {
		return cli.UsageError{Err: errors.New("--hour-bytes needs --agent")}
	}
	for i, body := range bodies {
		shown := io.Discard
		if i == len(bodies)-1 {
			shown = out
		}
		if err := runAdminCommand(admin, shown, "quota-set", body, quotaText); err != nil {
			return err
		}
	}
	return nil
}

func (b *adminQuotaSetBody) parse(text string) (err error) {
	switch text {
	case "default":
		b.Default = true
	case "none":
	default:
		b.Bytes, err = strconv.ParseInt(text, 10, 64)
		if err != nil || b.Bytes <= 0 {
			return fmt.Errorf("%q is not a number of bytes above 0; none lifts a limit", text)
		}
	}
	return nil
}

func quotaText(data *adminQuotaData) string {
	var text strings.Builder
	if data.Subject != "" {
		fmt.Fprintf(&text, "%s\n", data.Subject)
	}
	for _, one := range data.Quotas {
		limit, from := strconv.FormatInt(one.Limit, 10), "of the settings"
		if one.Limit == 0 {
			limit = "none"
		}
		if one.Set {
			from = "set by an operator"
		}
		fmt.Fprintf(&text, "%s: limit %s (%s), used %d\n", one.Quota, limit, from, one.Used)
	}
	return text.String()
}
