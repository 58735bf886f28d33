package main

import (
	"context"
	"io"
	"time"

	"pws/bench"
)

// GrowthCommand compares the service at several sizes.
type GrowthCommand struct {
	Only        []string  `help:"Parts to measure, separated by commas; an unknown name lists them."`
	Seconds     float64   `default:"3" help:"Length of each run in each round."`
	Rounds      int       `default:"3" help:"How often the runs of a part take turns."`
	Connections int       `default:"64" help:"Concurrent clients."`
	Projects    []int     `default:"10,1000,100000,1000000" help:"Projects of a server."`
	Changesets  []int     `default:"100,10000,300000" help:"Changesets of one project."`
	Files       []int     `default:"10,5000" help:"Files of one project."`
	Tasks       []int     `default:"10,10000" help:"Tasks of one project."`
	Clients     []int     `default:"1,64,1000" help:"Connections."`
	Idle        int       `default:"10000" help:"Idle connections beside those that drive."`
	Loads       []float64 `default:"0.1,0.25,0.5,0.75,0.9" help:"Parts of the peak rate."`
	Charts      string    `type:"path" help:"Folder for charts as SVG."`

	reportOutput
}

// Run measures and prints the report.
func (c *GrowthCommand) Run(out io.Writer) error {
	config := bench.GrowthConfig{
		Only: c.Only, Duration: time.Duration(c.Seconds * float64(time.Second)),
		Rounds: c.Rounds, Connections: c.Connections, Projects: c.Projects,
		Changesets: c.Changesets, Files: c.Files, Tasks: c.Tasks, Clients: c.Clients,
		Idle: c.Idle, Loads: c.Loads, Dir: c.Dir, Charts: c.Charts,
	}
	return measured(&c.reportOutput, out, func(ctx context.Context, m measuring) (
		*bench.GrowthReport, error,
	) {
		config.Program, config.Progress = m.program, m.progress
		return bench.RunGrowth(ctx, config)
	})
}
