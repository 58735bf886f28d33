package actors

import (
	"slices"
	"sync"
	"testing"

	"pws/journal"
)

// group is a log in memory that several engines hold together. The test decides when a batch is
// agreed on, when a node learns of it, and who leads: nothing happens by itself.
type group struct {
	t  *testing.T
	mu sync.Mutex
	// agreed is the same for all nodes.
	agreed []agreement
	nodes  []*node
	reigns journal.Reign
	// at once has everything that is appended agreed on and applied by all.
	atOnce bool
	// confirms has servers that do not lead read, too, where they have applied all.
	confirms bool
}

// confirmedRead marks the reads of servers that do not lead.
const confirmedRead = journal.Reign(1 << 40)

// agreement is a batch, or the beginning of a reign.
type agreement struct {
	batch  *batch
	reign  journal.Reign
	leader *node
}

// batch is what a node has proposed. tags are the test's names of its entries.
type batch struct {
	reign    journal.Reign
	first    uint64
	from     *node
	payloads [][]byte
	tags     []int
	done     []journal.Committed
}

// node is the journal of one engine. Its machine is called by the test's goroutine only.
type node struct {
	group   *group
	machine journal.Machine
	config  Config
	e       *Engine
	// reign is 0 while the node does not lead.
	reign journal.Reign
	gate  journal.Gate
	// applied is how many agreements the node has applied, durable the position of the newest entry
	// of them that has taken effect, first that of the oldest that is kept. stored, which is applied
	// or one more, is how many Read returns: an entry can be read BEFORE it is reported.
	applied, stored int
	first, durable  uint64
	// queue was appended and is not proposed yet, proposed is not reported yet.
	queue    batch
	proposed []*batch
	// tag names the entries that are appended next.
	tag int
	// raw is the size of all that was appended.
	raw uint64
}

var _ journal.Journal = (*node)(nil)

func newGroup(t *testing.T, size int) *group {
	g := &group{t: t}
	for range size {
		n := &node{group: g, first: 1}
		n.config = quiet(t.TempDir())
		n.config.OpenJournal = func(journal.Options) (journal.Journal, *journal.Recovery, error) {
			return n, &journal.Recovery{First: n.first, Last: n.gate.Position}, nil
		}
		g.nodes = append(g.nodes, n)
		n.e = start(t, n.config)
	}
	return g
}

// Append implements journal.Journal.
func (n *node) Append(reign journal.Reign, e journal.Entry, c journal.Committed) error {
	n.group.mu.Lock()
	if reign == 0 || reign != n.reign {
		n.group.mu.Unlock()
		return journal.ErrNotLeading
	}
	n.queue.payloads = append(n.queue.payloads, e.Payload)
	n.queue.tags = append(n.queue.tags, n.tag)
	n.queue.done = append(n.queue.done, c)
	n.raw += uint64(len(e.Payload))
	n.group.mu.Unlock()
	if n.group.atOnce {
		n.group.agree(n.propose())
		n.group.deliverAll()
	}
	return nil
}

// propose makes a batch of what is queued; nil if there is nothing.
func (n *node) propose() *batch {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	if len(n.queue.payloads) == 0 {
		return nil
	}
	made := n.queue
	made.reign, made.from, made.first = n.reign, n, n.gate.Position+1
	for _, before := range n.proposed {
		made.first += uint64(len(before.payloads))
	}
	n.queue = batch{}
	n.proposed = append(n.proposed, &made)
	return &made
}

// agree puts a batch into the log, whether it will have an effect or not.
func (g *group) agree(b *batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.agreed = append(g.agreed, agreement{batch: b})
}

// elect begins a reign. The node leads when it has applied all in front.
func (g *group) elect(n *node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reigns++
	g.agreed = append(g.agreed, agreement{reign: g.reigns, leader: n})
}

// depose ends the reign of a node, which does not know what becomes of its batches.
func (n *node) depose() {
	n.group.mu.Lock()
	n.reign = 0
	queue := n.queue
	pending := append(n.proposed, &queue)
	n.proposed, n.queue = nil, batch{}
	n.group.mu.Unlock()
	n.machine.Yield()
	for _, b := range pending {
		for _, done := range b.done {
			done.Committed(0, journal.ErrOutcomeUnknown)
		}
	}
}

