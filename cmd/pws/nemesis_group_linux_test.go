package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pws/bench/child"
)

// nemesisPlace is where the members of a group run.
type nemesisPlace interface {
	// host is the address of a member, without a port.
	host(number uint64) string
	// program is the program with these arguments as a member runs it.
	program(number uint64, args []string) child.Program
	// choose may change what host returns, AFTER an address was in use.
	choose()
	// prepare prepares the folder that a member has its data directory in.
	prepare(disk string) error
	// release undoes it, AFTER the member has ended. It keeps the data where the test has failed.
	release(disk string, failed bool)
}

// loopback is the machine itself. The members of a group have loopback addresses that no other
// group has, so that connections of others, which begin at 127.0.0.1, take none of their ports.
type loopback struct {
	second, third byte
	// older are the programs of members that do not run this one.
	older map[uint64]string
}

func (l *loopback) choose() {
	l.second, l.third = byte(2+rand.IntN(250)), byte(rand.IntN(256))
}

func (l *loopback) host(number uint64) string {
	return fmt.Sprintf("127.%d.%d.%d", l.second, l.third, number)
}

func (l *loopback) program(number uint64, args []string) child.Program {
	return child.Program{Path: cmp.Or(l.older[number], "pws"), Args: args}
}

func (l *loopback) prepare(string) error { return nil }

func (l *loopback) release(string, bool) {}

// The ports of all members, each at its own address.
const (
	nemesisPeerPort = 19101
	nemesisWebPort  = 19102
)

// nemesisMember is a server of a group. A process is nil while the member is down.
type nemesisMember struct {
	number  uint64
	data    string
	process *child.Process
	// halted says that the process was stopped by SIGSTOP.
	halted bool
	// leaves says that the member may end by itself: it is being removed, or its data is damaged.
	leaves bool
	// skew is what its clock is wrong by.
	skew time.Duration
	log  *os.File
}

// nemesisGroup is a group of real processes. One goroutine uses it, apart from url.
type nemesisGroup struct {
	t     *testing.T
	place nemesisPlace
	dir   string
	// flags are more flags of all members.
	flags []string
	// first is the list of members with which the group began.
	first   string
	members []*nemesisMember
	// newest is the largest number that a member has had.
	newest uint64
	mu     struct {
		sync.Mutex
		// hosts are those of the members that clients know.
		hosts []string
	}
}

// openGroup starts a group of three. Its folder, with the logs, stays if the test fails.
func openGroup(t *testing.T, place nemesisPlace, flags ...string) *nemesisGroup {
	t.Helper()
	g := &nemesisGroup{t: t, place: place, newest: 3, flags: flags}
	t.Cleanup(g.end)
	for try := 1; ; try++ {
		err := g.begin()
		if err == nil {
			return g
		}
		if try == 5 || !errors.Is(err, errAddressTaken) {
			t.Fatal(err)
		}
		t.Log("an address is in use, others are tried")
	}
}

// begin makes a folder and starts all members in it.
func (g *nemesisGroup) begin() error {
	g.close()
	_ = os.RemoveAll(g.dir)
	g.place.choose()
	var err error
	if g.dir, err = os.MkdirTemp("", "pws-nemesis-"); err != nil {
		return err
	}
	if _, err := g.pws("cluster", "init", "--dir", g.path("keys")); err != nil {
		return err
	}
	g.members, g.first = nil, ""
	for number := range uint64(3) {
		m, err := g.newMember(number + 1)
		if err != nil {
			return err
		}
		g.members = append(g.members, m)
		g.first += fmt.Sprintf(";%d=%s", m.number, g.peer(m.number))
	}
	g.first = g.first[1:]
	g.publish()
	return g.eachMember(g.members, g.start)
}

// newMember is a member that has no data.
func (g *nemesisGroup) newMember(number uint64) (*nemesisMember, error) {
	disk := g.disk(number)
	m := &nemesisMember{number: number, data: filepath.Join(disk, "data")}
	if err := os.Mkdir(disk, 0o700); err != nil {
		return nil, err
	}
	return m, g.place.prepare(disk)
}

// disk is the folder that a member has its data directory in.
func (g *nemesisGroup) disk(number uint64) string { return g.path(fmt.Sprint("d", number)) }

func (g *nemesisGroup) path(name string) string { return filepath.Join(g.dir, name) }

func (g *nemesisGroup) peer(number uint64) string {
	return net.JoinHostPort(g.place.host(number), fmt.Sprint(nemesisPeerPort))
}

