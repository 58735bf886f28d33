package actors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"pws/api"
	"pws/index/feed"
	"pws/internal/datadir"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/journal"
	"pws/work"
)

// chain is a reader that follows the events during the whole simulation: by polls, each with the
// cursor of the one before, or by a stream that is opened again after the last received event.
type chain struct {
	// agent is zero for an anonymous reader, project for all projects.
	agent, project id.ID
	cursor         string
	streams        bool
	live           *api.EventStream
	// read is the number of records before its cursor, received the number up to the last event
	// that it received.
	read, received int
	// early are events that it received while others wrote, and that were not compared yet.
	early []seenEvent
	seen  int
}

// seenEvent is an event as a chain received it: text is all of it.
type seenEvent struct{ id, kind, text string }

// truth is what happened in the simulation, as the log has it.
type truth struct {
	records []feed.Record
	// logged is the entry that it is read up to.
	logged uint64
	// ids are the public IDs of the records, acknowledged the changesets of answers.
	ids          map[string]bool
	acknowledged map[id.ID]bool
	// hidden counts the records that chains may not see.
	hidden int
}

func (s *simulation) addChain(agent, project id.ID) {
	for _, streams := range []bool{false, true} {
		s.chains = append(s.chains, &chain{agent: agent, project: project, streams: streams})
	}
}

// readLog takes in what has become durable.
func (s *simulation) readLog() {
	s.t.Helper()
	stats := s.e.journal.Stats()
	for ; stats.Durable < stats.Last; stats = s.e.journal.Stats() {
		runtime.Gosched()
	}
	switch {
	case stats.Last < s.truth.logged:
		s.t.Fatalf("step %d: entry %d was durable, the log ends with %d", s.steps, s.truth.logged,
			stats.Last)
	case stats.Last == s.truth.logged:
		return
	}
	first := len(s.truth.records)
	err := journal.Read(filepath.Join(s.config.Dir, datadir.LogName), s.truth.logged+1,
		func(position uint64, payload []byte) error {
			one, err := decodeFeedNote(position, payload)
			s.truth.records = one.records(s.truth.records)
			s.truth.logged = position
			return err
		})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := first; i < len(s.truth.records); i++ {
		public := s.publicID(i)
		if s.truth.ids[public] {
			s.t.Fatalf("step %d: two events are %s", s.steps, public)
		}
		s.truth.ids[public] = true
	}
}

func (s *simulation) publicID(at int) string {
	record := &s.truth.records[at]
	return s.e.EventID(record.Position, record.At).Format(id.ActivityEvent)
}

// acknowledge keeps the changeset of an answer.
func (s *simulation) acknowledge(done *api.Done) {
	if !done.Result.Changeset.IsZero() {
		s.truth.acknowledged[done.Result.Changeset] = true
	}
}

// reads reports whether an agent may read a project, and whether it learns of it by itself.
func (s *simulation) reads(agent, project id.ID) (readable, listed bool) {
	p := viewOf(s.t, s.e, project)
	if p == nil {
		return false, false
	}
	member := false
	for _, one := range p.Members() {
		member = member || one.Agent == agent
	}
	return p.Visibility != work.Private || member, p.Visibility == work.Public || member
}

// sees reports whether an agent may see a record now, by the rules of the interface.
func (s *simulation) sees(c *chain, record *feed.Record) bool {
	readable, listed := s.reads(c.agent, record.Project)
	if c.project.IsZero() && !listed || !readable {
		return false
	}
	switch record.Activity.Type {
	case work.ActivityWorkspaceOpened, work.ActivityWorkspaceRefreshed:
		role := work.NoRole
		for _, one := range viewOf(s.t, s.e, record.Project).Members() {
			if one.Agent == c.agent {
				role = one.Role
			}
		}
		return role == work.Owner || role == work.Maintainer || record.Activity.Actor == c.agent
	case work.ActivityRelationCreated:
		readable, _ = s.reads(c.agent, record.Activity.Other)
	}
	return readable
}

// visible are the records behind the cursor of a chain that it may see.
func (s *simulation) visible(c *chain) (places []int) {
	for i := c.read; i < len(s.truth.records); i++ {
		record := &s.truth.records[i]
		switch {
		case !c.project.IsZero() && record.Project != c.project:
		case s.sees(c, record):
			places = append(places, i)
		default:
			s.truth.hidden++
		}
	}
	return places
}

