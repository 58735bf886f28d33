package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// Service sends requests to the server.
type Service interface {
	// Do sends a request with the credential of the agent, and repeats it where that is safe.
	Do(ctx context.Context, request *client.Request) (*client.Answer, error)
	// Caller is who sends the next request.
	Caller() Caller
}

// Caller is who requests are sent as, and where.
type Caller struct {
	// Server is the base URL.
	Server string
	// SignedIn is false for an anonymous caller. Handle is empty if it is not known.
	SignedIn bool
	Handle   string
	// Given is true for a session of the environment, which no login replaces.
	Given bool
}

// Offline answers messages as the endpoint of a server does, for which it needs no server.
type Offline interface {
	// Answer returns the answer to a message with these headers, empty for none. The query is that
	// of the endpoint.
	Answer(query string, header map[string]string, message []byte) []byte
}

// Config is what a bridge works with.
type Config struct {
	Service Service
	// Offline makes the answers of a server that is reached at an address.
	Offline func(server string) (Offline, error)
	// Query is that of the endpoint: which tools it lists, and by which names.
	Query string
	// ReadOnly leaves out the tools that change something.
	ReadOnly bool
	// Catalogue keeps what servers say of themselves; nil if nothing does.
	Catalogue Catalogue
	// Project is what the directory is bound to, empty for none.
	Project string
	// Version is that of the program.
	Version string
	// NextStep is what to do after an error, empty if nothing is known.
	NextStep func(error) string
	Log      *slog.Logger
}

const (
	// requestsMax is how many requests are sent at one time, and waitingMax how many beside them
	// for which the server may wait before it answers.
	requestsMax = 16
	waitingMax  = 16
	// graceAtEnd is how long running requests may take AFTER the input has ended.
	graceAtEnd = 2 * time.Second
)

// Bridge serves one host.
type Bridge struct {
	cfg Config
	// process is the part of Idempotency-Keys that other processes do not have.
	process string
	// slots are those of requests, waiting those of the ones that wait at the server.
	slots, waiting chan struct{}

	claims *keeper
	out    output

	mu struct {
		sync.Mutex
		// running has what cancels each request, by the text of its id.
		running map[string]*runningRequest
		// lostCalls are the calls that ended without an answer.
		lostCalls lostCalls
		// answered is the server that has answered last.
		answered string
		// offline are the answers of the server that they were made for last.
		offline Offline
		server  string
		// catalogue is that of the server.
		catalogue catalogue
	}
}

// session is the time in which a bridge serves.
type session struct {
	*Bridge
	reader *lineReader
	// local answers lines without the server, one after the other.
	local chan func()
	// work is the context of requests, and behind that of what nobody waits for.
	work, behind context.Context
	// requests and helpers are what runs in them.
	requests, helpers sync.WaitGroup
}

// runningRequest is a request without an answer yet.
type runningRequest struct{ cancel context.CancelFunc }

// New makes a bridge.
func New(cfg Config) *Bridge {
	b := &Bridge{
		cfg: cfg, process: rand.Text(), slots: make(chan struct{}, requestsMax),
		waiting: make(chan struct{}, waitingMax),
	}
	b.claims = newKeeper(cfg.Service, cfg.Log)
	b.mu.running = map[string]*runningRequest{}
	return b
}

// Serve answers the lines of in on out until in or the context ends. Then it takes no more of them
// and gives running requests, and who reads their answers, two seconds. It returns nil, or the
// error of in or out. A write of out may then still be waiting, and AFTER the end of the context a
// read of in.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	// Requests outlive the end of the context by the time of grace.
	work, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	b.out = newOutput(out, work)
	go b.out.run(fail)
	taking, stop := context.WithCancel(ctx)
	defer stop()
	behind, release := context.WithCancel(work)
	defer release()
	s := &session{
		Bridge: b, reader: newLineReader(in), local: make(chan func(), linesMax), work: work,
		behind: behind,
	}
	go s.reader.run(taking)
	s.helpers.Go(func() { b.claims.run(behind) })
	s.requests.Go(s.answerLines)
	err := s.take(taking)
	stop()
	release()
	close(s.local)
	s.finish(fail)
	if failed := context.Cause(work); failed != nil && !errors.Is(failed, errEnded) {
		return failed
	}
	return err
}

// errEnded cancels what still runs at the end.
var errEnded = errors.New("the bridge has ended")

// finish waits for running requests and for the host to read, and then cancels them.
func (s *session) finish(cancel context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() {
		s.requests.Wait()
		s.helpers.Wait()
		s.out.end()
		close(done)
	}()
	timer := time.NewTimer(graceAtEnd)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		cancel(errEnded)
		s.requests.Wait()
		s.helpers.Wait()
	}
}

// take handles lines until their end.
func (s *session) take(taking context.Context) error {
	for {
		select {
		case <-taking.Done():
			return nil
		case <-s.work.Done():
			return nil
		case line, more := <-s.reader.lines:
			if !more {
				return s.reader.err
			}
			s.handle(line)
		}
	}
}

// handle starts what answers a line. It never waits for the host: its end is seen by take alone.
func (s *session) handle(line line) {
	size := len(line.text)
	if line.text == nil {
		s.refuse(size, line.id, codeInvalid, "The message is larger than 17 MiB.")
		return
	}
	switch m := parse(line.text); m.kind {
	case notJSON:
		s.refuse(size, nil, codeParse, "The message is not JSON.")
		return
	case tooDeep:
		s.refuse(size, m.id, codeInvalid, "The message is nested deeper than 10,000 levels.")
		return
	case notRequest:
		s.refuse(size, nil, codeInvalid, "The message is not one request of JSON-RPC 2.0.")
		return
	case response:
		s.cfg.Log.Debug("a response was dropped: the server sends no requests")
	case notification:
		if m.method == "notifications/cancelled" {
			s.cancel(idText(m.cancels))
		}
	case request:
		if isLocal(m) {
			s.inTurn(size, func() []byte { return s.answerLocally(m) })
			return
		}
		ctx, end := s.begin(s.work, m)
		s.requests.Go(func() {
			defer s.reader.room.give(size)
			defer end()
			s.forward(ctx, m)
		})
		return
	}
	s.reader.room.give(size)
}

// inTurn answers a line AFTER those before it.
func (s *session) inTurn(size int, answer func() []byte) {
	s.local <- func() {
		defer s.reader.room.give(size)
		if s.work.Err() == nil {
			s.write(answer())
		}
	}
}

// refuse answers a line that is not taken. Without an id the id is null.
func (s *session) refuse(size int, id jsontext.Value, code int, message string) {
	s.inTurn(size, func() []byte { return errorAnswer(id, code, message) })
}

// answerLines answers the lines that need no server.
func (s *session) answerLines() {
	for answer := range s.local {
		answer()
	}
}

// begin notes when a request came, and that it runs, so that it can be canceled. The function end
// forgets it.
func (b *Bridge) begin(work context.Context, m *message) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(work)
	id, own := idText(m.id), &runningRequest{cancel}
	m.came = time.Now()
	b.mu.Lock()
	b.mu.running[id] = own
	b.mu.Unlock()
	return ctx, func() {
		cancel()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.mu.running[id] == own {
			delete(b.mu.running, id)
		}
	}
}

// cancel aborts the request of an id, which is then not answered.
func (b *Bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.mu.running[id]; found != nil {
		found.cancel()
	}
}
