package actors

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// oneProject is an engine with one owner and one project.
func oneProject(t testing.TB, change func(*Config)) (e *Engine, project, owner id.ID) {
	t.Helper()
	config := quiet(filepath.Join(t.TempDir(), "data"))
	if change != nil {
		change(&config)
	}
	e = start(t, config)
	owner = register(t, e, "owner")
	return e, createProject(t, e, owner, work.Public), owner
}

// TestOneKeyOneEffect sends one request many times at once, under one Idempotency-Key.
func TestOneKeyOneEffect(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	for round := range 20 {
		var all sync.WaitGroup
		var fresh, replayed atomic.Int32
		path := fmt.Sprint("f", round)
		for range 64 {
			all.Go(func() {
				for {
					done, err := e.Do(api.Order{
						Project: project, Agent: owner, Command: putOf(path, "once"),
						Idempotency: keyFor(path, "put"),
					})
					switch {
					case fault.CodeOf(err) == fault.IdempotencyInProgress:
						continue
					case err != nil:
						t.Error(err)
					case done.Replayed:
						replayed.Add(1)
					default:
						fresh.Add(1)
					}
					return
				}
			})
		}
		all.Wait()
		if fresh.Load() != 1 || replayed.Load() != 63 {
			t.Fatalf("%d effects and %d repeats of one key", fresh.Load(), replayed.Load())
		}
	}
	if count := viewOf(t, e, project).ChangesetsCount(); count != 21 {
		t.Fatalf("%d changesets, want 21", count)
	}
}

