package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"pws/bench/client"
)

// connectionAttacks keep connections, memory and slots for as long as they can.
var connectionAttacks = []attack{
	{
		name:  "unread-answers",
		what:  "read-batch of 8 MiB of control characters, anonymous, not read",
		setup: (*scene).publishControls,
		run: func(ctx context.Context, s *scene) error {
			body, err := client.EncodeJSON(map[string]any{"paths": s.paths})
			if err != nil {
				return err
			}
			request := client.Request{
				Method: "POST", Path: projectPath(s.project) + "/files/read-batch", Host: s.host,
				Body: body,
			}
			return s.hold(ctx, s.amount(45, 12), request.Append(nil))
		},
		holds: (*scene).newcomerWorks,
	},
	{
		name:  "slow-bodies",
		what:  "heads that declare 16 MiB, with 8 KiB of it, by one agent",
		setup: func(s *scene) error { return s.addAttackers(1) },
		run: func(ctx context.Context, s *scene) error {
			head := fmt.Sprintf("POST /api/v1/projects/import HTTP/1.1\r\nHost: %s\r\n"+
				"Authorization: Bearer %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: 16777216\r\n\r\n", s.host, s.attackers[0].Credential)
			return s.hold(ctx, 16, []byte(head+strings.Repeat(" ", 8<<10)))
		},
		holds: (*scene).newcomerUploads,
	},
	{
		name:  "slow-readers",
		what:  "exports that are read at 1 KiB in 100 ms, anonymous",
		setup: (*scene).publishControls,
		run: func(ctx context.Context, s *scene) error {
			request := client.Request{
				Method: "GET", Path: projectPath(s.project) + "/export", Host: s.host,
			}
			return s.readSlowly(ctx, s.amount(32, 8), request.Append(nil))
		},
		holds: (*scene).newcomerWorks,
	},
	{
		name: "silent-connections",
		what: "connections from one address that send nothing",
		run: func(ctx context.Context, s *scene) error {
			return s.hold(ctx, s.amount(2000, 400), nil)
		},
		holds: (*scene).newcomerWorks,
	},
	{
		name:  "unread-streams",
		what:  "event streams that are not read while an agent writes",
		setup: func(s *scene) error { return s.addAttackers(2) },
		run:   attackStreams,
		holds: (*scene).newcomerWorks,
	},
}

// publishControls has the owner publish files of a mebibyte of characters that take six bytes each
// in JSON.
func (s *scene) publishControls() error {
	controls := bytes.Repeat([]byte{1}, 1<<20)
	project, err := createReusable(s.owner, "Control characters")
	if err != nil {
		return err
	}
	s.project = project.ID
	for i := range s.amount(8, 2) {
		path := fmt.Sprintf("file-%d.txt", i)
		if err := putFile(s.owner, filePath(project.ID, path), controls); err != nil {
			return err
		}
		s.paths = append(s.paths, path)
	}
	return nil
}

// createReusable creates a PUBLIC project that anybody may fork and export.
func createReusable(api *client.API, name string) (client.Project, error) {
	var data struct {
		Project client.Project `json:"project"`
	}
	_, err := api.Post("/api/v1/projects", client.RandomKey(), map[string]string{
		"name": name, "visibility": "PUBLIC", "reuse_policy": "ALLOW_REUSE",
	}, &data)
	return data.Project, err
}

// newcomer is an agent that registers during an attack.
func (s *scene) newcomer() (*client.API, error) {
	api, err := s.register(newcomerAddress)
	if err != nil {
		api.Close()
		return nil, fmt.Errorf("nobody can register: %w", err)
	}
	return api, nil
}

// newcomerWorks checks that an agent at another address can register, sign in and write.
func (s *scene) newcomerWorks() error { return s.newcomerWrites(contentBytes) }

// newcomerUploads is the same with a large file.
func (s *scene) newcomerUploads() error { return s.newcomerWrites(1 << 20) }

func (s *scene) newcomerWrites(size int) error {
	api, err := s.newcomer()
	if err != nil {
		return err
	}
	defer api.Close()
	if err := api.Renew(); err != nil {
		return fmt.Errorf("nobody can sign in: %w", err)
	}
	project, err := api.CreateProject("Newcomer")
	if err != nil {
		return fmt.Errorf("nobody can create a project: %w", err)
	}
	return putFile(api, filePath(project.ID, "a.txt"), newFiller(1, size).next())
}

