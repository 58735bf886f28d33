package actors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/index/feed"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// attempt is an order that was given to a node and perhaps not answered yet.
type attempt struct {
	node *node
	// tag names the entry of the order, request what it asks for: repeats have the same. Both are 0
	// for orders that nobody looks at afterwards.
	tag, request int
	handle       *handle
	order        *order
	identity     *identityOrder
	err          error
}

// give gives an order to a node and does not wait for the answer. Its actor runs on this goroutine.
func (n *node) give(tag int, request api.Order) *attempt {
	a := &attempt{node: n, tag: tag}
	a.handle, _ = n.e.handles.LoadOrStore(request.Project, &handle{id: request.Project})
	a.order = newOrder()
	a.order.Order = request
	pid, err := n.e.admit(a.handle, true)
	if err != nil {
		n.group.t.Fatal(err)
	}
	n.tag = tag
	n.e.system.Root.Send(pid, a.order)
	n.tag = 0
	return a
}

// giveIdentity is give for identity.
func (n *node) giveIdentity(command identity.Command, agent id.ID) *attempt {
	a := &attempt{node: n, identity: newIdentityOrder()}
	a.identity.IdentityOrder = api.IdentityOrder{Command: command, Agent: agent}
	if err := n.e.admitIdentity(); err != nil {
		n.group.t.Fatal(err)
	}
	n.e.system.Root.Send(n.e.identity.pid, a.identity)
	return a
}

// answered reports whether the order was answered, and notes the error.
func (a *attempt) answered() bool {
	if a.identity != nil {
		select {
		case <-a.identity.done:
		default:
			return false
		}
		a.err = a.identity.err
		a.node.e.identity.inFlight.Add(-1)
	} else {
		select {
		case <-a.order.done:
		default:
			return false
		}
		a.err = a.order.err
		a.handle.letGo()
	}
	a.node.e.inFlight.Done()
	return true
}

// reasonOf is the reason of a refusal by storage, empty for other outcomes.
func reasonOf(err error) any {
	var refusal *fault.Error
	if errors.As(err, &refusal) && refusal.Code == fault.StorageUnavailable {
		return refusal.Details["reason"]
	}
	return nil
}

// TestReignEnds takes the reign from a server with a batch in flight, and gives it back: the batch
// is not visible, its order and those that came later are answered, and a repeat takes effect.
func TestReignEnds(t *testing.T) {
	g := newGroup(t, 1)
	n := g.nodes[0]
	lead := func() { g.elect(n); g.deliverAll() }
	lead()
	g.atOnce = true
	owner := register(t, n.e, "owner")
	project := createProject(t, n.e, owner, work.Public)
	g.atOnce = false
	putIt := api.Order{
		Project: project, Agent: owner, Command: putOf("w", "1"), Idempotency: keyFor("k", "r"),
	}
	first, waits := n.give(1, putIt), n.give(0, api.Order{
		Project: project, Agent: owner, Command: &work.DeleteFile{Path: "other"},
	})
	lost := n.propose()
	if first.answered() || waits.answered() {
		t.Fatal("answered BEFORE anything was durable")
	}
	n.depose()
	late := n.give(2, putIt)
	for what, one := range map[string]struct {
		*attempt
		reason any
	}{
		"pending":               {first, api.ReasonOutcomeUnknown},
		"waiting for it":        {waits, api.ReasonOutcomeUnknown},
		"given without a reign": {late, api.ReasonNotLeading},
	} {
		if !one.answered() || reasonOf(one.err) != one.reason {
			t.Errorf("%s: %v", what, one.err)
		}
	}
	identityLate := n.giveIdentity(&identity.Prune{}, id.ID{})
	if !identityLate.answered() || reasonOf(identityLate.err) != api.ReasonNotLeading {
		t.Errorf("identity: %v", identityLate.err)
	}
	lead()
	if _, there := viewOf(t, n.e, project).File("w"); there {
		t.Error("what was lost is visible")
	}
	again := n.give(3, putIt)
	// The batch of the reign before comes late and has no effect.
	g.agree(lost)
	g.agree(n.propose())
	g.deliverAll()
	if !again.answered() || again.err != nil || again.order.out.Replayed {
		t.Errorf("the repeat: %+v, %v", again.order.out, again.err)
	}
	if n.durable != n.gate.Position || viewOf(t, n.e, project).ChangesetsCount() != 2 {
		t.Error("the batch took effect twice, or not at all")
	}
}

// reignTest takes reigns from servers and gives them to others, at any moment.
type reignTest struct {
	*group
	simulation
	open []*attempt
	// floating are batches that nobody has agreed on yet, in the order of each node.
	floating []*batch
	// requestOf says what a tag asks for, projectOf what a request writes to; unsure are those that
	// may be repeated, and acknowledged those that took effect.
	requestOf    map[int]int
	projectOf    map[int]id.ID
	unsure       []int
	acknowledged map[int]bool
	tags         int
	refused      map[any]int
}

