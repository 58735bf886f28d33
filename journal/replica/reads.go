package replica

import (
	"time"

	"pws/journal"
)

// confirmedRead marks a read whose views were loaded AFTER the group was asked: it needs no lease.
const confirmedRead journal.Reign = 1 << 63

// read waits until the machine has all that had taken effect when it began.
type read struct {
	done, failed chan struct{}
	// index of raft, position of the journal: what the machine has to have.
	index, position uint64
}

// rounds are the questions to the group whether something has taken effect. There is one at a time,
// for all reads that have begun BEFORE it. It belongs to the goroutine of run.
type rounds struct {
	// token names a round in the group. The first one is a random number: an answer that was under
	// way to this member BEFORE its start must not end a round of now.
	token uint64
	// open says that a round waits for its answer, for age ticks, and began when it began.
	open  bool
	age   int
	began time.Time
	asked []*read
	// agreed have an index and wait until it is applied, applied wait for the machine.
	agreed, applied []*read
}

// take returns all reads that wait.
func (r *rounds) take() []*read {
	all := append(append(r.asked, r.agreed...), r.applied...)
	r.asked, r.agreed, r.applied = nil, nil, nil
	return all
}

// roundTicksMax is AFTER how many ticks the answer to a round is taken for lost.
const roundTicksMax = 4

// ask begins a round, unless one waits for its answer. It reports whether there is one to send.
func (j *Journal) ask() bool {
	r := &j.reads
	if r.waits() {
		return false
	}
	r.token++
	r.open, r.age, r.began = true, 0, time.Now()
	j.node.AskRead(r.token)
	return true
}

// waits reports whether a round waits for its answer.
func (r *rounds) waits() bool { return r.open && r.age < roundTicksMax }

// confirmed ends a round.
func (j *Journal) confirmed(token, index uint64) {
	r := &j.reads
	if !r.open || token != r.token {
		return
	}
	r.open = false
	if j.node.Leases() {
		j.leased.Store(int64(r.began.Sub(j.epoch) + j.options.LeaseFor))
	}
	for _, one := range r.asked {
		one.index = index
	}
	r.agreed, r.asked = append(r.agreed, r.asked...), nil
}

// answer ends the reads whose entries the machine has, and begins a round for new ones.
func (j *Journal) answer() {
	r := &j.reads
	applied, position := j.node.Applied()
	waits := r.agreed[:0]
	for _, one := range r.agreed {
		if one.index > applied {
			waits = append(waits, one)
			continue
		}
		one.position = position
		r.applied = append(r.applied, one)
	}
	r.agreed = waits
	j.mu.Lock()
	shown, fresh := j.shown.Load(), j.mu.reads
	if r.waits() {
		fresh = nil
	} else {
		j.mu.reads = nil
	}
	j.mu.Unlock()
	waits = r.applied[:0]
	for _, one := range r.applied {
		if one.position > shown {
			waits = append(waits, one)
			continue
		}
		close(one.done)
	}
	r.applied = waits
	if j.node.Removed() {
		// Others do not answer it any more.
		for _, one := range append(r.take(), fresh...) {
			close(one.failed)
		}
		return
	}
	// Those of a round that was lost are asked for again.
	r.asked = append(r.asked, fresh...)
	if len(r.asked) > 0 && j.ask() {
		j.awake()
	}
}

// await waits until the machine has all that has taken effect BEFORE the call.
func (j *Journal) await() error {
	one := &read{done: make(chan struct{}), failed: make(chan struct{})}
	j.mu.Lock()
	if j.mu.failed != nil || j.mu.closed {
		j.mu.Unlock()
		return journal.ErrNotLeading
	}
	j.mu.reads = append(j.mu.reads, one)
	j.mu.Unlock()
	j.awake()
	timer := time.NewTimer(readWaitMax)
	defer timer.Stop()
	select {
	case <-one.done:
		return nil
	case <-one.failed:
	case <-j.done:
	case <-timer.C:
	}
	return journal.ErrNotLeading
}

// leads reports whether no other server can have led until now. The lease is loaded BEFORE the
// time, and that BEFORE the reign, so that it is the lease of this reign, however long this takes.
func (j *Journal) leads(reign journal.Reign) bool {
	leased := time.Duration(j.leased.Load())
	now := time.Since(j.epoch)
	return now < leased && uint64(reign) == j.reign.Load()
}

// BeginRead implements journal.Journal. A server that leads knows that no other does; all others
// ask the group, and wait for what has taken effect until then. The leader waits for what is agreed
// on, too: another member may have shown it already.
func (j *Journal) BeginRead() (journal.Reign, error) {
	reign := journal.Reign(j.reign.Load())
	if reign == 0 || !j.leads(reign) {
		return confirmedRead, j.await()
	}
	if j.shown.Load() < j.agreed.Load() {
		j.settle()
	}
	return reign, nil
}

// awaitShown waits until the machine has an entry that was agreed on, or never will.
func (j *Journal) awaitShown(position uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.shown.Load() < position && j.mu.failed == nil {
		j.mu.progress.Wait()
	}
}

// EndRead implements journal.Journal.
func (j *Journal) EndRead(begun journal.Reign) error {
	if begun == confirmedRead || j.leads(begun) {
		return nil
	}
	// The group may say later that this server has led on since.
	if err := j.await(); err != nil || uint64(begun) != j.reign.Load() {
		return journal.ErrNotLeading
	}
	return nil
}
