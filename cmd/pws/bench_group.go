package main

import (
	"context"
	"io"
	"time"

	"pws/bench"
)

// GroupBenchCommand measures a group of three servers.
type GroupBenchCommand struct {
	Only        []string `help:"Parts to measure, separated by commas; an unknown name lists them."`
	Seconds     float64  `default:"8" help:"Length of each run in each round of writes and reads."`
	Rounds      int      `default:"3" help:"How often these runs take turns."`
	Connections int      `default:"64" help:"Concurrent clients in them."`
	Projects    int      `default:"200" help:"Projects of each run of writes."`
	Harms       int      `default:"50" help:"How often the leader is killed, and as often stopped."`
	Writers     int      `default:"8" help:"Clients that write while leaders are lost."`
	PerSecond   float64  `default:"1000" help:"Writes a second of these clients, together."`
	Changesets  int      `default:"1000000" help:"Changesets of the group that new members join."`
	Filled      int      `default:"10000" help:"Projects that these changesets are in."`

	reportOutput
}

// Run measures and prints the report.
func (c *GroupBenchCommand) Run(out io.Writer) error {
	config := bench.GroupConfig{
		Only: c.Only, Duration: time.Duration(c.Seconds * float64(time.Second)),
		Rounds: c.Rounds, Connections: c.Connections, Projects: c.Projects, Harms: c.Harms,
		Writers: c.Writers, WriteRate: c.PerSecond, Changesets: c.Changesets, Filled: c.Filled,
		Dir: c.Dir,
	}
	return measured(&c.reportOutput, out, func(ctx context.Context, m measuring) (
		*bench.GroupReport, error,
	) {
		config.Program, config.Progress = m.program, m.progress
		return bench.RunGroup(ctx, config)
	})
}
