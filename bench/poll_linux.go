package bench

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// connection is a socket of the poller with at most one request in flight.
type connection struct {
	exchange exchange
	// source may be nil; then the system chooses the local address.
	source unix.Sockaddr
	target *unix.SockaddrInet4
	fd     int
	buf    []byte
	have   int
	// due is when the request in flight was due, or when the next one will be.
	due time.Time
	// every is the interval between two requests, zero for an unpaced run.
	every    time.Duration
	inFlight bool
	dead     bool
}

// connections are driven by few threads that wait for all sockets with epoll. A goroutine for each
// connection would cost the generator three times as much CPU, at the expense of the server on the
// same cores.
type connections []*connection

// responseBufferBytes is the initial size of a connection's buffer, which grows with the responses.
const responseBufferBytes = 4 << 10

// dialAll connects one client for each exchange.
func dialAll(address string, exchanges []exchange) (connections, error) {
	return dialAllFrom(address, exchanges, nil)
}

// dialAllFrom connects one client for each exchange from the local addresses in turn; without any,
// the system chooses them.
func dialAllFrom(address string, exchanges []exchange, local []netip.Addr) (connections, error) {
	resolved, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	target := &unix.SockaddrInet4{Port: resolved.Port, Addr: resolved.AddrPort().Addr().As4()}
	out := make(connections, 0, len(exchanges))
	for i, one := range exchanges {
		var source unix.Sockaddr
		if len(local) > 0 {
			source = &unix.SockaddrInet4{Addr: local[i%len(local)].As4()}
		}
		fd, err := dialSocket(source, target)
		if err != nil {
			out.close()
			return nil, fmt.Errorf("connect to %s: %w", address, err)
		}
		out = append(out, &connection{
			exchange: one, source: source, target: target, fd: fd,
			buf: make([]byte, responseBufferBytes),
		})
	}
	return out, nil
}

// redial replaces the socket if the server has closed it, as it does when no request arrives for
// some time: the run before this one may have been long. What the server sent before is discarded.
func (c *connection) redial() error {
	for !c.dead {
		n, err := unix.Read(c.fd, c.buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR), n > 0:
			continue
		}
		c.shut()
		if c.fd, err = dialSocket(c.source, c.target); err != nil {
			return fmt.Errorf("connect again: %w", err)
		}
		c.dead = false
		return nil
	}
	return nil
}

// dialSocket connects from a source, which may be nil, and THEN makes the socket non-blocking.
func dialSocket(source, target unix.Sockaddr) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if source != nil {
		err = unix.Bind(fd, source)
	}
	if err == nil {
		err = unix.Connect(fd, target)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}

func (c connections) close() {
	for _, one := range c {
		one.shut()
	}
}

func (c *connection) shut() {
	if c.fd >= 0 {
		// The socket is discarded, so an error does not matter.
		_ = unix.Close(c.fd)
		c.fd = -1
	}
	c.dead = true
}

// drive divides the connections among half of the processors, at least one thread; the other half
// is for the server.
func (c connections) drive(ctx context.Context, l load) (*Sample, error) {
	threads := min(max(runtime.NumCPU()/2, 1), len(c))
	for _, one := range c {
		if err := one.redial(); err != nil {
			return nil, err
		}
	}
	run := l.span()
	for i, one := range c {
		one.due, one.every = run.begin, 0
		if l.perSecond > 0 {
			one.every = time.Duration(float64(len(c)) / l.perSecond * float64(time.Second))
			one.due = run.begin.Add(one.every * time.Duration(i) / time.Duration(len(c)))
		}
	}
	samples := make([]*Sample, threads)
	failures := make([]error, threads)
	var group sync.WaitGroup
	for i := range threads {
		samples[i] = newSample()
		var mine connections
		for from := i; from < len(c); from += threads {
			mine = append(mine, c[from])
		}
		group.Go(func() {
			p := &poller{connections: mine, run: run, sample: samples[i]}
			failures[i] = p.loop(ctx)
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return run.total(samples), ctx.Err()
}

// poller is one thread of a run.
type poller struct {
	connections connections
	run         span
	sample      *Sample
	epoll       int
	timer       int
	inFlight    int
	// waiting are paced connections without a request in flight.
	waiting dueHeap
	// alarm is when the timer fires, zero while it is not set.
	alarm time.Time
	paced bool
}

// contextCheckMillis is how often a poller without events checks the context.
const contextCheckMillis = 100

// timerEvent identifies the timer among the events; connections are identified by their index.
const timerEvent = -1

func (p *poller) open() error {
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	p.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return errors.Join(err, unix.Close(p.epoll))
	}
	err = p.watch(p.timer, timerEvent)
	for i, one := range p.connections {
		if err == nil && !one.dead {
			err = p.watch(one.fd, int32(i))
		}
	}
	if err != nil {
		return errors.Join(err, p.close())
	}
	return nil
}

func (p *poller) watch(fd int, mark int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: mark}
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

func (p *poller) close() error {
	return errors.Join(unix.Close(p.timer), unix.Close(p.epoll))
}

// loop drives the connections until the run is over and no request is in flight.
func (p *poller) loop(ctx context.Context) (err error) {
	if err := p.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	// What is due at the begin is sent even if this thread starts AFTER the end of a short run.
	for _, one := range p.connections {
		p.paced = p.paced || one.every > 0
		p.sendOrWait(one, p.run.begin)
	}
	events := make([]unix.EpollEvent, 128)
	for ctx.Err() == nil {
		now := time.Now()
		if p.inFlight == 0 && (!p.paced || !now.Before(p.run.end)) {
			p.countUnsent()
			return nil
		}
		if now.After(p.run.end.Add(graceTime)) {
			p.countUnsent()
			p.abandon()
			return nil
		}
		if p.paced {
			if err := p.wake(now); err != nil {
				return err
			}
		}
		n, err := unix.EpollWait(p.epoll, events, contextCheckMillis)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if event.Fd == timerEvent {
				p.clearTimer()
				continue
			}
			p.receive(p.connections[event.Fd])
		}
	}
	return nil
}

// sendWhenDue sends the next request of an idle connection if it is due and the run is not over.
func (p *poller) sendWhenDue(c *connection, now time.Time) {
	if c.dead || c.inFlight || !now.Before(p.run.end) || now.Before(c.due) {
		return
	}
	request := c.exchange.next()
	if request == nil {
		// The connection has no requests left, in this run and the following ones.
		c.shut()
		return
	}
	n, err := unix.Write(c.fd, request)
	if err == nil && n < len(request) {
		err = errors.New("the request does not fit into the socket's buffer")
	}
	if err != nil {
		p.lose(c, err)
		return
	}
	c.inFlight = true
	p.inFlight++
}

// receive reads from the socket and, when the response is whole, sends the next request.
func (p *poller) receive(c *connection) {
	if c.dead {
		return
	}
	if c.have == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	n, err := unix.Read(c.fd, c.buf[c.have:])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err == nil && n == 0:
		err = errors.New("the server closed the connection")
	case err == nil && !c.inFlight:
		err = errors.New("the server sent a response without a request")
	}
	if err != nil {
		p.lose(c, err)
		return
	}
	c.have += n
	whole, outcome, err := c.exchange.complete(c.buf[:c.have])
	if err != nil {
		p.lose(c, err)
		return
	}
	if !whole {
		return
	}
	done := time.Now()
	p.run.record(p.sample, c.due, done, outcome)
	c.have, c.inFlight = 0, false
	p.inFlight--
	if c.every == 0 {
		c.due = done
	} else {
		c.due = c.due.Add(c.every)
	}
	p.sendOrWait(c, done)
}

