package actors

import (
	"fmt"
	"maps"
	"slices"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// simRequests are the orders that were given, and what is known of their effects.
type simRequests struct {
	open []*attempt
	// of says what a request writes, from 1 on, and appended the request of an entry.
	of       []simRequest
	appended map[string]int
}

// simRequest is a write that is looked for afterwards.
type simRequest struct {
	project id.ID
	// acknowledged says that it has taken effect, unsure that it may have.
	acknowledged, unsure bool
	// position is that of its entry, 0 before one was agreed on.
	position uint64
}

func newSimRequests() simRequests { return simRequests{appended: map[string]int{}} }

// ask gives some orders to a server, which leads mostly, or reads from one.
func (s *groupSim) ask() {
	o := s.leader()
	if o == nil || s.pick(6) == 0 {
		o = s.servers[s.pick(len(s.servers))]
	}
	if o.life == nil || o.frozen > 0 {
		return
	}
	s.commands.e, s.commands.steps = o.e, s.step
	if s.pick(12) == 0 {
		reader := s.servers[s.pick(len(s.servers))]
		if !reader.away() {
			reader.life.read()
			reader.work()
		}
		return
	}
	// They may come together into a batch.
	for range 1 + s.pick(3) {
		switch kind := s.pick(12); {
		case kind == 0:
			s.identify(o)
		case kind < 6:
			s.anything(o)
		default:
			s.write(o)
		}
	}
	o.work()
}

// identify gives orders to identity.
func (s *groupSim) identify(o *simServer) {
	agents := s.commands.agents
	one := agents[s.pick(len(agents))]
	agent := one.session.AgentID
	caller := identity.Caller{Agent: agent, Session: one.session.ID}
	for _, command := range []identity.Command{
		&identity.RequestChallenge{
			AgentID: agent.Format(id.Agent), KeyID: one.keyID.Format(id.Key),
		},
		&identity.MarkInbox{Caller: caller, Through: identity.Place{
			Entry: o.life.shown.Load(), Nth: 1<<16 - 1,
		}},
		&identity.SeeSession{Caller: caller},
		&identity.Prune{},
	} {
		if s.pick(2) == 0 {
			s.open = append(s.open, o.orders.giveIdentity(command, agent))
		}
	}
}

// project is a random one.
func (s *groupSim) project() id.ID { return s.commands.projects[s.pick(len(s.commands.projects))] }

// anything gives any command. A member that lags may not have all projects yet, which a command
// names.
func (s *groupSim) anything(o *simServer) {
	for _, project := range s.commands.projects {
		if viewOf(s.t, o.e, project) == nil {
			return
		}
	}
	project := s.project()
	view := viewOf(s.t, o.e, project)
	if view.Removed() {
		return
	}
	order := api.Order{Project: project, Agent: view.Owner}
	switch kind := s.pick(6); {
	case kind == 0:
		order.Command, order.Agent = s.commands.talkCommand(view)
	case kind == 1:
		order.Command, order.Agent = s.commands.spaceCommand(view)
	case kind == 2 && s.pick(3) == 0:
		order.Command, order.Agent = &work.ExpireClaims{}, id.ID{}
	default:
		order.Command = s.commands.command(view)
	}
	s.open = append(s.open, o.orders.give(0, order))
}

// write gives a request that is looked for later, perhaps again.
func (s *groupSim) write(o *simServer) {
	request := 0
	if s.pick(3) == 0 {
		request = s.unsureOne()
	}
	if request == 0 {
		project := s.project()
		s.of = append(s.of, simRequest{project: project})
		request = len(s.of)
	} else {
		s.counts.repeats++
	}
	project := s.of[request-1].project
	view := viewOf(s.t, o.e, project)
	if view == nil {
		return
	}
	made := o.orders.give(request, api.Order{
		Project: project, Agent: view.Owner, Command: simCommand(request),
		Idempotency: keyFor(fmt.Sprint(request), "write"),
	})
	made.request = request
	s.open = append(s.open, made)
}

// simCommand is what a request asks for: a file, or a discussion.
func simCommand(request int) work.Command {
	if request%2 == 0 {
		return putOf(fmt.Sprint("w/", request), fmt.Sprint(request))
	}
	return &work.CreateDiscussion{
		Title: fmt.Sprint("w/", request), Body: "why",
	}
}

// unsureOne is a request that may or may not have taken effect, 0 where there is none.
func (s *groupSim) unsureOne() int {
	var unsure []int
	for i := range s.of {
		if s.of[i].unsure && !s.of[i].acknowledged {
			unsure = append(unsure, i+1)
		}
	}
	if len(unsure) == 0 {
		return 0
	}
	return unsure[s.pick(len(unsure))]
}

// noteAppended notes what an entry is for.
func (s *groupSim) noteAppended(payload []byte, request int) {
	if request != 0 {
		s.appended[string(payload)] = request
	}
}

// fulfilled is the request that an entry fulfils, which was agreed on. No other has done so.
func (s *groupSim) fulfilled(pos uint64, payload []byte) int {
	request := s.appended[string(payload)]
	if request == 0 {
		return 0
	}
	if before := s.of[request-1].position; before != 0 {
		s.found("request %d takes effect by entry %d, and has by %d", request, pos, before)
	}
	s.of[request-1].position = pos
	return request
}

// collect takes in the answers that have come.
func (s *groupSim) collect() {
	s.open = slices.DeleteFunc(s.open, func(a *attempt) bool {
		if !a.answered() {
			return false
		}
		s.judge(a)
		return true
	})
}

// judge notes what an answer says.
func (s *groupSim) judge(a *attempt) {
	reason := reasonOf(a.err)
	switch {
	case fault.CodeOf(a.err) == fault.Internal && !work.Stale(a.err):
		s.found("an order is answered with %v", a.err)
	case a.err == nil:
		s.counts.acknowledged++
	case reason == api.ReasonOutcomeUnknown || reason == reasonLogFailed:
		s.counts.unknown++
	default:
		s.counts.refused++
	}
	if a.request == 0 {
		return
	}
	of := &s.of[a.request-1]
	switch {
	case a.err == nil:
		of.acknowledged = true
		if of.position == 0 && !s.hasty {
			s.found("request %d was acknowledged, and nobody has agreed on it", a.request)
		}
	case reason == api.ReasonOutcomeUnknown || reason == reasonLogFailed:
		of.unsure = true
	}
}

// abandon lets go of the orders of an engine that is dropped. Those who gave them learn nothing.
func (s *groupSim) abandon(orders *node) {
	s.open = slices.DeleteFunc(s.open, func(a *attempt) bool {
		if a.node != orders {
			return false
		}
		if !a.answered() {
			s.t.Fatalf("%s: an order is not answered at the end of its engine", s)
		}
		if a.request != 0 {
			s.of[a.request-1].unsure = true
		}
		s.counts.unknown++
		return true
	})
}

// effects are how often each request has an effect on what a server shows.
func (s *groupSim) effects(o *simServer) []int {
	counts := make([]int, len(s.of)+1)
	titles := map[string]int{}
	for _, project := range s.commands.projects {
		p := viewOf(s.t, o.e, project)
		if p == nil {
			continue
		}
		p.Discussions(id.ID{}, func(d *work.Discussion) bool {
			titles[d.Title]++
			return true
		})
		for path, count := range o.files(project) {
			titles[path] += count
		}
	}
	for request := range s.of {
		name := fmt.Sprint("w/", request+1)
		if counts[request+1] = titles[name]; counts[request+1] > 0 && request%2 == 1 {
			s.checkContent(o, s.of[request].project, name)
		}
	}
	return counts
}

// checkContent reads what a request has written.
func (s *groupSim) checkContent(o *simServer, project id.ID, path string) {
	content, shown, err := contentOf(o.e, viewOf(s.t, o.e, project), path)
	if err != nil || !shown || "w/"+content != path {
		s.found("member %d shows %q in %s: %v", o.member, content, path, err)
	}
}

// checkEffects compares what a server shows with what was agreed on.
func (s *groupSim) checkEffects(o *simServer) {
	shown := o.life.shown.Load()
	for request, count := range s.effects(o)[1:] {
		of, want := s.of[request], 0
		if of.position != 0 && of.position <= shown {
			want = 1
		}
		if count != want {
			s.found("member %d shows the effect of request %d %d times, with entry %d of %d", o.member,
				request+1, count, of.position, shown)
		}
	}
}

// compare expects equal states of engines that have applied the same.
func (s *groupSim) compare() {
	states := map[uint64]map[string]string{}
	for _, o := range s.servers {
		if o.life == nil {
			continue
		}
		s.checkEffects(o)
		shown, state := o.life.shown.Load(), fullState(s.t, o.e)
		if states[shown] == nil {
			states[shown] = state
		}
		if known := states[shown]; !maps.Equal(known, state) {
			s.found("member %d has another state AFTER %d: %s", o.member, shown, differing(known, state))
		}
	}
}

// differing are the sections in which two states differ.
func differing(one, other map[string]string) (keys []string) {
	for key := range one {
		if one[key] != other[key] {
			keys = append(keys, fmt.Sprintf("%q", key))
		}
	}
	for key := range other {
		if _, there := one[key]; !there {
			keys = append(keys, fmt.Sprintf("%q", key))
		}
	}
	return keys
}

// checkAll compares all members with each other, with what was answered, and with an engine that
// starts again.
func (s *groupSim) checkAll() {
	s.compare()
	for i, of := range s.of {
		switch took := of.position != 0; {
		case of.acknowledged && !took:
			s.found("request %d was acknowledged and is lost", i+1)
		case took && !of.acknowledged && !of.unsure:
			s.found("request %d was refused and took effect by entry %d", i+1, of.position)
		}
	}
	members := s.members()
	s.checkLogs(members)
	again := members[s.pick(len(members))]
	again.crash()
	if again.start(); s.fault == "" {
		s.compare()
	}
	if s.fault == "" {
		s.checkFeeds(members)
	}
}

// checkLogs compares the logs of all members with what was agreed on.
func (s *groupSim) checkLogs(members []*simServer) {
	for _, o := range members {
		next := o.entries.first
		err := o.entries.read(next, func(pos uint64, payload []byte) error {
			if pos != next || string(payload) != string(s.truth[pos-1].payload) {
				s.found("entry %d of member %d is another one", pos, o.member)
			}
			next++
			return nil
		})
		if err != nil || next != uint64(len(s.truth))+1 {
			s.found("the log of member %d ends in front of %d, not of %d: %v", o.member, next,
				len(s.truth)+1, err)
		}
	}
}

// checkFeeds compares the feeds of all members.
func (s *groupSim) checkFeeds(members []*simServer) {
	r := &reignTest{group: &group{t: s.t}}
	var first []string
	for _, o := range members {
		var found []string
		o.loud(func() { found = r.activities(o.orders) })
		if first == nil {
			first = found
		}
		if !slices.Equal(first, found) {
			s.found("the feed of member %d has %d activities, that of another %d, or others", o.member,
				len(found), len(first))
		}
	}
}
