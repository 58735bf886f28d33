package actors

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/disk"
	"pws/internal/logformat"
	"pws/journal"
	"pws/work"
)

// groupSim is a group of whole servers in one process: engines on the agreement of package replica,
// with disks, network and clocks by one seed. An order runs on the goroutine of the test until
// nothing is left to do, so that a seed repeats.
type groupSim struct {
	t       *testing.T
	random  *rand.Rand
	seed    uint64
	servers []*simServer
	letters []simLetter
	pulls   []simPull
	// blocked are the ways on which nothing arrives, from one member to another.
	blocked map[[2]uint64]bool
	step    int
	// calm is without faults; atOnce lets each order wait for its entry.
	calm, atOnce bool
	// peace is how seldom harm is done.
	peace int
	// leases has leaders trust in a lease, with clocks that do not jump.
	leases bool
	// fault is what was found first.
	fault string

	// truth is what was agreed on, shown the newest position of it that any engine has shown.
	truth   []simEntry
	shown   uint64
	leaders map[journal.Reign]uint64
	tokens  uint64
	simRequests
	// commands makes them.
	commands simulation

	// lies is with disks that report too early, hasty with journals that report BEFORE agreement,
	// blind with reads that ask nobody.
	lies, hasty, blind bool
	counts             simCounts
	trace              uint64
}

// simEntry is an entry that was agreed on, with the request that it fulfils, 0 for none that is
// looked for.
type simEntry struct {
	payload []byte
	request int
}

// simLetter is a message on its way.
type simLetter struct {
	due     int
	message *raftpb.Message
}

// simCounts are how often something has happened that the simulation is for.
type simCounts struct {
	crashes, slows, saves, tornSaves, cuts, installs, pulls, heals int
	reads, leased, transfers, added, removed                       int
	acknowledged, refused, unknown, repeats                        int
}

func (c *simCounts) add(other simCounts) {
	c.crashes += other.crashes
	c.slows += other.slows
	c.saves += other.saves
	c.tornSaves += other.tornSaves
	c.cuts += other.cuts
	c.installs += other.installs
	c.pulls += other.pulls
	c.heals += other.heals
	c.reads += other.reads
	c.transfers += other.transfers
	c.leased += other.leased
	c.added += other.added
	c.removed += other.removed
	c.acknowledged += other.acknowledged
	c.refused += other.refused
	c.unknown += other.unknown
	c.repeats += other.repeats
}

// least is the smallest of the counts.
func (c *simCounts) least() int {
	return min(c.crashes, c.slows, c.saves, c.tornSaves, c.cuts, c.installs, c.pulls, c.heals, c.reads,
		c.transfers, c.leased, c.added, c.removed, c.acknowledged, c.refused, c.unknown, c.repeats)
}

// entropy is a source of random bytes, for raft and for engines.
type entropy struct {
	mu sync.Mutex
	*rand.ChaCha8
}

// Read implements io.Reader.
func (e *entropy) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ChaCha8.Read(b)
}

func (s *groupSim) String() string { return fmt.Sprintf("PWS_SEED=%d step %d", s.seed, s.step) }

// found notes a fault. The simulation ends then.
func (s *groupSim) found(format string, args ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf("%s: %s", s, fmt.Sprintf(format, args...))
	}
}

func (s *groupSim) pick(n int) int { return s.random.IntN(n) }

// electionTicks are those of all members. A lease that is shorter than the time in which another
// can become the leader shows nothing.
func (s *groupSim) electionTicks() int {
	if s.leases {
		return 20
	}
	return 8
}

func (s *groupSim) fails() bool { return !s.calm && s.pick(600) == 0 }

// simulateGroup runs a group by a seed. It returns without a fault, or with the first one.
func simulateGroup(t *testing.T, seed uint64, change func(*groupSim)) *groupSim {
	before := cryptorand.Reader
	defer func() { cryptorand.Reader = before }()
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	cryptorand.Reader = &entropy{ChaCha8: rand.NewChaCha8(key)}
	s := &groupSim{
		t: t, seed: seed, blocked: map[[2]uint64]bool{}, leaders: map[journal.Reign]uint64{},
		calm: true, simRequests: newSimRequests(),
	}
	s.random = rand.New(rand.NewPCG(seed, 2))
	s.commands.t, s.commands.random = t, s.random
	s.leases, s.peace = s.pick(4) == 0, 1+s.pick(4)
	change(s)
	defer s.end()
	s.prepare()
	for s.calm = false; s.step < 500 && s.fault == ""; {
		s.act()
	}
	s.settle()
	return s
}