func TestReigns(t *testing.T) {
	seed := seedOf(t)
	r := &reignTest{
		group: newGroup(t, 3), requestOf: map[int]int{}, projectOf: map[int]id.ID{},
		acknowledged: map[int]bool{}, refused: map[any]int{},
	}
	r.simulation.t, r.random = t, rand.New(rand.NewPCG(seed, 0))
	r.prepare()
	for r.steps = 1; r.steps <= 6000; r.steps++ {
		r.act()
		r.collect()
	}
	r.settle()
	if len(r.acknowledged) < 5 || r.refused[api.ReasonNotLeading] == 0 ||
		r.refused[api.ReasonOutcomeUnknown] == 0 {
		t.Errorf("only %d writes were acknowledged, refusals are %v", len(r.acknowledged), r.refused)
	}
}

// prepare makes agents and projects, and lets a first node lead.
func (r *reignTest) prepare() {
	first := r.nodes[0]
	r.elect(first)
	r.deliverAll()
	r.atOnce = true
	for n := range 3 {
		agent := register(r.group.t, first.e, fmt.Sprint("agent-", n))
		r.agents = append(r.agents, &simulated{session: &identity.Session{AgentID: agent}})
		r.projects = append(r.projects, createProject(r.group.t, first.e, agent, work.Public))
	}
	r.atOnce = false
}

func (r *reignTest) act() {
	n := r.nodes[r.pick(len(r.nodes))]
	switch kind := r.pick(100); {
	case kind < 30:
		if n.reign == 0 && r.pick(8) > 0 {
			return
		}
		r.request(n)
	case kind < 50:
		if b := n.propose(); b != nil {
			r.floating = append(r.floating, b)
		}
	case kind < 65:
		r.agreeOne()
	case kind < 90:
		n.deliver()
		r.checkVisible(n)
	case kind < 93:
		if n.reign != 0 {
			n.depose()
		}
	case kind < 96:
		r.elect(n)
	case kind < 98:
		if err := n.e.Save(); err != nil {
			r.group.t.Fatal(err)
		}
	case kind == 98:
		r.restart(n)
	default:
		r.compare()
	}
}

// request gives an order to a node, which may not lead: a write that is looked for later, a repeat
// of one, or any other.
func (r *reignTest) request(n *node) {
	r.simulation.e = n.e
	agent := r.agents[r.pick(len(r.agents))].session.AgentID
	switch kind := r.pick(10); {
	case kind == 0:
		caller := identity.Caller{Agent: agent}
		r.open = append(r.open, n.giveIdentity(&identity.RequestChallenge{}, agent),
			n.giveIdentity(&identity.MarkInbox{Caller: caller, Through: identity.Place{
				Entry: n.durable, Nth: 1<<16 - 1,
			}}, agent))
		return
	case kind < 5:
		project := r.projects[r.pick(len(r.projects))]
		view := viewOf(r.group.t, n.e, project)
		if view == nil || view.Removed() {
			return
		}
		order := api.Order{Project: project, Agent: view.Owner}
		if order.Command = r.command(view); r.pick(3) == 0 {
			order.Command, order.Agent = r.talkCommand(view)
		}
		r.open = append(r.open, n.give(0, order))
		return
	}
	r.tags++
	request := r.tags
	if len(r.unsure) > 0 && r.pick(3) > 0 {
		request = r.unsure[r.pick(len(r.unsure))]
	} else {
		r.projectOf[request] = r.projects[r.pick(len(r.projects))]
	}
	project := r.projectOf[request]
	r.requestOf[r.tags] = request
	name := fmt.Sprint(request)
	made := n.give(r.tags, api.Order{
		Project: project, Agent: viewOf(r.group.t, n.e, project).Owner,
		Command: putOf("w/"+name, name), Idempotency: keyFor(name, "put"),
	})
	made.request = request
	r.open = append(r.open, made)
}

// agreeOne has the nodes agree on the oldest batch of a node. One of a node that has lost its reign
// may get lost, too.
func (r *reignTest) agreeOne() {
	if len(r.floating) == 0 {
		return
	}
	b := r.floating[r.pick(len(r.floating))]
	at := slices.IndexFunc(r.floating, func(o *batch) bool { return o.from == b.from })
	b = r.floating[at]
	r.floating = slices.Delete(r.floating, at, at+1)
	if b.from.reign == b.reign || r.pick(2) == 0 {
		r.agree(b)
	}
}

// collect takes in the answers that have come.
func (r *reignTest) collect() {
	r.open = slices.DeleteFunc(r.open, func(a *attempt) bool {
		if !a.answered() {
			return false
		}
		reason := reasonOf(a.err)
		r.refused[reason]++
		if a.tag == 0 {
			return true
		}
		switch {
		case a.err == nil:
			r.acknowledged[a.request] = true
			if !r.effective(a.node)[a.request] {
				r.group.t.Fatalf("step %d: request %d was acknowledged, and has no effect on its node",
					r.steps, a.request)
			}
		case reason == api.ReasonOutcomeUnknown || reason == api.ReasonNotLeading:
			r.unsure = append(r.unsure, a.request)
		}
		return true
	})
}

