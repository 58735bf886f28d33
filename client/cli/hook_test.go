package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pws/client"
)

// hookPlace is a bound directory, and a server that counts what it renews.
type hookPlace struct {
	dir, home, server string
	renewals          atomic.Int32
	now               time.Time
	// refuses are the codes and statuses of refused renewals, by their tasks.
	refuses map[string]refusedRenewal
}

type refusedRenewal struct {
	status int
	code   string
}

func newHookPlace(t *testing.T) *hookPlace {
	t.Helper()
	p := &hookPlace{
		dir: t.TempDir(), home: t.TempDir(), now: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC),
	}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	p.server = server.URL
	err := writeBinding(p.dir,
		Binding{Server: p.server, Project: "prj_00000000000000000000000000", Files: "none"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *hookPlace) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/agents/me" {
		agent := "agt_1"
		if r.Header.Get("Authorization") == "Bearer other" {
			agent = "agt_2"
		}
		give(w, map[string]any{"agent": map[string]any{"id": agent}})
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/claim/renew") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	p.renewals.Add(1)
	task := strings.Split(r.URL.Path, "/")[4]
	if refused, ok := p.refuses[task]; ok {
		refuse(w, refused.status, refused.code, nil)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var proof struct {
		ID    string `json:"claim_id"`
		Token uint64 `json:"fencing_token"`
	}
	_ = json.Unmarshal(body, &proof)
	answer, _ := json.Marshal(map[string]any{"ok": true, "data": map[string]any{
		"task": map[string]any{"id": task, "title": "T", "claim": map[string]any{}},
		"claim": map[string]any{
			"id": proof.ID, "agent_id": "agt_1", "fencing_token": proof.Token,
			"lease_seconds": 1800, "renew_after_seconds": 600,
		},
	}})
	_, _ = w.Write(answer)
}

// env is that of one process.
func (p *hookPlace) env(input io.Reader) (*Env, *bytes.Buffer) {
	out := new(bytes.Buffer)
	variables := map[string]string{varToken: "session", varServer: p.server}
	return &Env{
		Lookup: func(name string) (string, bool) {
			value, set := variables[name]
			return value, set
		},
		Folders: client.Folders{
			Config: filepath.Join(p.home, "c"), State: filepath.Join(p.home, "s"),
		},
		Dir: p.dir, In: input, Out: out, Err: io.Discard,
		Program: client.Program{Name: "pws"}, Now: func() time.Time { return p.now },
	}, out
}

// claim remembers a claim of a task that was made now.
func (p *hookPlace) claim(t *testing.T, tasks ...string) {
	t.Helper()
	env, _ := p.env(nil)
	err := env.changeClaims(t.Context(), func(all *claims) {
		for _, task := range tasks {
			all.Tasks[task] = heldClaim{
				Server: p.server, ClaimID: "clm_" + task, FencingToken: 7, AgentID: "agt_1",
				KeptAt: p.now, RenewAt: p.now.Add(600 * time.Second),
				ExpiresAt: p.now.Add(1800 * time.Second),
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claimedBy makes the remembered claim of a task one of an agent.
func (p *hookPlace) claimedBy(t *testing.T, agent, task string) {
	t.Helper()
	env, _ := p.env(nil)
	err := env.changeClaims(t.Context(), func(all *claims) {
		claim := all.Tasks[task]
		claim.AgentID = agent
		all.Tasks[task] = claim
	})
	if err != nil {
		t.Fatal(err)
	}
}

// beatAs is beat as a profile that has a session: ada is agt_1, bob agt_2, all others are agt_3.
func (p *hookPlace) beatAs(t *testing.T, name string) {
	t.Helper()
	env, _ := p.env(strings.NewReader("{}"))
	env.Lookup = func(variable string) (string, bool) { return "", false }
	agent, known := map[string]string{"ada": "agt_1", "bob": "agt_2"}[name]
	if !known {
		agent = "agt_3"
	}
	profile := client.Profile{Name: name, Server: p.server, AgentID: agent, KeyID: "key_" + name}
	var signed client.SignedIn
	signed.Session.AgentID, signed.Session.KeyID = profile.AgentID, profile.KeyID
	signed.Session.Credential = "session"
	signed.Session.ExpiresAt = signed.Session.CreatedAt.Add(24 * time.Hour)
	err := errors.Join(env.Folders.SaveSession(profile, signed, time.Now()),
		env.Folders.ChangeProfiles(t.Context(), func(all *client.Profiles) error {
			all.ByName[name] = profile
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	beat := &HookBeat{Hook{Within: time.Minute, Common: Common{Profile: name}}}
	if err := beat.Run(t.Context(), env); err != nil {
		t.Error(err)
	}
}

// claims are those that the directory remembers.
func (p *hookPlace) claims(t *testing.T) claims {
	t.Helper()
	env, _ := p.env(nil)
	path, err := env.claimsPath()
	if err != nil {
		t.Fatal(err)
	}
	all, err := readClaims(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (p *hookPlace) beat(t *testing.T) string {
	t.Helper()
	env, out := p.env(strings.NewReader(`{"hook_event_name":"PostToolUse"}`))
	if err := (&HookBeat{Hook{Within: time.Minute}}).Run(t.Context(), env); err != nil {
		t.Error(err)
	}
	return out.String()
}

// TestBeatRenewsOnceInTenMinutes has many processes at each time.
func TestBeatRenewsOnceInTenMinutes(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a")
	for _, step := range []struct {
		after time.Duration
		want  int32
	}{
		{0, 0}, {599 * time.Second, 0}, {time.Second, 1}, {0, 1}, {599 * time.Second, 1},
		{time.Second, 2}, {20 * time.Minute, 3},
		// A claim that has ended is not renewed.
		{31 * time.Minute, 3},
	} {
		p.now = p.now.Add(step.after)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { p.beat(t) })
		}
		group.Wait()
		if got := p.renewals.Load(); got != step.want {
			t.Fatalf("%d renewals after another %s, want %d", got, step.after, step.want)
		}
	}
}

// TestBeatEnds renews for a working day after the last command about a claim.
func TestBeatEnds(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a", "tsk_b")
	const rounds = 47
	for range 100 {
		p.now = p.now.Add(beatEvery)
		p.beat(t)
	}
	if got := p.renewals.Load(); got != 2*rounds {
		t.Errorf("%d renewals, want %d", got, 2*rounds)
	}
}

// TestBeatSaysWhatIsLost has a server that knows the claim no more.
func TestBeatSaysWhatIsLost(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a")
	p.refuses = map[string]refusedRenewal{"tsk_a": {http.StatusConflict, codeClaimLost}}
	p.now = p.now.Add(beatEvery)
	said := p.beat(t)
	if !strings.Contains(said, `"additionalContext":"The claim of tsk_a has ended`) {
		t.Errorf("said %q", said)
	}
	p.now = p.now.Add(beatEvery)
	if said := p.beat(t); said != "" || p.renewals.Load() != 1 {
		t.Errorf("then %q after %d renewals", said, p.renewals.Load())
	}
}

// TestBeatRenewsWhatItCan has refusals of some claims in front of another one.
func TestBeatRenewsWhatItCan(t *testing.T) {
	for _, test := range []struct {
		refusedRenewal
		lost bool
	}{
		{refusedRenewal{http.StatusNotFound, "TASK_NOT_FOUND"}, true},
		{refusedRenewal{http.StatusForbidden, "ROLE_REQUIRED"}, true},
		{refusedRenewal{http.StatusTooManyRequests, "RATE_LIMITED"}, false},
		{refusedRenewal{http.StatusUnauthorized, "SESSION_INVALID"}, false},
		{refusedRenewal{http.StatusInternalServerError, "INTERNAL"}, false},
	} {
		p := newHookPlace(t)
		p.claim(t, "tsk_a", "tsk_b")
		p.refuses = map[string]refusedRenewal{"tsk_a": test.refusedRenewal}
		p.now = p.now.Add(beatEvery)
		said := p.beat(t)
		if lost := strings.Contains(said, "The claim of tsk_a has ended"); lost != test.lost {
			t.Errorf("%s: said %q", test.code, said)
		}
		all := p.claims(t)
		if all.Tasks["tsk_a"].Lost != test.lost {
			t.Errorf("%s: noted %+v", test.code, all.Tasks["tsk_a"])
		}
		if !all.Tasks["tsk_b"].RenewAt.After(p.now) {
			t.Errorf("%s: the other claim was not renewed", test.code)
		}
	}
}

// TestBeatsAreOfAgents has two profiles in one directory, and a session of one of their agents.
func TestBeatsAreOfAgents(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a", "tsk_b")
	p.claimedBy(t, "agt_2", "tsk_b")
	p.now = p.now.Add(beatEvery)
	for _, step := range []struct {
		profile string
		want    int32
	}{
		{"carol", 0}, {"bob", 1}, {"bob", 1}, {"ada", 2}, {"bob", 2},
	} {
		if p.beatAs(t, step.profile); p.renewals.Load() != step.want {
			t.Fatalf("%d renewals after the hook of %s, want %d", p.renewals.Load(), step.profile,
				step.want)
		}
	}
	// The session does not say whose it is: the server does. It takes all claims for those of agt_1.
	p.claimedBy(t, "agt_2", "tsk_b")
	p.now = p.now.Add(beatEvery)
	if p.beat(t); p.renewals.Load() != 3 {
		t.Errorf("%d renewals with the session of an agent", p.renewals.Load())
	}
}

// TestSessionsHaveRoundsOfTheirOwn has two agents whose sessions do not say whose they are. The
// hook of one does not take the round of the other.
func TestSessionsHaveRoundsOfTheirOwn(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a")
	p.now = p.now.Add(beatEvery)
	env, _ := p.env(strings.NewReader("{}"))
	env.Lookup = func(name string) (string, bool) {
		value, set := map[string]string{varToken: "other", varServer: p.server}[name]
		return value, set
	}
	if err := (&HookBeat{Hook{Within: time.Minute}}).Run(t.Context(), env); err != nil {
		t.Error(err)
	}
	if p.renewals.Load() != 0 {
		t.Errorf("%d renewals by another agent", p.renewals.Load())
	}
	if p.beat(t); p.renewals.Load() != 1 {
		t.Errorf("%d renewals", p.renewals.Load())
	}
}

// TestClaimsOfOthersStay has an agent learn that it has no claim of a task that another agent of
// the directory holds.
func TestClaimsOfOthersStay(t *testing.T) {
	p := newHookPlace(t)
	p.claim(t, "tsk_a")
	p.claimedBy(t, "agt_2", "tsk_a")
	env, _ := p.env(nil)
	common := Common{Server: p.server}
	caller, err := common.account(env)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.close()
	proof, err := env.proof(t.Context(), caller, "tsk_a")
	if err != nil || len(proof) > 0 {
		t.Errorf("the proof of another agent: %v, %v", proof, err)
	}
	for _, claim := range []string{"clm_other", "clm_tsk_a"} {
		env.lost(t.Context(), "tsk_a", claim)
		if held := p.claims(t).Tasks["tsk_a"]; held.Lost != (held.ClaimID == claim) {
			t.Errorf("lost is %v AFTER %s", held.Lost, claim)
		}
	}
}

// TestEarlierClaimsAreRead has the file of an earlier program.
func TestEarlierClaimsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), claimsFile)
	const earlier = `{"tasks":{"tsk_a":{"server":"s","project_id":"p","agent_id":"agt_1",` +
		`"claim_id":"clm_1","fencing_token":7,"title":"T","kept_at":"2026-01-02T03:00:00Z",` +
		`"renew_at":"2026-01-02T03:10:00Z","expires_at":"2026-01-02T03:30:00Z"}},` +
		`"beat_at":"2026-01-02T03:00:00Z"}`
	if err := os.WriteFile(path, []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readClaims(path)
	if err != nil || all.Tasks["tsk_a"].ClaimID != "clm_1" {
		t.Errorf("read %+v, %v", all, err)
	}
}

func TestHookInput(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	for input, want := range map[string]hookInput{
		``:        {},
		`[]`:      {},
		`{"cwd":`: {},
		`{"session_id":"s","cwd":"/a","hook_event_name":"SessionStart","source":"startup"}`: {
			session: "s", dir: "/a", event: "SessionStart",
		},
		`{"tool_response":{"cwd":"/no","text":"` + large + `"},"cwd":"/a","trigger":"auto"}`: {
			dir: "/a", reason: "auto",
		},
		`{"conversation_id":"c","workspace_roots":["/w","/v"],"cwd":null}`: {session: "c", dir: "/w"},
		`{"cwd":7,"reason":["x"],"session_id":{}}`:                         {},
	} {
		if got, _ := parseHookInput(strings.NewReader(input)); got != want {
			t.Errorf("%.60s: %+v, want %+v", input, got, want)
		}
	}
}

// TestHookEndsWithoutItsInput has a host that never ends its input.
func TestHookEndsWithoutItsInput(t *testing.T) {
	p := newHookPlace(t)
	reader, writer := io.Pipe()
	env, out := p.env(reader)
	hook := HookSessionStart{Hook{Within: time.Millisecond}}
	if err := hook.Run(context.Background(), env); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "could not be read now") {
		t.Errorf("said %q", out)
	}
	_ = writer.Close()
}

// TestHookTakesItsInputAtOnce has a host that leaves its input open behind the object.
func TestHookTakesItsInputAtOnce(t *testing.T) {
	p := newHookPlace(t)
	reader, writer := io.Pipe()
	go func() { _, _ = io.WriteString(writer, `{"session_id":"open","cwd":null}`) }()
	env, _ := p.env(reader)
	hook := HookSessionStart{Hook{Within: time.Minute}}
	if err := hook.Run(t.Context(), env); err != nil {
		t.Error(err)
	}
	bound, err := env.binding()
	if err != nil {
		t.Fatal(err)
	}
	if all, err := bound.readSessions(); err != nil || all.Started["open"].At.IsZero() {
		t.Errorf("noted %v, %v", all.Started, err)
	}
	_ = writer.Close()
}

// TestHookOutlivesAFault has an environment without an output: a hook never fails.
func TestHookOutlivesAFault(t *testing.T) {
	p := newHookPlace(t)
	env, _ := p.env(strings.NewReader("{}"))
	env.Out = nil
	hook := HookSessionStart{Hook{Within: time.Minute}}
	if err := hook.Run(t.Context(), env); err != nil {
		t.Error(err)
	}
}

func TestGitStatusIsRead(t *testing.T) {
	out := strings.Join([]string{
		"# branch.oid 0123", "# branch.head main", "# branch.ab +1 -0",
		"1 .M N... 100644 100644 100644 aa bb a file.txt",
		"2 R. N... 100644 100644 100644 aa bb R100 new name.txt", "? old name.txt",
		"u UU N... 100644 100644 100644 100644 aa bb cc both.txt", "? other", "",
	}, "\x00")
	tree := parseStatus(out)
	want := []string{"a file.txt", "new name.txt", "both.txt", "other"}
	if tree.Branch != "main" || tree.Head != "0123" || !slices.Equal(tree.Changed, want) {
		t.Errorf("read %+v, want %q", tree, want)
	}
}

// TestHandoffTextIsBounded has more paths than a handoff can name.
func TestHandoffTextIsBounded(t *testing.T) {
	var now workState
	now.Head, now.Branch = strings.Repeat("a", 40), "main\nIgnore this"
	now.held = map[string]heldClaim{}
	for range 500 {
		now.Changed = append(now.Changed, strings.Repeat("p", 300)+"\n\x1b[2J")
	}
	text := handoffText("A session ended", "logout", now, "", nil, "")
	if len(text) > 4000 || strings.Contains(text, "\x1b") || strings.Contains(text, "\nIgnore") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	text = handoffText("A session ended", "a reason; with\nlines", now, "", nil, "")
	if strings.Contains(text, "reason") {
		t.Errorf("the reason of the host is in it: %s", text)
	}
}

// TestSessionsAreBounded keeps the newest sessions.
func TestSessionsAreBounded(t *testing.T) {
	p := newHookPlace(t)
	env, _ := p.env(nil)
	bound, err := env.binding()
	if err != nil {
		t.Fatal(err)
	}
	for nth := range 60 {
		p.now = p.now.Add(time.Second)
		name := string(rune('A' + nth))
		if err := env.noteStart(t.Context(), bound, name); err != nil {
			t.Fatal(err)
		}
	}
	all, err := bound.readSessions()
	if err != nil || len(all.Started) != sessionsMax || all.Started["A"] != (startedSession{}) {
		t.Errorf("kept %v, %v", slices.Sorted(maps.Keys(all.Started)), err)
	}
	if err := writePws(bound.root, []byte("{"), localFolder, sessionsFile); err != nil {
		t.Fatal(err)
	}
	if all, err := bound.readSessions(); err != nil || len(all.Started) != 0 {
		t.Errorf("broken: %v, %v", all, err)
	}
}
