package http

import (
	"io"
	"net"
	"time"
)

// The least rate at which a client has to send a large body and to read a large answer. A transfer
// that falls behind it ends. Mobile clients with 64 kbit/s pass.
const (
	// leastRate is the average that is demanded AFTER the grace, in bytes per second.
	leastRate = 6 << 10
	// paceGrace is how long a client may pause without any transfer.
	paceGrace = 10 * time.Second
)

// pace compares a transfer with the least rate. Only the time that the server waits for its client
// counts, so a slow server ends nothing.
type pace struct {
	// rate is in bytes per second, longest the bound of one wait.
	rate    int64
	grace   time.Duration
	longest time.Duration
	// moved are the bytes so far, and waited is the time that they took.
	moved  int64
	waited time.Duration
}

// patience is how long to wait for the next bytes.
func (p *pace) patience(next int) time.Duration {
	earned := time.Duration((p.moved + int64(next)) * int64(time.Second) / p.rate)
	left := p.grace + earned - p.waited
	if p.longest > 0 {
		left = min(left, p.longest)
	}
	return max(left, time.Millisecond)
}

// note counts bytes that took a time.
func (p *pace) note(bytes int, took time.Duration) {
	p.moved += int64(bytes)
	p.waited += took
}

func (s *Server) newPace(longest time.Duration) pace {
	return pace{rate: s.cfg.leastRate, grace: s.cfg.paceGrace, longest: longest}
}

// pacedWriter writes to a connection whose client has to read at the least rate.
type pacedWriter struct {
	w    io.Writer
	conn net.Conn
	pace pace
	// each means that each write is a transfer of its own, because long pauses are between them.
	each bool
	sent int64
	err  error
}

func (p *pacedWriter) Write(data []byte) (int, error) {
	if p.each {
		p.pace.moved, p.pace.waited = 0, 0
	}
	written := 0
	for len(data) > 0 {
		piece := data[:min(len(data), streamChunk)]
		begun := time.Now()
		p.err = p.conn.SetWriteDeadline(begun.Add(p.pace.patience(len(piece))))
		if p.err != nil {
			return written, p.err
		}
		n, err := p.w.Write(piece)
		p.pace.note(n, time.Since(begun))
		written, p.sent, p.err = written+n, p.sent+int64(n), err
		if err != nil {
			return written, err
		}
		data = data[n:]
	}
	return written, nil
}

// pacedReader reads a body from a client that has to send at the least rate.
type pacedReader struct {
	r    io.Reader
	conn *conn
	pace pace
	// end is when the whole request must have arrived; zero means no bound.
	end time.Time
	// bulk bounds the speed of the reads.
	bulk throttle
}

func (p *pacedReader) Read(into []byte) (int, error) {
	into = into[:min(len(into), bulkChunk)]
	begun := time.Now()
	until := begun.Add(p.pace.patience(0))
	if !p.end.IsZero() && p.end.Before(until) {
		until = p.end
	}
	if err := p.conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	n, err := p.r.Read(into)
	now := time.Now()
	p.pace.note(n, now.Sub(begun))
	if wait := p.bulk.note(now, n); wait > 0 {
		time.Sleep(wait)
	}
	return n, err
}

const (
	// bodyRate and drainRate are how fast large bodies, and bodies that nobody reads, are taken from
	// one client, in bytes per second. The first bulkFree bytes are not delayed.
	bodyRate  = 64 << 20
	drainRate = 16 << 20
	bulkFree  = 1 << 20
	// bulkChunk is the most that one read takes, in bytes.
	bulkChunk = 128 << 10
)

// throttle spreads a large transfer over time. A client that sends as fast as it can would keep a
// thread in the kernel, and other requests would wait for a processor until it is done.
type throttle struct {
	rate  int64
	begun time.Time
	bytes int64
}

// note counts bytes that have arrived, and returns how long to wait BEFORE more are read.
func (t *throttle) note(now time.Time, n int) time.Duration {
	if t.bytes += int64(n); t.bytes <= bulkFree || n == 0 {
		return 0
	}
	if t.begun.IsZero() {
		t.begun = now
	}
	return time.Duration((t.bytes-bulkFree)*int64(time.Second)/t.rate) - now.Sub(t.begun)
}