// prepare starts all members, and makes agents and projects.
func (s *groupSim) prepare() {
	voters := []uint64{1, 2, 3, 4, 5}[:3+s.pick(3)]
	for range voters {
		s.servers = append(s.servers, s.newServer(voters))
	}
	for _, o := range s.servers {
		o.start()
	}
	s.atOnce = true
	for s.leader() == nil && s.fault == "" {
		s.act()
	}
	if s.fault != "" {
		return
	}
	e := s.leader().e
	s.commands.e = e
	for range 3 {
		s.commands.register()
	}
	for _, one := range s.commands.agents {
		project := createProject(s.t, e, one.session.AgentID, work.Public)
		s.commands.projects = append(s.commands.projects, project)
	}
	s.atOnce = false
}

// end closes all engines.
func (s *groupSim) end() {
	for _, o := range s.servers {
		if o.life != nil {
			o.abort()
			o.life.end(journal.ErrOutcomeUnknown)
			o.drop()
		}
	}
}

// act lets a step pass.
func (s *groupSim) act() {
	s.step++
	s.deliver()
	for _, o := range s.servers {
		o.live()
		o.release()
	}
	if s.atOnce || s.fault != "" {
		return
	}
	if !s.calm {
		s.disturb(s.servers[s.pick(len(s.servers))])
	}
	if s.pick(2) == 0 {
		s.ask()
	}
	s.collect()
	s.look()
	s.checkLeases()
}

// deliver brings the letters that are due, and the answers to pulls.
func (s *groupSim) deliver() {
	var due []simLetter
	s.letters = slices.DeleteFunc(s.letters, func(l simLetter) bool {
		if l.due <= s.step {
			due = append(due, l)
		}
		return l.due <= s.step
	})
	for _, l := range due {
		from, to := s.servers[l.message.GetFrom()-1], s.servers[l.message.GetTo()-1]
		switch {
		case to.life == nil || s.isCut(from, to):
		case to.away():
			s.letters = append(s.letters, simLetter{s.step + max(1, to.frozen), l.message})
		default:
			to.life.node.Announced(from.member, logformat.Newest)
			to.life.step(l.message)
			to.work()
		}
	}
	pulls := s.pulls
	s.pulls = nil
	for _, p := range pulls {
		if p.due <= s.step {
			p.end()
		} else {
			s.pulls = append(s.pulls, p)
		}
	}
}

func (s *groupSim) isCut(from, to *simServer) bool {
	return s.blocked[[2]uint64{from.member, to.member}]
}

// disturb does harm to a server, or to its ways, or ends it.
func (s *groupSim) disturb(o *simServer) {
	other := s.servers[s.pick(len(s.servers))]
	switch kind := s.pick(200 * s.peace); {
	case kind < 5:
		o.crash()
	case kind < 8:
		o.restart()
	case kind < 11:
		o.frozen = 1 + s.pick(40)
	case kind < 14:
		s.blocked[[2]uint64{o.member, other.member}] = true
	case kind < 17:
		for _, each := range s.servers {
			s.blocked[[2]uint64{o.member, each.member}] = true
			s.blocked[[2]uint64{each.member, o.member}] = true
		}
	case kind < 25:
		clear(s.blocked)
	case kind < 35:
		o.save()
	case kind < 42:
		if !o.away() {
			o.life.compacting = true
			o.work()
		}
	case kind < 44:
		o.skew += int64(s.pick(leaseMillis/4) - 10_000)
	case kind < 50:
		s.transfer(other)
	case kind < 52:
		s.compare()
	case kind < 58:
		s.reform()
	case o.life == nil && kind < 116:
		o.heal()
		o.start()
	}
}

// transfer has the leader give its leadership to another member.
func (s *groupSim) transfer(to *simServer) {
	if o := s.leader(); o != nil && !o.away() {
		o.life.node.Transfer(to.member, func(err error) {
			if err == nil {
				s.counts.transfers++
			}
		})
		if !o.life.node.Leases() {
			o.life.leased = 0
		}
		o.work()
	}
}

// leader is the server that leads the newest reign, nil without one.
func (s *groupSim) leader() (found *simServer) {
	for _, o := range s.servers {
		if o.life != nil && o.life.reign != 0 &&
			(found == nil || o.life.reign > found.life.reign) {
			found = o
		}
	}
	return found
}

// noteLeader checks that a reign has one leader.
func (s *groupSim) noteLeader(member uint64, reign journal.Reign) {
	if leader, led := s.leaders[reign]; led {
		s.found("member %d leads reign %d, which was led by %d", member, reign, leader)
	}
	s.leaders[reign] = member
}

// noteAgreed checks that all members agree on the same entries.
func (s *groupSim) noteAgreed(member, pos uint64, payload []byte) {
	switch last := uint64(len(s.truth)); {
	case pos == last+1:
		s.truth = append(s.truth, simEntry{payload, s.fulfilled(pos, payload)})
	case pos > last || string(s.truth[pos-1].payload) != string(payload):
		s.found("entry %d of %d is another one for member %d", pos, last, member)
	}
}

