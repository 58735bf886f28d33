package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rest "pws/bench/client"
	"pws/internal/logformat"
)

// revisionOfFirst is the last revision whose program understands logformat.First alone.
// PWS_UPGRADE_FROM names another one to upgrade from.
const (
	revisionOfFirst = "d61d52f90114f5b2d1446cc81ebf32e7c17ababa"
	upgradeFromEnv  = "PWS_UPGRADE_FROM"
)

// TestGroupRollingUpgrade replaces the program of three servers, one AFTER the other, while clients
// work with them, and once goes back. Members of both programs lead. The group has the format that
// the older program understands until no member runs it any more.
func TestGroupRollingUpgrade(t *testing.T) {
	groupTest(t)
	revision, first := os.Getenv(upgradeFromEnv), false
	if revision == "" {
		revision, first = revisionOfFirst, true
	}
	older := buildRevision(t, revision)
	place := &loopback{older: map[uint64]string{1: older, 2: older, 3: older}}
	seed := seedOf(t)
	u := &upgrade{
		disturbed: disturbed{
			nemesisGroup: openGroup(t, place), random: rand.New(rand.NewPCG(seed, seed)),
		},
		place: place, program: older, mixed: logformat.Newest,
	}
	if first {
		u.mixed = logformat.First
	}
	u.waitAgreed(false)
	u.wait("the format of the older program", func() error { return u.format(u.mixed) })
	u.load = startLoad(t, u.nemesisGroup, seed)
	u.run()
	if first {
		u.refused()
	}
	u.finish()
}

// upgrade is a group whose members change from an older program to this one.
type upgrade struct {
	disturbed
	place *loopback
	// program is the older one, and mixed the format while some members run it.
	program string
	mixed   uint64
}

func (u *upgrade) run() {
	last := u.leader()
	others := u.others(last)
	u.replaceProgram(others[0], false)
	u.replaceProgram(others[0], true)
	u.replaceProgram(others[0], false)
	u.leads(others[0])
	u.kill(others[0])
	u.load.regain("a leader of the newer program was killed")
	u.startAgain(others[0])
	u.leads(last)
	u.replaceProgram(others[1], false)
	u.kill(last)
	u.load.regain("a leader of the older program was killed")
	u.startAgain(last)
	u.waitAgreed(false)
	u.hasFormat(u.mixed)
	u.replaceProgram(last, false)
	u.wait("the newest format", func() error { return u.format(logformat.Newest) })
	u.load.regain("the format was raised")
}

// others are the members but one.
func (u *upgrade) others(than *nemesisMember) (all []*nemesisMember) {
	for _, m := range u.members {
		if m != than {
			all = append(all, m)
		}
	}
	return all
}

// replaceProgram stops a member as an operator does, and starts it with this program or the older
// one.
func (u *upgrade) replaceProgram(m *nemesisMember, back bool) {
	u.t.Helper()
	err := m.process.Stop(patience)
	m.process = nil
	if err != nil {
		u.t.Fatalf("member %d: %v", m.number, err)
	}
	u.place.older[m.number] = ""
	if back {
		u.place.older[m.number] = u.program
	}
	u.startAgain(m)
	u.waitAgreed(false)
	u.load.regain("the program of a member was replaced")
}

// format checks the format of all members.
func (u *upgrade) format(want uint64) error {
	status, err := u.status(u.members[0])
	if err != nil {
		return err
	}
	for _, one := range status.Members {
		if got := max(one.Format, logformat.First); one.Fault != "" || got != want {
			return fmt.Errorf("member %d has format %d: %s", one.Number, got, one.Fault)
		}
	}
	return nil
}

func (u *upgrade) hasFormat(want uint64) {
	u.t.Helper()
	if err := u.format(want); err != nil {
		u.t.Error(err)
	}
}

// refused checks that the older program neither serves nor harms a member whose group has a newer
// format.
func (u *upgrade) refused() {
	m := u.anyFollower()
	u.kill(m)
	u.place.older[m.number] = u.program
	host := net.JoinHostPort(u.place.host(m.number), fmt.Sprint(nemesisWebPort))
	if err := u.start(m); err == nil {
		u.wait("the older program does not serve", func() error { return serves(host) })
		u.kill(m)
	} else {
		u.t.Logf("it does not start: %v", err)
	}
	u.place.older[m.number] = ""
	u.startAgain(m)
	u.waitAgreed(false)
}

// serves is an error while a server says that it is ready.
func serves(host string) error {
	conn, err := rest.Dial(host)
	if err != nil {
		return nil
	}
	defer conn.Close()
	if err := conn.Deadline(time.Now().Add(patience)); err != nil {
		return err
	}
	request := rest.Request{Method: "GET", Path: "/readyz", Host: host}
	answer, err := conn.Exchange(request.Append(nil))
	if err == nil && answer.Status == 200 {
		return fmt.Errorf("%s is ready", host)
	}
	return nil
}

// buildRevision builds the program of another revision, or skips the test where this is no clone
// that has it.
func buildRevision(t *testing.T, revision string) string {
	t.Helper()
	if _, err := exec.Command("git", "cat-file", "-e", revision+"^{commit}").Output(); err != nil {
		t.Skipf("SKIPPED: this is no clone that has revision %s: %v", revision, err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, "tree.tar")
	run("git", "-C", strings.TrimSpace(string(top)), "archive", "-o", tree, revision)
	run("tar", "-xf", tree)
	program := filepath.Join(dir, "pws-older")
	// With -trimpath what was built in another folder before comes from the build cache.
	run("go", "build", "-trimpath", "-o", program, "./cmd/pws")
	return program
}
