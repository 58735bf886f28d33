package replica

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"pws/internal/disk"
	"pws/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a member of the group, with what it has on disk.
type server struct {
	sim     *simulation
	member  uint64
	records *modelRecords
	// saved is the durable state of the machine.
	saved machineState
	// node is nil while the server is down; what follows is lost then.
	node    *Node
	current machineState
	reign   journal.Reign
	// frozen is how many steps the server stands still.
	frozen int
	// resume goes on with work that waits for the disk, and crash ends it; nil without such work.
	resume func() (struct{}, bool)
	crash  func()
	worked error
}

// machineState is a position and all values up to it.
type machineState struct {
	position uint64
	values   []uint64
}

func (m machineState) encode() []byte {
	b := binary.AppendUvarint(nil, m.position)
	for _, value := range m.values {
		b = binary.AppendUvarint(b, value)
	}
	return b
}

func decodeMachine(data []byte) (m machineState) {
	r := disk.NewReader(data)
	m.position = r.Uvarint()
	for r.Len() > 0 {
		m.values = append(m.values, r.Uvarint())
	}
	return m
}

func (m *machineState) apply(s *simulation, pos, value uint64) {
	if pos != m.position+1 {
		s.t.Fatalf("%s: entry %d AFTER %d", s, pos, m.position)
	}
	m.position, m.values = pos, append(m.values[:len(m.values):len(m.values)], value)
	s.agreed(pos, value)
}

// Follow implements Machine.
func (o *server) Follow(pos uint64, payload []byte) error {
	value, _ := binary.Uvarint(payload)
	o.current.apply(o.sim, pos, value)
	return nil
}

// Lead implements Machine.
func (o *server) Lead(reign journal.Reign) {
	if leader, led := o.sim.leaders[reign]; led || reign <= o.reign {
		o.sim.t.Fatalf("%s: %d leads reign %d, which was led by %d", o.sim, o.member, reign, leader)
	}
	o.sim.leaders[reign] = o.member
	o.reign = reign
}

// Yield implements Machine.
func (o *server) Yield() {
	if o.reign == 0 {
		o.sim.t.Fatalf("%s: %d yields twice", o.sim, o.member)
	}
	o.reign = 0
}

// Install implements Machine.
func (o *server) Install(position uint64, descriptor []byte) error {
	o.saved = decodeMachine(descriptor)
	if o.saved.position != position || position < o.current.position {
		o.sim.t.Fatalf("%s: a state of %d for %d, AFTER %d", o.sim, o.saved.position, position,
			o.current.position)
	}
	o.current = o.saved
	o.sim.installs++
	return nil
}

// write is a value on its way.
type write struct {
	server *server
	value  uint64
}

// Committed implements journal.Committed.
func (w *write) Committed(pos uint64, err error) {
	s := w.server.sim
	if err != nil {
		s.unknown++
		return
	}
	w.server.current.apply(s, pos, w.value)
	s.acknowledged = append(s.acknowledged, w.value)
}

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

	// unfenced is without the gate and its reigns, lies with disks that report too early, silent
	// without reports of descriptors, of which half are lost.
	unfenced, lies, silent bool

	unknown, installs, crashes, slows, flips int
	trace                                    uint64
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
	}
	change(s)
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	cryptorand.Reader = entropy{rand.NewChaCha8(key)}
	size := 3 + 2*s.pick(2)
	voters := make([]uint64, size)
	for at := range voters {
		voters[at] = uint64(at + 1)
	}
	for _, member := range voters {
		o := &server{sim: s, member: member}
		o.records = &modelRecords{sim: s, first: 1, shadow: &Log{hard: &raftpb.HardState{}}}
		if _, err := Bootstrap(o.records, voters, First(0, machineState{}.encode())); err != nil {
			t.Fatal(err)
		}
		s.servers = append(s.servers, o)
		o.start()
	}
	s.calm = false
	return s
}

// start opens what the disk has. Where that fails it may be tried again.
func (o *server) start() {
	o.records.dead = false
	if !o.sim.calm && o.sim.pick(4) == 0 {
		o.records.flip()
		o.sim.flips++
	}
	listen := 0
	if o.records.torn {
		listen = 20
	}
	o.records.shadow = &Log{hard: &raftpb.HardState{}, opening: true}
	for at, payload := range o.records.kept {
		o.records.note(o.records.first+uint64(at), payload)
	}
	o.records.shadow.opening = false
	found, err := Open(o.records)
	if errors.Is(err, errDisk) {
		return
	}
	if err != nil {
		o.sim.t.Fatalf("%s: %v", o.sim, err)
	}
	o.current, o.reign = o.saved, 0
	o.node, err = NewNode(Config{
		Member: o.member, Log: found, Machine: o, Position: o.saved.position, ElectionTicks: 5,
		HeartbeatTicks: 1, QueueBytesMax: 1 << 20, ListenTicks: listen, Logger: quietRaft,
	})
	if err != nil {
		o.sim.t.Fatalf("%s: %v", o.sim, err)
	}
	o.node.unfenced = o.sim.unfenced
}

// stop is a crash.
func (o *server) stop() {
	if o.node == nil {
		return
	}
	o.sim.crashes++
	if o.crash != nil {
		o.crash()
		o.resume, o.crash, o.records.wait = nil, nil, nil
	}
	if o.sim.lies {
		o.records.forget()
	}
	o.node, o.reign = nil, 0
}

