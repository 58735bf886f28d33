package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"pws/actors"
	"pws/actors/offline"
	"pws/client/cli"
	"pws/identity"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
)

// ReportsCommand lists the reports of abuse for the operator.
type ReportsCommand struct {
	Data   string   `default:"./data" help:"Data directory; its server may be running."`
	Status string   `default:"ALL" enum:"ALL,RECEIVED,HANDLED" help:"ALL, or those with this status: RECEIVED or HANDLED."`
	Since  string   `help:"Only reports since a time (2026-11-20T09:00:00Z), a day or a duration ago (24h)."`
	JSON   bool     `name:"json" help:"One JSON object a line."`
	Handle []string `help:"First mark these as handled, for new ones; only on a stopped server outside of a group."`
}

// Run marks the reports that --handle names and lists reports, the oldest first.
func (c *ReportsCommand) Run(out io.Writer) error {
	since, err := sinceMillis(c.Since, time.Now())
	if err != nil {
		return cli.UsageError{Err: err}
	}
	handled := make([]id.ID, len(c.Handle))
	for i, text := range c.Handle {
		report, ok := id.Parse(id.Report, text)
		if !ok {
			return cli.UsageError{Err: fmt.Errorf("--handle: %q is not the ID of a report", text)}
		}
		handled[i] = report
	}
	if len(handled) > 0 {
		log := slog.New(slog.NewTextHandler(os.Stderr,
			&slog.HandlerOptions{Level: slog.LevelWarn}))
		if err := handleReports(c.Data, handled, log); err != nil {
			return err
		}
	}
	reports, err := offline.Reports(c.Data)
	if err != nil {
		return err
	}
	write := writeReport
	if c.JSON {
		write = writeReportJSON
	}
	for _, report := range reports {
		if report.CreatedAt < since || c.Status != "ALL" && c.Status != report.Status() {
			continue
		}
		if err := write(out, report); err != nil {
			return err
		}
	}
	return nil
}

// handleReports refuses a data directory with a running server, which has a command of its own, and
// that of a member of a group, which writes what its group agrees on and nothing else.
func handleReports(dir string, reports []id.ID, log *slog.Logger) error {
	if err := datadir.RequireOwner(dir); err != nil {
		return err
	}
	err := actors.HandleReports(dir, reports, log)
	switch {
	case errors.Is(err, journal.ErrLocked):
		err = fmt.Errorf("a server runs on %s: use pws admin --data %s reports handle", dir, dir)
	case errors.Is(err, datadir.ErrMember):
		err = fmt.Errorf("%w: nothing was changed; use pws admin reports handle, with the --data of a "+
			"member that runs", err)
	}
	return err
}

// sinceMillis parses --since into Unix milliseconds, 0 for the empty text.
func sinceMillis(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if back, err := time.ParseDuration(text); err == nil {
		return now.Add(-back).UnixMilli(), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("--since: %q is not a time, date or duration", text)
}

func reportTime(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}

// reporterOf is the ID of the reporter, "-" for an anonymous one.
func reporterOf(r *identity.Report) string {
	if r.Reporter.IsZero() {
		return "-"
	}
	return r.Reporter.Format(id.Agent)
}

func writeReport(out io.Writer, r *identity.Report) error {
	line := reportLineOf(r)
	return line.write(out)
}

// write writes one line, and a second with the details. These are quoted, because they come from
// anybody and are written to a terminal.
func (l *reportLine) write(out io.Writer) error {
	var text strings.Builder
	reporter := "-"
	if l.ReporterID != nil {
		reporter = *l.ReporterID
	}
	fmt.Fprintf(&text, "%s %s %s %s %s %s by %s\n", l.CreatedAt, l.ID, l.Status, l.Reason,
		l.EntityType, quoted(l.EntityID), reporter)
	if l.Details != "" {
		fmt.Fprintf(&text, "  %q\n", l.Details)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// quoted quotes a text that contains more than plain characters.
func quoted(text string) string {
	if q := fmt.Sprintf("%q", text); q != `"`+text+`"` || strings.Contains(text, " ") {
		return q
	}
	return text
}

// reportLine is a report as --json writes it.
type reportLine struct {
	ID         string  `json:"id"`
	Status     string  `json:"status"`
	CreatedAt  string  `json:"created_at"`
	HandledAt  *string `json:"handled_at"`
	Reason     string  `json:"reason"`
	EntityType string  `json:"entity_type"`
	EntityID   string  `json:"entity_id"`
	Details    string  `json:"details"`
	ReporterID *string `json:"reporter_id"`
}

func writeReportJSON(out io.Writer, r *identity.Report) error {
	return json.NewEncoder(out).Encode(reportLineOf(r))
}

func reportLineOf(r *identity.Report) reportLine {
	line := reportLine{
		ID: r.ID.Format(id.Report), Status: r.Status(), CreatedAt: reportTime(r.CreatedAt),
		Reason: r.Reason.String(), EntityType: r.Type.String(), EntityID: r.EntityText(),
		Details: r.Details,
	}
	if r.HandledAt != 0 {
		at := reportTime(r.HandledAt)
		line.HandledAt = &at
	}
	if !r.Reporter.IsZero() {
		reporter := reporterOf(r)
		line.ReporterID = &reporter
	}
	return line
}
