package actors

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"path/filepath"
	"sync/atomic"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
	"pws/journal/replica"
)

// simServer is a member: an engine, and what it has on its disks.
type simServer struct {
	sim    *groupSim
	member uint64
	dir    string
	// records are nil while the server has nothing.
	records *simRecords
	entries *simEntries
	// life and e are nil while the server is down. orders gives orders to the engine.
	life   *simJournal
	e      *Engine
	orders *node
	// frozen is how many steps the server stands still, skew how far its clock is ahead.
	frozen int
	skew   int64
	time   atomic.Pointer[reading]
	// resume goes on with work that waits for the disk, and quit ends it; nil without such work.
	resume func() (struct{}, bool)
	quit   func()
	// feed knows how much of the feed is durable.
	feed simulation
	// cutBy is the member that has cut entries which the server lacks, 0 where it lacks none.
	cutBy uint64
	// gone says that it was removed and has no need to come back.
	gone bool
}

// quietSimRaft drops what raft says. It panics about what raft takes for a broken rule.
var quietSimRaft = &raft.DefaultLogger{Logger: log.New(io.Discard, "", 0)}

func (s *groupSim) newServer(voters []uint64) *simServer {
	o := &simServer{
		sim: s, member: uint64(len(s.servers) + 1), records: &simRecords{sim: s, first: 1},
		entries: &simEntries{first: 1}, dir: filepath.Join(s.t.TempDir(), "data"),
	}
	if _, err := replica.Bootstrap(o.records, voters, replica.First(0, simState(0))); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// start opens what the disks have, unless the server is up. Where that fails it may be tried again.
func (o *simServer) start() {
	s := o.sim
	if o.life != nil || o.gone || o.records == nil && !o.join() {
		return
	}
	o.records.dead = false
	found, err := replica.Open(o.records)
	if errors.Is(err, errSimDisk) {
		return
	}
	j := &simJournal{server: o, entries: o.entries, agreed: o.entries.synced}
	j.shown.Store(j.agreed)
	if err == nil {
		var base *raftpb.Snapshot
		if base, err = found.Snapshot(); err == nil && simPosition(base) > j.agreed {
			err = fmt.Errorf("raft begins AFTER %d, the entries end with %d", simPosition(base), j.agreed)
		}
	}
	listen := s.electionTicks()
	if o.records.torn {
		listen *= 4
	}
	if err == nil {
		j.node, err = replica.NewNode(replica.Config{
			Member: o.member, Log: found, Machine: simMachine{j}, Position: j.agreed,
			ElectionTicks: s.electionTicks(), HeartbeatTicks: 1, QueueBytesMax: 1 << 20,
			ListenTicks: listen, Confirmed: j.confirmed, Logger: quietSimRaft,
		})
	}
	if err == nil {
		j.format.Store(j.node.Format())
		err = o.open(j)
	}
	if err != nil {
		s.found("member %d does not start: %v", o.member, err)
	}
}

// open opens the engine on a journal.
func (o *simServer) open(j *simJournal) error {
	config := quiet(o.dir)
	config.SharedJournal = true
	config.SnapshotAtClose = o.sim.pick(2) == 0
	config.OpenJournal = func(journal.Options) (journal.Journal, *journal.Recovery, error) {
		return j, &journal.Recovery{First: j.entries.first, Last: j.agreed}, nil
	}
	e, _, err := Open(config)
	if err != nil {
		return err
	}
	// The goroutine of the feed may read the clock at any moment, and would change what it says.
	err = e.feed.fill()
	e.feed.filling.Lock()
	o.setClock(e)
	o.noteFeed()
	o.e, o.life, o.orders = e, j, &node{group: &group{t: o.sim.t}, e: e}
	return err
}

// noteFeed notes that all of the feed is durable.
func (o *simServer) noteFeed() {
	o.feed = simulation{t: o.sim.t, random: o.sim.random, config: Config{Dir: o.dir}}
	o.feed.noteFeed()
}

// loud lets the feed go on while a function runs.
func (o *simServer) loud(do func()) {
	o.e.Now()
	o.e.feed.filling.Unlock()
	defer o.e.feed.filling.Lock()
	do()
}

// simEpoch is AFTER the time of any real clock, which an engine has until it gets another one.
const simEpoch = 4_102_444_800_000

// setClock gives an engine the clock of the simulation, which shows the time of the newest entry at
// least.
func (o *simServer) setClock(e *Engine) {
	o.tickClock()
	source := func() reading { return *o.time.Load() }
	e.clock.source.Store(&source)
	e.clock.floor.Store(o.sim.stampOf(o.entries.synced))
	e.clock.behind.Store(nil)
}

// tickClock sets the clock of a server to the time of the step.
func (o *simServer) tickClock() {
	steady := int64(o.sim.step) * 50
	o.time.Store(&reading{wall: simEpoch + steady + o.skew, steady: steady})
	if o.e != nil {
		o.e.Now()
	}
}

// away reports whether the server neither hears nor sends anything now.
func (o *simServer) away() bool { return o.life == nil || o.frozen > 0 || o.resume != nil }

// live lets a step pass. A server whose disk fails goes down.
func (o *simServer) live() {
	s := o.sim
	o.tickClock()
	if o.frozen > 0 {
		o.frozen--
		return
	}
	if o.life == nil || o.resume != nil && !o.goOn() {
		return
	}
	if o.resume == nil {
		for range o.ticks() {
			o.life.node.Tick()
		}
		if !o.work() {
			return
		}
		if o.askLease(); o.life == nil {
			return
		}
	}
	waiting := len(o.life.waiting)
	if !s.calm {
		waiting = s.pick(waiting + 1)
	}
	if o.life.sync(waiting); o.life.failed != nil {
		o.crash()
	}
}

// ticks are those of the clock in a step.
func (o *simServer) ticks() int {
	switch s := o.sim; {
	case s.atOnce:
		return 1
	case s.leases:
		return min(1, s.pick(8))
	case !s.calm && s.pick(200) == 0:
		// The clock jumps.
		return 12
	default:
		return s.pick(2)
	}
}

// work does what is to be done, unless the server is at work. It waits for a slow disk meanwhile.
// It reports false where the server has crashed.
func (o *simServer) work() bool {
	if o.resume != nil {
		return true
	}
	j := o.life
	o.resume, o.quit = iter.Pull(func(wait func(struct{}) bool) {
		o.records.wait = wait
		j.turn()
	})
	return o.goOn()
}

// goOn lets the server work until its disk is slow. One whose disk has failed goes down.
func (o *simServer) goOn() bool {
	if _, waits := o.resume(); waits {
		return true
	}
	o.resume, o.quit, o.records.wait = nil, nil, nil
	if o.life.failed == nil {
		return true
	}
	if !errors.Is(o.life.failed, errSimDisk) {
		o.sim.found("member %d fails: %v", o.member, o.life.failed)
	}
	o.crash()
	return false
}

// abort ends the work that waits for the disk.
func (o *simServer) abort() {
	if o.quit != nil {
		o.quit()
		o.resume, o.quit, o.records.wait = nil, nil, nil
	}
}

// crash drops the engine. The next one finds what the disks have at this moment.
func (o *simServer) crash() {
	if o.life == nil {
		return
	}
	o.crashInto(crashCopy(o.sim.t, o.dir))
}

func (o *simServer) crashInto(dir string) {
	s := o.sim
	s.counts.crashes++
	o.abort()
	s.collect()
	j := o.life
	o.entries = j.entries.afterCrash(s.pick)
	if s.lies {
		o.records.forget()
	}
	j.end(errors.Join(journal.ErrLatched, errSimDisk))
	o.e.config.SnapshotAtClose = false
	o.drop()
	o.dir, o.feed.config.Dir = dir, dir
	o.feed.tearFeed()
}

// drop lets go of an engine that does nothing any more, for the test as for those who have given it
// orders.
func (o *simServer) drop() {
	o.sim.abandon(o.orders)
	o.e.feed.filling.Unlock()
	if err := o.e.Close(); err != nil && !errors.Is(err, journal.ErrClosed) {
		o.sim.t.Error(err)
	}
	o.life, o.e, o.orders = nil, nil, nil
}

// restart closes the engine AFTER its orders were answered, and starts another one.
func (o *simServer) restart() {
	if o.away() || len(o.life.open) > 0 {
		return
	}
	o.sim.collect()
	if o.life.settle(); o.life.failed != nil {
		o.crash()
		return
	}
	j := o.life
	o.drop()
	o.entries = j.entries.afterCrash(o.sim.pick)
	o.start()
}

// save writes a snapshot. The machine may go off between any two steps of it.
func (o *simServer) save() {
	s := o.sim
	if o.life == nil || o.frozen > 0 {
		return
	}
	left, dir := -1, ""
	if !s.calm && s.pick(4) == 0 {
		left = s.pick(24)
	}
	o.e.saver.hook = func(step string) error {
		if step == "cut" {
			o.noteFeed()
		}
		if left--; left != -1 {
			return nil
		}
		// Nothing writes to the feed while it is copied.
		o.e.feed.filling.Lock()
		defer o.e.feed.filling.Unlock()
		dir = crashCopy(s.t, o.dir)
		return errSimDisk
	}
	var err error
	o.loud(func() { err = o.e.Save() })
	o.e.saver.hook = nil
	switch {
	case dir != "":
		s.counts.tornSaves++
		o.crashInto(dir)
	case o.life.failed != nil:
		o.crash()
	case err != nil:
		s.found("member %d cannot save: %v", o.member, err)
	default:
		s.counts.saves++
		o.e.sweep(o.e.Now() + 1000)
	}
}

// send gives a message to the network, which loses, repeats and delays.
func (o *simServer) send(m *raftpb.Message) {
	s := o.sim
	arrives := 1
	if !s.calm {
		arrives = []int{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}[s.pick(12)]
	}
	for range arrives {
		due := s.step + 1
		switch {
		case s.calm:
		case s.pick(8) == 0:
			due += s.pick(40)
		default:
			due += s.pick(3)
		}
		s.letters = append(s.letters, simLetter{due: due, message: proto.CloneOf(m)})
	}
	if m.GetType() == raftpb.MsgSnap {
		// It is small. Where it is lost, raft finds that out by the next message.
		o.life.node.Reported(m.GetTo(), true)
	}
}

// pull asks another member for the entries that raft's log of the leader does not have any more.
func (o *simServer) pull(from uint64) {
	if s := o.sim; !o.life.pulling {
		o.life.pulling = true
		s.pulls = append(s.pulls, simPull{s.step + 1 + s.pick(10), o.life, from, o.life.agreed + 1})
	}
}

// simPull is a question for entries from a position on.
type simPull struct {
	due    int
	life   *simJournal
	member uint64
	from   uint64
}

var errSimPulled = errors.New("these are enough")

// end is the answer, which may be lost.
func (p *simPull) end() {
	p.life.pulling = false
	o := p.life.server
	s := o.sim
	other := s.servers[p.member-1]
	if p.life.over || o.away() || other.life == nil || other.frozen > 0 || s.isCut(other, o) ||
		s.isCut(o, other) {
		return
	}
	var found [][]byte
	most := 1 + s.pick(30)
	err := other.life.entries.read(p.from, func(pos uint64, payload []byte) error {
		if len(found) == most || pos > other.life.shown.Load() {
			return errSimPulled
		}
		found = append(found, payload)
		return nil
	})
	if errors.Is(err, journal.ErrOutOfRange) && p.from < other.life.entries.first {
		o.cutBy = p.member
	}
	for i, payload := range found {
		if p.life.node.Learn(p.from+uint64(i), payload) != nil {
			break
		}
	}
	s.counts.pulls += len(found)
	o.work()
}

// stampOf is the time of an entry, 0 where there is none.
func (s *groupSim) stampOf(pos uint64) int64 {
	if pos == 0 {
		return 0
	}
	decoded, err := datadir.DecodeEntry(s.truth[pos-1].payload)
	if err != nil {
		s.t.Fatal(err)
	}
	return decoded.Now
}

// files counts how often the history of a project has written each path.
func (o *simServer) files(project id.ID) map[string]int {
	counts := map[string]int{}
	p := viewOf(o.sim.t, o.e, project)
	for sequence := range p.ChangesetsCount() {
		for _, op := range p.ChangesetNumber(uint32(sequence + 1)).Ops {
			if op.Path != nil {
				counts[*op.Path]++
			}
		}
	}
	return counts
}
