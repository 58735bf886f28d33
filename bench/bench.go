// Package bench measures the service from outside: it starts the server as a child, drives it over
// the loopback, drives what it is compared with by the same workers in the same minute, and reports
// rates, latencies, and the ratios of paired rounds.
//
// Clients, servers and baselines share the processors of one machine, so absolute figures say
// little; a round runs A, then B, and only their ratio is compared, as the median over the rounds.
// Every run is bounded in time and in count, everything listens on the loopback alone, and no child
// outlives the process.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// The runs, in their order.
const (
	RunReads          = "reads"
	RunReadsAnonymous = "reads-anonymous"
	RunWritesMany     = "writes-many"
	RunWritesOne      = "writes-one"
	RunWritesHalf     = "writes-half"
	RunMixed          = "mixed"
	RunClaims         = "claims"
	RunCheckpoints    = "checkpoints"
	RunResume         = "resume"
	RunManifest       = "manifest"
	RunRestart        = "restart"
	RunWatchers       = "watchers"
	RunMemory         = "memory"
	RunSearch         = "search"
	RunMCP            = "mcp"
)

// RunNames lists all runs in their order.
var RunNames = func() (names []string) {
	for _, one := range groups {
		names = append(names, one.names...)
	}
	return names
}()

// Config says what is measured and how long.
type Config struct {
	// Program is the binary whose serve and bench-baseline commands are started.
	Program string
	// Server is the base URL of a running server; empty starts one for each group of runs.
	Server string
	// Only names the runs wanted; empty means all.
	Only []string
	// Duration is the length of each run in each round.
	Duration time.Duration
	// Connections is how many clients drive at once.
	Connections int
	// Rounds is how often the runs of a group take turns.
	Rounds int
	// Dir is where temporary folders are made; empty means the system's place.
	Dir string
	// Projects is the number of projects of writes-many and checkpoints.
	Projects int
	// ClaimTasks is how many tasks each project of claims has.
	ClaimTasks int
	// Resume and manifest read one project that has this much.
	ResumeChangesets int
	ResumeTasks      int
	ResumeHandoffs   int
	// Watchers is how many wait for events at once.
	Watchers int
	// SearchDocuments is how many documents search looks through.
	SearchDocuments int
	// Restart fills this many projects with this many changesets in all.
	RestartProjects   int
	RestartChangesets int
	// Memory fills this many projects, and this many operations into changesets of 100.
	MemoryProjects   int
	MemoryOperations int
	// Progress receives a line for each step; nil is silence.
	Progress io.Writer

	// settlePause is the pause between two looks at the memory of a server.
	settlePause time.Duration
}

// The bounds of a configuration keep a mistyped figure from filling the disk.
const (
	durationMax    = 10 * time.Minute
	connectionsMax = 4096
	roundsMax      = 100
	projectsMax    = 1_000_000
	watchersMax    = 10_000
	changesetsMax  = 10_000_000
	// tasksMax and handoffsMax are what the service takes in one project.
	tasksMax    = 10_000
	handoffsMax = 10_000
)

func (c *Config) validate() error {
	for _, name := range c.Only {
		if !slices.Contains(RunNames, name) {
			return fmt.Errorf("there is no run %q; the runs are %s",
				name, strings.Join(RunNames, ", "))
		}
	}
	for _, one := range []struct {
		name       string
		value, max int
	}{
		{"connections", c.Connections, connectionsMax}, {"rounds", c.Rounds, roundsMax},
		{"projects", c.Projects, projectsMax}, {"claim tasks", c.ClaimTasks, tasksMax},
		{"resume changesets", c.ResumeChangesets, changesetsMax},
		{"resume tasks", c.ResumeTasks, tasksMax},
		{"resume handoffs", c.ResumeHandoffs, handoffsMax},
		{"watchers", c.Watchers, watchersMax},
		{"search documents", c.SearchDocuments, projectsMax},
		{"restart projects", c.RestartProjects, projectsMax},
		{"restart changesets", c.RestartChangesets, changesetsMax},
		{"memory projects", c.MemoryProjects, projectsMax},
		{"memory operations", c.MemoryOperations, changesetsMax},
	} {
		if one.value < 1 || one.value > one.max {
			return fmt.Errorf("%s must be from 1 to %d", one.name, one.max)
		}
	}
	if c.Duration <= 0 || c.Duration > durationMax {
		return fmt.Errorf("a run must take more than nothing and at most %v", durationMax)
	}
	return nil
}

func (c *Config) wants(names ...string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(c.Only, name)
	})
}

func (c *Config) say(format string, args ...any) {
	if c.Progress != nil {
		fmt.Fprintf(c.Progress, format+"\n", args...)
	}
}

// Run carries out all wanted runs. An error means that they could not be carried out; errors of the
// server are counted in the report, and Report.Failed names them.
func Run(ctx context.Context, config Config) (*Report, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	if config.settlePause == 0 {
		config.settlePause = settlePause
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	report := &Report{
		Machine: machine, Began: time.Now().UTC().Truncate(time.Second),
		SecondsPerRun: config.Duration.Seconds(), Connections: config.Connections,
		Rounds: config.Rounds,
	}
	for _, one := range groups {
		if !config.wants(one.names...) {
			continue
		}
		if err := one.drive(ctx, &config, report); err != nil {
			return report, fmt.Errorf("%s: %w", strings.Join(one.names, ", "), err)
		}
	}
	return report, nil
}

// group is runs that take turns against the same server.
type group struct {
	names []string
	// own says that a server which runs elsewhere will not do, and env what is set for its own.
	own bool
	env []string
	run func(context.Context, *server, *Report) error
}

var groups = []group{
	{names: []string{RunReads, RunReadsAnonymous}, run: runReads},
	{names: []string{RunWritesMany, RunWritesOne, RunWritesHalf}, run: runWrites},
	{names: []string{RunMixed}, run: runMixed},
	{names: []string{RunClaims, RunCheckpoints}, run: runWork},
	{names: []string{RunResume, RunManifest}, run: runResume},
	{names: []string{RunWatchers}, own: true, env: watchersEnv, run: runWatchers},
	{names: []string{RunSearch}, env: []string{"PWS_SEARCH=on"}, run: runSearch},
	{names: []string{RunMCP}, run: runMCP},
	{names: []string{RunRestart}, own: true, run: runRestart},
	{names: []string{RunMemory}, own: true, env: memoryEnv, run: runMemory},
}

// drive starts the server of a group and carries out its runs.
func (g *group) drive(ctx context.Context, config *Config, report *Report) error {
	if g.own && config.Server != "" {
		report.Absent = append(report.Absent, g.names[0]+" needs a server of its own")
		return nil
	}
	srv, err := startServer(ctx, config, g.env...)
	if err != nil {
		return err
	}
	defer srv.close()
	return g.run(ctx, srv, report)
}

// optional starts a baseline that may be absent; it is nil then.
func (r *Report) optional(b *baseline, err error) (*baseline, error) { return b, r.absent(err) }

// absent notes what could not be compared with, and passes every other error on.
func (r *Report) absent(err error) error {
	if errors.Is(err, errAbsent) {
		r.Absent = append(r.Absent, err.Error())
		return nil
	}
	return err
}
