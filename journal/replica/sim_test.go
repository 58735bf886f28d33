package replica

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"

	"pws/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// letter is a message on its way.
type letter struct {
	due     int
	message *raftpb.Message
}

// failer is a *testing.T, or notes that a simulation has failed as it should.
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// simulation is a group in one process: rules, logs, disks, network and clocks by one seed.
type simulation struct {
	t       failer
	seed    uint64
	random  *rand.Rand
	servers []*server
	letters []letter
	// cut are the ways on which nothing arrives, from one member to another.
	cut  map[[2]uint64]bool
	step int
	// calm is without faults.
	calm bool
	// truth are the values that took effect, and acknowledged those that were answered.
	truth        []uint64
	known        map[uint64]bool
	acknowledged []uint64
	leaders      map[journal.Reign]uint64
	values       uint64
	// groups are the members AFTER entries of raft, and formats the format there.
	groups  map[uint64]*group
	formats map[uint64]uint64

	// unfenced is without the gate and its reigns, lies with disks that report too early, silent
	// without reports of descriptors, of which half are lost.
	unfenced, lies, silent bool
	// leases has leaders trust in a lease, with clocks that do not jump and a network that is quick
	// mostly, and trusting has them do so AFTER a transfer has begun.
	leases, trusting bool
	// ineligible is a server that must not lead while others can.
	ineligible uint64

	counts
	trace uint64
}

// counts are how often something has happened that the simulation is for: values of unknown
// outcome, states installed, crashes, slow writes, flipped bits, new servers, changes of the group,
// leaders that have removed themselves, removed servers that were let go, transfers, leases, and
// steps in which members have applied different formats.
type counts struct {
	unknown, installs, crashes, slows, flips, joins, changes, abdications, released int
	transfers, leased, raised                                                       int
}

func (c *counts) add(other counts) {
	c.unknown += other.unknown
	c.installs += other.installs
	c.crashes += other.crashes
	c.slows += other.slows
	c.flips += other.flips
	c.joins += other.joins
	c.changes += other.changes
	c.abdications += other.abdications
	c.released += other.released
	c.transfers += other.transfers
	c.leased += other.leased
	c.raised += other.raised
}

// least is the smallest of the counts.
func (c *counts) least() int {
	return min(c.unknown, c.installs, c.crashes, c.slows, c.flips, c.joins, c.changes, c.abdications,
		c.released, c.transfers, c.leased, c.raised)
}

func (s *simulation) String() string { return fmt.Sprintf("PWS_SEED=%d step %d", s.seed, s.step) }

func (s *simulation) pick(n int) int { return s.random.IntN(n) }

func (s *simulation) fails() bool { return !s.calm && s.pick(400) == 0 }

// agreed checks that all members apply the same, and nothing twice.
func (s *simulation) agreed(pos, value uint64) {
	switch last := uint64(len(s.truth)); {
	case pos <= last && s.truth[pos-1] == value:
	case pos == last+1 && !s.known[value]:
		s.truth = append(s.truth, value)
		s.known[value] = true
	default:
		s.t.Fatalf("%s: entry %d is %d, of %d; it took effect before: %v", s, pos, value, last,
			s.known[value])
	}
}

// entropy is a source of random bytes. Raft takes its election time-outs from it.
type entropy struct{ *rand.ChaCha8 }

func (e entropy) Read(b []byte) (int, error) { return e.ChaCha8.Read(b) }

var quietRaft = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

func newSimulation(t failer, seed uint64, change func(*simulation)) *simulation {
	s := &simulation{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), cut: map[[2]uint64]bool{},
		known: map[uint64]bool{}, leaders: map[journal.Reign]uint64{}, calm: true,
		groups: map[uint64]*group{}, formats: map[uint64]uint64{},
	}
	change(s)
	s.leases = s.leases || s.pick(4) == 0
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	cryptorand.Reader = entropy{rand.NewChaCha8(key)}
	size := 3 + 2*s.pick(2)
	first, err := beginning(membersOf(size))
	if err != nil {
		t.Fatal(err)
	}
	state := First(0, machineState{}.encode(), first.members...)
	for range size {
		o := s.newServer()
		o.records = s.emptyRecords()
		if _, err := Bootstrap(o.records, first.voters(), state); err != nil {
			t.Fatal(err)
		}
		o.start()
	}
	s.calm = false
	return s
}

