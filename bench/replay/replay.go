// Package replay shows the service at work on real history: it publishes the first-parent history
// of a git repository as changesets, kills the server in the middle of requests, goes on where it
// was, and at the end compares what the service holds with what git holds, hash by hash.
//
//	git diff-tree ─▶ planner ─▶ parts ─▶ publisher ─▶ POST /changesets
//	git cat-file  ─▶    │                   │ kill -9, restart, same Idempotency-Key
//	                    ▼                   ▼
//	             what was left out     changeset of each commit ─▶ comparison with git
//
// The service knows text files in a tree and nothing else, so symbolic links, submodules, binary
// and over-long files are left out and counted, and so is what they turn into later.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"pws/bench/client"
)

// Options say what is replayed and where.
type Options struct {
	// Repository is the folder of a git repository.
	Repository string
	// Server is the base URL of a running server; empty starts one from Program.
	Server string
	// Program is the path of the binary whose serve command is the server.
	Program string
	// CommitsMax bounds the commits replayed, oldest first; zero means all.
	CommitsMax int
	// Kills is how often the server is killed on the way, and once more before the comparison.
	Kills int
	// Samples is how many commits are compared.
	Samples int
	// Dir is where the temporary folder is made; empty means the system's place.
	Dir string
	// Progress receives a line that rewrites itself; nil shows nothing.
	Progress io.Writer
}

// Result is what a replay did and found.
type Result struct {
	Commits      int
	EmptyCommits int
	Changesets   int
	Operations   int
	RequestBytes int64
	Published    time.Duration
	LeftOut      map[string]int
	ModeOnly     int
	Kills        []Kill
	// Repeats counts answered requests that were sent once more and answered as the original.
	Repeats  int
	Compared Comparison
}

// Kill is one kill -9 and what followed.
type Kill struct {
	Commit int
	// Unanswered says that the request in flight got no answer and was repeated.
	Unanswered bool
	// Applied says that the repeat found the request had taken effect.
	Applied bool
	// Restart is the time from the start of the process until it served.
	Restart time.Duration
}

// published is a commit of the history on the service: the head before it and the head after.
type published struct {
	before string
	after  string
	// changesets is how many the commit became.
	changesets int
	// beyond is what was left out for lack of room, known for sampled commits.
	beyond map[string]bool
}

// session is one run of the replay.
type session struct {
	options Options
	repo    *repository
	commits []string
	host    *host
	api     *client.API
	project client.Project
	head    string
	history []published
	// sampled says which commits are compared, by their index.
	sampled map[int]bool
	// killAt holds the commits at which the server is still to be killed, in order.
	killAt []int
	result Result
	begun  time.Time
	shown  time.Time
}

// queuedParts bounds the changesets that are planned ahead of their publication.
const queuedParts = 4

// Run replays a repository and compares. An error means that it could not be carried out; that
// something differs is said by the Comparison.
func Run(ctx context.Context, options Options) (Result, error) {
	s := &session{options: options}
	err := s.prepare(ctx)
	if err != nil {
		return s.result, err
	}
	workDir, err := os.MkdirTemp(options.Dir, "pws-demo-")
	if err != nil {
		return s.result, err
	}
	defer os.RemoveAll(workDir)
	ctx, cancel := context.WithCancel(ctx)
	if err := s.connect(ctx, workDir); err != nil {
		cancel()
		return s.result, err
	}
	// The end of the context kills the server; the folder goes AFTER the server is gone.
	defer func() {
		cancel()
		s.api.Close()
		if s.host.owned() && s.host.process != nil {
			<-s.host.process.Done()
		}
	}()
	if err := s.publishAll(ctx); err != nil {
		return s.result, err
	}
	if s.host.owned() && options.Kills > 0 {
		s.host.kill()
		if err := s.revive(ctx, len(s.commits)-1, false); err != nil {
			return s.result, err
		}
	}
	if err := s.compare(ctx, workDir); err != nil {
		return s.result, err
	}
	return s.result, s.host.stop()
}

