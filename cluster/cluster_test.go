package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"pws/journal"
	"pws/journal/replica"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseMembers(t *testing.T) {
	members, err := ParseMembers("2=b:20; 1=a:10;3=[::1]:30")
	if err != nil || fmt.Sprint(members) != "[{1 a:10 true} {2 b:20 true} {3 [::1]:30 true}]" {
		t.Errorf("%v, %v", members, err)
	}
	for _, text := range []string{
		"", "0=a:1;2=b:2;3=c:3", "1=a:1;1=b:2;3=c:3", "1=a:1;2=a:1;3=c:3",
		"1=a;2=b:2;3=c:3", "1=a:0;2=b:2;3=c:3", "1=:1;2=b:2;3=c:3", "x=a:1;2=b:2;3=c:3",
	} {
		if _, err := ParseMembers(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// testGroup is the group of all members of these tests.
var testGroup = [groupBytes]byte{1}

// fixture has the networks of three members on ports of the system.
type fixture struct {
	// keys is the folder of MakeAuthority.
	keys       string
	t          *testing.T
	members    []replica.Member
	identities []*Identity
	networks   []*Network
	notes      chan string
}

// order carries out orders for a transfer, and does not lead for others.
func (f *fixture) order(_ context.Context, o Order) error {
	switch o.Kind {
	case OrderTransfer:
		f.notes <- fmt.Sprint("transfer ", o.Number)
		return nil
	case OrderAdd:
		return journal.ErrNotLeading
	}
	return errors.New("it is broken")
}

// answerTest answers one question.
func answerTest(question []byte) ([]byte, error) {
	if string(question) != "a question" {
		return nil, errors.New("it is another question")
	}
	return []byte("an answer"), nil
}

// TestMemberAnswersQuestions puts questions to another member.
func TestMemberAnswersQuestions(t *testing.T) {
	f := newFixture(t, false)
	f.networks[0].Serve(&inbox{})
	ask := func(text string) (byte, string, error) {
		kind, answer, err := f.networks[1].call(t.Context(), 1, frameQuestion, []byte(text))
		return kind, string(answer), err
	}
	kind, text, err := ask("a question")
	if kind != frameQuestion || text != "an answer" || err != nil {
		t.Errorf("%d, %q, %v", kind, text, err)
	}
	if _, _, err := ask("other"); err == nil || !strings.Contains(err.Error(), "another question") {
		t.Error(err)
	}
}

// TestMemberCarriesOutOrders sends orders and notes to another member.
func TestMemberCarriesOutOrders(t *testing.T) {
	f := newFixture(t, false)
	f.networks[0].Serve(&inbox{})
	ask := func(kind byte, body string) (byte, error) {
		answer, _, err := f.networks[1].call(t.Context(), 1, kind, []byte(body))
		return answer, err
	}
	if kind, err := ask(frameNote, "a note"); err != nil || kind != frameDone {
		t.Errorf("%d, %v", kind, err)
	}
	if kind, err := ask(frameOrder, `{"kind":"transfer","number":3}`); err != nil || kind != frameDone {
		t.Errorf("%d, %v", kind, err)
	}
	for _, want := range []string{"a note", "transfer 3"} {
		if got := <-f.notes; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if _, err := ask(frameOrder, `{"kind":"add"}`); !errors.Is(err, journal.ErrNotLeading) {
		t.Error(err)
	}
	for _, text := range []string{`{"kind":"remove"}`, "no JSON"} {
		if kind, err := ask(frameOrder, text); err == nil || errors.Is(err, journal.ErrNotLeading) {
			t.Errorf("%s: %d, %v", text, kind, err)
		}
	}
}

func newFixture(t *testing.T, plain bool) *fixture {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certificates")
	f := &fixture{t: t, notes: make(chan string, 10), keys: dir}
	if err := MakeAuthority(dir, []uint64{1, 2, 3}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	var listeners []net.Listener
	for number := uint64(1); number <= 3; number++ {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, ln)
		f.members = append(f.members, replica.Member{
			Number: number, Address: ln.Addr().String(), Voter: true,
		})
		one, err := LoadIdentity(filepath.Join(dir, fmt.Sprint("member-", number)), number)
		if err != nil {
			t.Fatal(err)
		}
		if plain {
			one = Plain(one.Secret)
		}
		f.identities = append(f.identities, one)
	}
	for i, m := range f.members {
		n, err := Listen(Config{
			Member: m.Number, Address: m.Address, Identity: f.identities[i], Order: f.order,
			Noted: func(note []byte) { f.notes <- string(note) }, Asked: answerTest,
			Log: slog.New(slog.DiscardHandler), ln: listeners[i],
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Enter(testGroup)
		n.SetMembers(f.members)
		f.networks = append(f.networks, n)
	}
	t.Cleanup(func() {
		for _, n := range f.networks {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return f
}

// inbox is a member that keeps what it gets.
type inbox struct {
	got chan *raftpb.Message
	// understands is the newest format of this member, announced gets those of others.
	understands uint64
	announced   chan [2]uint64
}

// Deliver implements Local.
func (i *inbox) Deliver(m *raftpb.Message) { i.got <- m }

// Entries implements Local.
func (i *inbox) Entries(from uint64) ([][]byte, error) {
	switch from {
	case 1:
		return nil, journal.ErrOutOfRange
	case 2:
		return nil, errors.New("it is broken")
	}
	return [][]byte{[]byte("one"), []byte("other")}, nil
}

// Status implements Local.
func (i *inbox) Status() replica.Status { return replica.Status{Member: 2, Leader: 3} }

// Understands implements Local.
func (i *inbox) Understands() uint64 { return i.understands }

// Announced implements Local.
func (i *inbox) Announced(member, format uint64) {
	select {
	case i.announced <- [2]uint64{member, format}:
	default:
	}
}

func message(from, to uint64, data []byte) *raftpb.Message {
	return &raftpb.Message{
		Type: raftpb.MsgApp.Enum(), From: &from, To: &to, Term: new(uint64(7)),
		Entries: []*raftpb.Entry{{Index: new(uint64(1)), Term: new(uint64(7)), Data: data}},
	}
}

func TestNetwork(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain=%v", plain), func(t *testing.T) {
			f := newFixture(t, plain)
			boxes := make([]*inbox, 3)
			for i, n := range f.networks {
				boxes[i] = &inbox{got: make(chan *raftpb.Message, 100)}
				n.Serve(boxes[i])
			}
			large := bytes.Repeat([]byte("x"), 5<<20)
			// What is sent BEFORE there is a connection may be lost.
			got := f.until(boxes[1], func() { f.networks[0].Send(message(1, 2, nil)) })
			if got.GetFrom() != 1 || got.GetTerm() != 7 {
				t.Errorf("%v", got)
			}
			got = f.large(boxes[1], func() { f.networks[0].Send(message(1, 2, large)) })
			if !bytes.Equal(got.GetEntries()[0].GetData(), large) {
				t.Error("a large message has changed")
			}
			ctx := t.Context()
			entries, err := f.networks[2].Pull(ctx, 2, 3)
			if err != nil || len(entries) != 2 || string(entries[1]) != "other" {
				t.Errorf("%q, %v", entries, err)
			}
			if _, err := f.networks[2].Pull(ctx, 2, 1); !errors.Is(err, journal.ErrOutOfRange) {
				t.Errorf("entries that were cut off: %v", err)
			}
			if _, err := f.networks[2].Pull(ctx, 2, 2); err == nil {
				t.Error("a refusal is no error")
			}
			if s, err := f.networks[0].Status(ctx, 2); err != nil || s.Leader != 3 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// large repeats an action until a message with data arrives. On a busy machine the connection of
// the first one may end, and a large message takes its time.
func (f *fixture) large(box *inbox, action func()) *raftpb.Message {
	within := time.After(60 * time.Second)
	again := time.NewTicker(5 * time.Second)
	defer again.Stop()
	action()
	for {
		select {
		case m := <-box.got:
			if len(m.GetEntries()[0].GetData()) > 0 {
				return m
			}
		case <-again.C:
			action()
		case <-within:
			f.t.Fatal("no message with data in time")
		}
	}
}

// until repeats an action until a message arrives.
func (f *fixture) until(box *inbox, action func()) *raftpb.Message {
	within := time.After(20 * time.Second)
	for {
		action()
		select {
		case m := <-box.got:
			return m
		case <-time.After(20 * time.Millisecond):
		case <-within:
			f.t.Fatal("no message in time")
		}
	}
}

// TestStrangersAreRefused connects as those do who are not members, or not the one that they say.
func TestStrangersAreRefused(t *testing.T) {
	f, other := newFixture(t, false), newFixture(t, false)
	box := &inbox{got: make(chan *raftpb.Message, 100)}
	f.networks[0].Serve(box)
	group := f.networks[1].group
	hello := func(kind byte, member uint64, group [groupBytes]byte) []byte {
		return (&greeting{kind: kind, member: member, group: group}).encode()
	}
	good := hello(forMessages, 2, group)
	frame := func(kind byte, body []byte) []byte { return appendFrame(nil, kind, body) }
	as2, as2Other := f.identities[1].dialing(1), other.identities[1].dialing(1)
	// Member 3 was removed, and may ask how the group stands.
	f.networks[0].SetMembers(f.members[:2])
	as3 := f.identities[2].dialing(1)
	if s, err := f.networks[2].Status(t.Context(), 1); err != nil || s.Leader != 3 {
		t.Errorf("the status for a member that was removed: %+v, %v", s, err)
	}
	for what, one := range map[string]struct {
		by   *tls.Config
		text []byte
	}{
		"plain":              {nil, good},
		"another authority":  {as2Other, good},
		"no certificate":     {&tls.Config{RootCAs: as2.RootCAs, ServerName: as2.ServerName}, good},
		"another group":      {as2, hello(forMessages, 2, [groupBytes]byte{2})},
		"another member":     {as2, hello(forMessages, 3, group)},
		"the member itself":  {as2, hello(forMessages, 1, group)},
		"unknown kind":       {as2, hello('x', 2, group)},
		"no greeting":        {as2, bytes.Repeat([]byte{1}, greetingBytes)},
		"message of another": {as2, append(good, frame(frameMessage, encoded(t, message(3, 1, nil)))...)},
		"message to another": {as2, append(good, frame(frameMessage, encoded(t, message(2, 3, nil)))...)},
		"broken message":     {as2, append(good, frame(frameMessage, []byte{0xff, 1})...)},
		"large frame":        {as2, append(good, 0xff, 0xff, 0xff, 0xff, frameMessage)},
		"call among messages": {as2, append(hello(forMessages, 2, group),
			frame(framePull, []byte{1})...)},
		"call of a stranger to pull": {as3, append(hello(forCall, 3, group),
			frame(framePull, []byte{3})...)},
		"order of a stranger": {as3, append(hello(forCall, 3, group),
			frame(frameOrder, []byte(`{"kind":"transfer","number":3}`))...)},
		"question of a stranger": {as3, append(hello(forCall, 3, group),
			frame(frameQuestion, []byte("a question"))...)},
		"messages of a stranger": {as3, append(hello(forMessages, 3, group),
			frame(frameMessage, encoded(t, message(3, 1, nil)))...)},
		"message as a call": {as2, append(hello(forCall, 2, group), frame(frameMessage, nil)...)},
	} {
		var conn net.Conn
		conn, err := net.Dial("tcp", f.members[0].Address)
		if err != nil {
			t.Fatal(err)
		}
		raw := conn
		if one.by != nil {
			conn = tls.Client(conn, one.by)
		}
		_ = raw.SetDeadline(time.Now().Add(time.Minute))
		_, _ = conn.Write(one.text)
		// It is closed, and nothing is answered.
		answer, err := io.ReadAll(conn)
		if len(answer) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %q, %v", what, answer, err)
		}
		_ = raw.Close()
	}
	if len(box.got) > 0 {
		t.Errorf("%v is delivered", <-box.got)
	}
}

func encoded(t *testing.T, m *raftpb.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestQueueIsBounded sends to a member to which there is no connection.
func TestQueueIsBounded(t *testing.T) {
	f := newFixture(t, true)
	p := newPeer(f.networks[0], f.members[1])
	defer p.end()
	for range 3 * queueMax {
		p.put(message(1, 2, nil))
	}
	if len(p.mu.queue) != queueMax || p.mu.lost != 2*queueMax {
		t.Errorf("%d wait, %d are lost", len(p.mu.queue), p.mu.lost)
	}
	p.take()
	data := make([]byte, queueBytesMax/3)
	for range 10 {
		p.put(message(1, 2, data))
	}
	if len(p.mu.queue) != 2 {
		t.Errorf("%d large ones wait", len(p.mu.queue))
	}
}

func TestPlainIsForLoopback(t *testing.T) {
	config := Config{Member: 1, Address: "192.0.2.1:1", Identity: Plain(nil)}
	if _, err := Listen(config); err == nil {
		t.Error("an address for other machines is listened on without certificates")
	}
	hello := greeting{kind: forCall, member: 1}
	if _, err := connect(t.Context(), Plain(nil), 2, "192.0.2.1:1", hello); err == nil {
		t.Error("a plain connection to another machine")
	}
}

func TestAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := MakeAuthority(dir, []uint64{1, 2, 3}, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := MakeAuthority(dir, []uint64{1, 2, 3}, nil, time.Now()); err == nil {
		t.Error("keys are overwritten")
	}
	const has = "member 2 has keys already"
	if err := AddMember(dir, 2, time.Now()); err == nil || !strings.Contains(err.Error(), has) {
		t.Errorf("keys for a member that has some: %v", err)
	}
	if _, err := LoadIdentity(filepath.Join(dir, "member-2"), 1); err == nil {
		t.Error("the certificate of another member is taken")
	}
	for _, name := range []string{secretFile, memberKeyFile} {
		key := filepath.Join(dir, "member-2", name)
		if err := os.Chmod(key, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := LoadIdentity(filepath.Join(dir, "member-2"), 2)
		if runtime.GOOS != "windows" && (err == nil || !strings.Contains(err.Error(), "chmod")) {
			t.Errorf("%s can be read by all: %v", name, err)
		}
		if err := os.Chmod(key, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadIdentity(filepath.Join(dir, "member-2"), 2); err != nil {
		t.Error(err)
	}
}

// TestRequestsArePassedOn passes requests on.
func TestRequestsArePassedOn(t *testing.T) {
	f := newFixture(t, false)
	f.networks[0].Serve(&inbox{})
	var served sync.WaitGroup
	served.Go(func() {
		conn, err := f.networks[0].Web().Accept()
		if err != nil {
			t.Error(err)
			return
		}
		if ip := conn.RemoteAddr().(*net.TCPAddr).IP.String(); ip != "100::1" {
			t.Errorf("it comes from %s", ip)
		}
		_, err = io.CopyN(conn, conn, 4)
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	})
	conn, err := f.networks[1].DialWeb(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Write([]byte("ping"))
	answer := make([]byte, 4)
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err != nil || string(answer) != "ping" {
		t.Errorf("%q, %v", answer, err)
	}
	_ = conn.Close()
	served.Wait()
}

func FuzzFrames(f *testing.F) {
	f.Add((&greeting{kind: forCall, member: 3}).encode())
	f.Add(appendFrame(nil, frameEntries, encodeEntries([][]byte{[]byte("a"), []byte("bc")})))
	one, err := proto.Marshal(message(1, 2, []byte("text")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendFrame(nil, frameMessage, one))
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, err := readGreeting(bytes.NewReader(data)); err == nil {
			if !bytes.Equal(g.encode(), data[:greetingBytes]) {
				t.Fatalf("%x comes back as %x", data, g.encode())
			}
		}
		kind, body, err := readFrame(bytes.NewReader(data))
		if err != nil {
			return
		}
		again := appendFrame(nil, kind, body)
		if !bytes.Equal(again, data[:len(again)]) {
			t.Fatalf("%x comes back as %x", data, again)
		}
		switch kind {
		case frameMessage:
			_, _ = decodeMessage(body)
		case frameEntries:
			_, _ = decodeEntries(body)
		}
	})
}
