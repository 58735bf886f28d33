package http

import (
	"container/list"
	"sync"
	"time"

	"pws/internal/id"
)

const (
	// writesRunning is how many writes are carried out at one time, without a setting. They keep the
	// log busy, and their stacks and buffers fit into the caches of a processor. With 1024 of them
	// a write takes an eighth more processor time.
	writesRunning = 256
	// writesProjectPart is the part of them that one project may have, as a divisor.
	writesProjectPart = 2
	// writeWait is how long a write waits for its turn, and up to one of writeTicks parts more. Such a
	// part is also how long the newest write of a caller may be served before its oldest one.
	writeWait  = 5 * time.Second
	writeTicks = 8
)

// admission bounds the writes that are carried out at one time. More of them would not be faster:
// the projects and the log take them one after the other, and each holds memory until its turn is
// over. Others wait, BEFORE their body is decoded, and are refused if they have waited for too
// long. A refusal costs nearly as much as a small write, and its client soon comes back. A client
// that waits sends nothing else on its connection. The number of connections bounds those that
// wait.
//
// A write whose project has its part waits for the project, and then like others for its turn.
type admission struct {
	total, ofProject int
	mu               struct {
		sync.Mutex
		running int
		waiting turns
		// projects are those with writes.
		projects map[id.ID]*projectWrites
		// ticks count the parts of writeWait while writes wait. watched says that they are counted.
		ticks   uint64
		watched bool
	}
}

// projectWrites are the writes of one project.
type projectWrites struct {
	// held counts those that run or wait for their turn.
	held int
	// waiting wait until fewer are held.
	waiting turns
}

// permit is the right of a write to run. The zero value has none.
type permit struct {
	who     party
	id      id.ID
	project *projectWrites
	running bool
	// ready is closed when the permit is given or refused. It is nil if it was given at once. Nothing
	// else ends a wait: to wait for several channels costs as much as a tenth of a small write.
	ready chan struct{}
	// since is when the write began to wait, in ticks, and refusal why it waits no longer.
	since   uint64
	refusal error
	// watches says that the write has to start the watch over those that wait.
	watches bool
	// waitsIn and at are the place of a request that waits.
	waitsIn *turns
	at      *list.Element
}

func (a *admission) init(total int) {
	a.total, a.ofProject = total, max(1, total/writesProjectPart)
	a.mu.projects = map[id.ID]*projectWrites{}
}

// enter asks for a permit for a write, to a project if its ID is not zero. A permit without ready
// may run.
func (a *admission) enter(p *permit, who party, project id.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*p = permit{who: who, id: project}
	if !project.IsZero() {
		p.project = a.mu.projects[project]
		if p.project == nil {
			p.project = &projectWrites{}
			a.mu.projects[project] = p.project
		}
		if p.project.held >= a.ofProject {
			a.wait(p, &p.project.waiting)
			return
		}
		p.project.held++
	}
	if a.mu.running < a.total {
		a.mu.running++
		p.running = true
		return
	}
	a.wait(p, &a.mu.waiting)
}

func (a *admission) wait(p *permit, in *turns) {
	p.ready, p.since = make(chan struct{}), a.mu.ticks
	p.watches = !a.mu.watched
	a.mu.watched = true
	in.add(p)
}

// leave gives back a permit, or the place of a write that waits. It may be called again.
func (a *admission) leave(p *permit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(p)
	*p = permit{}
	a.fill()
}

// drop takes a permit out of what it counts in.
func (a *admission) drop(p *permit) {
	switch {
	case p.running:
		a.mu.running--
		a.unhold(p)
	case p.waitsIn == &a.mu.waiting:
		p.waitsIn.remove(p)
		a.unhold(p)
	case p.waitsIn != nil:
		p.waitsIn.remove(p)
		a.maybeForget(p)
	}
}

// fill gives the free permits to those that wait.
func (a *admission) fill() {
	for a.mu.running < a.total {
		next := a.mu.waiting.next(a.mu.ticks)
		if next == nil {
			return
		}
		a.mu.running++
		next.running = true
		close(next.ready)
	}
}

// unhold lets the next write of a project wait for its turn.
func (a *admission) unhold(p *permit) {
	if p.project == nil {
		return
	}
	p.project.held--
	if next := p.project.waiting.next(a.mu.ticks); next != nil {
		p.project.held++
		a.mu.waiting.add(next)
	}
	a.maybeForget(p)
}

