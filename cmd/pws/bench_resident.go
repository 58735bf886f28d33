package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pws/bench"
)

// ResidentCommand measures the resident memory of servers that it starts and fills.
type ResidentCommand struct {
	Only       []string      `help:"Parts to measure, separated by commas; an unknown name lists them."`
	Projects   int           `default:"2000" help:"Projects that changesets and steady writes go to."`
	Changesets int           `default:"228000" help:"Changesets of one file of 300 B, in all projects."`
	Passive    int           `default:"1000000" help:"Projects of which nothing is in memory."`
	Steady     time.Duration `default:"1h" help:"How long steady writes last."`
	PerSecond  float64       `default:"2000" help:"Steady writes a second."`
	Every      time.Duration `default:"15s" help:"How often the memory is read during them."`
	Charts     string        `type:"path" help:"Folder for a chart of the memory as SVG."`

	reportOutput
}

// Run measures and prints the report.
func (c *ResidentCommand) Run(out io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config := bench.ResidentConfig{
		Program: program, Only: c.Only, Projects: c.Projects, Changesets: c.Changesets,
		Passive: c.Passive, Steady: c.Steady, SteadyRate: c.PerSecond, SteadyEvery: c.Every,
		Dir: c.Dir, Charts: c.Charts,
	}
	if !c.Quiet {
		config.Progress = os.Stderr
	}
	report, err := bench.RunResident(ctx, config)
	if report == nil {
		return err
	}
	return c.print(out, report, err)
}
