package main

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"pws/actors"
	"pws/client/cli"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// AdminReportsCommand lists, shows and handles reports of abuse while the server runs.
type AdminReportsCommand struct {
	List   AdminReportsListCommand   `cmd:"" default:"withargs" help:"List the reports, oldest first."`
	Show   AdminReportsShowCommand   `cmd:"" help:"Show one report."`
	Handle AdminReportsHandleCommand `cmd:"" help:"Mark reports as handled."`
}

// AdminReportsListCommand lists reports.
type AdminReportsListCommand struct {
	Status string `default:"RECEIVED" enum:"ALL,RECEIVED,HANDLED" help:"ALL, RECEIVED or HANDLED."`
	Since  string `help:"Only reports since a time (2026-11-20T09:00:00Z), a day or a duration ago (24h)."`
}

// AdminReportsShowCommand shows one report.
type AdminReportsShowCommand struct {
	Report string `arg:"" help:"ID of the report."`
}

// AdminReportsHandleCommand marks reports as handled.
type AdminReportsHandleCommand struct {
	Reports []string `arg:"" help:"IDs of the reports."`
	Reason  string   `help:"What was done; it is noted in the log of actions."`
}

type (
	adminReportsBody struct {
		// Report selects one; empty selects by status and time.
		Report      string `json:"report"`
		Status      string `json:"status"`
		SinceMillis int64  `json:"since_millis"`
	}
	adminHandleBody struct {
		Report string `json:"report"`
		Reason string `json:"reason"`
	}
	adminReportsData struct {
		Reports []reportLine `json:"reports"`
	}
)

// noReportError says that there is no report with an ID. The interface has no code for it: nobody
// can read reports there.
type noReportError struct{ report string }

func (e noReportError) Error() string { return fmt.Sprintf("There is no report %q.", e.report) }

// reportNotFound is the code of a noReportError in the answers of the socket.
const reportNotFound fault.Code = "REPORT_NOT_FOUND"

var _ = registerAdminRead("reports", func(e *actors.Engine, body *adminReportsBody) (any, error) {
	data := adminReportsData{Reports: []reportLine{}}
	for report := range e.Identity().Reports(id.ID{}) {
		name := report.ID.Format(id.Report)
		wanted := body.Report == name
		if body.Report == "" {
			wanted = report.CreatedAt >= body.SinceMillis &&
				(body.Status == "ALL" || body.Status == report.Status())
		}
		if wanted {
			data.Reports = append(data.Reports, reportLineOf(report))
		}
	}
	if body.Report != "" && len(data.Reports) == 0 {
		return nil, noReportError{body.Report}
	}
	return data, nil
})

var _ = registerAdmin("reports-handle", handleReport)

func handleReport(e *actors.Engine, body *adminHandleBody) (any, error) {
	wanted, ok := id.Parse(id.Report, body.Report)
	if !ok {
		return nil, noReportError{body.Report}
	}
	done, err := e.OperatorAsk(&identity.HandleReport{Report: wanted, Reason: body.Reason})
	if err != nil {
		return nil, err
	}
	made, ok := done.(*identity.ReportMade)
	if !ok {
		return nil, noReportError{body.Report}
	}
	return adminReportsData{Reports: []reportLine{reportLineOf(made.Report)}}, nil
}

// Run lists.
func (c *AdminReportsListCommand) Run(admin *AdminCommand, out io.Writer) error {
	since, err := sinceMillis(c.Since, time.Now())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	body := adminReportsBody{Status: c.Status, SinceMillis: since}
	return runAdminCommand(admin, out, "reports", body, reportsText)
}

// Run shows one report.
func (c *AdminReportsShowCommand) Run(admin *AdminCommand, out io.Writer) error {
	return runAdminCommand(admin, out, "reports", adminReportsBody{Report: c.Report}, reportsText)
}

// Run marks one report after the other; where one is not there, those behind it stay as they are.
func (c *AdminReportsHandleCommand) Run(admin *AdminCommand, out io.Writer) error {
	for _, report := range c.Reports {
		body := adminHandleBody{report, c.Reason}
		if err := runAdminCommand(admin, out, "reports-handle", body, reportsText); err != nil {
			return err
		}
	}
	return nil
}

// reportsText writes the lines of pws reports.
func reportsText(data *adminReportsData) string {
	var text bytes.Buffer
	for i := range data.Reports {
		// A buffer takes everything.
		_ = data.Reports[i].write(&text)
	}
	return text.String()
}