// work has a server do what is to be done. It waits for a slow disk meanwhile.
func (o *server) work() {
	o.resume, o.crash = iter.Pull(func(wait func(struct{}) bool) {
		o.records.wait = wait
		o.worked = o.node.Work(o.send)
	})
	o.goOn()
}

// goOn lets the server work until its disk is slow. One whose disk has failed goes down.
func (o *server) goOn() {
	if _, waits := o.resume(); waits {
		return
	}
	o.resume, o.crash, o.records.wait = nil, nil, nil
	if o.worked == nil {
		return
	}
	if !errors.Is(o.worked, errDisk) || o.reign != 0 {
		o.sim.t.Fatalf("%s: %d: %v", o.sim, o.member, o.worked)
	}
	o.stop()
}

// away reports whether the server neither hears nor does anything now.
func (o *server) away() bool { return o.frozen > 0 || o.resume != nil }

// send checks that a message rests on nothing that a crash would take away, and gives it to the
// network, which loses, repeats and delays.
func (o *server) send(m *raftpb.Message) {
	s, disk := o.sim, o.records.shadow
	term := disk.hard.GetTerm()
	switch m.GetType() {
	case raftpb.MsgVote:
		if term != m.GetTerm() || disk.hard.GetVote() != o.member {
			s.t.Fatalf("%s: %d asks for votes in term %d, and has %v", s, o.member, m.GetTerm(),
				disk.hard)
		}
	case raftpb.MsgVoteResp:
		if !m.GetReject() && (term != m.GetTerm() || disk.hard.GetVote() != m.GetTo()) {
			s.t.Fatalf("%s: %d votes for %d in term %d, and has %v", s, o.member, m.GetTo(),
				m.GetTerm(), disk.hard)
		}
	case raftpb.MsgAppResp:
		if !m.GetReject() && (term < m.GetTerm() || disk.last() < m.GetIndex()) {
			s.t.Fatalf("%s: %d has %d in term %d, and on disk %d in %d", s, o.member, m.GetIndex(),
				m.GetTerm(), disk.last(), term)
		}
	default:
	}
	if o.records.promise >= o.records.first+uint64(len(o.records.kept))-1 {
		s.t.Fatalf("%s: %d sends BEFORE its term and vote are sealed", s, o.member)
	}
	arrives := 1
	if s.silent && m.GetType() == raftpb.MsgSnap {
		arrives = s.pick(2)
	} else if !s.calm {
		arrives = []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}[s.pick(12)]
	}
	for range arrives {
		due := s.step + 1
		if !s.calm {
			due += s.pick(1 + s.pick(30))
		}
		s.letters = append(s.letters, letter{due, proto.CloneOf(m)})
	}
	if arrives == 0 && m.GetType() == raftpb.MsgSnap && !s.silent {
		o.node.Reported(m.GetTo(), false)
	}
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
		if !s.calm && s.pick(200) == 0 {
			// The clock jumps.
			ticks = 12
		}
		for range ticks {
			o.node.Tick()
		}
		if o.work(); o.node == nil || o.away() {
			continue
		}
		if o.reign != 0 && s.pick(3) == 0 {
			s.write(o)
		}
	}
	if !s.calm {
		s.disturb(s.servers[s.pick(len(s.servers))])
	}
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
		if o.node == nil {
			o.start()
		}
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
	case kind < 55:
		if o.node == nil || o.resume != nil {
			return
		}
		o.saved = o.current
		if err := o.node.Compact(o.saved.position, o.saved.encode()); err != nil {
			o.stop()
		}
	}
}

// settle ends all harm, and expects that everybody agrees and that writes are acknowledged again.
func (s *simulation) settle() {
	s.calm = true
	clear(s.cut)
	for _, o := range s.servers {
		o.frozen = 0
		if o.node == nil {
			o.start()
		}
	}
	before := len(s.acknowledged)
	for range 2000 {
		s.act()
		if len(s.acknowledged) > before+5 && s.agree() {
			break
		}
	}
	if len(s.acknowledged) <= before+5 || !s.agree() {
		s.t.Fatalf("%s: no agreement AFTER the end of all faults", s)
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

func (s *simulation) agree() bool {
	for _, o := range s.servers {
		if o.current.position != s.servers[0].current.position ||
			o.current.position < uint64(len(s.truth)) {
			return false
		}
	}
	return true
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
	var sum simulation
	for seed := first; seed < first+count; seed++ {
		s := simulate(t, seed, 500, sound)
		reigns, acknowledged = reigns+len(s.leaders), acknowledged+len(s.acknowledged)
		sum.unknown += s.unknown
		sum.installs += s.installs
		sum.crashes += s.crashes
		sum.slows += s.slows
		sum.flips += s.flips
	}
	t.Logf("%d reigns, %d acknowledged, %d unknown, %d states installed, %d crashes, %d slow writes, "+
		"%d flips", reigns, acknowledged, sum.unknown, sum.installs, sum.crashes, sum.slows, sum.flips)
	if count >= 40 && (reigns < int(count) || acknowledged < 20*int(count) || sum.unknown == 0 ||
		sum.installs == 0 || sum.crashes == 0 || sum.slows == 0 || sum.flips == 0) {
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

// TestSimulationRepeats runs a seed twice.
func TestSimulationRepeats(t *testing.T) {
	seed := rand.Uint64()
	one, other := simulate(t, seed, 400, sound), simulate(t, seed, 400, sound)
	if one.trace != other.trace {
		t.Errorf("seed %d does not repeat", seed)
	}
}
