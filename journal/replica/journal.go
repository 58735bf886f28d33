package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"pws/internal/logformat"
	"pws/journal"
	"pws/wal"
)

// Transport carries messages between the members of a group.
type Transport interface {
	// Send gives a message to the network, which may lose it. It does not wait.
	Send(m *raftpb.Message)
	// Pull returns entries of the journal of another member from a position on, in order: at least
	// one, unless the member has none there. Errors: journal.ErrOutOfRange, and those of the network.
	Pull(ctx context.Context, member, from uint64) ([][]byte, error)
}

// Options is how a Journal takes part in a group. Zero values mean the defaults that are named.
type Options struct {
	// Member is the number of this member.
	Member uint64
	// Dir is the directory of raft's log, which Begin or Join has made.
	Dir string
	// Transport reaches the other members.
	Transport Transport
	// Tick is the time of a tick; 50 ms.
	Tick time.Duration
	// ElectionTicks without a leader begin an election; 10. All members have the same.
	ElectionTicks int
	// Understands is the newest format that this member understands; logformat.Newest.
	Understands uint64
	// KeepBytes is how much of raft's log stays in memory for members that lag; 64 MiB.
	KeepBytes int64
	// OnMembers, unless nil, gets the members at the start and whenever they have changed. It is
	// called by the goroutine of the journal and must not wait for anything.
	OnMembers func([]Member)
	// OnRemoved, unless nil, is called once, by the goroutine of the journal, AFTER this member was
	// removed, also BEFORE this start, and others have not asked it for anything for three times
	// ElectionTicks. It has to go on until Parted: others may need its vote to agree on the removal.
	// It must not wait for anything; Close comes from elsewhere.
	OnRemoved func()
	// OnCut, unless nil, is called once, by the goroutine of the journal, when this member lacks
	// entries that the leader, whose number it gets, does not have any more. Renew helps. It must not
	// wait for anything. If it returns false it is called again later.
	OnCut func(leader uint64) bool
	// Version of the program is in the Status.
	Version string
	Log     *slog.Logger

	// Damaged, unless nil, counts what of the data of this member was found damaged, for the status.
	Damaged func() int
	// LeaseFor is how long a leader trusts in what most members have said. Only tests set it: members
	// answer reads with what is old where it is too long.
	LeaseFor time.Duration
}