// readSlowly requests the same on connections and reads little of each answer at a time.
func (s *scene) readSlowly(ctx context.Context, count int, request []byte) error {
	var group sync.WaitGroup
	for range count {
		group.Go(func() {
			conn, err := s.dial(ctx)
			if err == nil {
				_, err = conn.Write(request)
			}
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			piece := make([]byte, 1<<10)
			for first := true; err == nil; first = false {
				until, _ := ctx.Deadline()
				n := 0
				if err = conn.SetReadDeadline(until); err == nil {
					n, err = conn.Read(piece)
				}
				if status := bytes.Fields(piece[:n]); first && len(status) > 1 {
					s.note(string(status[1]))
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
			}
			s.count(ctx, err)
		})
	}
	group.Wait()
	return s.alive()
}

// attackStreams holds streams that are not read, writes events, and measures when an ordinary
// stream receives the events of the owner.
func attackStreams(ctx context.Context, s *scene) error {
	request := client.Request{
		Method: "GET", Path: "/api/v1/events", Host: s.host,
		Credential: s.attackers[0].Credential, Lines: []string{"Accept: text/event-stream"},
	}
	if err := s.hold(ctx, 2, request.Append(nil)); err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	flood, err := s.attackers[1].CreatePublicProject("Flood")
	if err != nil {
		return err
	}
	var failure error
	group.Go(func() {
		fillers := []*filler{newFiller(1, contentBytes), newFiller(2, contentBytes)}
		failure = s.repeat(ctx, len(fillers), func(api *client.API, worker, _ int) error {
			api.Credential = s.attackers[1].Credential
			return putFile(api, filePath(flood.ID, "flood.txt"), fillers[worker].next())
		})
	})
	err = s.measureDelivery(ctx)
	group.Wait()
	return errors.Join(err, failure)
}

// deliveryEvery is the time between two writes whose delivery is measured.
const deliveryEvery = 50 * time.Millisecond

// measureDelivery measures the time from the answer to a write until the writer's own stream has
// its event.
func (s *scene) measureDelivery(ctx context.Context) error {
	project, err := s.owner.CreatePublicProject("Followed")
	if err != nil {
		return err
	}
	stream, err := s.follow(ctx, "project="+project.ID)
	if err != nil {
		return err
	}
	defer stream.close()
	ticker := time.NewTicker(deliveryEvery)
	defer ticker.Stop()
	filler, sample := newFiller(3, contentBytes), newSample()
	for ctx.Err() == nil {
		// The stream begins with the events of the project's creation.
		stream.drain()
		if err := putFile(s.owner, filePath(project.ID, "a.txt"), filler.next()); err != nil {
			return err
		}
		written := time.Now()
		select {
		case at := <-stream.received:
			sample.add(max(0, at.Sub(written)))
		case <-time.After(graceTime):
			return fmt.Errorf("an event was not delivered in %v", graceTime)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	s.figure("events of others delivered", float64(sample.Count))
	s.figure("delivery p99 ms", float64(sample.Quantile(99).Microseconds())/1000)
	return nil
}

// followed is a stream of events that is read.
type followed struct {
	conn     net.Conn
	received chan time.Time
	done     chan struct{}
}

// drain forgets the events that were received so far.
func (f *followed) drain() {
	for len(f.received) > 0 {
		<-f.received
	}
}

func (f *followed) close() {
	_ = f.conn.Close()
	<-f.done
}

// follow opens a stream of the owner and sends the time of each event.
func (s *scene) follow(ctx context.Context, query string) (*followed, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ownerAddress)}}
	conn, err := dialer.DialContext(ctx, "tcp", s.host)
	if err != nil {
		return nil, err
	}
	request := client.Request{
		Method: "GET", Path: "/api/v1/events?" + query, Host: s.host,
		Credential: s.owner.Credential, Lines: []string{"Accept: text/event-stream"},
	}
	if _, err := conn.Write(request.Append(nil)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	f := &followed{conn, make(chan time.Time, 1024), make(chan struct{})}
	reader := bufio.NewReader(conn)
	status, err := reader.ReadString('\n')
	if err != nil || !strings.Contains(status, " 200 ") {
		close(f.done)
		f.close()
		return nil, fmt.Errorf("a stream was answered %q: %w", status, err)
	}
	go func() {
		defer close(f.done)
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "event: changeset") {
				f.received <- time.Now()
			}
		}
	}()
	return f, nil
}
