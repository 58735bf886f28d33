package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"pws/bench/client"
)

const (
	// userCount is the number of ordinary users; each has its own agent, address and project.
	userCount = 4
	// userEvery is the time between two requests of one user.
	userEvery = 50 * time.Millisecond
)

// users are ordinary users who send reads and writes at fixed times, whatever the answers.
type users struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     struct {
		sync.Mutex
		sample  *Sample
		refused map[string]int64
	}
}

// start registers the users at a server and has them work until they are stopped.
func (u *users) start(ctx context.Context, host string) error {
	u.begin()
	ctx, u.cancel = context.WithCancel(ctx)
	for i := range userCount {
		api, err := register(host, fmt.Sprintf("127.0.0.%d", 11+i))
		if err != nil {
			return err
		}
		project, err := api.CreatePublicProject(fmt.Sprintf("Notes %d", i))
		if err == nil {
			err = putFile(api, filePath(project.ID, "notes.txt"), newFiller(i, contentBytes).next())
		}
		if err != nil {
			api.Close()
			return err
		}
		u.group.Go(func() {
			defer api.Close()
			u.work(ctx, api, project.ID, i)
		})
	}
	return nil
}

func (u *users) stop() {
	if u.cancel != nil {
		u.cancel()
	}
	u.group.Wait()
}

// begin forgets what was measured so far.
func (u *users) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mu.sample, u.mu.refused = newSample(), map[string]int64{}
}

// end reports what was measured since begin. Where nothing was answered, it waits for an answer,
// but not longer than the patience.
func (u *users) end(phase *UserPhase, patience time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for begun := time.Now(); u.mu.sample.Count == 0 && time.Since(begun) < patience; {
		u.mu.Unlock()
		<-time.After(userEvery / userCount)
		u.mu.Lock()
	}
	phase.Requests = u.mu.sample.Count
	phase.P50 = u.mu.sample.latencies.ValueAtQuantile(50)
	phase.P99 = u.mu.sample.latencies.ValueAtQuantile(99)
	phase.Refused, phase.Errors = maps.Clone(u.mu.refused), maps.Clone(u.mu.sample.Errors)
}

// work sends one request after the other. A late request counts from when it was due, so that a
// stall counts in every request that it delays.
func (u *users) work(ctx context.Context, api *client.API, project string, at int) {
	filler := newFiller(at, contentBytes)
	path := filePath(project, "notes.txt")
	due := time.Now().Add(userEvery * time.Duration(at) / userCount)
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		var err error
		switch turn % 4 {
		case 0:
			err = putFile(api, path, filler.next())
		case 1:
			_, err = api.Call(client.Request{
				Method: "PATCH", Path: projectPath(project) + "/state",
				Body: fmt.Appendf(nil, `{"summary":"step %d"}`, turn),
			}, nil)
		default:
			err = api.Get(path, nil)
		}
		if ctx.Err() != nil {
			return
		}
		u.record(time.Since(due), err)
		due = due.Add(userEvery)
		timer.Reset(time.Until(due))
	}
}

func (u *users) record(took time.Duration, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	failure := new(client.Failure)
	switch {
	case err == nil:
		u.mu.sample.add(took)
	case errors.As(err, &failure) && (failure.Status == 429 || failure.Status == 503):
		u.mu.refused[fmt.Sprintf("%d %s", failure.Status, failure.Code)]++
	default:
		u.mu.sample.fail(err.Error())
	}
}