func (o *Options) complete() {
	if o.Tick == 0 {
		o.Tick = 50 * time.Millisecond
	}
	if o.ElectionTicks == 0 {
		o.ElectionTicks = 10
	}
	if o.KeepBytes == 0 {
		o.KeepBytes = 64 << 20
	}
	if o.Understands == 0 {
		o.Understands = logformat.Newest
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.LeaseFor == 0 {
		// A member that has answered does not vote for ElectionTicks of its own. The first of them may
		// be due at once, and the second, too, where it was late.
		o.LeaseFor = o.Tick * time.Duration(o.ElectionTicks-4)
	}
}

const (
	// entryOverheadBytes is added to the length of each entry that waits.
	entryOverheadBytes = 64
	// inboxMessagesMax and inboxBytesMax bound the messages that wait; others are lost.
	inboxMessagesMax = 512
	inboxBytesMax    = 128 << 20
	// pullBytesMax bounds what one Pull returns, unless it is one entry.
	pullBytesMax = 8 << 20
	// readWaitMax bounds how long a read waits for the group.
	readWaitMax = time.Second
)

// Journal is a journal.Journal that a group holds together. What the members have agreed on is
// appended to a log of entries, which is that of journal.Local: it is durable there BEFORE the
// machine learns of it, so all that reads the log of one server reads this one.
type Journal struct {
	options Options
	// entries is the log of what was agreed on, dir its directory, records that of raft.
	entries *wal.Log
	dir     string
	records *wal.Log
	node    *Node
	machine journal.Machine
	// queueBytesMax and floorBytes are those of journal.Options.
	queueBytesMax, floorBytes int64
	// keeps is what remains free AFTER so many queued bytes are written, as those options have it.
	keeps     func(queuedBytes int64) int64
	onFailure func(error)
	failing   sync.Once

	wake       chan struct{}
	calls      chan func()
	inbox      chan *raftpb.Message
	inboxBytes atomic.Int64
	pulled     chan pulled
	stop, done chan struct{}
	// alive ends with the journal.
	alive   context.Context
	kill    context.CancelFunc
	started atomic.Bool
	hold    hold
	// reign is that of this server, 0 while it does not lead. Until leased, since epoch, no other
	// server leads.
	reign  atomic.Uint64
	epoch  time.Time
	leased atomic.Int64
	// agreed is the newest position that was agreed on, which entries has taken; the goroutine of run
	// changes it. shown is the newest that the machine has.
	agreed, shown atomic.Uint64

	// What follows belongs to the goroutine of run. pulling says that entries are pulled.
	pulling bool
	reads   rounds
	ticks   int
	// members were given to OnMembers. OnRemoved was called if released is set, OnCut if cut is.
	members  []Member
	released bool
	cut      bool
	recalled recalled

	mu struct {
		sync.Mutex
		// progress is signalled when shown has grown, or AFTER a failure.
		progress sync.Cond
		failed   error
		closed   bool
		// rolled is zero if all that was there when Roll was called has left both logs.
		rolled roll
		queue  []*own
		// queueBytes are those of entries that were not reported.
		queueBytes int64
		reads      []*read
		status     Status
		// announced has what other members understand, until the next tick.
		announced map[uint64]uint64
	}
}

// roll is what was there when Roll was called.
type roll struct {
	// first is the oldest entry that was kept, agreed the newest that was agreed on.
	first, agreed uint64
	// index is that of the last entry in raft's log, which may not have been agreed on, record the
	// position of its last record.
	index, record uint64
}

var _ journal.Journal = (*Journal)(nil)

// OpenJournal opens a journal: the log of entries as journal.OpenLocal does, and raft's log. Errors
// are those of Open and of package wal.
func OpenJournal(o journal.Options, c Options) (*Journal, *journal.Recovery, error) {
	c.complete()
	j := &Journal{
		options: c, dir: o.Dir, wake: make(chan struct{}, 1), calls: make(chan func()),
		inbox: make(chan *raftpb.Message, inboxMessagesMax), pulled: make(chan pulled, 1),
		stop: make(chan struct{}), done: make(chan struct{}), epoch: time.Now(),
		reads:         rounds{token: rand.Uint64()},
		queueBytesMax: o.QueueBytesMax, floorBytes: o.FloorBytes, onFailure: o.OnFailure,
	}
	j.keeps = func(queuedBytes int64) int64 {
		if o.ReserveBytes < 0 || o.Needs == nil {
			return 0
		}
		return o.ReserveBytes + o.Needs(queuedBytes)
	}
	j.alive, j.kill = context.WithCancel(context.Background())
	j.mu.progress.L, j.mu.announced = &j.mu.Mutex, map[uint64]uint64{}
	if j.queueBytesMax == 0 {
		j.queueBytesMax = 64 << 20
	}
	o.OnFailure = j.latch
	entries, found, err := wal.Open(o)
	if err != nil {
		return nil, nil, err
	}
	j.entries = entries
	j.agreed.Store(found.Last)
	j.shown.Store(found.Last)
	if err := j.openRaft(o); err != nil {
		if j.records != nil {
			err = errors.Join(err, j.records.Close())
		}
		return nil, nil, errors.Join(err, entries.Close())
	}
	return j, found, nil
}

func (j *Journal) openRaft(o journal.Options) error {
	records, found, err := wal.Open(wal.Options{
		Dir: j.options.Dir, ReserveBytes: o.ReserveBytes, FloorBytes: o.FloorBytes, Free: o.Free,
		QueueBytesMax: math.MaxInt64,
	})
	if err != nil {
		return err
	}
	j.records = records
	l, err := Open(records)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(j.options.Dir), err)
	}
	base, err := decodeState(l.base)
	if err == nil && base.position > j.agreed.Load() {
		err = fmt.Errorf("%w: it begins after entry %d of the journal, which ends with %d",
			ErrInconsistent, base.position, j.agreed.Load())
	}
	if err != nil {
		return err
	}
	// What this member has answered BEFORE it was started again, a leader still relies on.
	listen := j.options.ElectionTicks
	if found.TornBytes > 0 {
		listen *= 4
		j.options.Log.Warn("removed a torn tail from the log of raft: after a crash this is a write "+
			"that was not acknowledged, on a damaged disk it may be one that was",
			"file", found.TornFile, "offset", found.TornOffset, "bytes", found.TornBytes)
	}
	j.node, err = NewNode(Config{
		Member: j.options.Member, Log: l, Machine: replicated{j}, Position: j.agreed.Load(),
		ElectionTicks: j.options.ElectionTicks, HeartbeatTicks: 1, QueueBytesMax: math.MaxInt,
		Understands: j.options.Understands, ListenTicks: listen, Confirmed: j.confirmed,
		Logger: logger{j.options.Log},
	})
	return err
}

