package http

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pws/api"
	"pws/internal/id"
)

func newAdmission(total int) *admission {
	a := &admission{}
	a.init(total)
	return a
}

func (a *admission) ask(who party, project id.ID) *permit {
	p := &permit{}
	a.enter(p, who, project)
	return p
}

func (a *admission) wantNobody(t failer) {
	t.Helper()
	running, waiting := a.counts()
	if running != 0 || waiting != 0 || len(a.mu.projects)+len(a.mu.waiting.byID) != 0 ||
		a.mu.waiting.networks.Len() != 0 {
		t.Errorf("%d run, %d wait, %d projects and %d networks are remembered", running, waiting,
			len(a.mu.projects), len(a.mu.waiting.byID))
	}
}

func projectNumber(n int) id.ID { return id.New(5, [10]byte{byte(n)}) }

// One caller sends a thousand writes to a thousand projects. Another one gets the next permit.
func TestManyWritesDelayNoOtherCaller(t *testing.T) {
	for name, flood := range map[string]func(at int) party{
		"an agent": func(int) party { return partyAt("192.0.2.1", firstAgent) },
		"agents of one network": func(at int) party {
			return partyAt("192.0.2.1", id.New(9, [10]byte{byte(at), byte(at >> 8)}))
		},
		"a /48": func(at int) party {
			who := partyAt("2001:db8::1", id.ID{})
			who.address[7] = byte(at)
			return who
		},
	} {
		a := newAdmission(4)
		var permits []*permit
		for i := range 1000 {
			permits = append(permits, a.ask(flood(i), id.New(6, [10]byte{byte(i), byte(i >> 8)})))
		}
		other := a.ask(partyAt("198.51.100.7", otherAgent), projectNumber(1))
		if other.running {
			t.Fatalf("%s: more than the bound run", name)
		}
		served := 0
		for i := 0; !other.running; i++ {
			a.leave(permits[i])
			served++
		}
		if served > 2 {
			t.Errorf("%s: the other caller was served after %d", name, served)
		}
		for _, one := range append(permits, other) {
			a.leave(one)
		}
		a.wantNobody(t)
	}
}

// A thousand networks write to one project, which is slow. Other projects are written meanwhile.
func TestBusyProjectLeavesRoomForOthers(t *testing.T) {
	a := newAdmission(4)
	busy := projectNumber(1)
	var permits []*permit
	for i := range 1000 {
		who := party{network: id.New(3, [10]byte{byte(i), byte(i >> 8)})}
		permits = append(permits, a.ask(who, busy))
	}
	if running, waiting := a.counts(); running != 2 || waiting != 998 {
		t.Fatalf("%d run and %d wait", running, waiting)
	}
	for i := range 2 {
		if !a.ask(partyAt("198.51.100.7", otherAgent), projectNumber(2+i)).running {
			t.Error("another project waits")
		}
	}
	if a.ask(partyAt("198.51.100.7", otherAgent), projectNumber(9)).running {
		t.Error("more than the bound run")
	}
	// The writes of the project are served in turn.
	for i := range 500 {
		if !permits[i].running {
			t.Fatalf("write %d waits", i)
		}
		a.leave(permits[i])
		a.leave(permits[i])
	}
}