// deliver brings the letters that are due.
func (s *simulation) deliver() {
	var due []letter
	s.letters = slices.DeleteFunc(s.letters, func(l letter) bool {
		if l.due <= s.step {
			due = append(due, l)
		}
		return l.due <= s.step
	})
	for _, l := range due {
		from, to := s.servers[l.message.GetFrom()-1], s.servers[l.message.GetTo()-1]
		if to.away() && to.node != nil {
			s.letters = append(s.letters, letter{s.step + max(1, to.frozen), l.message})
			continue
		}
		arrives := to.node != nil && !s.cut[[2]uint64{from.member, to.member}]
		reports := from.node != nil && from.resume == nil && !s.silent
		if l.message.GetType() == raftpb.MsgSnap && reports {
			from.node.Reported(to.member, arrives)
		}
		if arrives {
			to.node.Announced(from.member, from.understands)
			to.node.Step(l.message)
			to.work()
		}
	}
}

func (s *simulation) act() {
	s.step++
	s.deliver()
	for _, o := range s.servers {
		o.frozen = max(0, o.frozen-1)
		if o.node == nil || o.frozen > 0 {
			continue
		}
		if o.resume != nil {
			if o.goOn(); o.away() || o.node == nil {
				continue
			}
		}
		ticks := s.pick(2)
		if s.leases {
			ticks = min(1, s.pick(8))
		}
		if !s.calm && !s.leases && s.pick(200) == 0 {
			// The clock jumps.
			ticks = 12
		}
		for range ticks {
			o.node.Tick()
		}
		if o.work(); o.node == nil || o.away() {
			continue
		}
		if o.node.NeedsCompact() {
			o.compact(o.current)
		}
		if o.reign != 0 && s.pick(3) == 0 {
			s.write(o)
		}
		if s.leases && o.reign != 0 && !o.away() {
			o.askLease()
		}
	}
	if !s.calm {
		s.disturb(s.servers[s.pick(len(s.servers))])
	}
	s.checkGroups()
	s.checkFormats()
	s.checkLeases()
	for _, o := range s.servers {
		s.note(o.current.position, uint64(o.reign))
	}
}

func (s *simulation) note(values ...uint64) {
	h := fnv.New64a()
	for _, value := range append(values, s.trace) {
		h.Write(binary.LittleEndian.AppendUint64(nil, value))
	}
	s.trace = h.Sum64()
}

// write appends some values to the queue of a server that leads.
func (s *simulation) write(o *server) {
	for range 1 + s.pick(3) {
		s.values++
		w := &write{o, s.values}
		err := o.node.Append(o.reign, binary.AppendUvarint(nil, s.values), w)
		if err != nil {
			s.t.Fatalf("%s: %v", s, err)
		}
	}
	o.work()
}

// disturb does harm to a server, or to its ways, or ends it.
func (s *simulation) disturb(o *server) {
	other := s.servers[s.pick(len(s.servers))]
	switch kind := s.pick(600); {
	case kind < 4:
		o.stop()
	case kind < 24:
		o.begin()
	case kind < 27:
		o.frozen = 1 + s.pick(40)
	case kind < 32:
		s.cut[[2]uint64{o.member, other.member}] = true
	case kind < 35:
		for _, each := range s.servers {
			s.cut[[2]uint64{o.member, each.member}] = true
			s.cut[[2]uint64{each.member, o.member}] = true
		}
	case kind < 39:
		clear(s.cut)
	case kind < 47:
		o.compact(o.current)
	case kind < 55:
		// Its writing has taken a while.
		o.compact(o.earlier)
	case kind < 75:
		s.reform()
	case kind < 95:
		s.transfer()
	case kind < 135:
		if o.node != nil && !o.away() && o.node.Released() && s.parted(o) {
			o.gone = true
			s.released++
			o.stop()
		}
	}
}