// Replay implements journal.Journal.
func (j *Journal) Replay(from uint64, fn func(pos uint64, payload []byte) error) error {
	return j.entries.Replay(from, fn)
}

// Start implements journal.Journal.
func (j *Journal) Start(m journal.Machine) {
	j.machine = m
	j.started.Store(true)
	j.noteStatus()
	go j.run()
}

// Append implements journal.Journal.
func (j *Journal) Append(reign journal.Reign, e journal.Entry, c journal.Committed) error {
	space, cost := j.entries.Space(), int64(len(e.Payload))+entryOverheadBytes
	j.mu.Lock()
	defer j.mu.Unlock()
	queued := j.mu.queueBytes + cost
	switch {
	case j.mu.failed != nil:
		return j.mu.failed
	case j.mu.closed:
		return journal.ErrClosed
	case reign == 0 || uint64(reign) != j.reign.Load():
		return journal.ErrNotLeading
	case e.Format > max(j.mu.status.Format, logformat.First):
		return journal.ErrNotUnderstood
	case len(e.Payload) > journal.EntryBytesMax:
		return journal.ErrTooLarge
	case j.mu.queueBytes > 0 && queued > j.queueBytesMax:
		return journal.ErrBusy
	case e.Reserved && space.FreeBytes-cost < j.floorBytes && space.KeptBytes > 0,
		!e.Reserved && (!space.Writable ||
			space.FreeBytes-queued < max(space.KeptBytes, j.keeps(queued))):
		return journal.ErrNoSpace
	}
	j.mu.queue = append(j.mu.queue, &own{j: j, reign: reign, payload: e.Payload, done: c})
	j.mu.queueBytes = queued
	j.awake()
	return nil
}

func (j *Journal) awake() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Durable implements journal.Journal.
func (j *Journal) Durable() uint64 { return j.entries.Durable() }

// Read implements journal.Journal.
func (j *Journal) Read(from uint64, fn func(pos uint64, payload []byte) error) error {
	return wal.Read(j.dir, from, fn)
}

// CutBefore implements journal.Journal. Entries stay that Hold keeps, as long as the disk has room.
// AFTER Roll, a cut behind what there was then is for the sake of an erasure: nothing holds it, and
// raft's log forgets the entries, too, also where members lag.
func (j *Journal) CutBefore(pos uint64) error {
	j.mu.Lock()
	rolled := j.mu.rolled
	j.mu.Unlock()
	erases := rolled.agreed != 0 && pos > rolled.agreed
	if !erases && j.Space().Writable {
		pos = j.hold.limit(pos, time.Now())
	}
	if err := j.entries.CutBefore(pos); err != nil || !erases {
		return err
	}
	durable := j.Durable()
	return j.outcomeOf(context.Background(), func(done func(error)) {
		position := max(min(pos-1, durable), j.node.positionOf(rolled.index, durable))
		err := j.node.Compact(position, nil)
		if err == nil && j.node.log.oldest() > rolled.record {
			j.forgetRoll(rolled)
		}
		done(err)
	})
}

