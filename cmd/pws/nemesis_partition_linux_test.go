package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pws/bench/child"
)

// nemesisInsideEnv says that the test runs in namespaces of its own.
const nemesisInsideEnv = "PWS_NEMESIS_INSIDE"

// nemesisNoNetwork is what the test says where a machine gives it no networks.
const nemesisNoNetwork = "this machine has no networks for tests"

var nemesisPartitions = []nemesisFault{
	{"the leader is cut off", func(n *disturbed) { n.partition(n.leader(), true, true) }},
	{"a follower is cut off", func(n *disturbed) { n.partition(n.anyFollower(), true, true) }},
	{"nobody hears the leader", func(n *disturbed) { n.partition(n.leader(), true, false) }},
	{"the leader hears nobody", func(n *disturbed) { n.partition(n.leader(), false, true) }},
	{"nobody hears a follower", func(n *disturbed) { n.partition(n.anyFollower(), true, false) }},
	{"a follower hears nobody", func(n *disturbed) { n.partition(n.anyFollower(), false, true) }},
	{"the leader and one follower are apart", (*disturbed).partPair},
	{"the disk of the leader is full", func(n *disturbed) { n.fill(n.leader()) }},
	{"the disk of a follower is full", func(n *disturbed) { n.fill(n.anyFollower()) }},
}

// TestNemesisPartitions is TestNemesis with members that do not reach each other for a while, in
// one direction or in both, while clients reach all of them. It runs in namespaces that end with
// it: each member has a network of its own, and the machine in between drops what it is told to.
func TestNemesisPartitions(t *testing.T) {
	if os.Getenv(nemesisInsideEnv) == "" {
		t.Parallel()
		runInside(t, "^TestNemesisPartitions$")
		return
	}
	networks := new(networks)
	if err := networks.open(); err != nil {
		t.Skip(nemesisNoNetwork, err)
	}
	runNemesis(t, networks, nemesisPartitions)
}

// runInside runs a test of this program in a network and a tree of files of its own. What the test
// makes there ends with its process.
func runInside(t *testing.T, name string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs several servers")
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED, no partition of a network was tested: there is no program ip")
	}
	command := exec.Command(own, "-test.run="+name, "-test.v",
		"-test.timeout="+flag.Lookup("test.timeout").Value.String())
	command.Env = append(os.Environ(), nemesisInsideEnv+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig: syscall.SIGKILL,
	}
	if os.Getuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := command.CombinedOutput()
	ended := new(exec.ExitError)
	switch {
	case err != nil && !errors.As(err, &ended):
		t.Skip("SKIPPED, no partition of a network was tested:", err)
	case bytes.Contains(out, []byte(nemesisNoNetwork)):
		t.Skipf("SKIPPED, no partition of a network was tested:\n%s", out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// networks are a nemesisPlace where each member has a network of its own. This process is the
// machine between them.
type networks struct {
	// cuts are the rules that drop packets.
	cuts [][]string
}

func (n *networks) choose() {}

// prepare gives a member a disk of its own.
func (n *networks) prepare(disk string) error {
	return mountSmall(disk, fmt.Sprint(diskBytes))
}

// release ends the disk, which would end with the process, too.
func (n *networks) release(disk string, failed bool) {
	if failed {
		_ = os.CopyFS(disk+"-data", os.DirFS(filepath.Join(disk, "data")))
	}
	_ = unmountSmall(disk)
}

func (n *networks) host(number uint64) string { return fmt.Sprintf("10.77.%d.2", number) }

func (n *networks) program(number uint64, args []string) child.Program {
	return child.Program{
		Path: "ip",
		Args: slices.Concat([]string{"netns", "exec", nameOfNetwork(number), "pws"}, args),
	}
}

func nameOfNetwork(number uint64) string { return fmt.Sprint("member", number) }

// open makes the networks of the first members.
func (n *networks) open() error {
	// ip keeps names below /run.
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	for number := range uint64(3) {
		if err == nil {
			err = n.add(number + 1)
		}
	}
	if err == nil {
		err = n.cut(1, 2)
	}
	return errors.Join(err, n.heal())
}

// add makes the network of a member.
func (n *networks) add(number uint64) error {
	name, link := nameOfNetwork(number), fmt.Sprint("to", number)
	below := fmt.Sprintf("10.77.%d", number)
	for _, line := range []string{
		"netns add " + name,
		"link add " + link + " type veth peer name e0 netns " + name,
		"addr add " + below + ".1/24 dev " + link,
		"link set " + link + " up",
		"-n " + name + " addr add " + below + ".2/24 dev e0",
		"-n " + name + " link set e0 up",
		"-n " + name + " link set lo up",
		"-n " + name + " route add default via " + below + ".1",
	} {
		if err := ip(strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// cut drops all packets from one member to another.
func (n *networks) cut(from, to uint64) error {
	rule := []string{"from", n.host(from), "to", n.host(to), "blackhole"}
	n.cuts = append(n.cuts, rule)
	return ip(slices.Concat([]string{"rule", "add"}, rule)...)
}

// heal drops nothing any more.
func (n *networks) heal() (err error) {
	for _, rule := range n.cuts {
		err = errors.Join(err, ip(slices.Concat([]string{"rule", "del"}, rule)...))
	}
	n.cuts = nil
	return err
}

// cut drops what two members send each other, or one of the directions.
func (n *disturbed) cut(one, other *nemesisMember, there, back bool) {
	n.t.Helper()
	networks := n.place.(*networks)
	var err error
	if there {
		err = networks.cut(one.number, other.number)
	}
	if back {
		err = errors.Join(err, networks.cut(other.number, one.number))
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// partition cuts a member off from all others: what it sends, what it is sent, or both.
func (n *disturbed) partition(m *nemesisMember, sent, received bool) {
	n.t.Helper()
	for _, other := range n.members {
		if other != m {
			n.cut(m, other, sent, received)
		}
	}
	n.endure()
}

// partPair leaves a member that both of two others reach.
func (n *disturbed) partPair() {
	n.t.Helper()
	n.cut(n.leader(), n.anyFollower(), true, true)
	n.endure()
}

// A partition outlasts an election. In long runs some outlast what connections wait for.
const (
	partMin     = 1200 * time.Millisecond
	partMax     = 2 * time.Second
	partLongMin = 8 * time.Second
	partLongMax = 25 * time.Second
)

// endure waits for a write during a partition, and ends it later.
func (n *disturbed) endure() {
	n.t.Helper()
	begun, wait := time.Now(), n.between(partMin, partMax)
	if n.long && n.random.IntN(3) == 0 {
		wait = n.between(partLongMin, partLongMax)
	}
	n.load.regain("a partition")
	nemesisPause(wait - time.Since(begun))
	if err := n.place.(*networks).heal(); err != nil {
		n.t.Fatal(err)
	}
}
