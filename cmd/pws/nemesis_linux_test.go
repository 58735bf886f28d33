package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"pws/bench/child"
)

// nemesisTimeEnv says for how long TestNemesis and TestNemesisPartitions disturb groups, together.
// The default is what make test has time for. Nothing else runs beside them where it is set: writes
// have to be acknowledged again within nemesisRegainMax. If it is longer, there are more faults.
const (
	nemesisTimeEnv     = "PWS_NEMESIS_TIME"
	nemesisTimeDefault = 16 * time.Second
)

// disturbed is a group that is disturbed while clients use it; what they were answered is checked.
type disturbed struct {
	*nemesisGroup
	load   *nemesisLoad
	random *rand.Rand
	// long says that there is time for more than make test does.
	long bool
}

// nemesisFault disturbs a group, and ends the disturbance.
type nemesisFault struct {
	name string
	do   func(n *disturbed)
}

// nemesisFaults need nothing but processes.
var nemesisFaults = []nemesisFault{
	{"the leader is killed", (*disturbed).killLeader},
	{"a follower is killed", (*disturbed).killFollower},
	{"two members are killed", (*disturbed).killTwo},
	{"the leader is stopped for a while", (*disturbed).haltLeader},
	{"a follower is stopped for a while", (*disturbed).haltFollower},
	{"another member is to lead", (*disturbed).transfer},
	{"a clock is wrong", (*disturbed).skew},
	{"a bit of a file is flipped", (*disturbed).flip},
}

// nemesisFaultsLong are those that short runs leave out.
var nemesisFaultsLong = []nemesisFault{{"a member is replaced", (*disturbed).replace}}

// TestNemesis disturbs three servers that are one service while clients work with them: processes
// are killed and stopped, another one leads, members are removed and added. PWS_SEED repeats the
// order of the disturbances, but not their moments. Each object's history must be linearizable, and
// what was acknowledged must be on all members once.
func TestNemesis(t *testing.T) { runNemesis(t, new(loopback), nemesisFaults) }

// runNemesis begins with the first of the faults and goes on with all of them in an order by seed,
// until the time is up.
func runNemesis(t *testing.T, place nemesisPlace, faults []nemesisFault) {
	if testing.Short() {
		t.Skip("runs several servers")
	}
	t.Parallel()
	seed := seedOf(t)
	length := nemesisTimeDefault
	if text := os.Getenv(nemesisTimeEnv); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	// There are two tests.
	until := time.Now().Add(length / 2)
	long := length > nemesisTimeDefault
	if long {
		faults = slices.Concat(faults, nemesisFaultsLong)
	}
	n := &disturbed{
		nemesisGroup: openGroup(t, place), random: rand.New(rand.NewPCG(seed, seed)), long: long,
	}
	n.waitAgreed(false)
	n.load = startLoad(t, n.nemesisGroup, seed)
	var deck []nemesisFault
	for turn := 0; turn == 0 || time.Now().Before(until); turn++ {
		if len(deck) == 0 {
			deck = slices.Clone(faults)
			others := deck[min(1, turn+1):]
			n.random.Shuffle(len(others), func(a, b int) {
				others[a], others[b] = others[b], others[a]
			})
		}
		begun := time.Now()
		deck[0].do(n)
		n.waitAgreed(false)
		t.Logf("%s: all is well AFTER %v", deck[0].name, time.Since(begun).Round(time.Millisecond))
		deck = deck[1:]
		nemesisPause(n.between(restMin, restMax))
		if n.load.worldIsOld() {
			n.load.nextWorld()
		}
		if t.Failed() {
			break
		}
	}
	n.finish()
}

// groupsEnv has the tests run whose names begin with TestGroup. Each disturbs a group of servers in
// one way; make test has no time for them.
const groupsEnv = "PWS_GROUPS"

// groupTest is for a test of a group that runs beside others of them.
func groupTest(t *testing.T) {
	t.Helper()
	if os.Getenv(groupsEnv) == "" {
		t.Skip("make nemesis runs it")
	}
	t.Parallel()
}

// underLoad is a group of servers on loopback addresses that clients work with, for a groupTest.
func underLoad(t *testing.T, args ...string) *disturbed {
	t.Helper()
	groupTest(t)
	seed := seedOf(t)
	n := &disturbed{
		nemesisGroup: openGroup(t, new(loopback), args...), random: rand.New(rand.NewPCG(seed, seed)),
	}
	n.waitAgreed(false)
	n.load = startLoad(t, n.nemesisGroup, seed)
	return n
}

// finish stops the load and checks everything.
func (n *disturbed) finish() {
	n.t.Helper()
	n.load.regain("at the end")
	n.load.stop()
	n.waitAgreed(true)
	n.load.examine()
	n.stop()
	n.load.history.check(n.t)
	longest := time.Duration(n.load.longest.Load())
	late := time.Duration(n.load.starved.sum.Load())
	n.t.Logf("the longest request took %v; this process waited %v for a processor",
		longest.Round(time.Millisecond), late.Round(time.Millisecond))
	if longest > nemesisHungMax+late {
		n.t.Errorf("a request took %v", longest)
	}
	if times := n.load.regained; len(times) > 0 {
		slices.Sort(times)
		n.t.Logf("writes were acknowledged again AFTER %v (p50), %v (max) of %d losses of a leader",
			times[(len(times)-1)/2].Round(time.Millisecond),
			times[len(times)-1].Round(time.Millisecond), len(times))
	}
}

