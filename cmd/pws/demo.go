package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"pws/bench/replay"
)

// DemoCommand replays a git repository into a server and compares the two.
type DemoCommand struct {
	Repo    string `required:"" type:"existingdir" help:"Git repository to replay."`
	Server  string `help:"Base URL of a running server; without it one is started and killed."`
	Max     int    `default:"0" help:"Replay at most this many commits, oldest first; 0 means all."`
	Kills   int    `default:"3" help:"Kill the started server this often on the way."`
	Samples int    `default:"20" help:"Compare this many commits, spread over the history."`
	Dir     string `type:"existingdir" help:"Where the temporary data folder is made."`
}

// Run replays, prints a summary, and fails unless everything compared is equal.
func (c *DemoCommand) Run(out io.Writer) error {
	if c.Max < 0 || c.Kills < 0 || c.Samples < 1 {
		return fmt.Errorf("--max and --kills must not be negative and --samples must be positive")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	options := replay.Options{
		Repository: c.Repo, Server: c.Server, Program: program, CommitsMax: c.Max,
		Kills: c.Kills, Samples: c.Samples, Dir: c.Dir,
	}
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		options.Progress = os.Stderr
	}
	result, err := replay.Run(ctx, options)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	printDemo(out, result)
	if !result.Compared.Equal() {
		return fmt.Errorf("demo: %d differences", result.Compared.Differences)
	}
	return nil
}

func printDemo(out io.Writer, r replay.Result) {
	seconds := r.Published.Seconds()
	fmt.Fprintf(out, "replayed   %d commits as %d changesets with %d operations (%.1f MB) in %.1f s: "+
		"%.0f changesets a second\n", r.Commits, r.Changesets, r.Operations,
		float64(r.RequestBytes)/1e6, seconds, float64(r.Changesets)/max(seconds, 0.001))
	if r.EmptyCommits > 0 || r.ModeOnly > 0 {
		fmt.Fprintf(out, "unchanged  %d commits change no text file; %d changes of mode alone\n",
			r.EmptyCommits, r.ModeOnly)
	}
	for _, why := range slices.Sorted(maps.Keys(r.LeftOut)) {
		fmt.Fprintf(out, "left out   %d file versions: %s\n", r.LeftOut[why], why)
	}
	for _, kill := range r.Kills {
		fate := "the last request had been answered"
		switch {
		case kill.Unanswered && kill.Applied:
			fate = "the open request had taken effect; its repeat was answered as the original"
		case kill.Unanswered:
			fate = "the open request was lost; its repeat took effect"
		}
		fmt.Fprintf(out, "kill -9    at commit %d, serving again after %d ms: %s\n",
			kill.Commit+1, kill.Restart.Round(time.Millisecond).Milliseconds(), fate)
	}
	fmt.Fprintf(out, "repeated   %d answered requests; each was answered as the original\n", r.Repeats)
	c := r.Compared
	fmt.Fprintf(out, "compared   %d trees with %d files by hash, %d files by content, "+
		"%d diffs by git apply (%d were cut by the service's limit)\n",
		c.Trees, c.Files, c.Contents, c.Diffs, c.DiffsCut)
	for _, words := range c.Words {
		fmt.Fprintf(out, "DIFFERS    %s\n", words)
	}
	if c.Equal() {
		fmt.Fprintln(out, "result     equal")
	} else {
		fmt.Fprintf(out, "result     %d differences\n", c.Differences)
	}
}
