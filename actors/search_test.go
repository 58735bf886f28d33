package actors

import (
	"crypto/sha256"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"pws/api"
	"pws/index/search"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// searchFor is what an anonymous search for a text answers.
func searchFor(t *testing.T, e *Engine, text string) api.SearchData {
	t.Helper()
	c := operationOf(e, "search.query", id.ID{}, map[string]string{"q": text})
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		t.Fatal(err)
	}
	return reply.Data.(api.SearchData)
}

// searched is an engine with search, where nothing else happens by itself.
func searched(t *testing.T) *Engine {
	t.Helper()
	config := quiet(t.TempDir())
	config.NoSearch = false
	return start(t, config)
}

// awaitIndexed returns once all that was published when it was called is indexed, however long that
// takes. AwaitSearch gives up early, and documents in hand wait no more but are not found yet.
func awaitIndexed(t *testing.T, e *Engine) {
	t.Helper()
	target := e.search.noted.Load()
	waitFor(t, func() bool { return e.search.reached.Load() >= target })
}

// putStale writes documents into the index as it had them, as an index that lags behind still has.
func putStale(t *testing.T, e *Engine, documents ...*search.Document) {
	t.Helper()
	awaitIndexed(t, e)
	x, err := e.search.ready()
	if err != nil {
		t.Fatal(err)
	}
	batch := search.NewBatch()
	for _, d := range documents {
		if d == nil {
			t.Fatal("there was no such document")
		}
		batch.Put(d)
	}
	if err := x.Write(batch, e.search.reached.Load(), nil); err != nil {
		t.Fatal(err)
	}
}

// wantNear checks that the index proposes a word for another, without which a test shows nothing.
func wantNear(t *testing.T, e *Engine, wrong, right string) {
	t.Helper()
	near, err := e.WordsNear(wrong)
	if err != nil || len(near) != 1 || near[0] != right {
		t.Fatalf("near %s: %v %v, want %s", wrong, near, err, right)
	}
}

// A word is no correction where only documents have it that are no longer shown, though the index
// still has them. Nor is a word that a document no longer has.
func TestCorrectionsOfStaleDocuments(t *testing.T) {
	e := searched(t)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	open := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "secret.txt", "bandicoot")
	mustPut(t, e, open, owner, "shown.txt", "emu kiwi")
	mustPut(t, e, open, owner, "gone.txt", "wallabies")
	mustPut(t, e, open, owner, "changed.txt", "cassowary")
	awaitIndexed(t, e)
	right := map[string]string{
		"bandicot": "bandicoot", "walabies": "wallabies", "casowary": "cassowary",
	}
	for wrong, word := range right {
		found := searchFor(t, e, wrong)
		if found.Corrected == nil || found.Corrected.To != word || len(found.Results) != 1 {
			t.Fatalf("%s: %+v", wrong, found)
		}
	}
	stale := []*search.Document{
		staleFile(t, e, project, "secret.txt"), staleFile(t, e, open, "gone.txt"),
		staleFile(t, e, open, "changed.txt"),
	}
	for _, order := range []api.Order{
		{Project: project, Command: &work.UpdateProject{Visibility: work.Private}},
		{Project: open, Command: &work.DeleteFile{Path: "gone.txt"}},
		{Project: open, Command: putOf("changed.txt", "emu")},
	} {
		order.Agent = owner
		if _, err := e.Do(order); err != nil {
			t.Fatal(err)
		}
	}
	putStale(t, e, stale...)
	for wrong, word := range right {
		wantNear(t, e, wrong, word)
		if found := searchFor(t, e, wrong); found.Corrected != nil || len(found.Results) > 0 {
			t.Errorf("%s: %+v %+v", wrong, found.Corrected, found.Results)
		}
		// Two words of three are enough for a result, so that a correction would show.
		found := searchFor(t, e, "emu kiwi "+wrong)
		if found.Corrected != nil || len(found.Results) != 1 {
			t.Errorf("emu kiwi %s: %+v %+v", wrong, found.Corrected, found.Results)
		}
		if found := searchFor(t, e, word); len(found.Results) > 0 {
			t.Errorf("%s: %+v", word, found.Results)
		}
	}
}

func staleFile(t *testing.T, e *Engine, project id.ID, path string) *search.Document {
	t.Helper()
	d := search.Live(viewOf(t, e, project), search.Key{
		Kind: search.File, Project: project, Path: path,
	}, e.Now())
	content, err := e.Blob(d.Blob)
	if err != nil || sha256.Sum256(content) != [32]byte(d.Blob) {
		t.Fatal(err)
	}
	if err := d.Load(e.Blob); err != nil {
		t.Fatal(err)
	}
	return d
}

