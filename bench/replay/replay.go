// Package replay tests the service with real history. It publishes the first-parent history of a
// git repository as changesets, kills the server in the middle of requests, continues after a
// restart, and finally compares the contents of the service with those of git by their hashes.
//
//	git diff-tree ─▶ planner ─▶ parts ─▶ publisher ─▶ POST /changesets
//	git cat-file  ─▶    │                   │ kill -9, restart, same Idempotency-Key
//	                    ▼                   ▼
//	             what was left out     changeset of each commit ─▶ comparison with git
//
// The service stores text files in a tree and nothing else. Symbolic links, submodules, binary
// files and files over the size limit are left out and counted, and so are text files that become
// one of these later.
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
	// Server is the base URL of a running server. If empty, Program is started.
	Server string
	// Program is the path of the binary whose serve command is the server.
	Program string
	// CommitsMax bounds the number of commits, from the oldest; zero means all.
	CommitsMax int
	// Kills is how often the server is killed during the replay; it is killed once more before the
	// comparison.
	Kills int
	// Samples is how many commits are compared.
	Samples int
	// Dir is where the temporary folder is created; empty means the system's default.
	Dir string
	// Progress receives a progress line that overwrites itself; nil means no output.
	Progress io.Writer
}

// Result is the outcome of a replay.
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
	// Repeats counts answered requests that were sent again and returned the original response.
	Repeats  int
	Compared Comparison
}

// Kill describes one kill -9 and the restart.
type Kill struct {
	Commit int
	// Unanswered means that the request in flight got no response and was repeated.
	Unanswered bool
	// Applied means that the repeated request had already taken effect.
	Applied bool
	// Restart is the time from the start of the process until it served.
	Restart time.Duration
}

// published is a commit on the service: the head before it and the head after it.
type published struct {
	before string
	after  string
	// changesets is the number of changesets of the commit.
	changesets int
	// beyond are the files left out because the project was full, known for sampled commits.
	beyond map[string]bool
}

// session is the state of one replay.
type session struct {
	options Options
	repo    *repository
	commits []string
	host    *host
	api     *client.API
	project client.Project
	head    string
	history []published
	// sampled are the commits that are compared, by index.
	sampled map[int]bool
	// killAt are the remaining commits at which the server is killed, in order.
	killAt []int
	result Result
	begun  time.Time
	shown  time.Time
}

// queuedParts bounds the planned changesets that wait to be published.
const queuedParts = 4

// Run replays a repository and compares. An error means that the replay could not be carried out;
// the Comparison reports differences.
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
	// The end of the context kills the server; the folder is removed AFTER the server has ended.
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
		for i := range s.options.Kills {
			s.killAt = append(s.killAt, len(s.commits)*(i+1)/(s.options.Kills+1))
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

// publishAll plans in one goroutine and publishes in the calling one.
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
	// The planner has ended, so that its counts may be read.
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

// take publishes one part and records the changeset of its commit.
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

// progressEvery is the interval between updates of the progress line.
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

// sampleIndexes spreads a number of samples evenly over a length, including both ends.
func sampleIndexes(length, samples int) []int {
	if samples <= 0 || length == 0 {
		return nil
	}
	samples = min(samples, length)
	if samples == 1 {
		return []int{length - 1}
	}
	out := make([]int, samples)
	for i := range out {
		out[i] = i * (length - 1) / (samples - 1)
	}
	return out
}