// settle ends all harm, and expects that everybody agrees and that writes are acknowledged again.
func (s *simulation) settle() {
	s.calm, s.ineligible = true, 0
	clear(s.cut)
	for _, o := range s.servers {
		o.frozen = 0
		if o.begin(); o.node != nil {
			o.node.SetEligible(true)
		}
	}
	before := len(s.acknowledged)
	for range 2000 {
		for _, o := range s.servers {
			o.begin()
		}
		s.act()
		if len(s.acknowledged) > before+5 && s.agree() {
			break
		}
	}
	if len(s.acknowledged) <= before+5 || !s.agree() {
		s.t.Fatalf("%s: no agreement AFTER the end of all faults: %s", s, s.standing())
	}
	for _, value := range s.acknowledged {
		if !s.known[value] {
			s.t.Fatalf("%s: %d was acknowledged and is lost", s, value)
		}
	}
	for _, o := range s.servers {
		if !slices.Equal(o.current.values, s.truth[:o.current.position]) {
			s.t.Fatalf("%s: %d has another state", s, o.member)
		}
	}
}

func simulate(
	t failer, seed uint64, steps int, change func(*simulation),
) *simulation {
	before := cryptorand.Reader
	defer func() { cryptorand.Reader = before }()
	s := newSimulation(t, seed, change)
	defer s.end()
	for range steps {
		s.act()
	}
	s.settle()
	return s
}

// end crashes the servers that wait for their disks.
func (s *simulation) end() {
	for _, o := range s.servers {
		if o.crash != nil {
			o.crash()
		}
	}
}

func sound(*simulation) {}

// TestSimulation runs groups by seed. PWS_SEED repeats one, PWS_SEEDS says how many.
func TestSimulation(t *testing.T) {
	first, count := rand.Uint64()>>1, uint64(1000)
	if testing.Short() {
		count = 40
	}
	if text := os.Getenv("PWS_SEEDS"); text != "" {
		count, _ = strconv.ParseUint(text, 10, 64)
	}
	if text := os.Getenv("PWS_SEED"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
		count = 1
	}
	t.Logf("PWS_SEED=%d and the next %d", first, count-1)
	var reigns, acknowledged int
	var sum counts
	for seed := first; seed < first+count; seed++ {
		s := simulate(t, seed, 500, sound)
		reigns, acknowledged = reigns+len(s.leaders), acknowledged+len(s.acknowledged)
		sum.add(s.counts)
	}
	t.Logf("%d reigns, %d acknowledged, %+v", reigns, acknowledged, sum)
	if count >= 200 && (reigns < int(count) || acknowledged < 20*int(count) || sum.least() == 0) {
		t.Error("the simulation does not reach what it is for")
	}
}

// TestReportsMayBeLost runs groups in which nobody learns whether a descriptor has arrived.
func TestReportsMayBeLost(t *testing.T) {
	installs, first := 0, rand.Uint64()>>1
	t.Logf("seed %d and the next 19", first)
	for seed := first; seed < first+20; seed++ {
		s := simulate(t, seed, 500, func(s *simulation) { s.silent = true })
		installs += s.installs
	}
	if installs == 0 {
		t.Error("no descriptor was installed")
	}
}

// TestGroupsWithAServerThatMayNotLead runs groups with a server that may not lead.
func TestGroupsWithAServerThatMayNotLead(t *testing.T) {
	reigns, first := 0, rand.Uint64()>>1
	t.Logf("seed %d and the next 49", first)
	for seed := first; seed < first+50; seed++ {
		s := simulate(t, seed, 300, func(s *simulation) { s.ineligible = 1 })
		reigns += len(s.leaders)
	}
	if reigns < 50 {
		t.Errorf("%d reigns", reigns)
	}
}

// TestSimulationRepeats runs a seed twice.
func TestSimulationRepeats(t *testing.T) {
	seed := rand.Uint64()
	one, other := simulate(t, seed, 400, sound), simulate(t, seed, 400, sound)
	if one.trace != other.trace {
		t.Errorf("seed %d does not repeat", seed)
	}
}
