package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// connection is a socket of the poller with one request at most in flight.
type connection struct {
	exchange exchange
	fd       int
	buf      []byte
	have     int
	// due is when the request in flight was to be sent, or the next one will be.
	due time.Time
	// every is the time between two requests, zero without a pace.
	every    time.Duration
	inFlight bool
	dead     bool
}

// connections are driven by few threads that wait for all sockets at once: a goroutine for each
// connection costs a generator three times as much, which the server on the same cores would pay.
type connections []*connection

// responseBufferBytes is where the buffer of a connection starts; it grows with the responses.
const responseBufferBytes = 4 << 10

// dialAll connects one client for each exchange.
func dialAll(address string, exchanges []exchange) (connections, error) {
	resolved, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	target := &unix.SockaddrInet4{Port: resolved.Port, Addr: resolved.AddrPort().Addr().As4()}
	out := make(connections, 0, len(exchanges))
	for _, one := range exchanges {
		fd, err := dialSocket(target)
		if err != nil {
			out.close()
			return nil, fmt.Errorf("connect to %s: %w", address, err)
		}
		out = append(out, &connection{
			exchange: one, fd: fd, buf: make([]byte, responseBufferBytes),
		})
	}
	return out, nil
}

// dialSocket connects and makes the socket non-blocking AFTER it is connected.
func dialSocket(target *unix.SockaddrInet4) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Connect(fd, target)
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
		// Nothing is lost with a socket that is thrown away.
		_ = unix.Close(c.fd)
		c.fd = -1
	}
	c.dead = true
}

// drive divides the connections among half of the processors, at least one thread; the other half
// is the server's.
func (c connections) drive(ctx context.Context, l load) (*Sample, error) {
	threads := min(max(runtime.NumCPU()/2, 1), len(c))
	run := l.span()
	for at, one := range c {
		one.due, one.every = run.begin, 0
		if l.perSecond > 0 {
			one.every = time.Duration(float64(len(c)) / l.perSecond * float64(time.Second))
			one.due = run.begin.Add(one.every * time.Duration(at) / time.Duration(len(c)))
		}
	}
	samples := make([]*Sample, threads)
	failures := make([]error, threads)
	var group sync.WaitGroup
	for at := range threads {
		samples[at] = newSample()
		var mine connections
		for from := at; from < len(c); from += threads {
			mine = append(mine, c[from])
		}
		group.Go(func() {
			p := &poller{connections: mine, run: run, sample: samples[at]}
			failures[at] = p.loop(ctx)
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
	// alarm is when the timer fires, zero while it is off.
	alarm time.Time
	paced bool
}

// lookAround is how often a poller without events looks at the context, in milliseconds.
const lookAround = 100

// timerEvent marks the timer among the events; connections are marked by their index.
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
	for at, one := range p.connections {
		if err == nil && !one.dead {
			err = p.watch(one.fd, int32(at))
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

// loop drives the connections until the run is over and nothing is in flight.
func (p *poller) loop(ctx context.Context) (err error) {
	if err := p.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	now := time.Now()
	for _, one := range p.connections {
		p.paced = p.paced || one.every > 0
		p.sendWhenDue(one, now)
	}
	events := make([]unix.EpollEvent, 128)
	for ctx.Err() == nil {
		now = time.Now()
		if p.inFlight == 0 && (!p.paced || !now.Before(p.run.end)) {
			return nil
		}
		if now.After(p.run.end.Add(graceTime)) {
			p.abandon()
			return nil
		}
		if p.paced {
			if err := p.wake(now); err != nil {
				return err
			}
		}
		n, err := unix.EpollWait(p.epoll, events, lookAround)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if event.Fd == timerEvent {
				p.ring()
				continue
			}
			p.receive(p.connections[event.Fd])
		}
	}
	return nil
}

// sendWhenDue sends the next request of an idle connection unless its time has not come or is over.
func (p *poller) sendWhenDue(c *connection, now time.Time) {
	if c.dead || c.inFlight || !now.Before(p.run.end) || now.Before(c.due) {
		return
	}
	request := c.exchange.next()
	if request == nil {
		// Nothing is left to do for this run and those behind it.
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

// receive reads what the socket has and, when the response is whole, goes on with the next request.
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
	p.sendWhenDue(c, done)
}

// lose gives a connection up.
func (p *poller) lose(c *connection, err error) {
	if c.inFlight {
		c.inFlight = false
		p.inFlight--
	}
	p.sample.fail("CONNECTION " + err.Error())
	c.shut()
}

// abandon gives up what was not answered in time.
func (p *poller) abandon() {
	for _, one := range p.connections {
		if one.inFlight {
			p.lose(one, fmt.Errorf("no answer within %v", graceTime))
		}
	}
}

// wake sends what is due and sets the timer for what is due next. A request that had to wait for
// the answer before it keeps its time, so that a stall counts in every request that it held up.
func (p *poller) wake(now time.Time) error {
	next := time.Time{}
	for _, one := range p.connections {
		if !one.inFlight && !one.dead && !one.due.After(now) {
			p.sendWhenDue(one, now)
		}
		if !one.inFlight && !one.dead && (next.IsZero() || one.due.Before(next)) {
			next = one.due
		}
	}
	if next.IsZero() || next.Equal(p.alarm) {
		return nil
	}
	p.alarm = next
	wait := max(time.Until(next), time.Microsecond)
	setting := unix.ItimerSpec{Value: unix.NsecToTimespec(wait.Nanoseconds())}
	if err := unix.TimerfdSettime(p.timer, 0, &setting, nil); err != nil {
		return fmt.Errorf("timerfd_settime: %w", err)
	}
	return nil
}

// ring takes the event of the timer; what it was set for is sent by wake.
func (p *poller) ring() {
	var count [8]byte
	// Nothing to read means that the timer was set anew in between.
	_, _ = unix.Read(p.timer, count[:])
	p.alarm = time.Time{}
}