// lost waits for a write AFTER the leader was lost.
func (n *disturbed) lost(what string) {
	n.t.Helper()
	n.load.regained = append(n.load.regained, n.load.regain(what))
}

// between is a random time.
func (n *disturbed) between(from, to time.Duration) time.Duration {
	return from + time.Duration(n.random.Int64N(int64(to-from)))
}

// anyFollower is a member that does not lead.
func (n *disturbed) anyFollower() *nemesisMember { return n.follower(n.random) }

func (n *disturbed) killLeader() {
	leader := n.leader()
	n.kill(leader)
	n.lost("the leader was killed")
	n.startAgain(leader)
}

func (n *disturbed) killFollower() {
	m := n.anyFollower()
	n.kill(m)
	n.load.regain("a follower was killed")
	n.startAgain(m)
}

// killTwo leaves one member, which cannot write.
func (n *disturbed) killTwo() {
	spared := n.random.IntN(len(n.members))
	dead := slices.Delete(slices.Clone(n.members), spared, spared+1)
	for _, m := range dead {
		n.kill(m)
	}
	nemesisPause(n.between(200*time.Millisecond, time.Second))
	for _, m := range dead {
		n.startAgain(m)
	}
	n.load.regain("two members were killed")
}

// restMin and restMax are how long nothing disturbs the group.
const (
	restMin = 200 * time.Millisecond
	restMax = 600 * time.Millisecond
)

// haltMin and haltMax are longer than an election.
const (
	haltMin = 2 * time.Second
	haltMax = 4 * time.Second
)

func (n *disturbed) haltLeader() {
	leader, wait := n.leader(), n.between(haltMin, haltMax)
	begun := time.Now()
	n.halt(leader)
	n.lost("the leader was stopped")
	nemesisPause(wait - time.Since(begun))
	n.proceed(leader)
}

func (n *disturbed) haltFollower() {
	m := n.anyFollower()
	n.halt(m)
	nemesisPause(n.between(haltMin, haltMax))
	n.proceed(m)
}

// transfer has any other member lead, or one that is named.
func (n *disturbed) transfer() {
	var to []string
	if m := n.anyFollower(); n.random.IntN(2) == 0 {
		to = []string{fmt.Sprint(m.number)}
	}
	n.order(func(*clusterStatus) bool { return false }, "transfer", to...)
	n.load.regain("another member leads")
}

// leads has a member lead.
func (n *disturbed) leads(m *nemesisMember) {
	n.t.Helper()
	if n.leader() == m {
		return
	}
	n.order(func(status *clusterStatus) bool { return status.Leader == m.number }, "transfer",
		fmt.Sprint(m.number))
	n.load.regain("another member leads")
}

// replace removes a member, perhaps the leader, and adds one with another number.
func (n *disturbed) replace() {
	n.replaceMember(n.members[n.random.IntN(len(n.members))])
}

// has reports whether a member is in the group.
func (s *clusterStatus) has(number uint64) bool {
	return slices.ContainsFunc(s.Members, func(one clusterMember) bool { return one.Number == number })
}

// replaceMember is replace for one member, which may be down.
func (n *disturbed) replaceMember(old *nemesisMember) {
	old.leaves = true
	n.order(func(status *clusterStatus) bool { return !status.has(old.number) },
		"remove", fmt.Sprint(old.number))
	n.parts(old)
	n.load.regain("a member was removed")
	n.add()
}

// add adds a member, which begins with a copy of another's data.
func (n *disturbed) add() *nemesisMember {
	n.newest++
	if place, ok := n.place.(*networks); ok {
		if err := place.add(n.newest); err != nil {
			n.t.Fatal(err)
		}
	}
	made, err := n.newMember(n.newest)
	if err != nil {
		n.t.Fatal(err)
	}
	number := fmt.Sprint(made.number)
	if _, err := n.pws("cluster", "key", "--dir", n.path("keys"), number); err != nil {
		n.t.Fatal(err)
	}
	n.order(func(status *clusterStatus) bool { return status.has(made.number) },
		"add", number+"="+n.peer(made.number))
	from := n.leader()
	if err := n.join(made, from); err != nil {
		n.t.Fatal(err)
	}
	n.startAgain(made)
	n.members = append(n.members, made)
	n.publish()
	return made
}

// join makes the data directory of a member from that of another.
func (n *disturbed) join(made, from *nemesisMember) error {
	program := n.place.program(made.number, []string{
		"cluster", "join", "--data", made.data, "--cluster-id", fmt.Sprint(made.number),
		"--cluster-keys", n.path(fmt.Sprint("keys/member-", made.number)),
		"--from", fmt.Sprintf("%d=%s", from.number, n.peer(from.number)),
	})
	_, err := child.Output(n.t.Context(), program)
	return err
}