// A query near a handle, which is public, gets the same answer whether a PRIVATE project has the
// query as its name, or nothing has.
func TestCorrectionsDoNotRevealPrivateNames(t *testing.T) {
	e := searched(t)
	owner := register(t, e, "marsupial")
	before := searchFor(t, e, "marsupail")
	project := e.stamp(owner).ID(0)
	_, err := e.Do(api.Order{Project: project, Agent: owner, Command: &work.CreateProject{
		ID: project, Kind: work.Standard, About: work.About{
			Name: "marsupail", Visibility: work.Private, Reuse: work.AllowReuse, License: "MIT",
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	after := searchFor(t, e, "marsupail")
	for _, found := range []api.SearchData{before, after} {
		if found.Corrected == nil || found.Corrected.To != "marsupial" || len(found.Results) != 1 ||
			found.Results[0].EntityType != "AGENT" {
			t.Errorf("%+v %+v", found.Corrected, found.Results)
		}
	}
}

// TestFailedSearchIsOpenedAgain takes the files of the index away while it is used, so that what it
// writes next fails. Documents are found again without a restart, and the health is well.
func TestFailedSearchIsOpenedAgain(t *testing.T) {
	e := searched(t)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "before.md", "the giraffe")
	awaitIndexed(t, e)
	failed := e.search.index.Load()
	store := filepath.Join(e.config.Dir, datadir.SearchName, "store")
	if err := os.Rename(store, filepath.Join(t.TempDir(), "store")); err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, project, owner, "after.md", "the giraffe")
	waitFor(t, func() bool { return failed.Fault() != nil })
	waitFor(t, func() bool {
		now := e.search.index.Load()
		return now != failed && now.Fault() == nil
	})
	awaitIndexed(t, e)
	waitFor(t, func() bool { return e.search.waitingNow() == 0 })
	// The new index may have been opened, and not yet filled.
	waitFor(t, func() bool { return len(searchFor(t, e, "giraffe").Results) == 2 })
	for _, check := range e.Health() {
		if check.Fault != "" || check.Paused {
			t.Errorf("%+v", check)
		}
	}
}

// TestSearchThatFailsAgainIsTriedLater replaces the index by files of somebody else, which stay: it
// cannot be opened, and the health says so. It is made when they are gone.
func TestSearchThatFailsAgainIsTriedLater(t *testing.T) {
	config := quiet(t.TempDir())
	config.NoSearch = false
	dir := filepath.Join(config.Dir, datadir.SearchName)
	if err := os.MkdirAll(filepath.Join(dir, "foreign"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := start(t, config)
	waitFor(t, func() bool { return e.search.fault.Load() != nil })
	if problem, _ := e.search.health(); problem == "" {
		t.Error("the health is well")
	}
	if _, err := e.search.ready(); err == nil {
		t.Error("an index is ready")
	}
	if err := os.Remove(filepath.Join(dir, "foreign")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return e.search.fault.Load() == nil })
	if problem, _ := e.search.health(); problem != "" {
		t.Error(problem)
	}
}

// TestPausesBehindAFailedSearch checks that they grow, up to a bound.
func TestPausesBehindAFailedSearch(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: searchAgainMin, 2: 2 * searchAgainMin, 9: 256 * searchAgainMin,
		10: searchAgainMax, math.MaxInt: searchAgainMax,
	} {
		if got := searchPauseAfter(failures); got != want {
			t.Errorf("%s AFTER %d failures, want %s", got, failures, want)
		}
	}
}

// TestRenewalWhileIndexingWaitsForRoom has the index made again while indexing waits for space, as
// a purge does. The old index leaves the disk all the same.
func TestRenewalWhileIndexingWaitsForRoom(t *testing.T) {
	var free atomic.Int64
	free.Store(math.MaxInt64)
	config := quiet(t.TempDir())
	config.NoSearch, config.ReserveBytes, config.free = false, 1<<20, freeIn(&free)
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "old.txt", "wombat")
	awaitIndexed(t, e)
	free.Store(config.ReserveBytes + searchMargin - 1)
	mustPut(t, e, project, owner, "new.txt", "numbat")
	waitFor(t, e.search.paused.Load)
	for range 2 {
		renewed := make(chan error, 2)
		for range cap(renewed) {
			go func() { renewed <- e.search.renew() }()
		}
		waitFor(t, func() bool { return len(renewed) == cap(renewed) })
		if err := errors.Join(<-renewed, <-renewed); err != nil {
			t.Fatal(err)
		}
	}
	free.Store(math.MaxInt64)
	awaitIndexed(t, e)
	for _, word := range []string{"wombat", "numbat"} {
		if found := searchFor(t, e, word); len(found.Results) != 1 {
			t.Errorf("%q has %d results", word, len(found.Results))
		}
	}
}
