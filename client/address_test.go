package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// unavailable is the refusal of a server that is one of several.
func unavailable(reason string, header ...string) http.HandlerFunc {
	return answer(503, `{"ok":false,"error":{"code":"STORAGE_UNAVAILABLE","message":"No.","details":`+
		`{"reason":"`+reason+`"},"retryable":true},"meta":{"request_id":"req_2"}}`, header...)
}

// dead is an address that refuses connections.
func dead(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

// clocked makes a client whose pauses pass at once on a clock of its own.
func clocked(t *testing.T, credentials Credentials, all ...string) (*Client, *[]time.Duration) {
	t.Helper()
	c, waits := unwaiting(t, JoinAddresses(all), credentials)
	now, note := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC), c.wait
	c.now = func() time.Time { return now }
	c.wait = func(ctx context.Context, wait time.Duration) error {
		now = now.Add(wait)
		return note(ctx, wait)
	}
	return c, waits
}

// TestNextAddress has one request meet a first server that fails in some way, and a second one that
// answers.
func TestNextAddress(t *testing.T) {
	get, patch := Request{Method: "GET", Path: "/"}, Request{Method: "PATCH", Path: "/"}
	post := Request{Method: "POST", Path: "/", Key: "k"}
	put, harmless := Request{Method: "PUT", Path: "/"}, Request{Method: "PUT", Path: "/"}
	harmless.Harmless = true
	result := answer(200, `{"result":{"isError":true}}`)
	called := post
	called.Refusal = func([]byte) *Failure {
		return &Failure{Code: "STORAGE_UNAVAILABLE", Details: []byte(`{"reason":"OUTCOME_UNKNOWN"}`)}
	}
	for name, c := range map[string]struct {
		request Request
		first   http.HandlerFunc
		// one and two are the attempts at the first and the second server.
		one, two int32
		failed   bool
	}{
		"a read after a cut":                  {get, cut, 1, 1, false},
		"a write with a key after a cut":      {post, cut, 1, 1, false},
		"a write that says it is harmless":    {harmless, cut, 1, 1, false},
		"no write without a key after a cut":  {patch, cut, 1, 0, true},
		"no PUT without a key after a cut":    {put, cut, 1, 0, true},
		"any write that another server leads": {patch, unavailable("NOT_LEADING"), 1, 1, false},
		"any write at the end of a server":    {patch, refused(503, "SHUTTING_DOWN"), 1, 1, false},
		"a read of an unknown outcome":        {get, unavailable("OUTCOME_UNKNOWN"), 1, 1, false},
		"a key of an unknown outcome":         {post, unavailable("OUTCOME_UNKNOWN"), 1, 1, false},
		"no write of an unknown outcome":      {patch, unavailable("OUTCOME_UNKNOWN"), 1, 0, true},
		"no refusal of the service":           {post, refused(404, "TASK_NOT_FOUND"), 1, 0, true},
		"no server without space":             {post, unavailable("DISK_RESERVE"), attemptsMax, 0, true},
		"a refusal in an answer of success":   {called, result, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			one, atOne := script(t, c.first)
			var key string
			two, atTwo := script(t, func(w http.ResponseWriter, r *http.Request) {
				key = r.Header.Get("Idempotency-Key")
				answer(200, fine)(w, r)
			})
			client, waits := clocked(t, nil, one.URL, two.URL)
			if c.request.Refusal != nil {
				c.request.Refusal = func(body []byte) *Failure {
					if !strings.Contains(string(body), "isError") {
						return nil
					}
					return called.Refusal(body)
				}
			}
			_, err := client.Do(t.Context(), &c.request)
			if atOne.Load() != c.one || atTwo.Load() != c.two || (err != nil) != c.failed {
				t.Errorf("%d and %d attempts, error %v", atOne.Load(), atTwo.Load(), err)
			}
			if c.two > 0 && (key != c.request.Key || len(*waits) > 0) {
				t.Errorf("key %q after %v", key, *waits)
			}
		})
	}
}

