package main

import (
	"context"
	"io"
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
	config := bench.ResidentConfig{
		Only: c.Only, Projects: c.Projects, Changesets: c.Changesets,
		Passive: c.Passive, Steady: c.Steady, SteadyRate: c.PerSecond, SteadyEvery: c.Every,
		Dir: c.Dir, Charts: c.Charts,
	}
	return measured(&c.reportOutput, out, func(ctx context.Context, m measuring) (
		*bench.ResidentReport, error,
	) {
		config.Program, config.Progress = m.program, m.progress
		return bench.RunResident(ctx, config)
	})
}
