package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"pws/bench"
)

// BenchGroup has the commands that measure. Without the name of one, rates are measured.
type BenchGroup struct {
	Rates BenchCommand `cmd:"" default:"withargs" help:"Measure rates and latencies."`
	Abuse AbuseCommand `cmd:"" help:"Attack the service and measure what ordinary users see."`

	Overload OverloadCommand `cmd:"" help:"Send the service more than it can take."`
	Growth   GrowthCommand   `cmd:"" help:"Compare small with large, few with many, and loads."`
	Resident ResidentCommand `cmd:"" help:"Measure memory by owner, and bytes written to the disk."`

	Group GroupBenchCommand `cmd:"" help:"Measure three servers that are one service, and their losses."`
}

// BenchCommand measures the service and its baselines.
type BenchCommand struct {
	Server      string   `help:"Base URL of a running server; without it each group starts one."`
	Only        []string `help:"Runs to do, separated by commas; an unknown name lists them."`
	Seconds     float64  `default:"5" help:"Length of each run in each round."`
	Connections int      `default:"64" help:"Concurrent clients."`
	Rounds      int      `default:"3" help:"How often the runs of a group take turns."`
	Projects    int      `default:"1000" help:"Projects of writes-many and checkpoints."`

	ClaimTasks       int `default:"10000" help:"Tasks of each project of claims."`
	ResumeChangesets int `default:"10000" help:"Changesets of the project of resume and manifest."`
	ResumeTasks      int `default:"1000" help:"Tasks of that project."`
	ResumeHandoffs   int `default:"500" help:"Handoffs of that project."`

	Watchers int `default:"1000" help:"How many wait for events in watchers."`

	SearchDocuments int `default:"15000" help:"Documents that search looks through, at least 100."`

	RestartProjects   int `default:"10000" help:"Projects that restart fills."`
	RestartChangesets int `default:"1000000" help:"Changesets that restart fills them with."`
	MemoryProjects    int `default:"20000" help:"Projects that memory fills."`
	MemoryOperations  int `default:"1000000" help:"Changeset operations that memory fills."`

	Dir      string `type:"existingdir" help:"Where temporary data folders are made."`
	JSON     bool   `name:"json" xor:"format" help:"Print the report as JSON."`
	Markdown bool   `xor:"format" help:"Print the report as Markdown."`
	Quiet    bool   `help:"Show no progress."`
}

// Run measures, prints the report, and fails when a run had errors.
func (c *BenchCommand) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config := bench.Config{
		Program: program, Server: c.Server, Only: c.Only, Connections: c.Connections,
		Duration: time.Duration(c.Seconds * float64(time.Second)), Rounds: c.Rounds, Dir: c.Dir,
		Projects: c.Projects, ClaimTasks: c.ClaimTasks, ResumeChangesets: c.ResumeChangesets,
		ResumeTasks: c.ResumeTasks, ResumeHandoffs: c.ResumeHandoffs, Watchers: c.Watchers,
		SearchDocuments:   c.SearchDocuments,
		RestartProjects:   c.RestartProjects,
		RestartChangesets: c.RestartChangesets, MemoryProjects: c.MemoryProjects,
		MemoryOperations: c.MemoryOperations,
	}
	if !c.Quiet {
		config.Progress = os.Stderr
	}
	report, err := bench.Run(ctx, config)
	if err != nil {
		err = fmt.Errorf("bench: %w", err)
	}
	if report == nil {
		return err
	}
	// The results of runs that finished BEFORE a failure are printed as well.
	if failed := report.Failed(); len(failed) > 0 {
		err = errors.Join(err, errors.New("bench: "+strings.Join(failed, "; ")))
	}
	return errors.Join(c.print(out, report), err)
}

func (c *BenchCommand) print(out io.Writer, report *bench.Report) error {
	switch {
	case c.JSON:
		return printJSON(out, report)
	case c.Markdown:
		return report.Markdown(out)
	default:
		return report.Text(out)
	}
}