// TestAddressThatAnsweredLast checks where requests begin: behind a dead address, and behind one
// whose connection broke though that request was not repeated.
func TestAddressThatAnsweredLast(t *testing.T) {
	live, _ := script(t, answer(200, fine), answer(200, fine), cut)
	other, atOther := script(t, answer(200, fine))
	client, waits := clocked(t, nil, dead(t), live.URL, other.URL)
	patch := &Request{Method: "PATCH", Path: "/"}
	for i, want := range []int32{1, 1, 2, 2} {
		_, err := client.Do(t.Context(), patch)
		if (err != nil) != (i == 2) {
			t.Errorf("request %d: %v", i, err)
		}
		if got := client.addresses.current.Load(); got != want {
			t.Errorf("request %d: the next one begins at %d, want %d", i, got, want)
		}
	}
	if atOther.Load() != 1 || len(*waits) > 0 {
		t.Errorf("%d requests at the third address, waits %v", atOther.Load(), *waits)
	}
}

func TestRoundsEnd(t *testing.T) {
	one, atOne := script(t, unavailable("NOT_LEADING", "Retry-After", "7"))
	two, atTwo := script(t, refused(503, "SHUTTING_DOWN"))
	client, waits := clocked(t, nil, one.URL, dead(t), two.URL)
	_, err := client.Do(t.Context(), &Request{Method: "PATCH", Path: "/"})
	if !IsCode(err, "SHUTTING_DOWN") || atOne.Load() != atTwo.Load() {
		t.Errorf("error %v after %d and %d attempts", err, atOne.Load(), atTwo.Load())
	}
	if len(*waits) != int(roundsFor/roundPauseMax) || slices.Max(*waits) != roundPauseMax {
		t.Errorf("waits %v", *waits)
	}
	*waits = nil
	client, waits = clocked(t, nil, dead(t), dead(t))
	_, err = client.Do(t.Context(), &Request{Method: "PATCH", Path: "/"})
	var lost *UnreachableError
	var total time.Duration
	for i, wait := range *waits {
		if total += wait; wait < min(firstPause<<i, roundPauseMax) || wait > roundPauseMax {
			t.Errorf("waits %v", *waits)
		}
	}
	if !errors.As(err, &lost) || total > roundsFor || total < roundsFor-roundPauseMax {
		t.Errorf("error %v after %s", err, total)
	}
}

func TestOneRoundWithoutRetries(t *testing.T) {
	one, atOne := script(t, unavailable("NOT_LEADING"))
	two, atTwo := script(t, refused(503, "SHUTTING_DOWN"))
	client, waits := clocked(t, nil, one.URL, two.URL)
	client.RetryFor = 0
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	if err == nil || atOne.Load() != 1 || atTwo.Load() != 1 || len(*waits) > 0 {
		t.Errorf("%v after %d and %d attempts, waits %v", err, atOne.Load(), atTwo.Load(), *waits)
	}
}

// TestSignInFails checks that addresses that gave no credential are not asked again for each other.
func TestSignInFails(t *testing.T) {
	client, waits := clocked(t, new(silentCredentials), dead(t), dead(t), dead(t))
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	asked := client.Credentials.(*silentCredentials).asked.Load()
	if err == nil || int(asked) != len(*waits)+1 {
		t.Errorf("%v: asked for a credential %d times, %d pauses", err, asked, len(*waits))
	}
}

type silentCredentials struct{ asked atomic.Int32 }

func (s *silentCredentials) Credential(context.Context) (string, error) {
	s.asked.Add(1)
	return "", &UnreachableError{Server: "http://h", Cause: errors.New("silence")}
}

func (s *silentCredentials) Renew(ctx context.Context, _ string) (string, error) {
	return s.Credential(ctx)
}

// TestSessionOfAList checks that neither the order of the addresses nor the one that is named loses
// the session, and that a profile of one address may get more.
func TestSessionOfAList(t *testing.T) {
	server, silent := newSignInServer(t), dead(t)
	folders, profile := profileIn(t, server.URL)
	for _, c := range []struct{ saved, via string }{
		{server.URL, ""}, {silent + "," + server.URL, ""}, {server.URL + "," + silent, ""},
		{silent + "," + server.URL, server.URL}, {server.URL, silent + "," + server.URL},
	} {
		profile.Server, profile.Via = c.saved, c.via
		client := sessionOf(t, folders, profile).Client()
		if err := client.Call(t.Context(), "GET", "/me", nil, nil); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		client.Close()
	}
	if got := server.opened.Load(); got != 1 {
		t.Errorf("%d sessions were opened", got)
	}
	var saved SavedSession
	text := mustRead(t, folders.sessionPath(profile.Name))
	if err := json.Unmarshal(text, &saved); err != nil || saved.Server != server.URL {
		t.Errorf("the session is of %q, %v", saved.Server, err)
	}
	if err := folders.EndSession(t.Context(), profile); err != nil || server.ended.Load() != 1 {
		t.Errorf("%d sessions were ended, %v", server.ended.Load(), err)
	}
}

