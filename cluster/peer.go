package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/internal/logformat"
	"pws/journal/replica"
)

const (
	// queueMax and queueBytesMax bound the messages that wait for a member.
	queueMax      = 1024
	queueBytesMax = 64 << 20
	// writeBytes is about how much is written at a time.
	writeBytes = 256 << 10
)

// errRefused says why watch has closed a connection.
var errRefused = errors.New("it has ended the connection, or does not answer on it")

// peer sends messages to another member.
type peer struct {
	network *Network
	member  uint64
	address string
	// alive ends with the network, or when the member is none any more.
	alive context.Context
	end   context.CancelFunc
	wake  chan struct{}
	// answered says that a clock has come back on the connection for messages.
	answered atomic.Bool
	mu       struct {
		sync.Mutex
		queue []*raftpb.Message
		bytes int64
		// lost counts the messages for which there was no room, or no connection.
		lost uint64
	}
}

func newPeer(n *Network, m replica.Member) *peer {
	p := &peer{network: n, member: m.Number, address: m.Address, wake: make(chan struct{}, 1)}
	p.alive, p.end = context.WithCancel(n.alive)
	return p
}

// dial opens a connection to the member, which may have been removed meanwhile.
func (p *peer) dial(ctx context.Context, kind byte) (net.Conn, error) {
	n := p.network
	hello := greeting{kind: kind, member: n.config.Member, group: n.group}
	return connect(ctx, n.config.Identity, p.member, p.address, hello)
}

// put queues a message. One for which there is no room is lost.
func (p *peer) put(m *raftpb.Message) {
	size := int64(proto.Size(m))
	p.mu.Lock()
	if len(p.mu.queue) >= queueMax || p.mu.bytes > 0 && p.mu.bytes+size > queueBytesMax {
		p.mu.lost++
		p.mu.Unlock()
		return
	}
	p.mu.queue = append(p.mu.queue, m)
	p.mu.bytes += size
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns all messages that wait.
func (p *peer) take() []*raftpb.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.mu.queue
	p.mu.queue, p.mu.bytes = nil, 0
	return all
}

// run keeps a connection to the member and sends what waits. What was queued without a connection
// is old by then, and lost.
func (p *peer) run() {
	alive, said := p.alive, ""
	for alive.Err() == nil {
		conn, err := p.dial(alive, forMessages)
		if err == nil {
			ended := context.AfterFunc(alive, func() { _ = conn.Close() })
			p.network.running.Go(func() { p.watch(conn) })
			err = p.send(conn)
			ended()
			_ = conn.Close()
			// A member that refuses the connection does so again and again.
			if p.answered.Swap(false) {
				said = ""
			}
		}
		if alive.Err() != nil {
			return
		}
		if errors.Is(err, net.ErrClosed) {
			err = errRefused
		}
		if text := err.Error(); text != said {
			p.network.config.Log.Warn("no connection to a member", "member", p.member, "error", err)
			said = text
		}
		pause(alive, redialTime)
		dropped := p.take()
		p.mu.Lock()
		p.mu.lost += uint64(len(dropped))
		p.mu.Unlock()
	}
}

// aliveTime is how long nothing may come back on a connection for messages. TCP itself tries for
// much longer, and AFTER a cut of the network as long again.
const aliveTime = 3 * clockEvery

// watch closes a connection on which no clock comes back, and notes what the member understands and
// has.
func (p *peer) watch(conn net.Conn) {
	defer conn.Close()
	for {
		if err := conn.SetReadDeadline(time.Now().Add(aliveTime)); err != nil {
			return
		}
		kind, body, err := readFrame(conn)
		if err != nil || kind != frameClock {
			return
		}
		_, used := binary.Uvarint(body)
		if used <= 0 {
			return
		}
		format, found := binary.Uvarint(body[used:])
		if found <= 0 {
			format = logformat.First
		}
		if !p.answered.Swap(true) {
			p.network.config.Log.Info("connected to a member", "member", p.member)
		}
		if local := p.network.local(); local != nil {
			local.Announced(p.member, format)
		}
		p.network.clocks.noteNewest(p.member, p.network.config.Now(), newestIn(body[used+max(found, 0):]))
	}
}

// send sends messages until the connection ends. The clock comes first: no member leads that does
// not know the clocks of most.
func (p *peer) send(conn net.Conn) error {
	clock := time.NewTicker(clockEvery)
	defer clock.Stop()
	if err := p.write(conn, p.appendClock(nil)); err != nil {
		return err
	}
	var buffer []byte
	for {
		kind := frameClock
		select {
		case <-p.alive.Done():
			return p.alive.Err()
		case <-p.wake:
			kind = frameMessage
		case <-clock.C:
		}
		buffer = buffer[:0]
		if kind == frameClock {
			buffer = p.appendClock(buffer)
		}
		for _, m := range p.take() {
			body, err := proto.Marshal(m)
			if err != nil {
				return err
			}
			if buffer = appendFrame(buffer, frameMessage, body); len(buffer) >= writeBytes {
				if err := p.write(conn, buffer); err != nil {
					return err
				}
				buffer = buffer[:0]
			}
		}
		if err := p.write(conn, buffer); err != nil {
			return err
		}
		if cap(buffer) > 4*writeBytes {
			buffer = nil
		}
	}
}

// appendClock appends the own clock. Earlier programs take nothing else in such a frame.
func (p *peer) appendClock(buffer []byte) []byte {
	millis := uint64(p.network.config.Now().UnixMilli())
	return appendFrame(buffer, frameClock, binary.AppendUvarint(nil, millis))
}

func (p *peer) write(conn net.Conn, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	_, err := conn.Write(data)
	return err
}