// expect compares events with the records that they should be of.
func (s *simulation) expect(c *chain, got []seenEvent, want []int) {
	s.t.Helper()
	for i, one := range got {
		if i >= len(want) {
			s.t.Fatalf("step %d: %+v received %v, which it may not see", s.steps, *c, one)
		}
		record := &s.truth.records[want[i]]
		activity := &record.Activity
		if one.id != s.publicID(want[i]) || one.kind != activity.Type.String() {
			s.t.Fatalf("step %d: %+v received %v instead of %+v", s.steps, *c, one, *record)
		}
		says := func(public string) bool { return strings.Contains(one.text, public) }
		if !says(record.Project.Format(id.Project)) || !says(activity.Actor.Format(id.Agent)) ||
			!says(activity.Subject.ID.Format(activity.Subject.Type.Prefix())) {
			s.t.Fatalf("step %d: %v does not say %+v", s.steps, one, *record)
		}
		known := false
		if !activity.Other.IsZero() {
			known, _ = s.reads(c.agent, activity.Other)
		}
		for _, fact := range activity.Facts {
			if fact.Name.OfOther() && says(fact.ID.Format(fact.Name.Prefix())) != known {
				s.t.Fatalf("step %d: %+v may know of the other project: %v, and received %v", s.steps,
					*c, known, one)
			}
		}
	}
	c.seen += len(got)
	if len(got) > 0 {
		c.received = want[len(got)-1] + 1
	}
}

// catchUp reads so many full pages of a chain, or to its end, and expects exactly what its agent
// may see of what has happened since.
func (s *simulation) catchUp(c *chain, pages int) {
	s.t.Helper()
	s.readLog()
	want, got, more := s.visible(c), c.early, true
	for c.early = nil; more && pages > 0; {
		var page []seenEvent
		var err error
		limit := 1 + s.pick(40)
		page, more, err = s.ask(c, limit)
		readable := true
		if !c.project.IsZero() {
			readable, _ = s.reads(c.agent, c.project)
		}
		if !readable && fault.CodeOf(err) == fault.ProjectNotFound {
			s.hangUp(c)
			return
		}
		if err != nil || !readable {
			s.t.Fatalf("step %d: %+v: readable is %v, %v", s.steps, *c, readable, err)
		}
		if got = append(got, page...); len(page) == limit && !c.streams {
			pages--
		}
	}
	s.expect(c, got, want)
	switch {
	case !more && len(got) < len(want):
		s.t.Fatalf("step %d: %+v did not receive %+v", s.steps, *c, s.truth.records[want[len(got)]])
	case !more:
		c.read = len(s.truth.records)
	case len(got) > 0:
		c.read = c.received
	}
}

// ask takes a page of polling, or what a stream has at once.
func (s *simulation) ask(c *chain, limit int) (page []seenEvent, more bool, err error) {
	if c.streams {
		return s.listen(c)
	}
	query := map[string]string{"limit": strconv.Itoa(limit)}
	if c.cursor != "" {
		query["after"] = c.cursor
	}
	if limit%3 == 0 {
		query["wait"] = "1"
	}
	reply, err := s.call(c, query)
	if later, waits := reply.Data.(api.Deferred); waits {
		// As though the time were over at once.
		reply, _, err = later.Look(true)
		later.Stop()
	}
	if err != nil {
		return nil, false, err
	}
	data, ok := reply.Data.(api.EventsData)
	if !ok {
		return nil, false, fmt.Errorf("%T is no page", reply.Data)
	}
	for i := range data.Events {
		one := &data.Events[i]
		page = append(page, seenEvent{one.ID, one.Type, fmt.Sprint(one.ProjectID, " ",
			one.Actor.AgentID, " ", one.Subject.ID, " ", string(one.Data))})
	}
	c.cursor = data.NextCursor
	return page, data.HasMore, nil
}

// call asks the operation as the agent of a chain.
func (s *simulation) call(c *chain, query map[string]string) (api.Reply, error) {
	if !c.project.IsZero() {
		query["project"] = c.project.Format(id.Project)
	}
	call := s.asks("events.poll", c.agent)
	call.Query, call.Streams = query, c.streams
	if c.streams {
		call.LastEventID = c.cursor
	}
	return call.Operation.Run(call, call.Operation.NewRequest())
}

// listen reads what a stream has, and opens it where it is not open.
func (s *simulation) listen(c *chain) (page []seenEvent, more bool, err error) {
	if c.live == nil {
		reply, err := s.call(c, map[string]string{})
		if err != nil {
			return nil, false, err
		}
		live, ok := reply.Data.(api.EventStream)
		if !ok {
			return nil, false, fmt.Errorf("%T is no stream", reply.Data)
		}
		c.live = &live
	}
	text, err := c.live.Look(nil)
	for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		fields := strings.SplitN(block, "\n", 3)
		if len(fields) != 3 {
			break
		}
		var event struct{ ID string }
		data := strings.TrimPrefix(fields[2], "data: ")
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return nil, false, err
		}
		page = append(page, seenEvent{event.ID, strings.TrimPrefix(fields[1], "event: "), data})
		c.cursor = strings.TrimPrefix(fields[0], "id: ")
	}
	return page, len(text) > 0, err
}

// hangUp closes a stream; the next one continues after the last received event.
func (s *simulation) hangUp(c *chain) {
	if c.live != nil {
		c.live.Stop()
		c.live, c.read = nil, c.received
	}
}

// followAll has all chains come to the end.
func (s *simulation) followAll() {
	s.t.Helper()
	for _, c := range s.chains {
		s.catchUp(c, 1<<20)
	}
}