// TestOneCreatorWins lets many agents create the same path.
func TestOneCreatorWins(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	for round := range 10 {
		var all sync.WaitGroup
		var won atomic.Int32
		path := fmt.Sprint("f", round)
		for n := range 32 {
			all.Go(func() {
				content := blobOf(fmt.Sprint(round, n))
				for {
					p, err := e.Project(project)
					if err != nil {
						t.Error(err)
						return
					}
					_, err = e.Do(api.Order{Project: project, Agent: owner,
						Command: &work.PublishChangeset{Base: p.Head().ID,
							Operations: []work.Operation{{
								Action: work.Create, Path: path, Content: &content,
								ContentType: "text/plain",
							}},
						}})
					switch fault.CodeOf(err) {
					case "":
						won.Add(1)
						return
					case fault.FileExists:
						return
					case fault.ProjectMoved:
						continue
					}
					t.Error(err)
					return
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d creators of one path won", won.Load())
		}
	}
}

// TestReadersSeeWholeStates reads while writers write, snapshots are taken and the project becomes
// passive: heads never go back, and each file that a view names can be read.
func TestReadersSeeWholeStates(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	var writers, readers sync.WaitGroup
	var over atomic.Bool
	for n := range 4 {
		writers.Go(func() {
			for step := range 60 {
				content := strings.Repeat(fmt.Sprint(n, step), 20)
				_, err := put(e, project, owner, fmt.Sprintf("%d/%d", n, step%3), content)
				p, lookErr := e.Project(project)
				if err = errors.Join(err, lookErr); err != nil {
					t.Error(err)
					return
				}
				if got, _, err := contentOf(e, p, fmt.Sprintf("%d/%d", n, step%3)); err != nil ||
					got != content {
					t.Errorf("a writer does not read its own write: %q, %v", got, err)
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			last := uint32(0)
			for !over.Load() {
				p, err := e.Project(project)
				if err != nil || p.Head().Sequence < last {
					t.Errorf("head %d after %d: %v", p.Head().Sequence, last, err)
					return
				}
				last = p.Head().Sequence
				p.Files("", func(file work.FileInfo) bool {
					if _, _, err := contentOf(e, p, file.Path); err != nil {
						t.Errorf("%s at %d: %v", file.Path, last, err)
						return false
					}
					return true
				})
			}
		})
	}
	readers.Go(func() {
		for !over.Load() {
			if err := e.Save(); err != nil {
				t.Error(err)
			}
			e.sweep(e.Advance(10))
		}
	})
	writers.Wait()
	over.Store(true)
	readers.Wait()
	if count := viewOf(t, e, project).ChangesetsCount(); count != 241 {
		t.Fatalf("%d changesets, want 241", count)
	}
	want := fullState(t, e)
	config := e.config
	config.Dir = crashCopy(t, e.config.Dir)
	sameState(t, "after a kill", want, fullState(t, start(t, config)))
}

// TestListingNeverShowsHiddenProjects flips the visibility of projects while they are listed.
func TestListingNeverShowsHiddenProjects(t *testing.T) {
	e, _, owner := oneProject(t, nil)
	var flippers sync.WaitGroup
	var over atomic.Bool
	for range 4 {
		project := createProject(t, e, owner, work.Public)
		flippers.Go(func() {
			for step := range 60 {
				visibility := []work.Visibility{work.Private, work.Public}[step%2]
				_, err := e.Do(api.Order{Project: project, Agent: owner,
					Command: &work.UpdateProject{Visibility: visibility, Reuse: work.AllowReuse}})
				list, listErr := e.PublicProjects(index.Position{}, 100)
				if err = errors.Join(err, listErr); err != nil {
					t.Error(err)
				}
				listed := false
				for _, p := range list {
					listed = listed || p.ID == project
					if p.Visibility != work.Public {
						t.Errorf("a project that is %s is listed", p.Visibility)
					}
				}
				if listed != (visibility == work.Public) {
					t.Errorf("a project that became %s: listed is %v", visibility, listed)
				}
			}
		})
	}
	var background sync.WaitGroup
	background.Go(func() {
		for !over.Load() {
			if err := e.Save(); err != nil {
				t.Error(err)
			}
			e.sweep(e.Advance(10))
		}
	})
	flippers.Wait()
	over.Store(true)
	background.Wait()
}

// TestQueueIsBounded sends more than a project's queue holds.
func TestQueueIsBounded(t *testing.T) {
	e, project, owner := oneProject(t, func(c *Config) { c.QueueMax = 4 })
	var all sync.WaitGroup
	var refused, taken atomic.Int32
	begin := make(chan struct{})
	for n := range 64 {
		all.Go(func() {
			<-begin
			_, err := put(e, project, owner, fmt.Sprint("f", n), "x")
			var refusal *fault.Error
			switch {
			case err == nil:
				taken.Add(1)
			case errors.As(err, &refusal) && refusal.Code == fault.RateLimited &&
				refusal.Details["reason"] == "PROJECT_QUEUE_FULL":
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	if refused.Load() == 0 || taken.Load() < 4 {
		t.Fatalf("%d taken, %d refused", taken.Load(), refused.Load())
	}
	if count := viewOf(t, e, project).FilesCount(); count != int(taken.Load()) {
		t.Fatalf("%d files of %d that were taken", count, taken.Load())
	}
}

// TestWritesAreRefusedBelowTheReserve refuses writes while the reserve is not there; reads go on,
// and writes come back.
func TestWritesAreRefusedBelowTheReserve(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustPut(t, e, project, owner, "a", "1")
	want := fullState(t, e)
	config := e.config
	stop(t, e)
	config.ReserveBytes = 1 << 60
	e = start(t, config)
	for range 3 {
		_, err := put(e, project, owner, "a", "2")
		var refusal *fault.Error
		if !errors.As(err, &refusal) || refusal.Code != fault.StorageUnavailable ||
			refusal.Details["reason"] != "DISK_RESERVE" {
			t.Fatalf("a write on a full disk: %v", err)
		}
	}
	_, err := e.DoIdentity(pruneOrder)
	if err != nil {
		t.Fatalf("what changes nothing: %v", err)
	}
	sameState(t, "on a full disk", want, fullState(t, e))
	if got, _, err := contentOf(e, viewOf(t, e, project), "a"); err != nil || got != "1" {
		t.Fatalf("read %q: %v", got, err)
	}
	stop(t, e)
	config.ReserveBytes = -1
	e = start(t, config)
	mustPut(t, e, project, owner, "a", "3")
	if count := viewOf(t, e, project).ChangesetsCount(); count != 3 {
		t.Fatalf("%d changesets, want 3", count)
	}
}

type fileInput struct {
	write   bool
	path    string
	content string
}

// fileModel is one file: what was written last is read.
var fileModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, one := range history {
			path := one.Input.(fileInput).path
			parts[path] = append(parts[path], one)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(fileInput); in.write {
			return true, in.content
		}
		return output == state, state
	},
}

// TestLinearizable records concurrent reads and writes of files and asks whether one order of them
// explains all that was seen.
func TestLinearizable(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	linearizable(t, fileModel, 8, 100, func(client, step int) (any, any, error) {
		in := fileInput{write: step%3 == 0, path: fmt.Sprint("f", step%2)}
		in.content = fmt.Sprint(client, " ", step)
		if in.write {
			_, err := put(e, project, owner, in.path, in.content)
			return in, "", err
		}
		p, err := e.Project(project)
		if err != nil {
			return in, "", err
		}
		out, _, err := contentOf(e, p, in.path)
		return in, out, err
	})
}

// linearizable lets clients take steps at once and asks whether one order of them explains, by a
// model, all that was seen.
func linearizable(
	t *testing.T, model porcupine.Model, clients, steps int,
	take func(client, step int) (in, out any, err error),
) {
	t.Helper()
	histories := make([][]porcupine.Operation, clients)
	began := time.Now()
	var all sync.WaitGroup
	for client := range histories {
		all.Go(func() {
			for step := range steps {
				call := time.Since(began).Nanoseconds()
				in, out, err := take(client, step)
				if err != nil {
					t.Error(err)
					return
				}
				histories[client] = append(histories[client], porcupine.Operation{
					ClientId: client, Input: in, Output: out, Call: call,
					Return: time.Since(began).Nanoseconds(),
				})
			}
		})
	}
	all.Wait()
	history := slices.Concat(histories...)
	if result := porcupine.CheckOperationsTimeout(model, history, 20*time.Second); result !=
		porcupine.Ok {
		t.Fatalf("%d operations: %s", len(history), result)
	}
}