func (a *admission) maybeForget(p *permit) {
	if p.project.held == 0 && p.project.waiting.requests == 0 {
		delete(a.mu.projects, p.id)
	}
}

// tick counts a part of writeWait and refuses the writes that have waited for all of them. It
// reports whether others wait; if not, the next one that waits has to start the watch.
func (a *admission) tick() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.ticks++
	return a.refuse(noSlot("WRITES", "Too many writes wait.", int64(a.total)),
		func(p *permit) bool { return a.mu.ticks-p.since > writeTicks })
}

// stop refuses all writes that wait.
func (a *admission) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuse(errStopping, func(*permit) bool { return true })
}

// refuse refuses some of the writes that wait, and reports whether others do.
func (a *admission) refuse(reason error, which func(*permit) bool) bool {
	late := a.mu.waiting.these(nil, which)
	for _, project := range a.mu.projects {
		late = project.waiting.these(late, which)
	}
	for _, p := range late {
		// One that was taken out before may have let this one wait in another place.
		a.drop(p)
		p.refusal = reason
		close(p.ready)
	}
	a.mu.watched = a.waits() > 0
	return a.mu.watched
}

// waits counts the writes that wait.
func (a *admission) waits() int {
	waiting := a.mu.waiting.requests
	for _, project := range a.mu.projects {
		waiting += project.waiting.requests
	}
	return waiting
}

// counts are the running and the waiting writes.
func (a *admission) counts() (running, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mu.running, a.waits()
}

// beginWork waits until an operation may run, if it is expensive or a write. A large body makes any
// operation expensive. It is called AFTER the body has arrived, the size of which is given. Errors:
// RATE_LIMITED, SHUTTING_DOWN.
func (s *Server) beginWork(x *exchange, bodyBytes int) error {
	switch op := x.route.operation; {
	case op.Expensive || bodyBytes > heavyBody:
		return s.beginComputing(x)
	case op.Writes():
		return s.beginWrite(x)
	}
	return nil
}

// beginWrite waits until a write may run. Errors: RATE_LIMITED AFTER the longest time,
// SHUTTING_DOWN.
func (s *Server) beginWrite(x *exchange) error {
	project := id.ID{}
	if at := x.route.project; at >= 0 && at < len(x.call.Params) {
		// Without a valid ID there is no project.
		project, _ = id.Parse(id.Project, x.call.Params[at])
	}
	s.writes.enter(&x.writing, x.party(), project)
	if x.writing.ready == nil {
		return nil
	}
	before := x.heldMemory().bytes
	err := x.holdWaiting()
	if x.writing.watches {
		go s.watchWrites()
	}
	if err != nil {
		s.writes.leave(&x.writing)
		return err
	}
	begun := time.Now()
	<-x.writing.ready
	// Waiting is not slowness of the request, so it is not logged as such.
	x.waited += time.Since(begun)
	x.account.shrinkTo(before)
	return x.writing.refusal
}

// watchWrites refuses the writes that wait for too long, until none waits, and all of them when the
// server stops.
func (s *Server) watchWrites() {
	for {
		select {
		case <-s.stopping:
			s.writes.stop()
			return
		case <-s.cfg.after(s.cfg.writeWait / writeTicks):
			if !s.writes.tick() {
				return
			}
		}
	}
}

// waitingFree is the size up to which the body of a write that waits is not counted, in bytes.
const waitingFree = 4 << 10

// holdWaiting reserves the body of a write that waits. Those that run are few, but as many can wait
// as there are connections. Errors: RATE_LIMITED.
func (x *exchange) holdWaiting() error {
	size := int64(cap(x.body))
	if size <= waitingFree {
		return nil
	}
	return x.heldMemory().growTo(size)
}

// endWrite gives back the permit of a write, if it has one.
func (s *Server) endWrite(x *exchange) {
	if x.writing.running {
		s.writes.leave(&x.writing)
	}
}

// WriteStats are numbers of writes.
type WriteStats struct{ Running, Waiting int }

// Writes counts the writes that are carried out and those that wait for that.
func (s *Server) Writes() WriteStats {
	running, waiting := s.writes.counts()
	return WriteStats{Running: running, Waiting: waiting}
}
