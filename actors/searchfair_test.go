package actors

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pws/index/search"
	"pws/internal/id"
	"pws/work"
)

// versionsOf are those of documents in the search index.
func versionsOf(t testing.TB, e *Engine, keys []search.Key) []uint64 {
	t.Helper()
	x, err := e.search.ready()
	if err != nil {
		t.Fatal(err)
	}
	versions, err := x.Versions(keys)
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// allKeys are those of the documents of some projects.
func allKeys(t testing.TB, e *Engine, projects ...id.ID) (keys []search.Key) {
	t.Helper()
	for _, project := range projects {
		search.Keys(viewOf(t, e, project), e.Now(), search.Key{}, func(key search.Key) bool {
			keys = append(keys, key)
			return true
		})
	}
	return keys
}

// TestForksDelayNoStranger makes 30 forks and then a project of somebody else, while indexing is
// held. The new project is in one of the first batches, the forks follow, and no file of theirs is
// left out.
func TestForksDelayNoStranger(t *testing.T) {
	const forks, files, batchesMax = 30, 100, 4
	var held, batches, foundAfter, left atomic.Int64
	gate := make(chan struct{})
	var stranger atomic.Pointer[[]search.Key]
	config := quiet(t.TempDir())
	config.NoSearch = false
	var e *Engine
	config.indexing = func(pace *searchPace) {
		// Without another sample rounds are small, however busy the machine is.
		*pace = searchPace{last: searchSample{at: time.Now().Add(time.Hour)}}
		if held.Load() == 0 {
			return
		}
		<-gate
		batches.Add(1)
		if foundAfter.Load() > 0 {
			return
		}
		for _, version := range versionsOf(t, e, *stranger.Load()) {
			if version == 0 {
				return
			}
		}
		left.Store(int64(e.search.waitingNow()))
		foundAfter.Store(batches.Load())
	}
	e = start(t, config)
	owner, forker, other := register(t, e, "owner"), register(t, e, "forker"), register(t, e, "other")
	source := createProject(t, e, owner, work.Public)
	for n := range files {
		mustPut(t, e, source, owner, fmt.Sprintf("file%d.txt", n), fmt.Sprint("wombat ", n))
	}
	awaitIndexed(t, e)
	held.Store(1)
	var copied []id.ID
	for range forks {
		copied = append(copied, fork(t, e, source, forker, work.Public))
	}
	project := createProject(t, e, other, work.Public)
	mustPut(t, e, project, other, "new.txt", "numbat")
	keys := allKeys(t, e, project)
	stranger.Store(&keys)
	close(gate)
	waitFor(t, func() bool { return foundAfter.Load() > 0 })
	if count := foundAfter.Load(); count > batchesMax {
		t.Errorf("found after %d batches", count)
	}
	if left.Load() < forks*files/2 {
		t.Errorf("only %d documents waited then", left.Load())
	}
	awaitIndexed(t, e)
	keys = allKeys(t, e, append(copied, source, project)...)
	for i, version := range versionsOf(t, e, keys) {
		if version == 0 {
			t.Errorf("%s is not indexed", keys[i].Path)
		}
	}
	if lag := e.search.lag(); lag != 0 {
		t.Errorf("the lag is %v s with nothing waiting", lag)
	}
}

// TestForksFollowTheirOwnChanges changes forks and their source before the files of the forks are
// indexed. Each file is found with what it holds, and nothing of a project that is not PUBLIC.
func TestForksFollowTheirOwnChanges(t *testing.T) {
	e := searched(t)
	owner := register(t, e, "owner")
	source := createProject(t, e, owner, work.Public)
	for n := range 50 {
		mustPut(t, e, source, owner, fmt.Sprintf("file%d.txt", n), "bandicoot")
	}
	changed := fork(t, e, source, owner, work.Public)
	mustPut(t, e, changed, owner, "file7.txt", "cassowary")
	hidden := fork(t, e, source, owner, work.Public)
	mustDo(t, e, hidden, owner, &work.UpdateProject{Visibility: work.Private})
	mustDo(t, e, source, owner, &work.UpdateProject{Visibility: work.Private})
	awaitIndexed(t, e)
	if found := searchFor(t, e, "cassowary"); len(found.Results) != 1 {
		t.Errorf("%+v", found.Results)
	}
	for i, version := range versionsOf(t, e, allKeys(t, e, changed)) {
		if version == 0 {
			t.Errorf("document %d of the fork is not indexed", i)
		}
	}
	x, err := e.search.ready()
	if err != nil {
		t.Fatal(err)
	}
	for _, project := range []id.ID{source, hidden} {
		if keys, err := x.KeysOf(project); err != nil || len(keys) > 0 {
			t.Errorf("%d documents of a private project are indexed, %v", len(keys), err)
		}
	}
}

// TestHiddenWithinOneBatch makes a project private after a file of it was put into a batch and
// before the batch is written.
func TestHiddenWithinOneBatch(t *testing.T) {
	e := start(t, quiet(t.TempDir()))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "secret.txt", "bandicoot")
	s := newSearching(e)
	x, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &searchFill{searching: s, x: x, batch: search.NewBatch()}
	key := search.Key{Kind: search.File, Project: project, Path: "secret.txt"}
	if err := f.one(key); err != nil || f.batch.Len() != 1 {
		t.Fatalf("%d documents in the batch, %v", f.batch.Len(), err)
	}
	mustDo(t, e, project, owner, &work.UpdateProject{Visibility: work.Private})
	s.queue.PutHidden(search.Mark{Position: 1}, project)
	step, any := s.queue.Take(true)
	if !any {
		t.Fatal("nothing waits")
	}
	if err := f.step(&step); err != nil {
		t.Fatal(err)
	}
	if err := x.Write(f.batch, 1, nil); err != nil {
		t.Fatal(err)
	}
	if keys, err := x.KeysOf(project); err != nil || len(keys) > 0 {
		t.Errorf("%d documents of a private project are indexed, %v", len(keys), err)
	}
}
