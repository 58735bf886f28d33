package cluster

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"pws/journal"
	"pws/journal/replica"
)

// Local is the member of this process, as others see it.
type Local interface {
	// Deliver takes a message of another member, and does not wait.
	Deliver(m *raftpb.Message)
	// Entries returns entries of the journal from a position on.
	Entries(from uint64) ([][]byte, error)
	// Status is what the member knows of its group.
	Status() replica.Status
	// Understands is the newest format of the group that this member understands, and Announced takes
	// that of another one.
	Understands() uint64
	Announced(member, format uint64)
}

var _ Local = (*replica.Journal)(nil)

// Config is how a Network runs.
type Config struct {
	// Member is the number of this member, Address the one that it listens on.
	Member   uint64
	Address  string
	Identity *Identity
	// Now is the clock of the machine; time.Now if nil.
	Now func() time.Time
	// Copy writes the data of this member for one that joins: a descriptor, and then the files. It is
	// called by one goroutine at a time.
	Copy func(to io.Writer) error
	// Noted takes a note, if this member leads.
	Noted func(note []byte)
	// Asked answers a question of another member.
	Asked func(question []byte) ([]byte, error)
	// Order carries out a command for the group, if this member leads.
	Order func(ctx context.Context, o Order) error
	Log   *slog.Logger

	// ln, for tests, is a listener instead of one of the member's address.
	ln net.Listener
}

const (
	// greetTime bounds the beginning of a connection, writeTime the writing of a frame, callTime a
	// call, its answer included, and idleTime the time without any frame.
	greetTime = 5 * time.Second
	// dialTime bounds the making of a connection. One that the network has lost is made anew.
	dialTime  = 2 * time.Second
	writeTime = 10 * time.Second
	callTime  = 15 * time.Second
	idleTime  = 15 * time.Second
	// redialTime is the time between two attempts to reach a member.
	redialTime = 200 * time.Millisecond
	// farewellTime is how long messages are sent to a member that was removed.
	farewellTime = 10 * time.Second
	// connectionsMax bounds the connections that are taken at one time, and those of one member.
	connectionsMax       = 1024
	connectionsMemberMax = 512
)

// Network connects a member to the others.
type Network struct {
	config  Config
	group   [groupBytes]byte
	ln      net.Listener
	peers   atomic.Pointer[map[uint64]*peer]
	web     *webListener
	clocks  *clocks
	copying sync.Mutex
	alive   context.Context
	kill    context.CancelFunc
	running sync.WaitGroup

	// others are those to whom there are peers. Guests are members that this one has not learned of by
	// the log yet.
	others struct {
		sync.Mutex
		members, guests []replica.Member
	}

	mu struct {
		sync.Mutex
		// local is nil until Serve.
		local Local
		open  map[net.Conn]uint64
		count map[uint64]int
		// strangers are the members that were refused, and when that was logged.
		strangers map[uint64]time.Time
	}
}

var _ replica.Transport = (*Network)(nil)