// sendOrWait sends the next request of an idle connection, at once or when it is due.
func (p *poller) sendOrWait(c *connection, now time.Time) {
	p.sendWhenDue(c, now)
	if c.every > 0 && !c.dead && !c.inFlight {
		heap.Push(&p.waiting, c)
	}
}

// dueHeap has the connection first whose request is due first.
type dueHeap []*connection

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(a, b int) bool { return h[a].due.Before(h[b].due) }
func (h dueHeap) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }

// Push implements heap.Interface.
func (h *dueHeap) Push(one any) {
	c, ok := one.(*connection)
	if !ok {
		panic("bench: a foreign value in the heap")
	}
	*h = append(*h, c)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	*h = (*h)[:last]
	return one
}

// lose counts an error and closes the connection.
func (p *poller) lose(c *connection, err error) {
	if c.inFlight {
		c.inFlight = false
		p.inFlight--
	}
	p.sample.fail("CONNECTION " + err.Error())
	c.shut()
}

// countUnsent counts what was due BEFORE the end of a paced run and was not sent, because the
// server had not answered the request before it, or this thread was late. Each would have been
// answered AFTER the end, so its latency is at least the time from when it was due until then.
// Connections that have failed count as errors.
func (p *poller) countUnsent() {
	for _, c := range p.connections {
		if c.dead || c.every == 0 {
			continue
		}
		due := c.due
		if c.inFlight {
			due = due.Add(c.every)
		}
		for ; due.Before(p.run.end); due = due.Add(c.every) {
			if !due.Before(p.run.counted) {
				p.sample.addUnsent(p.run.end.Sub(due))
			}
		}
	}
}

// abandon closes the connections whose responses did not arrive in time.
func (p *poller) abandon() {
	for _, one := range p.connections {
		if one.inFlight {
			p.lose(one, fmt.Errorf("no answer within %v", graceTime))
		}
	}
}

// wake sends the requests that are due and sets the timer for the next one. A request that had to
// wait for the previous response keeps its due time, so that a stall counts in every request that
// it delayed.
func (p *poller) wake(now time.Time) error {
	for len(p.waiting) > 0 && !p.waiting[0].due.After(now) {
		one := p.waiting[0]
		heap.Pop(&p.waiting)
		p.sendWhenDue(one, now)
	}
	if len(p.waiting) == 0 || p.waiting[0].due.Equal(p.alarm) {
		return nil
	}
	next := p.waiting[0].due
	p.alarm = next
	wait := max(time.Until(next), time.Microsecond)
	setting := unix.ItimerSpec{Value: unix.NsecToTimespec(wait.Nanoseconds())}
	if err := unix.TimerfdSettime(p.timer, 0, &setting, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	return nil
}

// clearTimer consumes the event of the timer; wake sends the requests that are due.
func (p *poller) clearTimer() {
	var count [8]byte
	// The read fails if the timer was set again in the meantime.
	_, _ = unix.Read(p.timer, count[:])
	p.alarm = time.Time{}
}
