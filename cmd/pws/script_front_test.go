package main

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClientScripts runs the scripts of the client's commands against the program.
func TestClientScripts(t *testing.T) {
	testscript.Run(t, scriptParams("../../testdata/client", newCoverage()))
}

func clientCommands() map[string]command {
	return map[string]command{
		"front":     wrap((*script).openFront),
		"keep-line": wrap((*script).keepLine),
		"signins":   wrap((*script).signins),
		"relay":     wrap((*script).openRelay),

		"free-address": wrap((*script).freeAddress),
		"make-install": wrap((*script).makeInstall),
		"at-once":      wrap((*script).atOnce),
	}
}

// keepLine stores the first word of the standard output in a variable.
//
//	keep-line NAME
func (s *script) keepLine(ts *testscript.TestScript, args []string) error {
	words := strings.Fields(ts.ReadFile("stdout"))
	if len(args) != 1 || len(words) == 0 {
		return errors.New("usage, after a command that prints: keep-line NAME")
	}
	s.set(ts, args[0], words[0])
	return nil
}

// front is an address that stays the same while the server restarts. It passes bytes on to the
// server of its script.
type front struct {
	listener net.Listener
	group    sync.WaitGroup

	mu struct {
		sync.Mutex
		server string
		conns  map[net.Conn]struct{}
		// cut drops the next answer and ends its connection; apart then keeps all others from the
		// server. happened is closed AFTER that.
		cut, apart bool
		happened   chan struct{}
		// silent takes requests and answers none.
		silent bool
		// signins counts the requests that open a session.
		signins int
	}
}

// openFront starts the front of a script and sets the variable PWS_SERVER to its URL.
//
//	front          starts it, or makes it pass to the present server
//	front cut      drops the next answer
//	front silent   answers no more
//	front apart    drops the next answer, and passes nothing more until front is called again
//	front parted   waits until an answer was dropped
func (s *script) openFront(ts *testscript.TestScript, args []string) error {
	if s.front != nil && strings.Join(args, " ") == "parted" {
		return s.front.parted()
	}
	if s.front == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s.front = &front{listener: listener}
		s.front.mu.conns = map[net.Conn]struct{}{}
		s.front.group.Go(s.front.accept)
		ts.Setenv("PWS_SERVER", "http://"+listener.Addr().String())
	}
	if s.server == nil {
		return errors.New("no server runs")
	}
	s.front.mu.Lock()
	defer s.front.mu.Unlock()
	s.front.mu.server = s.server.address
	mode := strings.Join(args, " ")
	s.front.mu.cut = mode == "cut" || mode == "apart"
	s.front.mu.apart = mode == "apart"
	s.front.mu.silent = mode == "silent"
	s.front.mu.happened = make(chan struct{})
	return nil
}

// parted waits until an answer was dropped.
func (f *front) parted() error {
	f.mu.Lock()
	happened := f.mu.happened
	f.mu.Unlock()
	select {
	case <-happened:
		return nil
	case <-time.After(patience):
		return errors.New("no answer was dropped")
	}
}

func (f *front) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.group.Go(func() { f.pass(conn) })
	}
}

// pass connects one client with the server. Without a server the connection ends at once.
func (f *front) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	f.mu.Lock()
	address, silent, parted := f.mu.server, f.mu.silent, f.mu.apart && !f.mu.cut
	f.mu.Unlock()
	if silent {
		f.keep(client)
		defer f.drop(client)
		copyBytes(io.Discard, client, f.note)
	}
	if silent || parted {
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	f.keep(client, server)
	defer f.drop(client, server)
	f.group.Go(func() {
		copyBytes(server, client, f.note)
		_ = server.Close()
	})
	copyBytes(client, server, func([]byte) bool { return f.takeCut() })
}

// copyBytes copies until the end of from, or until stop returns true for bytes that arrived.
func copyBytes(to io.Writer, from io.Reader, stop func([]byte) bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && stop(buffer[:n]) {
			return
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (f *front) takeCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.mu.cut {
		return false
	}
	f.mu.cut = false
	close(f.mu.happened)
	return true
}

func (f *front) keep(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		f.mu.conns[conn] = struct{}{}
	}
}

func (f *front) drop(conns ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(f.mu.conns, conn)
	}
}

func (f *front) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	for conn := range f.mu.conns {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.group.Wait()
}
