package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// WatchersResult is the server's memory for one waiting client, its connection included.
type WatchersResult struct {
	Watchers    int     `json:"watchers"`
	PollerBytes float64 `json:"poller_bytes"`
	StreamBytes float64 `json:"stream_bytes"`
}

// watchersEnv lets one agent on one address open any number of waiting requests, and turns search
// off, so that indexing is not measured.
var watchersEnv = []string{
	"PWS_SEARCH=off",
	"PWS_WAITING=16384", "PWS_WAITING_PER_AGENT=16384", "PWS_WAITING_PER_IP=16384",
}

const (
	// wakeWrites is the number of writes that wake all watchers, one AFTER the other.
	wakeWrites = 20
	// wakePatience bounds the time until one write has woken all watchers.
	wakePatience = 5 * time.Minute
)

// watchers are clients that wait for events, each with its own goroutine and connection.
type watchers struct {
	mu struct {
		sync.Mutex
		conns []net.Conn
		// failure is why the first watcher has ended.
		failure error
	}
	group sync.WaitGroup
	count int
	// live counts the watchers that have had a first response and have not ended.
	live atomic.Int64
	// ready counts the watchers without a first response.
	ready sync.WaitGroup
	// received gets the time of each received event; nil if it is not needed.
	received chan<- time.Time
}

func (w *watchers) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	for _, conn := range w.mu.conns {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.group.Wait()
}

// check returns an error unless all watchers still wait. Those that were refused or have ended cost
// nothing, and would improve what is measured beside them.
func (w *watchers) check() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if live := int(w.live.Load()); live != w.count {
		return fmt.Errorf("%d of %d watchers wait: %w", live, w.count, w.mu.failure)
	}
	return nil
}

// follows runs a watcher until it ends. It counts as live from its first response on.
func (w *watchers) follows(run func(first func()) error) {
	alive := false
	err := run(func() {
		if !alive {
			alive = true
			w.live.Add(1)
			w.ready.Done()
		}
	})
	w.mu.Lock()
	if w.mu.failure == nil {
		w.mu.failure = err
	}
	w.mu.Unlock()
	if alive {
		w.live.Add(-1)
	} else {
		w.ready.Done()
	}
}

// watch opens watchers of a query, as streams or as pollers, from the end of the event log, and
// returns when each has had its first response. It fails if one is refused.
func (s *server) watch(count int, query string, streams bool, received chan<- time.Time) (
	*watchers, error,
) {
	cursor, err := s.tail(query)
	if err != nil {
		return nil, err
	}
	w := &watchers{received: received, count: count}
	for range count {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			w.close()
			return nil, err
		}
		w.mu.conns = append(w.mu.conns, conn)
		w.ready.Add(1)
		run := s.poll
		if streams {
			run = s.follow
		}
		// A watcher ends when its connection is closed.
		w.group.Go(func() {
			w.follows(func(first func()) error { return run(conn, query, cursor, received, first) })
		})
	}
	w.ready.Wait()
	if err := w.check(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// tail is the cursor at the end of the event log.
func (s *server) tail(query string) (cursor string, err error) {
	for {
		var page struct {
			Cursor string `json:"next_cursor"`
			More   bool   `json:"has_more"`
		}
		if err := s.api.Get("/api/v1/events?limit=200&"+query+after(cursor), &page); err != nil {
			return "", err
		}
		if cursor = page.Cursor; !page.More {
			return cursor, nil
		}
	}
}

func after(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "&after=" + cursor
}

// streamStatus begins the answer to a stream that is not refused.
const streamStatus = "HTTP/1.1 200 "

// follow reads a stream and sends the time of each event. It returns an error when the stream is
// refused or ends.
func (s *server) follow(
	conn net.Conn, query, cursor string, received chan<- time.Time, first func(),
) error {
	_, err := fmt.Fprintf(conn, "GET /api/v1/events?%s&after=%s HTTP/1.1\r\nHost: %s\r\n"+
		"Accept: text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n",
		query, cursor, s.host, s.api.Credential)
	if err != nil {
		return err
	}
	buffer := make([]byte, 4<<10)
	if _, err := io.ReadFull(conn, buffer[:len(streamStatus)]); err != nil {
		return err
	}
	if status := string(buffer[:len(streamStatus)]); status != streamStatus {
		return fmt.Errorf("a stream was answered with %s", status)
	}
	first()
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		if received != nil && bytes.Contains(buffer[:n], []byte("\nevent: ")) {
			received <- time.Now()
		}
	}
}

// poll sends long-polling requests in a loop. It returns an error when one is refused.
func (s *server) poll(
	conn net.Conn, query, cursor string, received chan<- time.Time, first func(),
) error {
	buffer := make([]byte, 0, 4<<10)
	for wait := "0"; ; wait = "30" {
		request := client.Request{
			Method: "GET", Host: s.host, Credential: s.api.Credential,
			Path: "/api/v1/events?wait=" + wait + "&" + query + after(cursor),
		}
		if _, err := conn.Write(request.Append(nil)); err != nil {
			return err
		}
		for buffer = buffer[:0]; ; {
			if len(buffer) == cap(buffer) {
				buffer = append(buffer, 0)[:len(buffer)]
			}
			n, err := conn.Read(buffer[len(buffer):cap(buffer)])
			if err != nil {
				return err
			}
			buffer = buffer[:len(buffer)+n]
			response, whole, err := parseHTTP(buffer)
			if err != nil {
				return err
			}
			if !whole {
				continue
			}
			if response.Status != 200 {
				return fmt.Errorf("a poll was answered with %s", client.Outcome(response))
			}
			if received != nil && !bytes.Contains(response.Body, []byte(`"events":[]`)) {
				received <- time.Now()
			}
			_, rest, _ := bytes.Cut(response.Body, []byte(`"next_cursor":"`))
			next, _, _ := bytes.Cut(rest, []byte(`"`))
			cursor = string(next)
			first()
			break
		}
	}
}

