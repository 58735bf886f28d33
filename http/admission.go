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
	// writesProjectPart is the part of them that one project may have: one of so many.
	writesProjectPart = 2
	// writeWait is how long a write waits for its turn.
	writeWait = 5 * time.Second
)

// admission bounds the writes that are carried out at one time. More of them would not be faster:
// the projects and the log take them one after the other, and each holds memory meanwhile. Others
// wait, BEFORE their body is decoded, and are refused if they have waited for too long. A refusal
// costs nearly as much as a small write, and its client soon comes back. A client that waits sends
// nothing on its connection meanwhile. The number of connections bounds those that wait.
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
	}
}

// projectWrites are the writes of one project.
type projectWrites struct {
	// held counts those that run or wait for their turn.
	held int
	// waiting wait until fewer are held.
	waiting turns
}

// pass is the right of a write to run. The zero value has none.
type pass struct {
	who     party
	id      id.ID
	project *projectWrites
	running bool
	// ready is closed when the pass is given. It is nil if that was at once.
	ready chan struct{}
	// waitsIn and at are the place of a request that waits.
	waitsIn *turns
	at      *list.Element
}

func (a *admission) init(total int) {
	a.total, a.ofProject = total, max(1, total/writesProjectPart)
	a.mu.projects = map[id.ID]*projectWrites{}
}

// enter asks for a pass for a write, to a project if its ID is not zero. A pass without ready may
// run.
func (a *admission) enter(p *pass, who party, project id.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*p = pass{who: who, id: project}
	if !project.IsZero() {
		p.project = a.mu.projects[project]
		if p.project == nil {
			p.project = &projectWrites{}
			a.mu.projects[project] = p.project
		}
		if p.project.held >= a.ofProject {
			p.ready = make(chan struct{})
			p.project.waiting.add(p)
			return
		}
		p.project.held++
	}
	if a.mu.running < a.total {
		a.mu.running++
		p.running = true
		return
	}
	p.ready = make(chan struct{})
	a.mu.waiting.add(p)
}

// leave gives back a pass, or the place of a write that waits. It may be called again.
func (a *admission) leave(p *pass) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
	*p = pass{}
	for a.mu.running < a.total {
		next := a.mu.waiting.next()
		if next == nil {
			return
		}
		a.mu.running++
		next.running = true
		close(next.ready)
	}
}

// unhold lets the next write of a project wait for its turn.
func (a *admission) unhold(p *pass) {
	if p.project == nil {
		return
	}
	p.project.held--
	if next := p.project.waiting.next(); next != nil {
		p.project.held++
		a.mu.waiting.add(next)
	}
	a.maybeForget(p)
}

func (a *admission) maybeForget(p *pass) {
	if p.project.held == 0 && p.project.waiting.requests == 0 {
		delete(a.mu.projects, p.id)
	}
}

// counts are the running and the waiting writes.
func (a *admission) counts() (running, waiting int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	waiting = a.mu.waiting.requests
	for _, project := range a.mu.projects {
		waiting += project.waiting.requests
	}
	return a.mu.running, waiting
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
	before := x.held().bytes
	if err := x.holdWaiting(); err != nil {
		s.writes.leave(&x.writing)
		return err
	}
	defer x.account.shrinkTo(before)
	begun := time.Now()
	// Waiting is not slowness of the request, so it is not logged as such.
	defer func() { x.waited += time.Since(begun) }()
	select {
	case <-x.writing.ready:
		return nil
	case <-s.stopping:
		s.writes.leave(&x.writing)
		return errStopping
	case <-s.cfg.after(s.cfg.writeWait):
		s.writes.leave(&x.writing)
		return noSlot("WRITES", "Too many writes wait.", int64(s.writes.total))
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
	return x.held().growTo(size)
}

// endWrite gives back the pass of a write, if it has one.
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
