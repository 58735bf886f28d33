// Package bench measures the service from outside. It starts the server as a child process, drives
// it over the loopback interface, drives the baselines with the same workers at about the same
// time, and reports rates, latencies, and the ratios of paired rounds.
//
// Clients, servers and baselines share the processors of one machine, so absolute figures say
// little. A round runs A, then B, and their ratio is the median over the rounds. It belongs to the
// machine and the minute, because a slow disk pushes ratios of writes towards 1; the processor time
// for a request on both sides is what to compare between runs.
// Every run is bounded in time and in count, every socket is on the loopback interface, and no
// child process outlives this one.
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

// The runs, in order.
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
	RunLists          = "lists"
	RunRestart        = "restart"
	RunWatchers       = "watchers"
	RunBrowsers       = "browsers"
	RunMemory         = "memory"
	RunSearch         = "search"
	RunMCP            = "mcp"
)

// RunNames lists all runs in order.
var RunNames = func() (names []string) {
	for _, one := range groups {
		names = append(names, one.names...)
	}
	return names
}()

// Config says what to measure and for how long.
type Config struct {
	// Program is the binary whose serve and bench-baseline commands are started.
	Program string
	// Server is the base URL of a running server. If empty, each group of runs starts one.
	Server string
	// Only names the wanted runs; empty means all.
	Only []string
	// Duration is the length of each run in each round.
	Duration time.Duration
	// Connections is the number of concurrent clients.
	Connections int
	// Rounds is the number of rounds of each group.
	Rounds int
	// Dir is where temporary folders are created; empty means the system's default.
	Dir string
	// Projects is the number of projects of writes-many and checkpoints.
	Projects int
	// ClaimTasks is the number of tasks in each project of claims.
	ClaimTasks int
	// The size of the project that resume and manifest read.
	ResumeChangesets int
	ResumeTasks      int
	ResumeHandoffs   int
	// Watchers is the number of clients that wait for events.
	Watchers int
	// SearchDocuments is the number of documents that are searched.
	SearchDocuments int
	// The projects and the changesets, in total, that restart writes.
	RestartProjects   int
	RestartChangesets int
	// The projects that memory creates, and the operations that it writes in changesets of 100.
	MemoryProjects   int
	MemoryOperations int
	// Progress receives a line for each step; nil means no output.
	Progress io.Writer

	// settlePause is the pause between two readings of a server's memory.
	settlePause time.Duration
	// metrics has servers listen for readers of metrics.
	metrics bool
}

// The upper bounds of a configuration. They keep a typing error from filling the disk.
const (
	durationMax    = 10 * time.Minute
	connectionsMax = 4096
	roundsMax      = 100
	projectsMax    = 1_000_000
	watchersMax    = 10_000
	changesetsMax  = 10_000_000
	// tasksMax and handoffsMax are the service's limits for one project.
	tasksMax    = 10_000
	handoffsMax = 10_000
)

// checkNames refuses names that are not of a kind.
func checkNames(kind string, names, all []string) error {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no %s %q; the %ss are %s", kind, name, kind,
				strings.Join(all, ", "))
		}
	}
	return nil
}

// part is a part of a measurement that can be chosen by its name.
type part[C any] struct {
	name string
	run  func(context.Context, C) error
}

// runParts carries out the parts that only names, or all if it is empty.
func runParts[C any](ctx context.Context, config C, only []string, parts []part[C]) error {
	for _, one := range parts {
		if len(only) > 0 && !slices.Contains(only, one.name) {
			continue
		}
		if err := one.run(ctx, config); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

func (c *Config) validate() error {
	if err := checkNames("run", c.Only, RunNames); err != nil {
		return err
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
		return fmt.Errorf("the duration must be positive and at most %v", durationMax)
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

// Run carries out all wanted runs. An error means that a run could not be carried out. Errors of
// the server are counted in the report, and Report.Failed names them.
func Run(ctx context.Context, config Config) (*Report, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.wants(RunSearch) && config.SearchDocuments < searchDocumentsMin {
		return nil, fmt.Errorf("search documents must be at least %d: in fewer, some queries find "+
			"nothing", searchDocumentsMin)
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
		Rounds: config.Rounds, Program: programVersion(), Server: config.Server,
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

// group is a set of runs that take turns against the same server.
type group struct {
	names []string
	// own means that the group cannot use a running server; env is set for the server it starts.
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
	{names: []string{RunLists}, run: runLists},
	{names: []string{RunWatchers}, own: true, env: watchersEnv, run: runWatchers},
	{names: []string{RunBrowsers}, own: true, env: watchersEnv, run: runBrowsers},
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

// optional returns a baseline, or nil if its program is not installed.
func (r *Report) optional(b *baseline, err error) (*baseline, error) { return b, r.absent(err) }

// absent reports a missing baseline in the report, and returns every other error.
func (r *Report) absent(err error) error {
	if errors.Is(err, errAbsent) {
		r.Absent = append(r.Absent, err.Error())
		return nil
	}
	return err
}