func TestEventsResumeAtTheNextAddress(t *testing.T) {
	var resumed []string
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			resumed = append(resumed, r.Header.Get("Last-Event-ID"))
			answer(200, text, "Content-Type", "text/event-stream")(w, r)
		}
	}
	one, _ := script(t, stream("id: c1\ndata: 1\n\n"), unavailable("NOT_LEADING"))
	two, _ := script(t, stream("id: c2\ndata: 2\n\n"), unavailable("NOT_LEADING"),
		stream("id: c3\ndata: 3\n\n"))
	client, waits := clocked(t, nil, one.URL, two.URL)
	var got []string
	enough := errors.New("enough")
	err := client.Events(t.Context(), "/events", "c0", func(event Event) error {
		if got = append(got, event.ID); len(got) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !slices.Equal(got, []string{"c1", "c2", "c3"}) {
		t.Errorf("events %q, %v", got, err)
	}
	if !slices.Equal(resumed, []string{"c0", "c1", "c2"}) || len(*waits) != 2 {
		t.Errorf("resumed behind %q, waits %v", resumed, *waits)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string][]string{
		"http://a":                       {"http://a"},
		" http://a/ , http://b,http://a": {"http://a", "http://b"},
		"http://a/x/,":                   {"http://a/x"},
		"":                               {""},
	} {
		if got := Addresses(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"http://a", "http://a", true}, {"http://a", "http://a.b", false},
		{"http://a,http://b", "http://b", true}, {"http://b,http://a", "http://a,http://b", true},
		{"http://a,http://b", "http://c,http://d", false}, {"", "", true}, {"http://a", "", false},
	} {
		if got := SameService(c.one, c.other); got != c.same {
			t.Errorf("%q and %q: %t", c.one, c.other, got)
		}
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// piped makes a client whose connections are pipes, in a bubble of synctest. The far end is served
// by its host.
func piped(t *testing.T, server string, hosts map[string]func(net.Conn)) (*Client, *int) {
	t.Helper()
	client, made := New(server, nil), new(int)
	t.Cleanup(client.Close)
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		near, far := net.Pipe()
		t.Cleanup(func() { _ = far.Close() })
		*made++
		host, _, _ := strings.Cut(address, ":")
		go hosts[host](far)
		return near, nil
	}
	for _, one := range []*http.Client{client.http, client.prompt} {
		transport := one.Transport.(*http.Transport)
		transport.Proxy, transport.DialContext = nil, dial
	}
	return client, made
}

// silent reads what it is sent.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// TestSilentAddress has an address take connections and say nothing, as a machine does that hangs:
// no request was sent there, so any goes on.
func TestSilentAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, made := piped(t, "https://silent,http://live", map[string]func(net.Conn){
			"silent": silent, "live": func(conn net.Conn) { answerLate(t.Context(), conn, 0) },
		})
		begun := time.Now()
		_, err := client.Do(t.Context(), &Request{Method: "PATCH", Path: "/"})
		if took := time.Since(begun); err != nil || took != dialTimeoutSeveral || *made != 2 {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestHungAddress has a first address take a request and say nothing, as a server does whose
// process is stopped, and a second one that answers, maybe late.
func TestHungAddress(t *testing.T) {
	get, write := Request{Method: "GET", Path: "/?limit=1"}, Request{Method: "PATCH", Path: "/"}
	post := Request{Method: "POST", Path: "/", Key: "k"}
	poll := Request{Method: "GET", Path: "/?wait=9"}
	call := post
	call.Slow = true
	const late = 40 * time.Second
	for name, c := range map[string]struct {
		request Request
		other   time.Duration
		// want is how long the request takes, then that of a read behind it.
		want, then time.Duration
		failed     bool
	}{
		"a read goes on":             {get, 0, promptTimeout, 0, false},
		"a write with a key goes on": {post, 0, promptTimeout, 0, false},
		"a service that is slow": {
			get, late, 2*promptTimeout + headerTimeout + late, 2*promptTimeout + late, false,
		},
		"a poll takes its time":         {poll, 0, headerTimeout, 0, false},
		"a call that polls does":        {call, 0, headerTimeout, 0, false},
		"a write without a key is lost": {write, 0, headerTimeout, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := piped(t, "http://hung,http://live", map[string]func(net.Conn){
					"hung": silent,
					"live": func(conn net.Conn) { answerLate(t.Context(), conn, c.other) },
				})
				begun := time.Now()
				_, err := client.Do(t.Context(), &c.request)
				if took := time.Since(begun); (err != nil) != c.failed || took != c.want {
					t.Fatalf("%v after %s, want %s", err, took, c.want)
				}
				begun = time.Now()
				_, err = client.Do(t.Context(), &get)
				if took := time.Since(begun); err != nil || took != c.then {
					t.Errorf("then %v after %s, want %s", err, took, c.then)
				}
			})
		})
	}
}