// runWatchers measures how watchers slow down writers, how soon they are woken, and how much memory
// they need.
func runWatchers(ctx context.Context, srv *server, report *Report) error {
	projects, err := srv.createPublicProjects(ctx, srv.config.Projects+1)
	if err != nil {
		return err
	}
	quiet := projects[0]
	if err := srv.driveWatched(ctx, report, quiet, projects[1:]); err != nil {
		return err
	}
	for _, streams := range []bool{false, true} {
		if err := srv.measureWake(ctx, report, quiet, streams); err != nil {
			return err
		}
	}
	return measureWatchers(ctx, srv.config, report)
}

// driveWatched drives writers beside watchers of each kind, in turn.
func (s *server) driveWatched(
	ctx context.Context, report *Report, quiet string, projects []string,
) error {
	var open *watchers
	defer func() { open.close() }()
	var subjects []*subject
	n, elsewhere := s.config.Watchers, "project="+quiet
	for _, kind := range []struct {
		name, what, query string
		count             int
		streams           bool
	}{
		{RunWatchers, "durable PUT, PUBLIC projects, search off, nobody waits", "", 0, false},
		{"one-poller", "the same, one poller at the tail of everything", "", 1, false},
		{"pollers-elsewhere", fmt.Sprintf("the same, %d pollers of another project", n), elsewhere,
			n, false},
		{"streams-elsewhere", fmt.Sprintf("the same, %d streams of another project", n), elsewhere,
			n, true},
		{"streams-of-all", fmt.Sprintf("the same, %d streams of everything", n), "", n, true},
	} {
		one := s.puts(kind.name, kind.what, projects)
		one.prepare = func(context.Context) (err error) {
			open.close()
			open, err = s.watch(kind.count, kind.query, kind.streams, nil)
			return err
		}
		one.check = func() error { return open.check() }
		subjects = append(subjects, one)
	}
	if err := report.drive(ctx, s.config, subjects...); err != nil {
		return err
	}
	for _, one := range subjects[1:] {
		report.compareRates(one, subjects[0], 0)
	}
	return nil
}

// measureWake writes to a project with many watchers. It measures the time from each response to
// the writer, which may arrive AFTER the first events, until each watcher has received the event.
func (s *server) measureWake(
	ctx context.Context, report *Report, project string, streams bool,
) error {
	config := s.config
	received := make(chan time.Time, 2*config.Watchers)
	open, err := s.watch(config.Watchers, "project="+project, streams, received)
	if err != nil {
		return err
	}
	defer open.close()
	sample, began, before := newSample(), time.Now(), s.cpu()
	filler := newFiller(0, contentBytes)
	for range wakeWrites {
		if err := putFile(s.api, filePath(project, "wake.txt"), filler.next()); err != nil {
			return err
		}
		written, late := time.Now(), time.After(wakePatience)
		for woken := range config.Watchers {
			select {
			case at := <-received:
				sample.add(at.Sub(written))
			case <-late:
				return fmt.Errorf("%d were woken by one write in %v, and not %d", woken, wakePatience,
					config.Watchers)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if err := open.check(); err != nil {
		return err
	}
	sample.Seconds, sample.ServerCPU = time.Since(began).Seconds(), s.cpu()-before
	name, what := "wake-pollers", "pollers woken by one write, from its answer to theirs"
	if streams {
		name, what = "wake-streams", "streams woken by one write, from its answer to the event"
	}
	report.add(&subject{
		name: name, what: fmt.Sprintf("%d %s", config.Watchers, what), rounds: []*Sample{sample},
	})
	return nil
}

// measureWatchers compares the memory of a server without watchers and with them.
func measureWatchers(ctx context.Context, config *Config, report *Report) error {
	result := &WatchersResult{Watchers: config.Watchers}
	for _, streams := range []bool{false, true} {
		srv, err := startServer(ctx, config, append(watchersEnv, memoryEnv...)...)
		if err != nil {
			return err
		}
		each, err := srv.watcherBytes(ctx, config.Watchers, streams)
		srv.close()
		if err != nil {
			return err
		}
		if streams {
			result.StreamBytes = each
		} else {
			result.PollerBytes = each
		}
	}
	report.Watchers = result
	return nil
}

func (s *server) watcherBytes(ctx context.Context, count int, streams bool) (float64, error) {
	before, err := s.settledMemory(ctx)
	if err != nil {
		return 0, err
	}
	open, err := s.watch(count, "", streams, nil)
	if err != nil {
		return 0, err
	}
	defer open.close()
	if _, err := s.settledMemory(ctx); err != nil {
		return 0, err
	}
	usage, err := child.ReadUsage(s.process.PID())
	err = errors.Join(err, open.check())
	return float64(usage.ResidentBytes-before) / float64(count), err
}
