package replica

import (
	"encoding/binary"
	"errors"
	"iter"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/internal/disk"
	"pws/internal/logformat"
	"pws/journal"
)

// server is a member of the group, with what it has on disk.
type server struct {
	sim    *simulation
	member uint64
	// records are nil while the server has nothing.
	records *modelRecords
	// saved is the durable state of the machine.
	saved machineState
	// earlier is a state that the machine has had.
	earlier machineState
	// node is nil while the server is down; what follows is lost then.
	node    *Node
	current machineState
	reign   journal.Reign
	// leased is the step until which this leader trusts that no other leads: a lease since the step
	// asked, when the newest question had a token.
	leased, asked int
	token         uint64
	// understands is the newest format that the server's program knows; a later start may be that of
	// a newer one.
	understands uint64
	// format is the one that it had applied at the index formatAt.
	format, formatAt uint64
	// gone says that the server was removed and has no need to come back.
	gone bool
	// frozen is how many steps the server stands still.
	frozen int
	// resume goes on with work that waits for the disk, and crash ends it; nil without such work.
	resume func() (struct{}, bool)
	crash  func()
	worked error
}

// electionTicks are those of all servers. A lease that is shorter than the time in which another
// can become the leader shows nothing.
func (s *simulation) electionTicks() int {
	if s.leases {
		return 20
	}
	return 5
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

// eligible reports whether a server may lead.
func (s *simulation) eligible(o *server) bool { return o.member != s.ineligible }

// alone reports whether the group has had one voter only, who has no choice.
func (s *simulation) alone() bool {
	for _, g := range s.groups {
		if len(g.voters()) == 1 {
			return true
		}
	}
	return false
}

// Lead implements Machine.
func (o *server) Lead(reign journal.Reign) {
	if leader, led := o.sim.leaders[reign]; led || reign <= o.reign {
		o.sim.t.Fatalf("%s: %d leads reign %d, which was led by %d", o.sim, o.member, reign, leader)
	}
	if !o.sim.eligible(o) && !o.sim.alone() {
		o.sim.t.Fatalf("%s: %d leads, which may not", o.sim, o.member)
	}
	o.sim.leaders[reign] = o.member
	o.reign = reign
}

// Yield implements Machine.
func (o *server) Yield() {
	if o.reign == 0 {
		o.sim.t.Fatalf("%s: %d yields twice", o.sim, o.member)
	}
	o.reign, o.leased = 0, 0
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

// Has implements Machine. The simulation compares all members at the end.
func (o *server) Has(uint64, []byte) (bool, error) { return true, nil }

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

// begin starts a server that is down, unless it is gone.
func (o *server) begin() {
	if o.node == nil && !o.gone {
		o.start()
	}
}

// start opens what the disk has. Where that fails it may be tried again.
func (o *server) start() {
	if o.records == nil && !o.join() {
		return
	}
	o.records.dead = false
	if o.sim.pick(3) == 0 {
		o.understands = logformat.Newest
	}
	if !o.sim.calm && o.sim.pick(4) == 0 {
		o.records.flip()
		o.sim.flips++
	}
	listen := 0
	if o.sim.leases {
		listen = o.sim.electionTicks()
	}
	if o.records.torn {
		listen = 4 * o.sim.electionTicks()
	}
	o.records.shadow = &Log{hard: &raftpb.HardState{}, opening: true}
	for i, payload := range o.records.kept {
		o.records.note(o.records.first+uint64(i), payload)
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
		Member: o.member, Log: found, Machine: o, Position: o.saved.position, HeartbeatTicks: 1,
		ElectionTicks: o.sim.electionTicks(), QueueBytesMax: 1 << 20, ListenTicks: listen,
		Understands: o.understands, Confirmed: o.confirmed, Logger: quietRaft,
	})
	if err != nil {
		o.sim.t.Fatalf("%s: %v", o.sim, err)
	}
	o.node.unfenced = o.sim.unfenced
	o.node.SetEligible(o.sim.eligible(o))
}

// compact saves a state of the machine, and lets the log forget what is in it.
func (o *server) compact(state machineState) {
	if o.node == nil || o.resume != nil || state.position < o.saved.position {
		return
	}
	o.saved, o.earlier = state, o.current
	if err := o.node.Compact(o.saved.position, o.saved.encode()); err != nil {
		o.stop()
	}
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
	o.node, o.reign, o.leased = nil, 0, 0
}

// work has a server do what is to be done. It waits for a slow disk.
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
	s, shadow := o.sim, o.records.shadow
	term := shadow.hard.GetTerm()
	switch m.GetType() {
	case raftpb.MsgVote:
		if term != m.GetTerm() || shadow.hard.GetVote() != o.member {
			s.t.Fatalf("%s: %d asks for votes in term %d, and has %v", s, o.member, m.GetTerm(),
				shadow.hard)
		}
	case raftpb.MsgVoteResp:
		if !m.GetReject() && (term != m.GetTerm() || shadow.hard.GetVote() != m.GetTo()) {
			s.t.Fatalf("%s: %d votes for %d in term %d, and has %v", s, o.member, m.GetTo(),
				m.GetTerm(), shadow.hard)
		}
	case raftpb.MsgAppResp:
		if !m.GetReject() && (term < m.GetTerm() || shadow.last() < m.GetIndex()) {
			s.t.Fatalf("%s: %d has %d in term %d, and on disk %d in %d", s, o.member, m.GetIndex(),
				m.GetTerm(), shadow.last(), term)
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
		if !s.calm && (!s.leases || s.pick(8) == 0) {
			due += s.pick(1 + s.pick(30))
		}
		s.letters = append(s.letters, letter{due, proto.CloneOf(m)})
	}
	if arrives == 0 && m.GetType() == raftpb.MsgSnap && !s.silent {
		o.node.Reported(m.GetTo(), false)
	}
}
