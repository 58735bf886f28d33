package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pws/bench/client"
)

// steadyLoad is clients of a group that write at a fixed rate, while its members come and go. A
// client knows all members, and asks the next one, with the same key, when one does not take its
// write.
type steadyLoad struct {
	hosts   []string
	writers []*steadyWriter
	// every is the interval between two writes of one client. attempt is for how long it waits for a
	// member BEFORE it asks another one.
	every, attempt time.Duration
	// turn shifts which member each client begins with.
	turn    atomic.Int64
	running sync.WaitGroup
	// halt is closed when no further write shall begin; abort ends those that wait for an answer.
	halt   chan struct{}
	halted sync.Once
	abort  context.CancelFunc
	mu     struct {
		sync.Mutex
		failure error
		watch   *ackWatch
	}
}

// steadyWriter writes into a project that nobody else writes to.
type steadyWriter struct {
	load *steadyLoad
	// number counts the clients from 0 to of.
	number, of int
	project    string
	api        *client.API
	writer     *writer
	// turn is that of the load when it chose its member, at the place of the member.
	turn int64
	at   int
	// acknowledged are the changesets of the writes that were answered with success.
	acknowledged []string
}

// attemptMax is for how long clients wait for a member. A member waits as long for a leader.
const attemptMax = 5 * time.Second

// attemptPause is AFTER an attempt that failed.
const attemptPause = 10 * time.Millisecond