// TestWaitsAreBounded counts the time of writes that wait for a project and for a turn.
func TestWaitsAreBounded(t *testing.T) {
	a := newAdmission(2)
	busy, who := projectNumber(1), partyAt("192.0.2.1", firstAgent)
	runs := []*permit{a.ask(who, busy), a.ask(who, projectNumber(2))}
	early := []*permit{a.ask(who, busy), a.ask(who, busy), a.ask(who, projectNumber(3))}
	if !early[0].watches || early[1].watches || early[2].watches {
		t.Error("not the first one that waits starts the watch")
	}
	if !a.tick() {
		t.Fatal("nobody waits")
	}
	late := []*permit{a.ask(who, busy), a.ask(who, projectNumber(4))}
	for range writeTicks - 1 {
		a.tick()
	}
	for i, one := range append(slices.Clone(early), late...) {
		if one.refusal != nil || isReady(one) {
			t.Errorf("write %d was refused early", i)
		}
	}
	if !a.tick() {
		t.Error("the later ones were refused, too")
	}
	for i, one := range early {
		if one.refusal == nil || one.running || !isReady(one) {
			t.Errorf("write %d still waits", i)
		}
	}
	a.leave(runs[0])
	if late[0].running || !late[1].running {
		t.Error("the permit went not to the one who had its turn")
	}
	if a.stop(); late[0].refusal != errStopping || !isReady(late[0]) {
		t.Error("a write waits in a server that stops")
	}
	if again := a.ask(who, busy); !again.watches {
		t.Error("AFTER all have left nobody starts the watch")
	} else {
		a.leave(again)
	}
	for _, one := range append(append(runs, early...), late...) {
		a.leave(one)
	}
	if a.tick() {
		t.Error("the watch goes on while nobody waits")
	}
	a.wantNobody(t)
}

// TestNewestWriteIsServedFirst has a caller wait with several writes, before and after a tick.
func TestNewestWriteIsServedFirst(t *testing.T) {
	a := newAdmission(1)
	who := partyAt("192.0.2.1", firstAgent)
	runs := a.ask(who, projectNumber(1))
	var waiting []*permit
	for i := range 5 {
		waiting = append(waiting, a.ask(who, projectNumber(2+i)))
	}
	serve := func(want int) {
		t.Helper()
		a.leave(runs)
		if runs = waiting[want]; !runs.running {
			t.Fatalf("write %d waits", want)
		}
	}
	serve(4)
	a.tick()
	serve(0)
	waiting = append(waiting, a.ask(who, projectNumber(9)))
	serve(1)
	serve(2)
	serve(3)
	serve(5)
	a.leave(runs)
	a.wantNobody(t)
}

func isReady(p *permit) bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

func TestPermitsAreNeitherLostNorDuplicated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 6).Draw(t, "total")
		a := newAdmission(total)
		addresses := []string{"1.1.1.1", "2001:db8::1", "2001:db8:0:1::1", "2001:db8:1::1"}
		agents := []id.ID{{}, firstAgent, otherAgent}
		var held []*permit
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "leaves") {
				at := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				a.leave(held[at])
				held = slices.Delete(held, at, at+1)
			} else {
				project := id.ID{}
				if n := rapid.IntRange(0, 3).Draw(t, "project"); n > 0 {
					project = projectNumber(n)
				}
				held = append(held, a.ask(partyAt(rapid.SampledFrom(addresses).Draw(t, "address"),
					rapid.SampledFrom(agents).Draw(t, "agent")), project))
			}
			a.check(t, held)
		}
		for _, one := range held {
			a.leave(one)
		}
		a.wantNobody(t)
	})
}

// check checks that the bounds hold and nobody waits without need.
func (a *admission) check(t failer, held []*permit) {
	t.Helper()
	running, ofProject, waiting := 0, map[id.ID]int{}, 0
	for _, one := range held {
		if one.running {
			running++
			ofProject[one.id]++
		}
		if one.ready != nil {
			select {
			case <-one.ready:
			default:
				waiting++
			}
		}
	}
	if got, waits := a.counts(); got != running || waits != waiting || running > a.total {
		t.Errorf("%d run, counted as %d; %d wait, counted as %d", running, got, waiting, waits)
	}
	for project, count := range ofProject {
		if !project.IsZero() && count > a.ofProject {
			t.Errorf("%d of one project run", count)
		}
	}
	for _, one := range held {
		free := one.id.IsZero() || ofProject[one.id] < a.ofProject
		if !one.running && running < a.total && free {
			t.Errorf("a write waits, and %d of %d run", running, a.total)
		}
	}
}