// followSome has some chains go on, mostly not to the end, and streams break off now and then.
func (s *simulation) followSome() {
	for range s.pick(3) {
		c := s.chains[s.pick(len(s.chains))]
		if s.pick(6) == 0 {
			s.hangUp(c)
		}
		s.catchUp(c, []int{1, 2, 1 << 20}[s.pick(3)])
	}
}

// overhear has chains read while others write; what they receive is compared later.
func (s *simulation) overhear() {
	s.t.Helper()
	for range 6 {
		c := s.chains[s.pick(len(s.chains))]
		page, _, err := s.ask(c, 1+s.pick(20))
		if err != nil && fault.CodeOf(err) != fault.ProjectNotFound {
			s.t.Fatalf("step %d: %+v: %v", s.steps, *c, err)
		}
		c.early = append(c.early, page...)
	}
}

// crash has the machine go off while agents write. The next engine finds what the disk had at that
// moment, but for some of the end of the feed, which nothing waits for.
func (s *simulation) crash() {
	s.t.Helper()
	if len(s.projects) == 0 {
		return
	}
	for _, c := range s.chains {
		s.hangUp(c)
	}
	s.followAll()
	faults, done := make(chan error, 8), make(chan api.Done, 8*4)
	for n := range cap(faults) {
		project := s.projects[n%len(s.projects)]
		owner, name := viewOf(s.t, s.e, project).Owner, fmt.Sprint("crash/", s.steps, "/", n)
		go func() {
			var err error
			for nth := 0; nth < 4 && err == nil; nth++ {
				var one api.Done
				if one, err = put(s.e, project, owner, name, fmt.Sprint(name, nth)); err == nil {
					done <- one
				}
			}
			faults <- err
		}()
	}
	s.overhear()
	ended := 0
	for wanted := s.pick(cap(done)); wanted > 0 && ended < cap(faults); {
		select {
		case one := <-done:
			s.acknowledge(&one)
			wanted--
		case err := <-faults:
			s.tolerate(err)
			ended++
		}
	}
	s.overhear()
	for _, c := range s.chains {
		s.hangUpEarly(c)
	}
	s.config.Dir = crashCopy(s.t, s.config.Dir)
	for ; ended < cap(faults); ended++ {
		s.tolerate(<-faults)
	}
	stop(s.t, s.e)
	s.tearFeed()
	s.e = start(s.t, s.config)
	s.noteFeed()
	checkFound(s.t, fmt.Sprintf("step %d, after a crash", s.steps), s.e)
	s.followAll()
}

// hangUpEarly leaves a stream with events that were not compared yet: the next one goes on behind
// them.
func (s *simulation) hangUpEarly(c *chain) {
	if c.live != nil {
		c.live.Stop()
		c.live = nil
	}
}

// feedFiles are the files of the feed, the last one at the end.
func (s *simulation) feedFiles() []string {
	names, err := filepath.Glob(filepath.Join(s.config.Dir, datadir.FeedName, "feed-*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

// noteFeed keeps how much of the feed is durable.
func (s *simulation) noteFeed() {
	s.durable = map[string]int64{}
	for _, name := range s.feedFiles() {
		info, err := os.Stat(name)
		if err != nil {
			s.t.Fatal(err)
		}
		s.durable[filepath.Base(name)] = info.Size()
	}
}

// tearFeed takes some of the end of the feed that was not synced.
func (s *simulation) tearFeed() {
	names := s.feedFiles()
	if len(names) == 0 {
		return
	}
	last := names[len(names)-1]
	info, err := os.Stat(last)
	if err != nil {
		s.t.Fatal(err)
	}
	least := s.durable[filepath.Base(last)]
	size := least + s.random.Int64N(info.Size()-least+1)
	if err := os.Truncate(last, size); err != nil {
		s.t.Fatal(err)
	}
}

// checkChains has all chains, and new ones, read to the end, and expects all that was acknowledged
// in the log that they were compared with.
func (s *simulation) checkChains() {
	s.t.Helper()
	for _, one := range s.agents {
		s.addChain(one.session.AgentID, id.ID{})
	}
	s.followAll()
	seen := 0
	for _, c := range s.chains {
		s.hangUp(c)
		seen += c.seen
	}
	missing := 0
	found := map[id.ID]bool{}
	for i := range s.truth.records {
		found[s.truth.records[i].Activity.Subject.ID] = true
	}
	for changeset := range s.truth.acknowledged {
		if !found[changeset] {
			missing++
		}
	}
	s.t.Logf("%d events, %d changesets acknowledged; %d chains received %d, and "+
		"%d were hidden from them", len(s.truth.records), len(s.truth.acknowledged), len(s.chains), seen,
		s.truth.hidden)
	if missing > 0 {
		s.t.Errorf("%d acknowledged changesets are in no event", missing)
	}
	if seen < 10*len(s.chains) || s.truth.hidden == 0 || len(s.truth.acknowledged) < 50 {
		s.t.Error("too little was tried to be a test")
	}
}