// TestSlowAddress has the other address be dead: the slow one gets its time. Without repetitions
// only the last one does.
func TestSlowAddress(t *testing.T) {
	const late = 40 * time.Second
	for name, c := range map[string]struct {
		server string
		retry  time.Duration
		want   time.Duration
		failed bool
	}{
		"the other one is dead": {
			"http://slow,http://dead", RetryUsually, promptTimeout + late, false,
		},
		"and the first one": {
			"http://dead,http://slow", RetryUsually, promptTimeout + late, false,
		},
		"no repetitions":             {"http://slow,http://dead", 0, promptTimeout, true},
		"no repetitions of the last": {"http://dead,http://slow", 0, late, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := piped(t, c.server, map[string]func(net.Conn){
					"dead": func(conn net.Conn) { _ = conn.Close() },
					"slow": func(conn net.Conn) { answerLate(t.Context(), conn, late) },
				})
				client.RetryFor = c.retry
				begun := time.Now()
				_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
				if took := time.Since(begun); (err != nil) != c.failed || took != c.want {
					t.Errorf("%v after %s, want %s", err, took, c.want)
				}
			})
		})
	}
}

// TestOneHungAddress has no other address to go to.
func TestOneHungAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := piped(t, "http://hung", map[string]func(net.Conn){"hung": silent})
		client.RetryFor = 0
		begun := time.Now()
		_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
		if took := time.Since(begun); err == nil || took != headerTimeout {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestStalledBodies has an address stop in the middle of a body: of a request that it does not
// read, and of an answer.
func TestStalledBodies(t *testing.T) {
	half := func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":")
		}
	}
	post := Request{Method: "POST", Path: "/", Key: "k", Body: make([]byte, 1<<20)}
	get := Request{Method: "GET", Path: "/"}
	for name, c := range map[string]struct {
		server  string
		request Request
		want    time.Duration
		failed  bool
	}{
		"a request, another address":      {"http://deaf,http://live", post, promptTimeout, false},
		"a request, the only address":     {"http://deaf", post, headerTimeout, true},
		"an answer, another address":      {"http://half,http://live", get, headerTimeout, false},
		"an answer, the only address":     {"http://half", get, headerTimeout, true},
		"neither, with a body that flows": {"http://live", post, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := piped(t, c.server, map[string]func(net.Conn){
					"deaf": func(net.Conn) {}, "half": half,
					"live": func(conn net.Conn) { answerLate(t.Context(), conn, 0) },
				})
				client.RetryFor = 0
				if !c.failed {
					client.RetryFor = RetryUsually
				}
				begun := time.Now()
				_, err := client.Do(t.Context(), &c.request)
				if took := time.Since(begun); (err != nil) != c.failed || took != c.want {
					t.Errorf("%v after %s, want %s", err, took, c.want)
				}
			})
		})
	}
}

// answerLate answers each request of a connection after a time.
func answerLate(ctx context.Context, conn net.Conn, after time.Duration) {
	requests := bufio.NewReader(conn)
	for {
		if _, err := http.ReadRequest(requests); err != nil || Pause(ctx, after) != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}
}