// Listen makes the network of a member, and takes the member's address. Enter, SetMembers and Serve
// follow: nothing is sent until SetMembers, and nothing is answered until Serve. Errors: plain
// connections to other machines, and those of the address.
func Listen(config Config) (*Network, error) {
	n := &Network{config: config, clocks: newClocks(config.Log)}
	if n.config.Now == nil {
		n.config.Now = time.Now
	}
	n.peers.Store(&map[uint64]*peer{})
	n.mu.open, n.mu.count = map[net.Conn]uint64{}, map[uint64]int{}
	n.mu.strangers = map[uint64]time.Time{}
	err := config.Identity.permits(config.Address)
	if n.ln = config.ln; n.ln == nil && err == nil {
		n.ln, err = net.Listen("tcp", config.Address)
	}
	if err != nil {
		return nil, err
	}
	n.web = &webListener{address: n.ln.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.alive, n.kill = context.WithCancel(context.Background())
	return n, nil
}

// SetMembers says who the members are from now on. It does not wait. It is called AFTER Listen and
// BEFORE Close.
func (n *Network) SetMembers(members []replica.Member) {
	n.others.Lock()
	defer n.others.Unlock()
	n.others.members = members
	n.setPeers()
}

// SetGuests says, as SetMembers does, who is taken for a member besides the members: those that
// others have named, where this member has not learned of them by the log yet.
func (n *Network) SetGuests(guests []replica.Member) {
	n.others.Lock()
	defer n.others.Unlock()
	n.others.guests = guests
	n.setPeers()
}

// setPeers makes peers of those that are known, and ends others.
func (n *Network) setPeers() {
	before, now := *n.peers.Load(), map[uint64]*peer{}
	for _, m := range slices.Concat(n.others.members, n.others.guests) {
		if now[m.Number] != nil {
			continue
		}
		if known := before[m.Number]; known != nil && known.address == m.Address {
			now[m.Number] = known
			continue
		}
		p := newPeer(n, m)
		now[m.Number] = p
		if err := n.config.Identity.permits(m.Address); err != nil {
			n.config.Log.Error("a member cannot be reached", "member", m.Number, "error", err)
		} else if m.Number != n.config.Member {
			n.running.Go(p.run)
		}
	}
	n.peers.Store(&now)
	for number, p := range before {
		if now[number] == nil && number != n.config.Member {
			// What is on its way to it says that it was removed.
			time.AfterFunc(farewellTime, p.end)
		} else if now[number] != p {
			p.end()
		}
	}
}

func (n *Network) peer(member uint64) *peer { return (*n.peers.Load())[member] }

// Enter says which group the member belongs to.
func (n *Network) Enter(group [groupBytes]byte) { n.group = group }

// Serve begins to answer for a member.
func (n *Network) Serve(local Local) {
	n.mu.Lock()
	n.mu.local = local
	n.mu.Unlock()
	n.running.Go(n.accept)
}

// Close ends all connections.
func (n *Network) Close() error {
	n.kill()
	err := errors.Join(n.ln.Close(), n.web.Close())
	n.mu.Lock()
	for conn := range n.mu.open {
		_ = conn.Close()
	}
	n.mu.Unlock()
	n.running.Wait()
	return err
}

// Send implements replica.Transport.
func (n *Network) Send(m *raftpb.Message) {
	if p := n.peer(m.GetTo()); p != nil {
		p.put(m)
	}
}

// Pull implements replica.Transport.
func (n *Network) Pull(ctx context.Context, member, from uint64) ([][]byte, error) {
	kind, body, err := n.call(ctx, member, framePull, binary.AppendUvarint(nil, from))
	if err != nil {
		return nil, err
	}
	if kind != frameEntries {
		return nil, fmt.Errorf("%w: frame %d answers a pull", errProtocol, kind)
	}
	return decodeEntries(body)
}

// Status asks a member what it knows of the group.
func (n *Network) Status(ctx context.Context, member uint64) (s replica.Status, err error) {
	_, body, err := n.call(ctx, member, frameStatus, nil)
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s, err
}

// call opens a connection for one question and its answer.
func (n *Network) call(
	ctx context.Context, member uint64, kind byte, body []byte,
) (byte, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, err := n.dial(ctx, member, forCall)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(appendFrame(nil, kind, body)); err != nil {
		return 0, nil, err
	}
	kind, body, err = readFrame(conn)
	switch {
	case err == nil && kind == frameCut:
		err = fmt.Errorf("member %d: %w", member, journal.ErrOutOfRange)
	case err == nil && kind == frameNotLeading:
		err = fmt.Errorf("member %d: %w", member, journal.ErrNotLeading)
	case err == nil && kind == frameRefusal:
		err = fmt.Errorf("member %d: %s", member, body)
	}
	return kind, body, err
}

// dial opens a connection to a member and sends the greeting.
func (n *Network) dial(ctx context.Context, member uint64, kind byte) (net.Conn, error) {
	p := n.peer(member)
	if p == nil {
		return nil, fmt.Errorf("%d is not a member", member)
	}
	return p.dial(ctx, kind)
}

// connect opens a connection to a member and sends the greeting.
func connect(
	ctx context.Context, own *Identity, member uint64, address string, hello greeting,
) (net.Conn, error) {
	if err := own.permits(address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var conn net.Conn
	var err error
	if config := own.dialing(member); config != nil {
		conn, err = (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(greetTime))
	if _, err := conn.Write(hello.encode()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, conn.SetWriteDeadline(time.Time{})
}

// accept takes connections until Close.
func (n *Network) accept() {
	for {
		raw, err := n.ln.Accept()
		if n.alive.Err() != nil {
			if err == nil {
				_ = raw.Close()
			}
			return
		}
		if err != nil {
			// The descriptors of the process are used up, perhaps.
			pause(n.alive, redialTime)
			continue
		}
		if !n.enter(raw) {
			_ = raw.Close()
			continue
		}
		n.running.Go(func() {
			defer n.leave(raw)
			if err := n.serve(raw); err != nil && n.alive.Err() == nil {
				n.config.Log.Debug("connection of a member ends", "from", raw.RemoteAddr(), "error", err)
			}
		})
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// enter counts a connection, unless there are too many.
func (n *Network) enter(raw net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.open) >= connectionsMax || n.alive.Err() != nil {
		return false
	}
	n.mu.open[raw] = 0
	return true
}

// known counts a connection of a member, unless it has too many.
func (n *Network) known(raw net.Conn, member uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.count[member] >= connectionsMemberMax {
		return false
	}
	n.mu.open[raw] = member
	n.mu.count[member]++
	return true
}

func (n *Network) leave(raw net.Conn) {
	_ = raw.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	if member := n.mu.open[raw]; member != 0 {
		n.mu.count[member]--
	}
	delete(n.mu.open, raw)
}

// serve answers a connection until it ends.
func (n *Network) serve(raw net.Conn) error {
	deadline := time.Now().Add(greetTime)
	if err := raw.SetDeadline(deadline); err != nil {
		return err
	}
	conn, proves := raw, func(uint64) bool { return true }
	if config := n.config.Identity.accepting(); config != nil {
		secured := tls.Server(raw, config)
		if err := secured.HandshakeContext(n.alive); err != nil {
			return err
		}
		conn = secured
		proves = func(member uint64) bool {
			names := secured.ConnectionState().PeerCertificates[0].DNSNames
			return len(names) == 1 && names[0] == nameOf(member)
		}
	}
	hello, err := readGreeting(conn)
	switch {
	case err != nil:
		return err
	case !proves(hello.member):
		return fmt.Errorf("%w: it says that it is member %d", errProtocol, hello.member)
	case !n.admits(&hello):
		n.warnStranger(&hello, raw)
		return fmt.Errorf("%w: member %d is not of this group", errProtocol, hello.member)
	case !n.known(raw, hello.member):
		return fmt.Errorf("member %d has too many connections", hello.member)
	}
	switch hello.kind {
	case forMessages:
		return n.receive(conn, hello.member)
	case forCall:
		return n.answer(conn, n.peer(hello.member) == nil)
	case forWeb:
		return n.web.give(n.alive, conn)
	case forCopy:
		return n.sendCopy(conn)
	}
	return fmt.Errorf("%w: a connection of kind %d", errProtocol, hello.kind)
}

// admits reports whether a member may open a connection. A member passes requests on to itself when
// it has become the leader. One that is not known here, because it was removed, may ask for the
// status.
func (n *Network) admits(hello *greeting) bool {
	switch {
	case hello.kind == forCopy:
		return hello.group == n.config.Identity.joining()
	case hello.group != n.group:
		return false
	case hello.member == n.config.Member:
		return hello.kind == forWeb
	}
	return n.peer(hello.member) != nil || hello.kind == forCall
}

// strangerAgain is how often the refusal of a member is logged.
const strangerAgain = time.Minute

// warnStranger logs a connection of somebody who has the keys of a member and is none: a member
// that was removed, or one that has begun with other data. It tries again several times a second.
func (n *Network) warnStranger(hello *greeting, raw net.Conn) {
	now := time.Now()
	n.mu.Lock()
	again := now.Sub(n.mu.strangers[hello.member]) < strangerAgain
	if !again {
		n.mu.strangers[hello.member] = now
	}
	n.mu.Unlock()
	if again {
		return
	}
	n.config.Log.Warn("a connection of a server that is not of this group was refused",
		"member", hello.member, "from", raw.RemoteAddr(), "same_beginning", hello.group == n.group)
}

// receive takes the messages of a member.
func (n *Network) receive(conn net.Conn, member uint64) error {
	for {
		if err := conn.SetDeadline(time.Now().Add(idleTime)); err != nil {
			return err
		}
		kind, body, err := readFrame(conn)
		switch {
		case err != nil:
			return err
		case kind == frameClock:
			millis, used := binary.Uvarint(body)
			if used <= 0 {
				return fmt.Errorf("%w: a clock of %x", errProtocol, body)
			}
			n.clocks.note(member, time.UnixMilli(int64(millis)), n.config.Now())
			// The sender learns that the connection is alive, and what this member understands and has.
			status := n.local().Status()
			has := status.Newest()
			answer := binary.AppendUvarint(body[:used:used], n.local().Understands())
			answer = binary.AppendUvarint(binary.AppendUvarint(answer, has.Term), has.Index)
			if _, err := conn.Write(appendFrame(nil, frameClock, answer)); err != nil {
				return err
			}
			continue
		case kind != frameMessage:
			return fmt.Errorf("%w: frame %d among messages", errProtocol, kind)
		}
		m, err := decodeMessage(body)
		if err != nil {
			return err
		}
		if m.GetFrom() != member || m.GetTo() != n.config.Member {
			return fmt.Errorf("%w: a message of %d to %d", errProtocol, m.GetFrom(), m.GetTo())
		}
		n.local().Deliver(m)
	}
}

// newestIn reads the newest entry of a member. Earlier programs send none.
func newestIn(body []byte) (has replica.Newest) {
	term, used := binary.Uvarint(body)
	if used <= 0 {
		return has
	}
	index, found := binary.Uvarint(body[used:])
	if found <= 0 {
		return has
	}
	return replica.Newest{Term: term, Index: index}
}

func decodeMessage(body []byte) (*raftpb.Message, error) {
	m := new(raftpb.Message)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	for _, e := range m.GetEntries() {
		if e == nil {
			return nil, fmt.Errorf("%w: no entry", errProtocol)
		}
	}
	return m, nil
}

func (n *Network) local() Local {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.local
}

// answer answers one call. A stranger may only ask for the status.
func (n *Network) answer(conn net.Conn, stranger bool) error {
	if err := conn.SetDeadline(time.Now().Add(callTime)); err != nil {
		return err
	}
	kind, body, err := readFrame(conn)
	if err != nil {
		return err
	}
	if stranger && kind != frameStatus {
		return fmt.Errorf("%w: frame %d of a server that is not a member", errProtocol, kind)
	}
	switch kind {
	case framePull:
		from, used := binary.Uvarint(body)
		if used != len(body) {
			return fmt.Errorf("%w: a pull of %x", errProtocol, body)
		}
		var entries [][]byte
		entries, err = n.local().Entries(from)
		kind, body = frameEntries, encodeEntries(entries)
	case frameStatus:
		body, err = json.Marshal(n.local().Status())
	case frameOrder:
		var order Order
		if err = json.Unmarshal(body, &order); err == nil {
			ctx, cancel := context.WithTimeout(n.alive, callTime)
			err = n.config.Order(ctx, order)
			cancel()
		}
		kind, body = frameDone, nil
	case frameNote:
		n.config.Noted(body)
		kind, body = frameDone, nil
	case frameQuestion:
		body, err = n.config.Asked(body)
	default:
		return fmt.Errorf("%w: frame %d is not a question", errProtocol, kind)
	}
	switch {
	case err == nil:
	case errors.Is(err, journal.ErrOutOfRange):
		kind, body = frameCut, nil
	case errors.Is(err, journal.ErrNotLeading):
		kind, body = frameNotLeading, nil
	default:
		kind, body = frameRefusal, []byte(err.Error())
	}
	_, err = conn.Write(appendFrame(nil, kind, body))
	return err
}