// deliver applies the next agreement and reports false if there is none.
func (n *node) deliver() bool {
	n.group.mu.Lock()
	if n.applied == len(n.group.agreed) {
		n.group.mu.Unlock()
		return false
	}
	next := n.group.agreed[n.applied]
	b := next.batch
	if b == nil {
		n.group.mu.Unlock()
		n.begin(next)
		return true
	}
	first := n.gate.Position + 1
	admitted := n.gate.Admit(b.reign, b.first, uint64(len(b.payloads)))
	n.stored = n.applied + 1
	n.group.mu.Unlock()
	own := slices.Index(n.proposed, b)
	for i, payload := range b.payloads {
		switch {
		case admitted && own >= 0:
			b.done[i].Committed(first+uint64(i), nil)
		case admitted:
			during := slices.Clone(payload)
			if err := n.machine.Follow(first+uint64(i), during); err != nil {
				n.group.t.Fatal(err)
			}
			// It is valid only during the call.
			clear(during)
		case own >= 0:
			n.group.t.Fatal("a batch of the leader was not admitted in its reign")
		}
	}
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	if own >= 0 {
		n.proposed = slices.Delete(n.proposed, own, own+1)
	}
	n.applied++
	n.durable = n.gate.Position
	return true
}

func (n *node) begin(next agreement) {
	if n.reign != 0 {
		n.depose()
	}
	n.group.mu.Lock()
	n.gate.Begin(next.reign)
	n.applied++
	n.stored = n.applied
	if next.leader == n {
		n.reign = next.reign
	}
	n.group.mu.Unlock()
	if next.leader == n {
		n.machine.Lead(next.reign)
	}
}

// deliverAll has all nodes apply all.
func (g *group) deliverAll() {
	for _, n := range g.nodes {
		for n.deliver() {
		}
	}
}

// admitted are the entries that a node can read and that have taken effect, with their tags.
func (n *node) admitted(yield func(pos uint64, payload []byte, tag int) bool) {
	n.group.mu.Lock()
	agreed := n.group.agreed[:n.stored]
	n.group.mu.Unlock()
	var gate journal.Gate
	for _, one := range agreed {
		if one.batch == nil {
			gate.Begin(one.reign)
			continue
		}
		first := gate.Position + 1
		if !gate.Admit(one.batch.reign, one.batch.first, uint64(len(one.batch.payloads))) {
			continue
		}
		for i, payload := range one.batch.payloads {
			if !yield(first+uint64(i), payload, one.batch.tags[i]) {
				return
			}
		}
	}
}

// Read implements journal.Journal.
func (n *node) Read(from uint64, fn func(pos uint64, payload []byte) error) error {
	n.group.mu.Lock()
	first, last := n.first, n.gate.Position
	n.group.mu.Unlock()
	if from != 0 && from < first || from > last+1 {
		return journal.ErrOutOfRange
	}
	var err error
	n.admitted(func(pos uint64, payload []byte, _ int) bool {
		if pos >= max(from, first) {
			err = fn(pos, slices.Clone(payload))
		}
		return err == nil
	})
	return err
}

// Replay implements journal.Journal.
func (n *node) Replay(from uint64, fn func(pos uint64, payload []byte) error) error {
	return n.Read(from, fn)
}

// Start implements journal.Journal.
func (n *node) Start(m journal.Machine) { n.machine = m }

// Durable implements journal.Journal.
func (n *node) Durable() uint64 {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	return n.durable
}

// CutBefore implements journal.Journal.
func (n *node) CutBefore(pos uint64) error {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	n.first = max(n.first, pos)
	return nil
}

// AgreedOn implements journal.Journal.
func (n *node) AgreedOn(uint64) bool { return true }

// BeginRead implements journal.Journal.
func (n *node) BeginRead() (journal.Reign, error) {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	switch {
	case n.reign == 0 && n.group.confirms && n.applied == len(n.group.agreed):
		return confirmedRead, nil
	case n.reign == 0:
		return 0, journal.ErrNotLeading
	}
	return n.reign, nil
}

// EndRead implements journal.Journal.
func (n *node) EndRead(begun journal.Reign) error {
	if now, err := n.BeginRead(); err != nil || now != begun {
		return journal.ErrNotLeading
	}
	return nil
}

// Stats implements journal.Journal.
func (n *node) Stats() journal.Stats {
	n.group.mu.Lock()
	defer n.group.mu.Unlock()
	return journal.Stats{First: n.first, Last: n.durable, Durable: n.durable, RawBytes: n.raw}
}

// Space implements journal.Journal.
func (n *node) Space() journal.Space { return journal.Space{Writable: true} }

// Roll implements journal.Journal.
func (n *node) Roll() {}

// Healthy implements journal.Journal.
func (n *node) Healthy() error { return nil }

// Close implements journal.Journal.
func (n *node) Close() error { return nil }