// publish tells clients which members there are.
func (g *nemesisGroup) publish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.hosts = nil
	for _, m := range g.members {
		host := net.JoinHostPort(g.place.host(m.number), fmt.Sprint(nemesisWebPort))
		g.mu.hosts = append(g.mu.hosts, host)
	}
}

// host is the address of some member for clients.
func (g *nemesisGroup) host(which int) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.hosts[which%len(g.mu.hosts)]
}

// eachMember does something to members at the same time.
func (g *nemesisGroup) eachMember(
	members []*nemesisMember, do func(m *nemesisMember) error,
) error {
	all := make([]error, len(members))
	var doing sync.WaitGroup
	for i, m := range members {
		doing.Go(func() { all[i] = do(m) })
	}
	doing.Wait()
	return errors.Join(all...)
}

var errAddressTaken = errors.New("an address is in use")

// start starts a member that is down, and returns when it serves.
func (g *nemesisGroup) start(m *nemesisMember) error {
	if m.log == nil {
		log, err := os.OpenFile(g.path(fmt.Sprint("log-", m.number)),
			os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		m.log = log
	}
	members := g.first
	if m.number > 3 {
		members = fmt.Sprintf("%d=%s", m.number, g.peer(m.number))
	}
	args := []string{
		"serve", "--data", m.data, "--rate-limits", "off",
		"--listen", net.JoinHostPort(g.place.host(m.number), fmt.Sprint(nemesisWebPort)),
		"--cluster", members, "--cluster-id", fmt.Sprint(m.number),
		"--cluster-keys", g.path(fmt.Sprint("keys/member-", m.number)),
	}
	if m.skew != 0 {
		args = append(args, "--test-skew="+m.skew.String())
	}
	program := g.place.program(m.number, append(args, g.flags...))
	taken := false
	program.Line = func(text string) {
		taken = taken || strings.Contains(text, "address already in use")
		_, _ = fmt.Fprintln(m.log, text)
	}
	process, err := child.Start(context.Background(), patience, program)
	if err != nil {
		if taken {
			err = errors.Join(errAddressTaken, err)
		}
		return fmt.Errorf("member %d: %w", m.number, err)
	}
	m.process, m.halted = process, false
	return nil
}

// startAgain starts a member that was down. Somebody may have its address for a moment.
func (g *nemesisGroup) startAgain(m *nemesisMember) {
	g.t.Helper()
	until := time.Now().Add(patience)
	for {
		err := g.start(m)
		if err == nil {
			return
		}
		if !errors.Is(err, errAddressTaken) || time.Now().After(until) {
			g.t.Fatal(err)
		}
		nemesisPause(200 * time.Millisecond)
	}
}

// nemesisPause lets time pass between two looks at other processes.
func nemesisPause(d time.Duration) { <-time.After(d) }

// kill ends a member by SIGKILL.
func (g *nemesisGroup) kill(m *nemesisMember) {
	m.process.Kill()
	m.process, m.halted = nil, false
}

// halt stops the process of a member, and proceed lets it go on.
func (g *nemesisGroup) halt(m *nemesisMember) {
	if err := unix.Kill(m.process.PID(), unix.SIGSTOP); err != nil {
		g.t.Fatal(err)
	}
	m.halted = true
}

func (g *nemesisGroup) proceed(m *nemesisMember) {
	if err := unix.Kill(m.process.PID(), unix.SIGCONT); err != nil {
		g.t.Fatal(err)
	}
	m.halted = false
}

// pws runs the program to its end, in the folder of the group.
func (g *nemesisGroup) pws(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := child.Output(ctx, child.Program{Path: "pws", Args: args})
	if err != nil {
		err = fmt.Errorf("pws %s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// order runs pws cluster with an order for the group. It is repeated while nobody leads, and where
// the member that leads cannot carry it out yet. An order may have been carried out in spite of an
// error: done says whether it was.
func (g *nemesisGroup) order(done func(*clusterStatus) bool, name string, args ...string) {
	g.t.Helper()
	until := time.Now().Add(patience)
	for {
		leader := g.leader()
		args := slices.Concat([]string{"cluster", name, "--data", leader.data}, args)
		_, err := g.pws(args...)
		if err == nil {
			return
		}
		if status, unknown := g.status(g.leader()); unknown == nil && done(status) {
			return
		}
		if time.Now().After(until) {
			g.t.Fatal(err)
		}
		g.t.Logf("repeated: %v", err)
		nemesisPause(300 * time.Millisecond)
	}
}

// status asks a member for what it knows of the group.
func (g *nemesisGroup) status(m *nemesisMember) (*clusterStatus, error) {
	if m.process == nil || m.halted {
		return nil, fmt.Errorf("member %d is down", m.number)
	}
	select {
	case <-m.process.Done():
		if m.leaves {
			return nil, fmt.Errorf("member %d was removed", m.number)
		}
		g.t.Fatalf("member %d has ended by itself", m.number)
	default:
	}
	answered := make(chan error, 1)
	var out bytes.Buffer
	go func() {
		admin := &AdminCommand{Data: m.data, JSON: true}
		answered <- runAdminCommand(admin, &out, "cluster-status", clusterNothing{},
			printClusterStatus)
	}()
	select {
	case err := <-answered:
		if err != nil {
			return nil, err
		}
	case <-time.After(20 * time.Second):
		return nil, fmt.Errorf("member %d does not say its status", m.number)
	}
	status := new(clusterStatus)
	return status, json.Unmarshal(out.Bytes(), status)
}

// leader waits for a member that leads, by what itself says, and returns it.
func (g *nemesisGroup) leader() *nemesisMember {
	g.t.Helper()
	var found *nemesisMember
	g.wait("a leader", func() error {
		for _, m := range g.members {
			status, err := g.status(m)
			if err != nil {
				continue
			}
			for _, one := range status.Members {
				if one.Number == m.number && one.Reign != 0 {
					found = m
					return nil
				}
			}
		}
		return errors.New("no member leads")
	})
	return found
}

// follower is a member that does not lead.
func (g *nemesisGroup) follower(random *rand.Rand) *nemesisMember {
	g.t.Helper()
	leader := g.leader()
	for {
		if m := g.members[random.IntN(len(g.members))]; m != leader {
			return m
		}
	}
}

// wait asks until there is no error.
func (g *nemesisGroup) wait(what string, ask func() error) {
	g.t.Helper()
	until := time.Now().Add(patience)
	for {
		err := ask()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			g.t.Fatalf("%s: %v", what, err)
		}
		nemesisPause(50 * time.Millisecond)
	}
}

// waitAgreed waits until all members serve, vote and follow one leader. With level, nobody lags
// either, which needs that nobody writes.
func (g *nemesisGroup) waitAgreed(level bool) {
	g.t.Helper()
	g.wait("the members agree", func() error {
		status, err := g.status(g.members[0])
		if err != nil {
			return err
		}
		if len(status.Members) != len(g.members) {
			return fmt.Errorf("%d members, not %d", len(status.Members), len(g.members))
		}
		leads, first := 0, status.Members[0]
		for _, one := range status.Members {
			if one.Reign != 0 {
				leads++
			}
			switch {
			case one.Fault != "":
				return fmt.Errorf("member %d: %s", one.Number, one.Fault)
			case !one.Voter || one.Leader == 0 || one.Leader != first.Leader || one.Term != first.Term,
				level && (one.Position != first.Position || one.Applied != one.Last):
				return fmt.Errorf("they differ: %+v", status)
			}
		}
		if leads != 1 {
			return fmt.Errorf("%d members lead", leads)
		}
		return nil
	})
}

// stop stops all members as an operator does, and verifies their data directories.
func (g *nemesisGroup) stop() {
	g.t.Helper()
	err := g.eachMember(g.members, func(m *nemesisMember) error {
		err := m.process.Stop(patience)
		m.process = nil
		if err != nil {
			return fmt.Errorf("member %d: %w", m.number, err)
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, m := range g.members {
		if out, err := g.pws("verify", "--data", m.data); err != nil {
			g.t.Errorf("member %d: %v\n%s", m.number, err, out)
		}
	}
}

// nemesisLogTail is how much of each log a failure shows.
const nemesisLogTail = 12 << 10

// end kills what still runs. It keeps the folder AFTER a failure.
func (g *nemesisGroup) end() {
	g.close()
	for number := range g.newest {
		g.place.release(g.disk(number+1), g.t.Failed())
	}
	if !g.t.Failed() || g.dir == "" {
		_ = os.RemoveAll(g.dir)
		return
	}
	logs, _ := filepath.Glob(g.path("log-*"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		text = text[max(0, len(text)-nemesisLogTail):]
		g.t.Logf("the end of %s:\n%s", name, text)
	}
	g.t.Logf("data and logs are kept in %s", g.dir)
}

func (g *nemesisGroup) close() {
	for _, m := range g.members {
		if m.process != nil {
			g.kill(m)
		}
		_ = m.log.Close()
	}
	g.members = nil
}