// TestWritesThatWaitTooLongAreRefused checks the refusal over the wire, and that reads go on.
func TestWritesThatWaitTooLongAreRefused(t *testing.T) {
	f := &fixture{entered: make(chan struct{}, 9), leave: make(chan struct{}), log: &logBuffer{}}
	f.clock.Store(1_763_600_000_000)
	slow := op(write, "slow", "/v1/slow", api.Anonymous)
	over := make(chan time.Time, 1)
	f.serve(t, Config{
		Writes: 1, writeWait: 7 * time.Second,
		after: func(d time.Duration) <-chan time.Time {
			if d != 7*time.Second/writeTicks {
				t.Errorf("a part of the time is %v", d)
			}
			return over
		},
		Table: append(f.table(), api.Declare[api.None, echoed](slow,
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				f.entered <- struct{}{}
				<-f.leave
				return echo(c, "written")
			})),
	}, nil)
	first := f.dial(t)
	first.send("POST /v1/slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	<-f.entered
	go func() {
		for range writeTicks + 1 {
			over <- time.Time{}
		}
	}()
	a := f.post(t, "/v1/echo", `{"text":"a"}`)
	details := a.envelope(t).Error.Details
	if a.status != 429 || a.header.Get("Retry-After") != "1" || details["reason"] != "WRITES" ||
		details["limit"] != 1.0 {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := f.ask(t, "GET", "/v1/files/a"); a.status != 200 {
		t.Errorf("a read: %d", a.status)
	}
	second := f.dial(t)
	second.send("POST /v1/slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	close(f.leave)
	for _, one := range []*wire{first, second} {
		if a := one.receive("POST"); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if got := f.Writes(); got != (WriteStats{}) {
		t.Errorf("AFTER all answers: %+v", got)
	}
}

// TestBodiesOfWaitingWritesAreCounted has a write wait whose body is too small to be counted while
// it is carried out, and refuses another for which there is no memory.
func TestBodiesOfWaitingWritesAreCounted(t *testing.T) {
	f := &fixture{entered: make(chan struct{}, 9), leave: make(chan struct{}), log: &logBuffer{}}
	f.clock.Store(1_763_600_000_000)
	waits := make(chan struct{}, 9)
	slow := op(write, "slow", "/v1/slow", api.Anonymous)
	f.serve(t, Config{
		Writes: 1, BodyMax: 40 << 10, BodyMemory: 60 << 10,
		after: func(time.Duration) <-chan time.Time {
			waits <- struct{}{}
			return nil
		},
		Table: append(f.table(), api.Declare[api.None, echoed](slow,
			func(c *api.Call, _ *api.None) (api.Reply, error) {
				f.entered <- struct{}{}
				<-f.leave
				return echo(c, "written")
			})),
	}, nil)
	body := `{"text":"` + strings.Repeat("a", 35<<10) + `"}`
	head := "POST /v1/echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	first := f.dial(t)
	first.send("POST /v1/slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	<-f.entered
	second := f.dial(t)
	second.send(head + body)
	<-waits
	if held := f.RequestMemory(); held < int64(len(body)) {
		t.Errorf("%d bytes are held for a body of %d that waits", held, len(body))
	}
	if a := f.post(t, "/v1/echo", body); a.status != 429 ||
		a.envelope(t).Error.Details["reason"] != "BODY_MEMORY" {
		t.Errorf("a body without memory: %d %s", a.status, a.body)
	}
	close(f.leave)
	for _, one := range []*wire{first, second} {
		if a := one.receive("POST"); a.status >= 400 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if held, got := f.RequestMemory(), f.Writes(); held != 0 || got != (WriteStats{}) {
		t.Errorf("AFTER all answers: %d bytes, %+v", held, got)
	}
}

func BenchmarkAdmission(b *testing.B) {
	a := newAdmission(writesRunning)
	who, project := partyAt("192.0.2.1", firstAgent), projectNumber(1)
	b.RunParallel(func(pb *testing.PB) {
		var p permit
		for pb.Next() {
			a.enter(&p, who, project)
			a.leave(&p)
		}
	})
}