func printJSON(out io.Writer, report any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// AbuseCommand attacks servers that it starts, each with its default settings.
type AbuseCommand struct {
	Only    []string `help:"Attacks to run, separated by commas; an unknown name lists them."`
	Around  float64  `default:"5" help:"Seconds that are measured before and after each attack."`
	Seconds float64  `default:"10" help:"Length of each attack."`
	Small   bool     `help:"Use small amounts, which show only that the attacks work."`

	benchOutput
}

// Run attacks, prints the report, and fails where something did not hold.
func (c *AbuseCommand) Run(out io.Writer) error {
	config := bench.AbuseConfig{
		Only: c.Only, Small: c.Small, MemoryLimit: c.MemoryLimit, Dir: c.Dir,
		Quiet:  time.Duration(c.Around * float64(time.Second)),
		Attack: time.Duration(c.Seconds * float64(time.Second)),
	}
	return measured(&c.reportOutput, out, func(ctx context.Context, m measuring) (
		*bench.AbuseReport, error,
	) {
		config.Program, config.Progress = m.program, m.progress
		return bench.RunAbuse(ctx, config)
	})
}

// OverloadCommand sends servers that it starts more than they can take.
type OverloadCommand struct {
	Seconds     float64 `default:"10" help:"Length of each phase."`
	Rounds      int     `default:"1" help:"How often each load is repeated, with a new server."`
	Connections int     `default:"256" help:"Clients that find the peak."`
	Flood       int     `default:"3072" help:"Clients of the overload, from 64 addresses."`
	Times       float64 `default:"4" help:"How much more than at the peak is sent."`

	benchOutput
}

// Run drives the loads, prints the report, and fails where something did not hold.
func (c *OverloadCommand) Run(out io.Writer) error {
	config := bench.OverloadConfig{
		Connections: c.Connections, Flood: c.Flood, Times: c.Times, Dir: c.Dir,
		Duration: time.Duration(c.Seconds * float64(time.Second)), Rounds: c.Rounds,
		MemoryLimit: c.MemoryLimit,
	}
	return measured(&c.reportOutput, out, func(ctx context.Context, m measuring) (
		*bench.OverloadReport, error,
	) {
		config.Program, config.Progress = m.program, m.progress
		return bench.RunOverload(ctx, config)
	})
}

// benchOutput is how servers are started for a report, and how it is printed.
type benchOutput struct {
	MemoryLimit int64 `default:"1073741824" help:"Memory of the servers, in bytes; nine tenths are their own limit."`

	reportOutput
}

// reportOutput is how a report is printed, and where servers have their data.
type reportOutput struct {
	Dir      string `type:"existingdir" help:"Where temporary data folders are made."`
	JSON     bool   `name:"json" xor:"format" help:"Print the report as JSON."`
	Markdown bool   `xor:"format" help:"Print the report as Markdown."`
	Quiet    bool   `help:"Show no progress."`
}

// benchReport is a report with conditions that may not have held.
type benchReport interface {
	Failed() []string
	Text(out io.Writer) error
	Markdown(out io.Writer) error
}

// measuring is what all measurements need: the binary that they start, and where they tell their
// progress, which may be nil.
type measuring struct {
	program  string
	progress io.Writer
}

// measured measures until it is done or the process receives a signal, and prints the report.
func measured[R interface {
	comparable
	benchReport
}](c *reportOutput, out io.Writer, measure func(context.Context, measuring) (R, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	m := measuring{program: program}
	if !c.Quiet {
		m.progress = os.Stderr
	}
	report, err := measure(ctx, m)
	var none R
	if report == none {
		return err
	}
	return c.print(out, report, err)
}

// print also prints what was finished BEFORE a failure.
func (c *reportOutput) print(out io.Writer, report benchReport, err error) error {
	if failed := report.Failed(); len(failed) > 0 {
		err = errors.Join(err, errors.New(strings.Join(failed, "; ")))
	}
	if err != nil {
		err = fmt.Errorf("bench: %w", err)
	}
	switch {
	case c.JSON:
		return errors.Join(printJSON(out, report), err)
	case c.Markdown:
		return errors.Join(report.Markdown(out), err)
	default:
		return errors.Join(report.Text(out), err)
	}
}

// BenchBaselineCommand is the bare HTTP server that BenchCommand starts as a baseline.
type BenchBaselineCommand struct {
	Kind     string `arg:"" enum:"http" help:"What serves: http, a bare handler."`
	Response string `arg:"" type:"existingfile" help:"File with the response to every request."`
}

// Run serves until it receives a signal.
func (c *BenchBaselineCommand) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bench.ServeBaseline(ctx, c.Response, out)
}

// BenchUsersCommand has ordinary users work while AbuseCommand attacks.
type BenchUsersCommand struct{}

// Run works until it receives a signal.
func (*BenchUsersCommand) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bench.ServeUsers(ctx, out)
}

// BenchAttackCommand is one attack of AbuseCommand.
type BenchAttackCommand struct {
	Settings string `arg:"" help:"The settings of the attack, as JSON."`
}

// Run attacks and prints the result as JSON.
func (c *BenchAttackCommand) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bench.ServeAttack(ctx, c.Settings, out)
}