// look notes what is shown.
func (s *groupSim) look() {
	h := fnv.New64a()
	for _, o := range s.servers {
		if o.life == nil {
			continue
		}
		shown := o.life.shown.Load()
		s.shown = max(s.shown, shown)
		h.Write(binary.LittleEndian.AppendUint64(nil, shown))
		if shown > 0 {
			h.Write(s.truth[shown-1].payload)
		}
	}
	h.Write(binary.LittleEndian.AppendUint64(nil, s.trace))
	s.trace = h.Sum64()
}

// settle ends all harm, and expects that everybody agrees and that writes are acknowledged again.
func (s *groupSim) settle() {
	s.calm = true
	clear(s.blocked)
	before := s.counts.acknowledged
	settled := func() bool {
		return s.counts.acknowledged > before+3 && len(s.open) == 0 && s.agree()
	}
	for n := 0; s.fault == "" && !settled(); n++ {
		if n == 3000 {
			s.found("no agreement AFTER the end of all faults: %s", s.standing())
		}
		for _, o := range s.servers {
			o.frozen = 0
			o.heal()
			o.start()
		}
		s.act()
	}
	if s.fault == "" {
		s.checkAll()
	}
}

// standing says how all servers stand.
func (s *groupSim) standing() (text string) {
	text = fmt.Sprintf("%d entries, %d orders without an answer", len(s.truth), len(s.open))
	for _, o := range s.servers {
		if o.life != nil {
			text += fmt.Sprintf("\n%d, cut by %d: %+v", o.life.shown.Load(), o.cutBy, o.life.node.Status())
		}
	}
	return text
}

// inMemory has a test keep its files in memory where the system offers that. What a disk loses is
// simulated, and its syncs take most of the time.
func inMemory(t *testing.T) {
	const dir = "/dev/shm"
	if free, _, err := disk.Free(dir); err == nil && free > 1<<28 {
		t.Setenv("TMPDIR", dir)
	}
}

// seedsOf are the seeds of a test: a new one and those behind it, or what the environment says.
func seedsOf(t *testing.T, count uint64) (first, end uint64) {
	first = rand.Uint64() >> 1
	if text := os.Getenv("PWS_SEEDS"); text != "" {
		count, _ = strconv.ParseUint(text, 10, 64)
	}
	if text := os.Getenv("PWS_SEED"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
		count = 1
	}
	t.Logf("PWS_SEED=%d and the next %d", first, count-1)
	return first, first + count
}

// TestGroupSim runs groups of whole servers by seed. PWS_SEED repeats one, PWS_SEEDS says how many.
func TestGroupSim(t *testing.T) {
	count := uint64(80)
	if testing.Short() {
		count = 4
	}
	inMemory(t)
	first, end := seedsOf(t, count)
	var sum simCounts
	var reigns, entries int
	for seed := first; seed < end && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := simulateGroup(t, seed, func(*groupSim) {})
			if s.fault != "" {
				t.Fatal(s.fault)
			}
			sum.add(s.counts)
			reigns, entries = reigns+len(s.leaders), entries+len(s.truth)
		})
	}
	t.Logf("%d reigns, %d entries, %+v", reigns, entries, sum)
	if !t.Failed() && end-first >= 80 && (sum.least() == 0 || reigns < 2*int(end-first)) {
		t.Error("the simulation does not reach what it is for")
	}
}

// TestGroupSimRepeats runs a seed twice.
func TestGroupSimRepeats(t *testing.T) {
	inMemory(t)
	seed, _ := seedsOf(t, 1)
	var traces [2]uint64
	for i := range traces {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			traces[i] = simulateGroup(t, seed, func(*groupSim) {}).trace
		})
	}
	if traces[0] != traces[1] {
		t.Errorf("seed %d does not repeat", seed)
	}
}

// TestGroupSimFindsMissingRules shows what the simulation finds: groups in which a rule is missing
// fail.
func TestGroupSimFindsMissingRules(t *testing.T) {
	inMemory(t)
	for what, change := range map[string]func(*groupSim){
		"disks that report BEFORE a sync": func(s *groupSim) { s.lies = true },
		"answers BEFORE agreement":        func(s *groupSim) { s.hasty = true },
		"reads that ask nobody":           func(s *groupSim) { s.blind = true },
	} {
		t.Run(what, func(t *testing.T) {
			for seed := range uint64(100) {
				if text := faultOf(t, seed, change); text != "" {
					t.Logf("found: %s", text)
					return
				}
			}
			t.Error("100 seeds have found nothing")
		})
	}
}

// faultOf runs a simulation and returns how it has failed. Raft panics about what it finds, too.
func faultOf(t *testing.T, seed uint64, change func(*groupSim)) (text string) {
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		defer func() {
			if broken := recover(); broken != nil {
				text = fmt.Sprint(broken)
			}
		}()
		text = simulateGroup(t, seed, change).fault
	})
	return text
}
