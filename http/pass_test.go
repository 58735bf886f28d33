package http

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pws/api"
	"pws/internal/fault"
)

// servers is a group whose leader the test names.
type servers struct {
	own       uint64
	leader    atomic.Uint64
	addresses map[uint64]string
	dialed    atomic.Int64
	// secured is nil for connections without TLS.
	secured *tls.Config
}

// Leads implements Group.
func (s *servers) Leads() bool { return s.leader.Load() == s.own }

// Leader implements Group.
func (s *servers) Leader() uint64 { return s.leader.Load() }

// Dial implements Group.
func (s *servers) Dial(ctx context.Context, member uint64) (net.Conn, error) {
	s.dialed.Add(1)
	address := s.addresses[member]
	if address == "" {
		return nil, errors.New("nobody is there")
	}
	if s.secured != nil {
		return (&tls.Dialer{Config: s.secured}).DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

const thisMachine = "127.0.0.0/8"

// startLeader starts a server whose requests are passed on to it.
func startLeader(t *testing.T, table []*api.Operation, changes ...func(*Config)) *fixture {
	t.Helper()
	group := &servers{own: 2}
	group.leader.Store(2)
	f := &fixture{entered: make(chan struct{}, 1), leave: make(chan struct{}), log: &logBuffer{}}
	f.clock.Store(1_763_600_000_000)
	config := Config{Table: table, Group: group, PassedFrom: thisMachine}
	for _, change := range changes {
		change(&config)
	}
	f.open(t, config, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- f.ServePassed(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = f.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return f
}

// startFollower starts a server that passes writes on to the leader with this number.
func startFollower(t *testing.T, leader uint64, addresses map[uint64]string) (*fixture, *servers) {
	t.Helper()
	return startImpatient(t, time.Minute, leader, addresses)
}

// startImpatient is startFollower where requests wait for a leader for some time.
func startImpatient(
	t *testing.T, wait time.Duration, leader uint64, addresses map[uint64]string,
) (*fixture, *servers) {
	t.Helper()
	group := &servers{own: 1, addresses: addresses}
	group.leader.Store(leader)
	f := start(t, Config{
		Group: group, PassedFrom: thisMachine, leaderWait: wait,
	}, nil)
	return f, group
}

func TestWritesArePassedOn(t *testing.T) {
	leader := startLeader(t, nil)
	f, group := startFollower(t, 2, map[uint64]string{2: leader.address})
	credential := "Authorization: Bearer good"
	for range 3 {
		got := f.post(t, "/v1/projects", `{"text":"a"}`, credential, "Idempotency-Key: k1")
		if got.status != 201 || got.echoed(t).Text != "a" || got.echoed(t).Agent == "" ||
			len(got.echoed(t).Key) == 0 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if dialed := group.dialed.Load(); dialed != 1 {
		t.Errorf("%d connections for three requests", dialed)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write([]byte(`{"text":"` + strings.Repeat("b", 100_000) + `"}`))
	if err = errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	got := f.post(t, "/v1/echo", packed.String(), "Content-Encoding: gzip")
	if got.status != 201 || len(got.echoed(t).Text) != 100_000 {
		t.Errorf("%d with %d bytes", got.status, len(got.body))
	}
	got = f.post(t, "/v1/projects", `{"text":"a"}`, "Idempotency-Key: k1")
	if got.code(t) != string(fault.AuthenticationRequired) || got.header.Get(headerOutcome) != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if !strings.Contains(leader.log.String(), "operation=project.create") {
		t.Error("the leader has not seen the requests")
	}
	leader.log.take()
	if got := f.ask(t, "GET", "/v1/files/a"); got.status != 200 {
		t.Errorf("a read: %d", got.status)
	}
	if seen := leader.log.take(); seen != "" {
		t.Errorf("a read is passed on: %s", seen)
	}
	group.leader.Store(1)
	if got := f.post(t, "/v1/echo", `{"text":"own"}`); got.status != 201 || leader.log.String() != "" {
		t.Errorf("a leader passes on: %d %s", got.status, got.body)
	}
}

// TestAddressOfClientIsPassedOn limits what an address sends by way of another member.
func TestAddressOfClientIsPassedOn(t *testing.T) {
	leader := startLeader(t, nil)
	f, _ := startFollower(t, 2, map[uint64]string{2: leader.address})
	_ = f.post(t, "/v1/echo", `{"text":"a"}`, "X-Forwarded-For: 192.0.2.7")
	if seen := leader.log.String(); !strings.Contains(seen, "ip=192.0.2.7") {
		t.Errorf("the leader sees %s", seen)
	}
}

// TestPagesArePassedOn has members with an address for pages alone. What was sent to it is passed
// on to the one address that members have.
func TestPagesArePassedOn(t *testing.T) {
	page := api.Operation{
		Name: "page.one", Method: "GET", Path: "/ui/", Auth: api.Optional, Page: true,
		Category: api.CategoryPage, Statuses: []int{200},
	}
	leader := startLeader(t, []*api.Operation{
		api.Declare[api.None, api.WebPage](page, func(*api.Call, *api.None) (api.Reply, error) {
			return api.Reply{Data: api.WebPage{Body: []byte("a page")}}, nil
		}),
		api.Declare[api.None, echoed](op(read, "own", "/v1/own", api.Anonymous), plain),
	}, func(c *Config) { c.PagesApart, c.LoopbackOnly = true, true })
	for _, path := range []string{"/ui/", "/v1/own"} {
		got := leader.raw2(t, "GET", "GET "+path+" HTTP/1.1\r\nHost: pages.example\r\n\r\n")
		if got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestLeaderLearnsOfRequestsToPages has a leader learn which requests came to the address of the
// pages of another member. It believes only members.
func TestLeaderLearnsOfRequestsToPages(t *testing.T) {
	table := []*api.Operation{api.Declare[echoRequest, echoed](
		op(write, "auth.challenge", "/v1/auth/challenge", api.Anonymous),
		func(c *api.Call, _ *echoRequest) (api.Reply, error) {
			return echo(c, fmt.Sprint(c.PassedFromPages, c.OnPages))
		},
	)}
	apart := func(c *Config) { c.PagesApart = true }
	leader := startLeader(t, table, apart)
	group := &servers{own: 1, addresses: map[uint64]string{2: leader.address}}
	group.leader.Store(2)
	f := start(t, Config{
		Group: group, PassedFrom: thisMachine, Table: table, PagesApart: true,
	}, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.ServePages(ln) }()
	main, pages := f.address, ln.Addr().String()
	for _, one := range []struct {
		address string
		leader  uint64
		want    string
	}{
		{main, 2, "false false"}, {pages, 2, "true false"},
		{main, 1, "false false"}, {pages, 1, "false true"},
	} {
		f.address = one.address
		group.leader.Store(one.leader)
		for _, line := range []string{"Accept: */*", "Pws-Pages: 1", "pws-pages: 1"} {
			got := f.post(t, "/v1/auth/challenge", `{"text":"a"}`, line)
			if got.status != 201 || got.echoed(t).Text != one.want {
				t.Errorf("%+v, %s: %d %s", one, line, got.status, got.body)
			}
		}
	}
	_ = ln.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// refusing is a leader that refuses all writes with a reason.
func refusing(t *testing.T, reason string, seen func()) *fixture {
	t.Helper()
	refuse := func(*api.Call, *echoRequest) (api.Reply, error) {
		seen()
		return api.Reply{}, fault.New(fault.StorageUnavailable, "Not here.").With("reason", reason)
	}
	forked := op(write, "project.fork", "/v1/projects/{project}/fork", api.Bearer)
	forked.Idempotency = api.KeyOptional
	ignoring := op(write, "echo", "/v1/echo", api.Anonymous)
	return startLeader(t, []*api.Operation{
		api.Declare[echoRequest, echoed](forked, refuse),
		api.Declare[echoRequest, echoed](ignoring, refuse),
	})
}

// TestLeaderChanges has a leader refuse, or break off, what is passed on to it; then another one
// leads.
func TestLeaderChanges(t *testing.T) {
	good := startLeader(t, nil)
	// A key has no meaning for an operation that takes none.
	const fork, ignoring = "/v1/projects/p/fork", "/v1/echo"
	for _, one := range []struct {
		reason, key string
		status      int
		code        string
	}{
		{api.ReasonNotLeading, "", 201, ""},
		{api.ReasonOutcomeUnknown, "Idempotency-Key: k", 201, ""},
		{api.ReasonOutcomeUnknown, "", 503, api.ReasonOutcomeUnknown},
		{"DISK_RESERVE", "Idempotency-Key: k", 503, "DISK_RESERVE"},
		{"broken", "Idempotency-Key: k", 201, ""},
		{"broken", "", 503, api.ReasonOutcomeUnknown},
		{"stopped", "Idempotency-Key: k", 201, ""},
		{"stopped", "", 503, api.ReasonOutcomeUnknown},
		{"broken", "Idempotency-Key: ignored", 503, api.ReasonOutcomeUnknown},
	} {
		t.Run(one.reason+one.key, func(t *testing.T) {
			var follower atomic.Pointer[servers]
			seen := func() { follower.Load().leader.Store(2) }
			address := ""
			switch one.reason {
			case "broken", "stopped":
				address = silent(t, one.reason == "broken", seen)
			default:
				address = refusing(t, one.reason, seen).address
			}
			f, group := startFollower(t, 3, map[uint64]string{2: good.address, 3: address})
			follower.Store(group)
			lines := []string{}
			if one.key != "" {
				lines = append(lines, one.key)
			}
			lines = append(lines, "Authorization: Bearer good")
			target := fork
			if strings.HasSuffix(one.key, "ignored") {
				target = ignoring
			}
			got := f.post(t, target, `{"text":"a"}`, lines...)
			reason, _ := got.envelope(t).Error.Details["reason"].(string)
			if got.status != one.status || reason != one.code {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// silent takes requests without an answer: it closes the connection, or leaves it open.
func silent(t *testing.T, closes bool, seen func()) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, _ = conn.Read(make([]byte, 4096))
			seen()
			if closes {
				_ = conn.Close()
			}
		}
	}()
	return ln.Addr().String()
}

// TestEndedConnectionIsNotUsedAgain has a leader close connections that are idle, as one does that
// is restarted: the next write has a known outcome.
func TestEndedConnectionIsNotUsedAgain(t *testing.T) {
	for name, begin := range map[string]func(http.Handler) *httptest.Server{
		"plain": httptest.NewServer, "TLS": httptest.NewTLSServer,
	} {
		t.Run(name, func(t *testing.T) {
			leader := begin(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(201)
				_, _ = w.Write([]byte("{}"))
			}))
			t.Cleanup(leader.Close)
			f, group := startFollower(t, 2, map[uint64]string{2: leader.Listener.Addr().String()})
			if leader.TLS != nil {
				group.secured = leader.Client().Transport.(*http.Transport).TLSClientConfig
			}
			for nth := range int64(3) {
				for range 3 {
					got := f.post(t, "/v1/projects", `{}`, "Authorization: Bearer good")
					if dialed := group.dialed.Load(); got.status != 201 || dialed != nth+1 {
						t.Errorf("%d %s with %d connections", got.status, got.body, dialed)
					}
				}
				leader.CloseClientConnections()
			}
		})
	}
}

func TestWritesFailWithoutALeader(t *testing.T) {
	f, group := startImpatient(t, 200*time.Millisecond, 0, nil)
	for _, leader := range []uint64{0, 7} {
		group.leader.Store(leader)
		got := f.post(t, "/v1/echo", `{"text":"a"}`, "Idempotency-Key: k")
		if got.status != 503 || got.header.Get("Retry-After") != "1" ||
			got.envelope(t).Error.Details["reason"] != api.ReasonNotLeading {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// TestPassedOnAndNobodyLeads has the leader take a request and end, and nobody lead AFTER that: the
// request may have had its effect.
func TestPassedOnAndNobodyLeads(t *testing.T) {
	var follower atomic.Pointer[servers]
	address := silent(t, true, func() { follower.Load().leader.Store(0) })
	f, group := startImpatient(t, 200*time.Millisecond, 3, map[uint64]string{3: address})
	follower.Store(group)
	got := f.post(t, "/v1/projects/p/fork", `{"text":"a"}`, "Idempotency-Key: k",
		"Authorization: Bearer good")
	reason, _ := got.envelope(t).Error.Details["reason"].(string)
	if got.status != 503 || reason != "OUTCOME_UNKNOWN" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
