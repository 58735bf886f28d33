package http

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	// linesKept is how many idle connections to members are kept, and lineIdle for how long, which is
	// less than the time AFTER which the other side closes them.
	linesKept = 64
	lineIdle  = 20 * time.Second
	// lineDial bounds the making of a connection, lineWrite the sending of a request.
	lineDial  = time.Second
	lineWrite = 5 * time.Second
	// lineCheck is how often a request that waits for its answer looks whether the leader is still
	// the same.
	lineCheck = 100 * time.Millisecond
)

// line is a connection to a member for requests that are passed on, one at a time.
type line struct {
	conn   net.Conn
	reader *bufio.Reader
	writer *bufio.Writer
	member uint64
	usedAt time.Time
}

// lines are the connections to members that are idle.
type lines struct {
	mu struct {
		sync.Mutex
		idle   []*line
		closed bool
	}
}

// take returns a connection to a member: an idle one, or else a new one.
func (l *lines) take(group Group, member uint64) (*line, error) {
	if one := l.takeIdle(member); one != nil {
		return one, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lineDial)
	defer cancel()
	conn, err := group.Dial(ctx, member)
	if err != nil {
		return nil, err
	}
	const buffer = 16 << 10
	return &line{
		conn: conn, reader: bufio.NewReaderSize(conn, buffer),
		writer: bufio.NewWriterSize(conn, buffer), member: member,
	}, nil
}

// takeIdle returns the idle connection to a member that was used last, nil if there is none. It
// closes those that are too old, and those that the member has closed: a write that is sent on one
// would have an unknown outcome.
func (l *lines) takeIdle(member uint64) *line {
	closeLines(l.extract(func(one *line) bool { return time.Since(one.usedAt) >= lineIdle }))
	for {
		one := l.newestIdle(member)
		if one == nil || !one.ended() {
			return one
		}
		closeLines([]*line{one})
	}
}

// newestIdle takes the idle connection to a member that was used last, nil if there is none.
func (l *lines) newestIdle(member uint64) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, one := range slices.Backward(l.mu.idle) {
		if one.member == member {
			l.mu.idle = slices.Delete(l.mu.idle, i, i+1)
			return one
		}
	}
	return nil
}

// ended reports whether an idle connection cannot carry another request. No answer is due on it, so
// bytes that have come say so too: under TLS they are what a close begins with.
func (l *line) ended() bool {
	if l.reader.Buffered() > 0 {
		return true
	}
	raw := l.conn
	if secured, ok := raw.(*tls.Conn); ok {
		raw = secured.NetConn()
	}
	return socketSays(raw, func(fd uintptr) bool { return !socketSilent(fd) })
}

// extract takes some of the idle connections away.
func (l *lines) extract(some func(*line) bool) (taken []*line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.idle = slices.DeleteFunc(l.mu.idle, func(one *line) bool {
		is := some(one)
		if is {
			taken = append(taken, one)
		}
		return is
	})
	return taken
}

// giveBack keeps a connection for another request, unless the member closes it.
func (l *lines) giveBack(one *line, closes bool) {
	one.usedAt = time.Now()
	l.mu.Lock()
	keep := !closes && !l.mu.closed && len(l.mu.idle) < linesKept
	if keep {
		l.mu.idle = append(l.mu.idle, one)
	}
	l.mu.Unlock()
	if !keep {
		closeLines([]*line{one})
	}
}

// drop closes a connection that has failed, and all idle ones to its member: what has ended one has
// probably ended them.
func (l *lines) drop(failed *line) {
	ended := l.extract(func(one *line) bool { return one.member == failed.member })
	closeLines(append(ended, failed))
}

// close closes the idle connections, and keeps none from now on.
func (l *lines) close() {
	l.mu.Lock()
	idle := l.mu.idle
	l.mu.idle, l.mu.closed = nil, true
	l.mu.Unlock()
	closeLines(idle)
}

// closeLines closes connections on which nothing is under way.
func closeLines(all []*line) {
	for _, one := range all {
		_ = one.conn.Close()
	}
}

var errLeaderChanged = errors.New("http: another member leads now")

// roundTrip sends a request and reads its answer, for as long as the member is the one to ask.
// begun says that the member may have the request. AFTER an error the connection is of no use.
func (l *line) roundTrip(
	request *fasthttp.Request, stays func() bool,
) (answer *fasthttp.Response, begun bool, err error) {
	if err := l.conn.SetDeadline(time.Now().Add(lineWrite)); err != nil {
		return nil, false, err
	}
	if err := request.Write(l.writer); err != nil {
		return nil, true, err
	}
	if err := l.writer.Flush(); err != nil {
		return nil, true, err
	}
	until := time.Now().Add(passedTime)
	for {
		if err := l.conn.SetReadDeadline(time.Now().Add(lineCheck)); err != nil {
			return nil, true, err
		}
		_, err := l.reader.Peek(1)
		var network net.Error
		if err == nil {
			break
		}
		if !errors.As(err, &network) || !network.Timeout() || time.Now().After(until) {
			return nil, true, err
		}
		if !stays() {
			return nil, true, errLeaderChanged
		}
	}
	if err := l.conn.SetReadDeadline(until); err != nil {
		return nil, true, err
	}
	answer = fasthttp.AcquireResponse()
	if err := answer.ReadLimitBody(l.reader, passedAnswerMax); err != nil {
		fasthttp.ReleaseResponse(answer)
		return nil, true, err
	}
	return answer, true, nil
}
