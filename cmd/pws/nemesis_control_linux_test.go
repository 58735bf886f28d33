package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"
)

const (
	// controlTurns is how often a leader is stopped until a read that is too old is found: one that
	// goes on may learn that another one leads BEFORE it answers.
	controlTurns = 10
	// controlReads is how many reads wait for a leader that was stopped.
	controlReads = 64
)

// TestNemesisControl shows that the check of TestNemesis would find reads that are too old: leaders
// trust for a minute that no other leads, so one that was stopped answers with what it had.
func TestNemesisControl(t *testing.T) {
	if testing.Short() {
		t.Skip("runs several servers")
	}
	t.Parallel()
	seed := seedOf(t)
	n := &disturbed{
		nemesisGroup: openGroup(t, new(loopback), "--test-lease", "1m"),
		random:       rand.New(rand.NewPCG(seed, seed)),
	}
	n.waitAgreed(false)
	n.load = startLoad(t, n.nemesisGroup, seed)
	n.load.regain("the load has begun")
	n.load.stop()
	for turn := range controlTurns {
		n.waitAgreed(false)
		n.readOfHalted()
		if n.load.history.wrong() {
			t.Logf("a read was too old AFTER %d leaders were stopped", turn+1)
			return
		}
	}
	t.Errorf("no read was too old AFTER %d leaders were stopped", controlTurns)
}

// readOfHalted stops the leader, has another one acknowledge a write, asks the first for what was
// written, and lets it go on.
func (n *disturbed) readOfHalted() {
	n.t.Helper()
	leader, world, w := n.leader(), n.load.world.Load(), n.load.another(n.random)
	defer w.http.CloseIdleConnections()
	n.halt(leader)
	n.wait("a write of the state", func() error {
		if !w.writeState(world) {
			w.readState(w.anyHost(), world)
			return errors.New("it was not acknowledged")
		}
		return nil
	})
	host := net.JoinHostPort(n.place.host(leader.number), fmt.Sprint(nemesisWebPort))
	var waiting []*heldRead
	for range controlReads {
		waiting = append(waiting, w.holdRead(host, world))
	}
	n.proceed(leader)
	// Many reads of one time have too many orders. One of each version tells as much.
	seen := map[uint64]bool{}
	for i, one := range waiting {
		if got, ok := one.finish(); ok && !seen[got.State.Version] {
			seen[got.State.Version] = true
			n.load.history.addState(nemesisWorkers+1+i, one.called, world, got)
		}
	}
}

// another is a worker with the credential of the first, for a test to use.
func (l *nemesisLoad) another(random *rand.Rand) *nemesisWorker {
	first := l.workers[0]
	w := &nemesisWorker{
		nemesisClient: newNemesisClient(&l.longest), load: l, number: nemesisWorkers,
		agent: first.agent, random: random, version: 1,
	}
	w.credential, w.hurry = first.credential, func() bool { return true }
	return w
}

// heldRead is a request that was sent to a process that does not run.
type heldRead struct {
	net.Conn
	called int64
}

// holdRead sends a read of a state. The system takes it for the process.
func (w *nemesisWorker) holdRead(host string, world *nemesisWorld) *heldRead {
	w.load.t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		w.load.t.Fatal(err)
	}
	w.load.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	one := &heldRead{conn, w.load.history.now()}
	_, err = fmt.Fprintf(conn, "GET /api/v1/projects/%s/state HTTP/1.1\r\nHost: %s\r\n"+
		"Authorization: Bearer %s\r\nConnection: close\r\n\r\n", world.project, host, w.credential)
	if err != nil {
		w.load.t.Fatal(err)
	}
	return one
}

// finish is the answer, if it has a state.
func (r *heldRead) finish() (got nemesisStateData, ok bool) {
	defer func() { _ = r.Close() }()
	response, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		return got, false
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return got, false
	}
	var answer nemesisAnswer
	answer.readEnvelope(body)
	return got, answer.outcome == nemesisDone && answer.into(&got) == nil
}