func (j *Journal) forgetRoll(gone roll) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.rolled == gone {
		j.mu.rolled = roll{}
	}
}

// Roll implements journal.Journal. A segment of raft's log that has entries which the group has not
// agreed on yet is removed by cuts AFTER it has.
func (j *Journal) Roll() {
	noted := roll{first: j.entries.Stats().First, agreed: max(1, j.agreed.Load())}
	j.entries.Roll()
	err := j.outcomeOf(context.Background(), func(done func(error)) {
		j.records.Roll()
		noted.index, noted.record = j.node.log.last(), j.records.Stats().Last
		done(nil)
	})
	if err != nil {
		// It is closed, and cuts nothing any more.
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.rolled = noted
}

// Healthy implements journal.Journal.
func (j *Journal) Healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.failed
}

// Stats implements journal.Journal. First is the oldest entry that one of the two logs may have,
// from Roll until cuts have removed what was there.
func (j *Journal) Stats() journal.Stats {
	s := j.entries.Stats()
	j.mu.Lock()
	defer j.mu.Unlock()
	s.QueueBytes, s.QueueEntries = j.mu.queueBytes, len(j.mu.queue)
	if j.mu.rolled.agreed != 0 {
		s.First = min(s.First, j.mu.rolled.first)
	}
	return s
}

// Space implements journal.Journal.
func (j *Journal) Space() journal.Space { return j.entries.Space() }

// Status is what the member knows of its group.
func (j *Journal) Status() Status {
	full, damaged := !j.Space().Writable, 0
	if j.options.Damaged != nil {
		damaged = j.options.Damaged()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.mu.status
	s.Full, s.Damaged = full, damaged
	return s
}

// Understands is the newest format that this member understands.
func (j *Journal) Understands() uint64 { return j.options.Understands }

// AgreedOn implements journal.Journal.
func (j *Journal) AgreedOn(format uint64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.status.Format >= format
}

// Announced notes the newest format that another member understands. Members say it every second
// or so: it counts for ElectionTicks six times.
func (j *Journal) Announced(member, format uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.announced[member] = format
}

// Close implements journal.Journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	again := j.mu.closed
	j.mu.closed = true
	j.mu.Unlock()
	if again {
		return journal.ErrClosed
	}
	if j.started.Load() {
		close(j.stop)
		<-j.done
	}
	j.kill()
	return errors.Join(j.entries.Close(), j.records.Close())
}

// errEnough ends the reading of entries.
var errEnough = errors.New("these are enough")

// Entries returns entries from a position on, for another member that pulls them.
func (j *Journal) Entries(from uint64) (all [][]byte, err error) {
	durable, size := j.Durable(), 0
	if from == 0 || from > durable {
		return nil, nil
	}
	err = wal.Read(j.dir, from, func(pos uint64, payload []byte) error {
		if pos > durable || size > 0 && size+len(payload) > pullBytesMax {
			return errEnough
		}
		size += len(payload) + 1
		all = append(all, append([]byte(nil), payload...))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, err
}

// Deliver takes a message of another member. One for which there is no room is lost.
func (j *Journal) Deliver(m *raftpb.Message) {
	size := messageBytes(m)
	if j.inboxBytes.Add(size) > inboxBytesMax {
		j.inboxBytes.Add(-size)
		return
	}
	select {
	case j.inbox <- m:
	default:
		j.inboxBytes.Add(-size)
	}
}

// messageBytes is about how much memory a message takes.
func messageBytes(m *raftpb.Message) int64 {
	size := int64(200 + len(m.GetSnapshot().GetData()))
	for _, e := range m.GetEntries() {
		size += int64(len(e.GetData())) + 80
	}
	return size
}