// effective are the requests whose entries have taken effect on a node, none of them twice.
func (r *reignTest) effective(n *node) map[int]bool {
	all := map[int]bool{}
	n.admitted(func(pos uint64, _ []byte, tag int) bool {
		if request := r.requestOf[tag]; request != 0 {
			if all[request] {
				r.group.t.Fatalf("step %d: request %d took effect twice, again by entry %d", r.steps,
					request, pos)
			}
			all[request] = true
		}
		return true
	})
	return all
}

// checkVisible compares what a node shows with what has taken effect on it.
func (r *reignTest) checkVisible(n *node) {
	effective := r.effective(n)
	for request, project := range r.projectOf {
		p := viewOf(r.group.t, n.e, project)
		content, shown, err := contentOf(n.e, p, fmt.Sprint("w/", request))
		if err != nil || shown != effective[request] || shown && content != fmt.Sprint(request) {
			r.group.t.Fatalf("step %d: request %d: shown %v with %q, in effect %v, %v", r.steps,
				request, shown, content, effective[request], err)
		}
	}
}

// restart stops an engine and starts it again, with its snapshot and the log behind it.
func (r *reignTest) restart(n *node) {
	if n.reign != 0 {
		n.depose()
	}
	r.collect()
	stop(r.group.t, n.e)
	n.e = start(r.group.t, n.config)
	r.checkVisible(n)
}

// compare expects equal states of nodes that have applied the same.
func (r *reignTest) compare() {
	for i, one := range r.nodes {
		for _, other := range r.nodes[:i] {
			if one.applied == other.applied {
				sameState(r.group.t, fmt.Sprint("step ", r.steps), fullState(r.group.t, other.e),
					fullState(r.group.t, one.e))
			}
		}
	}
}

// settle has all nodes agree, and compares them: with each other, with what was acknowledged, and
// with engines that start again.
func (r *reignTest) settle() {
	for _, n := range r.nodes {
		if n.reign != 0 {
			n.depose()
		}
	}
	r.elect(r.nodes[r.pick(len(r.nodes))])
	r.deliverAll()
	r.collect()
	if len(r.open) > 0 {
		r.group.t.Fatalf("%d orders are not answered", len(r.open))
	}
	r.compare()
	for request := range r.acknowledged {
		if !r.effective(r.nodes[0])[request] {
			r.group.t.Errorf("request %d was acknowledged and is lost", request)
		}
	}
	want := r.activities(r.nodes[0])
	for _, n := range r.nodes {
		r.checkVisible(n)
		r.restart(n)
		if got := r.activities(n); !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			r.group.t.Errorf("the feeds have %d and %d activities, from %d on %s and %s", len(got),
				len(want), at, got[at:min(at+2, len(got))], want[at:min(at+2, len(want))])
		}
	}
	r.compare()
}

// activities are all that the feed of a node has.
func (r *reignTest) activities(n *node) (all []string) {
	query := api.ActivityQuery{After: feed.Start, Limit: 1000}
	for more := true; more; {
		page, err := n.e.Activity(query)
		if err != nil {
			r.group.t.Fatal(err)
		}
		for i := range page.Records {
			all = append(all, fmt.Sprintf("%+v", page.Records[i]))
		}
		query.After, more = page.Next, page.More
	}
	return all
}

// TestReadsEndInTheirReign asks the journal about reads that another reign has overtaken.
func TestReadsEndInTheirReign(t *testing.T) {
	g := newGroup(t, 1)
	n := g.nodes[0]
	if _, err := n.e.BeginRead(); reasonOf(err) != api.ReasonNotLeading {
		t.Errorf("without a reign: %v", err)
	}
	g.elect(n)
	g.deliverAll()
	begun, err := n.e.BeginRead()
	if err != nil || n.e.EndRead(begun) != nil {
		t.Errorf("in a reign: %v", err)
	}
	n.depose()
	if err := n.e.EndRead(begun); reasonOf(err) != api.ReasonNotLeading {
		t.Errorf("AFTER the reign: %v", err)
	}
	g.elect(n)
	g.deliverAll()
	if err := n.e.EndRead(begun); reasonOf(err) != api.ReasonNotLeading {
		t.Errorf("in the next reign: %v", err)
	}
	var _ journal.Machine = n.e
}

// TestWritableWhereAServerLeads has a server say whether writes are accepted.
func TestWritableWhereAServerLeads(t *testing.T) {
	g := newGroup(t, 1)
	n := g.nodes[0]
	check := func(when string, want bool) {
		t.Helper()
		space := n.e.Space()
		if space.Writable != want || !want && space.Reason != api.ReasonNotLeading {
			t.Errorf("%s: %+v", when, space)
		}
	}
	check("without a reign", false)
	g.elect(n)
	g.deliverAll()
	check("in a reign", true)
	n.depose()
	check("AFTER the reign", false)
	n.e.space.noteSpace()
	if n.e.space.short.Load() {
		t.Error("a server that hears of no leader takes its disk for full")
	}
}
