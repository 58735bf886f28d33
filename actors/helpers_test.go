package actors

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// quiet is a configuration in which nothing happens by itself.
func quiet(dir string) Config {
	return Config{
		Dir: dir, ReserveBytes: -1, Log: slog.New(slog.DiscardHandler),
		SnapshotEvery: time.Hour, SweepEvery: time.Hour, PassivateAfter: time.Millisecond,
		NoSearch: true,
	}
}

// beginDay moves the clock to the first minute of the next day in UTC, for tests that count a day:
// no run of theirs meets midnight.
func beginDay(e *Engine) {
	const day = 24 * 3600 * 1000
	e.Advance(day - e.Now()%day + 60_000)
}

// start opens an engine that is closed at the end of the test at the latest.
func start(t testing.TB, config Config) *Engine {
	t.Helper()
	e, _, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, e) })
	return e
}

func stop(t testing.TB, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// saveAll saves all that was answered. A save covers what the log has counted as durable, which it
// does AFTER it has notified the writers.
func saveAll(t testing.TB, e *Engine) {
	t.Helper()
	for stats := e.journal.Stats(); stats.Durable < stats.Last; stats = e.journal.Stats() {
		runtime.Gosched()
	}
	if err := e.Save(); err != nil {
		t.Fatal(err)
	}
}

func register(t testing.TB, e *Engine, handle string) id.ID {
	t.Helper()
	return (&service{Engine: e, t: t}).register(handle)
}

// createProject makes a project of an owner.
func createProject(t testing.TB, e *Engine, owner id.ID, visibility work.Visibility) id.ID {
	t.Helper()
	project := e.stamp(owner).ID(0)
	mustDo(t, e, project, owner, creationOf(project, visibility))
	return project
}

func creationOf(project id.ID, visibility work.Visibility) *work.CreateProject {
	return &work.CreateProject{ID: project, Kind: work.Standard, About: work.About{
		Name: "project", Visibility: visibility, Reuse: work.AllowReuse, License: "MIT",
	}}
}

func putOf(path, content string) *work.PutFile {
	return &work.PutFile{Path: path, Blob: blobOf(content), ContentType: "text/plain"}
}

func put(e *Engine, project, who id.ID, path, content string) (api.Done, error) {
	return e.Do(api.Order{Project: project, Agent: who, Command: putOf(path, content)})
}

func mustPut(t testing.TB, e *Engine, project, who id.ID, path, content string) {
	t.Helper()
	if _, err := put(e, project, who, path, content); err != nil {
		t.Fatal(err)
	}
}

// keyFor is an Idempotency-Key of a name, for a request of a name.
func keyFor(key, request string) *api.IdempotencyKey {
	k, r := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(request))
	return &api.IdempotencyKey{Hash: [16]byte(k[:]), Fingerprint: [16]byte(r[:])}
}

func viewOf(t testing.TB, e *Engine, project id.ID) *work.Project {
	t.Helper()
	p, err := e.Project(project)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// contentOf is what a file of a view holds, and false where there is no such file. A content that
// is named and missing is an error.
func contentOf(e *Engine, p *work.Project, path string) (string, bool, error) {
	file, exists := p.File(path)
	if !exists {
		return "", false, nil
	}
	content, err := e.Blob(file.Blob)
	if err == nil && sha256.Sum256(content) != [32]byte(file.Blob) {
		err = fmt.Errorf("%s: content of another hash", path)
	}
	return string(content), true, err
}

// fullState is all that an engine publishes, section by section, in the form of snapshots.
func fullState(t testing.TB, e *Engine) map[string]string {
	t.Helper()
	state := map[string]string{}
	e.handles.Range(func(project id.ID, _ *handle) bool {
		if p := viewOf(t, e, project); p != nil {
			state[datadir.ProjectKey(project)] = encoded(t, p)
		}
		return true
	})
	identity := e.Identity()
	for agent := range identity.Agents(id.ID{}) {
		state[datadir.AgentKey(agent.ID)] = string(identity.EncodeAgent(agent.ID))
	}
	for report := range identity.Reports(id.ID{}) {
		state[datadir.ReportKey(report.ID)] = string(identity.EncodeReport(report.ID))
	}
	state[datadir.ChallengesKey] = string(identity.EncodeChallenges())
	for _, agent := range e.inbox.Agents() {
		saved, _ := e.inbox.Saved(agent)
		state[datadir.InboxKey(agent)] = string(encodeInbox(saved))
	}
	e.accounts.of.Range(func(agent id.ID, one *account) bool {
		data, _ := one.encode()
		state[datadir.AccountKey(agent)] = string(data)
		return true
	})
	return state
}

func encoded(t testing.TB, p *work.Project) string {
	t.Helper()
	all, err := p.EncodeHead()
	for _, kind := range work.ChunkKinds {
		first, end := p.Chunks(kind)
		for n := first; err == nil && n < end; n++ {
			var chunk []byte
			chunk, err = p.EncodeChunk(work.Chunk{Kind: kind, Number: n})
			all = append(all, chunk...)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// sameState compares what engines publish.
func sameState(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("%s: section %q has %d bytes, or others than the %d wanted", what, key,
				len(got[key]), len(want[key]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d sections, want %d", what, len(got), len(want))
	}
	if t.Failed() {
		t.FailNow()
	}
}