// startLoad has the writers of the configuration write.
func (g *members) startLoad(ctx context.Context, config *GroupConfig) (*steadyLoad, error) {
	n := config.Writers
	var projects []string
	// Another member may begin to lead in the meantime.
	err := awaiting(ctx, "projects cannot be made", func() error {
		leader, err := g.leader(ctx)
		if err == nil {
			projects, err = leader.createProjects(ctx, n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, abort := context.WithCancel(ctx)
	l := &steadyLoad{
		hosts: g.hosts(), halt: make(chan struct{}), abort: abort, attempt: config.attempt,
		every: time.Duration(float64(n) / config.WriteRate * float64(time.Second)),
	}
	for i, project := range projects {
		w := &steadyWriter{
			load: l, number: i, of: n, project: project, turn: -1,
			api: &client.API{Credential: g.credential},
			writer: &writer{
				paths: writerPaths([]string{project}, 0, 1), filler: newFiller(i, contentBytes),
			},
		}
		l.writers = append(l.writers, w)
		l.running.Go(func() { l.fail(w.run(ctx)) })
	}
	return l, nil
}

// spread has the clients begin again with different members, as behind a load balancer. Otherwise
// they gather at those that have not been harmed.
func (l *steadyLoad) spread() { l.turn.Add(1) }

// end returns AFTER all clients have the answer to their last write, and have left.
func (l *steadyLoad) end() error {
	l.halted.Do(func() { close(l.halt) })
	l.running.Wait()
	l.abort()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.failure
}

// close ends the load without its answers. It may be called AFTER end.
func (l *steadyLoad) close() {
	l.abort()
	// What failed has been said by end, or does not matter any more.
	_ = l.end()
}

func (l *steadyLoad) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failure == nil && err != nil {
		l.mu.failure = err
		if l.mu.watch != nil {
			close(l.mu.watch.failed)
			l.mu.watch = nil
		}
	}
}

func (w *steadyWriter) run(ctx context.Context) error {
	defer w.api.Close()
	// Clients do not write at the same moments.
	timer := time.NewTimer(w.load.every * time.Duration(w.number) / time.Duration(w.of))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-w.load.halt:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		begun := time.Now()
		if err := w.write(ctx); err != nil {
			return fmt.Errorf("writer %d: %w", w.number, err)
		}
		timer.Reset(max(0, w.load.every-time.Since(begun)))
	}
}

// write repeats a write until it is acknowledged.
func (w *steadyWriter) write(ctx context.Context) error {
	body, err := client.EncodeJSON(map[string]string{"content": string(w.writer.filler.next())})
	if err != nil {
		return err
	}
	request := client.Request{
		Method: "PUT", Path: w.writer.path(), Body: body, IdempotencyKey: client.RandomKey(),
	}
	for {
		var data struct {
			Changeset struct {
				ID string `json:"id"`
			} `json:"changeset"`
		}
		w.choose()
		begun := time.Now()
		w.api.Until = begun.Add(w.load.attempt)
		_, err := w.api.Call(request, &data)
		if err == nil {
			w.acknowledged = append(w.acknowledged, data.Changeset.ID)
			w.load.acknowledge(w.number, begun, time.Now())
			return nil
		}
		failure := new(client.Failure)
		if errors.As(err, &failure) && !failure.Retryable {
			return err
		}
		w.move(w.at + 1)
		select {
		case <-time.After(attemptPause):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// choose begins with another member if the load wants that.
func (w *steadyWriter) choose() {
	if turn := w.load.turn.Load(); turn != w.turn {
		w.turn = turn
		w.move(w.number + int(turn))
	}
}

func (w *steadyWriter) move(to int) {
	w.at = to % len(w.load.hosts)
	w.api.Close()
	w.api.Host = w.load.hosts[w.at]
}

// ackWatch are the times from a moment until clients had a write acknowledged.
type ackWatch struct {
	// from is the moment, and mark a later one: no write that began AFTER mark was answered by a
	// member that was lost at from.
	from, mark time.Time
	first      time.Duration
	waiting    map[int]bool
	// all is closed when each client has had one; failed if a client ended.
	all, failed chan struct{}
}

// echoTime is for how long an answer that a lost member gave may still be on its way.
const echoTime = 100 * time.Millisecond

// watch begins to wait for acknowledged writes.
func (l *steadyLoad) watch(from, mark time.Time) (*ackWatch, error) {
	w := &ackWatch{
		from: from, mark: mark, waiting: map[int]bool{},
		all: make(chan struct{}), failed: make(chan struct{}),
	}
	for _, one := range l.writers {
		w.waiting[one.number] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.watch = w
	return w, l.mu.failure
}

// acknowledge notes that a client has had a write acknowledged.
func (l *steadyLoad) acknowledge(number int, begun, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.mu.watch
	if w == nil || !begun.After(w.mark) && now.Sub(w.mark) < echoTime {
		return
	}
	if w.first == 0 {
		w.first = now.Sub(w.from)
	}
	delete(w.waiting, number)
	if len(w.waiting) == 0 {
		close(w.all)
		l.mu.watch = nil
	}
}

// ackPatience is AFTER how long a group that does not acknowledge writes is given up.
const ackPatience = 2 * time.Minute

// await waits until each client has had a write acknowledged.
func (l *steadyLoad) await(ctx context.Context, w *ackWatch) error {
	timer := time.NewTimer(ackPatience)
	defer timer.Stop()
	select {
	case <-w.all:
		return nil
	case <-w.failed:
		return l.end()
	case <-timer.C:
		return fmt.Errorf("writes were not acknowledged within %v", ackPatience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flows waits until each client has a write acknowledged that began AFTER this call.
func (l *steadyLoad) flows(ctx context.Context) error {
	now := time.Now()
	w, err := l.watch(now, now)
	if err != nil {
		return err
	}
	return l.await(ctx, w)
}

// count is the number of acknowledged writes. It is called AFTER end.
func (l *steadyLoad) count() (n int) {
	for _, w := range l.writers {
		n += len(w.acknowledged)
	}
	return n
}

// check looks on a member for each acknowledged write. It returns how many are not there, and how
// many are there that no client has had acknowledged: a write that was repeated must be there once.
// It is called AFTER end.
func (l *steadyLoad) check(ctx context.Context, m *member) (lost, surplus int, err error) {
	// Nobody answers reads while another member begins to lead.
	err = awaiting(ctx, "the writes cannot be read", func() (err error) {
		lost, surplus, err = l.checkOnce(ctx, m)
		return err
	})
	return lost, surplus, err
}

func (l *steadyLoad) checkOnce(ctx context.Context, m *member) (lost, surplus int, err error) {
	missing, more := make([]int, len(l.writers)), make([]int, len(l.writers))
	err = m.server.each(ctx, len(l.writers), func(api *client.API, at int) error {
		there, err := changesetsOf(api, l.writers[at].project)
		for _, ident := range l.writers[at].acknowledged {
			if !there[ident] {
				missing[at]++
			}
			delete(there, ident)
		}
		// The first changeset is that of the project.
		more[at] = len(there) - 1
		return err
	})
	for i := range missing {
		lost, surplus = lost+missing[i], surplus+max(0, more[i])
	}
	return lost, surplus, err
}

// changesetsOf returns the IDs of all changesets of a project.
func changesetsOf(api *client.API, project string) (map[string]bool, error) {
	there := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Changesets []struct {
				ID string `json:"id"`
			} `json:"changesets"`
			Cursor *string `json:"next_cursor"`
		}
		path := projectPath(project) + "/changesets?limit=200"
		if cursor != "" {
			path += "&cursor=" + client.EscapePath(cursor)
		}
		if err := api.Get(path, &page); err != nil {
			return there, err
		}
		for _, one := range page.Changesets {
			there[one.ID] = true
		}
		if page.Cursor == nil {
			return there, nil
		}
		cursor = *page.Cursor
	}
}