func (s *session) prepare(ctx context.Context) error {
	var err error
	if s.repo, err = openRepository(ctx, s.options.Repository); err != nil {
		return err
	}
	if s.commits, err = s.repo.history(ctx, s.options.CommitsMax); err != nil {
		return err
	}
	if len(s.commits) == 0 {
		return errors.New("the repository has no commits")
	}
	s.history = make([]published, len(s.commits))
	s.result.Commits = len(s.commits)
	s.result.LeftOut = map[string]int{}
	s.sampled = map[int]bool{}
	for _, index := range sampleIndexes(len(s.commits), s.options.Samples) {
		s.sampled[index] = true
	}
	if s.options.Server == "" {
		for at := range s.options.Kills {
			s.killAt = append(s.killAt, len(s.commits)*(at+1)/(s.options.Kills+1))
		}
	}
	return nil
}

func (s *session) connect(ctx context.Context, workDir string) error {
	s.host = &host{url: s.options.Server}
	if s.options.Server == "" {
		var err error
		if s.host, err = startHost(ctx, s.options.Program, workDir); err != nil {
			return err
		}
	}
	api, err := client.New(s.host.url)
	if err != nil {
		return err
	}
	s.api = api
	if err := api.Register("demo-" + client.RandomKey()[:16]); err != nil {
		return err
	}
	if s.project, err = api.CreateProject("Replay of a git repository"); err != nil {
		return fmt.Errorf("create the project: %w", err)
	}
	s.head = s.project.Head
	return nil
}

// publishAll plans in one goroutine and publishes in this one.
func (s *session) publishAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	source, err := s.repo.objects(ctx)
	if err != nil {
		return err
	}
	plan := newPlanner(newClassifier(source), s.sampled)
	parts := make(chan part, queuedParts)
	planned := make(chan error, 1)
	go func() {
		defer close(parts)
		err := s.repo.walk(ctx, s.commits, func(commit commitChanges) error {
			return plan.plan(commit, func(one part) error {
				select {
				case parts <- one:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
		planned <- errors.Join(err, source.Close())
	}()
	s.begun = time.Now()
	var failed error
	for one := range parts {
		if failed != nil {
			continue
		}
		if failed = s.take(ctx, one); failed != nil {
			cancel()
		}
	}
	// The planner has ended, so its counts may be read.
	ended := <-planned
	if failed != nil {
		return failed
	}
	if ended != nil {
		return ended
	}
	s.result.Published = time.Since(s.begun)
	s.result.EmptyCommits, s.result.ModeOnly = plan.emptyCommits, plan.modeOnly
	for why, count := range plan.leftOut {
		s.result.LeftOut[string(why)] = count
	}
	s.progress(len(s.commits), true)
	return nil
}

// take publishes one part and remembers the changeset of its commit.
func (s *session) take(ctx context.Context, one part) error {
	record := &s.history[one.index]
	if one.number == 0 {
		record.before = s.head
	}
	if len(one.operations) > 0 {
		if err := s.publish(ctx, one); err != nil {
			return fmt.Errorf("commit %s: %w", one.commit, err)
		}
		record.changesets++
	}
	if one.last {
		record.after, record.beyond = s.head, one.beyond
		s.progress(one.index+1, false)
	}
	return nil
}

// progressEvery is how often the line is rewritten.
const progressEvery = 200 * time.Millisecond

func (s *session) progress(done int, last bool) {
	if s.options.Progress == nil || (!last && time.Since(s.shown) < progressEvery) {
		return
	}
	s.shown = time.Now()
	seconds := time.Since(s.begun).Seconds()
	fmt.Fprintf(s.options.Progress, "\r%d of %d commits, %d changesets, %.0f a second, %d kills ",
		done, len(s.commits), s.result.Changesets,
		float64(s.result.Changesets)/max(seconds, 0.001), len(s.result.Kills))
	if last {
		fmt.Fprintln(s.options.Progress)
	}
}

// sampleIndexes spreads a number of samples over a length, both ends among them.
func sampleIndexes(length, samples int) []int {
	if samples <= 0 || length == 0 {
		return nil
	}
	samples = min(samples, length)
	if samples == 1 {
		return []int{length - 1}
	}
	out := make([]int, samples)
	for at := range out {
		out[at] = at * (length - 1) / (samples - 1)
	}
	return out
}
