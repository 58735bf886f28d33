package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unwaiting makes a client whose pauses end at once and are noted.
func unwaiting(t *testing.T, server string, credentials Credentials) (*Client, *[]time.Duration) {
	t.Helper()
	c, waits := New(server, credentials), new([]time.Duration)
	c.wait = func(ctx context.Context, wait time.Duration) error {
		*waits = append(*waits, wait)
		return ctx.Err()
	}
	t.Cleanup(c.Close)
	return c, waits
}

// script serves one handler for each request, in order, and the last one for all others.
func script(t *testing.T, handlers ...http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	count := new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := int(count.Add(1)) - 1
		handlers[min(at, len(handlers)-1)](w, r)
	}))
	t.Cleanup(server.Close)
	return server, count
}

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// cut ends the connection without an answer, after the request has arrived.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const (
	fine    = `{"ok":true,"data":{"n":1},"meta":{"request_id":"req_1"}}`
	refusal = `{"ok":false,"error":{"code":"%CODE","message":"No.","details":{"agent_id":"agt_1"},` +
		`"retryable":true},"meta":{"request_id":"req_2"}}`
)

func refused(status int, code string, header ...string) http.HandlerFunc {
	return answer(status, strings.Replace(refusal, "%CODE", code, 1), header...)
}

func TestRequestsAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		request  Request
		answers  []http.HandlerFunc
		attempts int32
		code     string // of the failure in the end, empty for success
	}{
		"a read after a cut": {
			Request{Method: "GET", Path: "/"}, []http.HandlerFunc{cut, answer(200, fine)}, 2, "",
		},
		"a write with a key after a cut": {
			Request{Method: "POST", Path: "/", Key: "k"},
			[]http.HandlerFunc{cut, answer(201, fine)}, 2, "",
		},
		"no write without a key after a cut": {
			Request{Method: "POST", Path: "/"}, []http.HandlerFunc{cut}, 1, "-",
		},
		"any write that was refused by a limit": {
			Request{Method: "PATCH", Path: "/"},
			[]http.HandlerFunc{refused(429, "RATE_LIMITED"), answer(200, fine)}, 2, "",
		},
		"any write that did not arrive in time": {
			Request{Method: "POST", Path: "/"},
			[]http.HandlerFunc{refused(408, "REQUEST_TIMEOUT"), answer(201, fine)}, 2, "",
		},
		"a key whose request still runs": {
			Request{Method: "POST", Path: "/", Key: "k"},
			[]http.HandlerFunc{refused(409, "IDEMPOTENCY_IN_PROGRESS"), answer(201, fine)}, 2, "",
		},
		"no other refusal": {
			Request{Method: "GET", Path: "/"},
			[]http.HandlerFunc{refused(404, "TASK_NOT_FOUND")}, 1, "TASK_NOT_FOUND",
		},
		"an answer of JSON-RPC with a code": {
			Request{Method: "POST", Path: "/mcp", Key: "k"},
			[]http.HandlerFunc{
				answer(429, `{"jsonrpc":"2.0","id":1,"error":{"code":-32011,"data":{"code":"RATE_LIMITED"}}}`),
				answer(404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"data":{"code":"X"}}}`),
			}, 2, "X",
		},
		"five times": {
			Request{Method: "GET", Path: "/"},
			[]http.HandlerFunc{refused(503, "SHUTTING_DOWN")}, attemptsMax, "SHUTTING_DOWN",
		},
		"the answer of a proxy": {
			Request{Method: "PUT", Path: "/"},
			[]http.HandlerFunc{answer(502, "<html>"), answer(200, fine)}, 2, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server, count := script(t, c.answers...)
			client, _ := unwaiting(t, server.URL, nil)
			_, err := client.Do(t.Context(), &c.request)
			var lost *UnreachableError
			switch {
			case c.code == "" && err != nil,
				c.code == "-" && !errors.As(err, &lost),
				c.code != "" && c.code != "-" && !IsCode(err, c.code):
				t.Errorf("error %v", err)
			}
			if count.Load() != c.attempts {
				t.Errorf("%d attempts, want %d", count.Load(), c.attempts)
			}
		})
	}
}

// TestConditionsNeedAKey: a write that was carried out has made its own condition false. It is
// repeated with a key alone.
func TestConditionsNeedAKey(t *testing.T) {
	for _, header := range []http.Header{{"If-Match": {`"chg_1"`}}, {"If-None-Match": {"*"}}} {
		for key, attempts := range map[string]int32{"": 1, "k": 2} {
			server, count := script(t, cut, answer(200, fine))
			client, _ := unwaiting(t, server.URL, nil)
			_, err := client.Do(t.Context(), &Request{
				Method: "PUT", Path: "/", Key: key, Header: header,
			})
			if count.Load() != attempts || (err == nil) != (key != "") {
				t.Errorf("%v with key %q: %d attempts, %v", header, key, count.Load(), err)
			}
		}
	}
}

// TestCallsAreRepeated: each call that changes something has a key and outlives a lost answer.
func TestCallsAreRepeated(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		var keys [attemptsMax]string
		var count atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := count.Add(1) - 1
			if keys[at] = r.Header.Get("Idempotency-Key"); at == 0 {
				cut(w, r)
			}
			answer(200, fine)(w, r)
		}))
		client, _ := unwaiting(t, server.URL, nil)
		err := client.Call(t.Context(), method, "/", nil, nil)
		server.Close()
		reads := method == "GET" || method == "HEAD"
		if err != nil || count.Load() != 2 || keys[0] != keys[1] || (keys[0] == "") != reads {
			t.Errorf("%s: %d attempts with keys %q, %v", method, count.Load(), keys, err)
		}
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	server, _ := script(t, refused(429, "RATE_LIMITED", "Retry-After", "7"), answer(200, fine))
	client, waits := unwaiting(t, server.URL, nil)
	if _, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{7 * time.Second}; !slices.Equal(*waits, want) {
		t.Errorf("waits %v, want %v", *waits, want)
	}
}

func TestMoreAttempts(t *testing.T) {
	server, count := script(t, refused(503, "SHUTTING_DOWN"))
	client, waits := unwaiting(t, server.URL, nil)
	client.Attempts = 8
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	var failure *Failure
	if !errors.As(err, &failure) || failure.Answer.Status != 503 || count.Load() != 8 {
		t.Errorf("error %v after %d attempts", err, count.Load())
	}
	for i, least := range []time.Duration{1, 2, 4, 8, 16, 16, 16} {
		if least *= firstPause; (*waits)[i] < least || (*waits)[i] > 2*least {
			t.Errorf("pause %s, want %s and up to as much again", (*waits)[i], least)
		}
	}
}

func TestNoRetryBeyondItsTime(t *testing.T) {
	server, count := script(t, refused(429, "RATE_LIMITED", "Retry-After", "3600"))
	client, _ := unwaiting(t, server.URL, nil)
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	if !IsCode(err, "RATE_LIMITED") || count.Load() != 1 {
		t.Errorf("error %v after %d attempts", err, count.Load())
	}
}

func TestRefusedConnectionIsRepeatedForAnyWrite(t *testing.T) {
	client, waits := clocked(t, nil, dead(t))
	_, err := client.Do(t.Context(), &Request{Method: "PATCH", Path: "/"})
	var lost *UnreachableError
	var total time.Duration
	for _, wait := range *waits {
		total += wait
	}
	if !errors.As(err, &lost) || total > RetryUsually || total < RetryUsually-2*longestPause {
		t.Errorf("error %v after %s", err, total)
	}
}

// TestServerComesBack has a server that asks to come again after it could not be reached for longer
// than requests are repeated that it answers.
func TestServerComesBack(t *testing.T) {
	answers := slices.Repeat([]http.HandlerFunc{cut}, attemptsMax)
	server, count := script(t, append(answers, refused(503, "X"), answer(200, fine))...)
	client, _ := clocked(t, nil, server.URL)
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	if err != nil || count.Load() != attemptsMax+2 {
		t.Errorf("error %v after %d attempts", err, count.Load())
	}
}

func TestKeyStaysTheSame(t *testing.T) {
	// Each request comes on a connection of its own, whose goroutine the others do not know.
	var mu sync.Mutex
	var keys []string
	note := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			mu.Unlock()
			then(w, r)
		}
	}
	server, _ := script(t, note(cut), note(cut), note(answer(201, fine)))
	client, _ := unwaiting(t, server.URL, nil)
	var output struct {
		N int `json:"n"`
	}
	if err := client.Call(t.Context(), "POST", "/", struct{}{}, &output); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] || output.N != 1 {
		t.Errorf("keys %q, output %v", keys, output)
	}
}

func TestCredentialStaysWithItsServer(t *testing.T) {
	other, asked := script(t, answer(200, fine))
	server, _ := script(t, answer(307, "", "Location", other.URL))
	client, _ := unwaiting(t, server.URL, Fixed("secret"))
	_, err := client.Do(t.Context(), &Request{Method: "GET", Path: "/"})
	var failure *Failure
	if !errors.As(err, &failure) || failure.Redirect() != other.URL ||
		!strings.Contains(failure.Message, other.URL) {
		t.Errorf("the redirect is %v", err)
	}
	if asked.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// testKey is the key of all profiles.
var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// signInServer opens sessions and accepts the credential of the newest one.
type signInServer struct {
	*httptest.Server
	opened, ended atomic.Int32
}

func newSignInServer(t *testing.T) *signInServer {
	t.Helper()
	s := new(signInServer)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/auth/challenge", answer(201,
		`{"ok":true,"data":{"challenge_id":"cha_1","challenge":"c","signing_payload":`+
			`"pws/v1|session|cha_1|c|`+PublicText(testKey)+`|t|agt_1"}}`))
	mux.HandleFunc("POST /api/v1/auth/session", func(w http.ResponseWriter, r *http.Request) {
		n := strconv.Itoa(int(s.opened.Add(1)))
		answer(201, `{"ok":true,"data":{"session":{"id":"ses_1","agent_id":"agt_1","key_id":"key_1",`+
			`"credential":"secret`+n+`","created_at":"2026-01-01T00:00:00Z",`+
			`"expires_at":"2026-01-01T01:00:00Z"}}}`)(w, r)
	})
	mux.HandleFunc("DELETE /api/v1/auth/session", func(w http.ResponseWriter, r *http.Request) {
		s.ended.Add(1)
		answer(200, fine)(w, r)
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		newest := "Bearer secret" + strconv.Itoa(int(s.opened.Load()))
		if r.Header.Get("Authorization") != newest {
			refused(401, codeSessionExpired)(w, r)
			return
		}
		answer(200, fine)(w, r)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// profileIn makes folders and a profile with a key.
func profileIn(t *testing.T, server string) (Folders, Profile) {
	t.Helper()
	dir := t.TempDir()
	folders := Folders{Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state")}
	profile := Profile{Name: "p", Server: server, AgentID: "agt_1", KeyID: "key_1"}
	if err := SaveKey(folders.KeyPath(profile), testKey); err != nil {
		t.Fatal(err)
	}
	return folders, profile
}

func sessionOf(t *testing.T, folders Folders, profile Profile) *Session {
	t.Helper()
	s := NewSession(folders, profile, Program{"test", "1"}, folders.Key(profile))
	t.Cleanup(s.Close)
	return s
}

// TestOneSessionForAll has many clients of one profile, each with a Session of its own as in a
// process of its own, meet a session that the server has ended.
func TestOneSessionForAll(t *testing.T) {
	server := newSignInServer(t)
	folders, profile := profileIn(t, server.URL)
	for round := range int32(2) {
		var group sync.WaitGroup
		for range 20 {
			session := sessionOf(t, folders, profile)
			client, _ := unwaiting(t, server.URL, session)
			group.Go(func() {
				for range 3 {
					if err := client.Call(t.Context(), "GET", "/me", nil, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		if got := server.opened.Load(); got != 2*round+1 {
			t.Fatalf("%d sessions were opened in round %d", got, round)
		}
		server.opened.Add(1) // The server accepts the credential no longer.
	}
}

// TestFailedSignInIsShared has a caller wait for a sign-in that fails: it gets that error, and asks
// for no other one. A later caller does.
func TestFailedSignInIsShared(t *testing.T) {
	server := newSignInServer(t)
	folders, profile := profileIn(t, server.URL)
	session := sessionOf(t, folders, profile)
	failed := errors.New("the server hangs")
	session.mu.failed, session.mu.failedAt = failed, time.Now().Add(time.Hour)
	if _, err := session.Credential(t.Context()); !errors.Is(err, failed) {
		t.Errorf("the error is %v", err)
	}
	session.mu.failedAt = time.Now()
	if _, err := session.Credential(t.Context()); err != nil || server.opened.Load() != 1 {
		t.Errorf("%d sessions were opened: %v", server.opened.Load(), err)
	}
}

func TestSessionIsRenewedBeforeItEnds(t *testing.T) {
	server := newSignInServer(t)
	folders, profile := profileIn(t, server.URL)
	session := sessionOf(t, folders, profile)
	begin := time.Date(2031, 5, 1, 0, 0, 0, 0, time.UTC) // Not the server's clock.
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "secret1"}, {47 * time.Minute, "secret1"}, {48 * time.Minute, "secret2"},
		{-time.Hour, "secret2"}, // The clock was put back.
	} {
		session.now = func() time.Time { return begin.Add(step.after) }
		got, err := session.Credential(t.Context())
		if err != nil || got != step.want {
			t.Errorf("after %s: %q, %v; want %q", step.after, got, err, step.want)
		}
	}
}

func TestSessionFileOfAnotherKeyIsReplaced(t *testing.T) {
	server := newSignInServer(t)
	folders, profile := profileIn(t, server.URL)
	if _, err := sessionOf(t, folders, profile).Credential(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(path string, p *Profile) error{
		func(_ string, p *Profile) error { p.KeyID = "key_2"; return nil },
		func(path string, _ *Profile) error { return os.WriteFile(path, []byte("{"), privateFile) },
		func(path string, _ *Profile) error { return os.Remove(path) },
		func(path string, _ *Profile) error { return os.Chmod(path, 0o644) },
	} {
		other, before := profile, server.opened.Load()
		if err := spoil(folders.sessionPath(profile.Name), &other); err != nil {
			t.Fatal(err)
		}
		if _, err := sessionOf(t, folders, other).Credential(t.Context()); err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && server.opened.Load() != before+1 {
			t.Error("the file was used")
		}
	}
}

func TestKeyFile(t *testing.T) {
	folders, profile := profileIn(t, "http://localhost")
	path := folders.KeyPath(profile)
	key, err := ReadKey(path)
	if err != nil || len(PublicText(key)) != 43 {
		t.Fatal(key, err)
	}
	if err := SaveKey(path, key); err == nil {
		t.Error("a key was overwritten")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	var open *OpenFileError
	if _, err := ReadKey(path); !errors.As(err, &open) || open.Path != path {
		t.Errorf("a key that others can read: %v", err)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != privateFolder {
		t.Errorf("the folder of keys has mode %v, %v", info.Mode(), err)
	}
}

func TestProfilesChangeTogether(t *testing.T) {
	folders, profile := profileIn(t, "http://localhost")
	if _, err := mustProfiles(t, folders).Get(""); !errors.Is(err, ErrNoProfile) {
		t.Errorf("no profiles: %v", err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			err := folders.ChangeProfiles(t.Context(), func(all *Profiles) error {
				one := profile
				one.Handle = "h" + strconv.Itoa(i)
				all.ByName["p"+strconv.Itoa(i)] = one
				all.Default = "p0"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all := mustProfiles(t, folders)
	if got, err := all.Get(""); err != nil || got.Name != "p0" || got.Handle != "h0" {
		t.Errorf("default profile %v, %v", got, err)
	}
	if len(all.Names()) != 20 {
		t.Errorf("profiles %q", all.Names())
	}
	for _, text := range []string{"default = 1", "[profiles.'a/b']\n", "colour = 'red'", "["} {
		if err := os.WriteFile(folders.profilesPath(), []byte(text), privateFile); err != nil {
			t.Fatal(err)
		}
		if _, err := folders.Profiles(); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func mustProfiles(t *testing.T, folders Folders) Profiles {
	t.Helper()
	all, err := folders.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSessionWithoutFiles has a process that cannot write its files, as in a sandbox: it has one
// session, and ends it.
func TestSessionWithoutFiles(t *testing.T) {
	for name, spoil := range map[string]func(state string) error{
		"no folder": func(state string) error { return os.WriteFile(state, nil, privateFile) },
		"no file": func(state string) error {
			return errors.Join(os.MkdirAll(filepath.Join(state, "locks"), privateFolder),
				os.WriteFile(filepath.Join(state, "sessions"), nil, privateFile))
		},
	} {
		server := newSignInServer(t)
		folders, profile := profileIn(t, server.URL)
		if err := spoil(folders.State); err != nil {
			t.Fatal(err)
		}
		session := sessionOf(t, folders, profile)
		client, _ := unwaiting(t, server.URL, session)
		for range 2 {
			if err := client.Call(t.Context(), "GET", "/me", nil, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		session.Close()
		session.Close()
		if opened, ended := server.opened.Load(), server.ended.Load(); opened != 1 || ended != 1 {
			t.Errorf("%s: %d sessions opened, %d ended", name, opened, ended)
		}
	}
}

func TestUnwritableFolder(t *testing.T) {
	folders := Folders{Config: filepath.Join(t.TempDir(), "file", "config")}
	if err := os.WriteFile(filepath.Dir(folders.Config), nil, privateFile); err != nil {
		t.Fatal(err)
	}
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	err = SaveKey(folders.KeyPath(Profile{Name: "p"}), key)
	if err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
}

func TestEventsResume(t *testing.T) {
	var resumed []string
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			resumed = append(resumed, r.Header.Get("Last-Event-ID"))
			answer(200, text, "Content-Type", "text/event-stream; charset=utf-8")(w, r)
		}
	}
	server, _ := script(t,
		stream(": hello\n\nid: c1\nevent: a\ndata: 1\n\nid: c2\nevent: b\ndata: 2\n"),
		refused(503, "SHUTTING_DOWN"),
		stream("id: c3\nevent: b\ndata: 2\ndata: 3\n\nevent: c\ndata: 4\n\n"),
		stream(":\nid: c4\n\n"),
		stream("id: c5\ndata: 5\n\n"),
	)
	client, _ := unwaiting(t, server.URL, nil)
	var got []Event
	enough := errors.New("enough")
	err := client.Events(t.Context(), "/events", "c0", func(event Event) error {
		if got = append(got, event); len(got) == 4 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	want := []Event{{"c1", "a", "1"}, {"c3", "b", "2\n3"}, {"", "c", "4"}, {"c5", "", "5"}}
	resumes := []string{"c0", "c1", "c3", "c4"}
	if !slices.Equal(got, want) || !slices.Equal(resumed, resumes) {
		t.Errorf("events %v, resumed behind %q", got, resumed)
	}
}

// TestEventsOutliveAProxy has failures of something on the way that say nothing about retrying.
func TestEventsOutliveAProxy(t *testing.T) {
	answers := []http.HandlerFunc{}
	for _, status := range []int{408, 429, 502, 503, 504} {
		answers = append(answers, answer(status, "<html>"))
	}
	answers = append(answers, answer(200, "id: c1\ndata: 1\n\n", "Content-Type", eventStream),
		answer(403, "<html>"))
	server, asked := script(t, answers...)
	client, _ := unwaiting(t, server.URL, nil)
	got := 0
	err := client.Events(t.Context(), "/events", "", func(Event) error {
		got++
		return nil
	})
	if !IsCode(err, CodeNoAnswer) || got != 1 || int(asked.Load()) != len(answers) {
		t.Errorf("%d events of %d connections, %v", got, asked.Load(), err)
	}
}
