package actors

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pws/blobs"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// TestIdentityChangesWhileASaveRuns begins a snapshot, registers an agent, and ends the snapshot:
// the agent must be there after a restart, and after one more snapshot.
func TestIdentityChangesWhileASaveRuns(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	register(t, e, "early")
	position, taken := e.journal.Durable(), e.saver.drainDirty()
	register(t, e, "late")
	if err := e.saver.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	want := fullState(t, e)
	config.Dir = crashCopy(t, e.config.Dir)
	sameState(t, "after a kill", want, fullState(t, start(t, config)))
	saveAll(t, e)
	config.Dir = crashCopy(t, e.config.Dir)
	sameState(t, "after one more snapshot", want, fullState(t, start(t, config)))
}

// TestProjectUnloadedDuringASaveIsSaved makes a project passive after a snapshot has taken it as
// changed and before it is written.
func TestProjectUnloadedDuringASaveIsSaved(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "a", "1")
	position, taken := e.journal.Durable(), e.saver.drainDirty()
	mustPut(t, e, project, owner, "a", "2")
	if err := e.saver.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	want := fullState(t, e)
	position, taken = e.journal.Durable(), e.saver.drainDirty()
	if e.sweep(e.Advance(1000)) != 1 {
		t.Fatal("the project is still in memory")
	}
	if err := e.saver.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	sameState(t, "woken up", want, fullState(t, e))
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	sameState(t, "after a kill", want, fullState(t, again))
	if list, err := again.PublicProjects(index.Position{}, 10); err != nil || len(list) != 1 {
		t.Fatalf("%d projects are listed: %v", len(list), err)
	}
}

// rewrite puts a section into the snapshot of an engine, as old as the one that is there.
func rewrite(t *testing.T, e *Engine, key string, section []byte) {
	t.Helper()
	position, there := e.snapshot.SectionPosition(key)
	if !there {
		t.Fatalf("there is no section %q", key)
	}
	writer, err := e.snapshot.Begin()
	if err == nil {
		err = writer.Put(key, position, section)
	}
	if err == nil {
		err = writer.Commit(e.snapshot.Position())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// staysInTheLog saves while a project cannot be loaded: its entries stay in the log for a start,
// and it is saved once it can be loaded.
func staysInTheLog(t *testing.T, e *Engine, spoil, mend func(e *Engine)) {
	t.Helper()
	want, newest := fullState(t, e), e.journal.Stats().Last
	again := start(t, quiet(crashCopy(t, e.config.Dir)))
	spoil(again)
	for round := range 2 {
		saveAll(t, again)
		if covered := again.snapshot.Position(); covered >= newest {
			t.Errorf("snapshot %d covers %d, and entry %d was left out", round, covered, newest)
		}
	}
	killed := start(t, quiet(crashCopy(t, again.config.Dir)))
	mend(killed)
	sameState(t, "behind a kill", want, fullState(t, killed))
	mend(again)
	saveAll(t, again)
	if covered := again.snapshot.Position(); covered < newest {
		t.Errorf("the last snapshot covers %d, and nothing was left out up to %d", covered, newest)
	}
	saved := start(t, quiet(crashCopy(t, again.config.Dir)))
	sameState(t, "behind the last snapshot", want, fullState(t, saved))
}

func TestProjectWhoseSectionIsDamagedStaysInTheLog(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	saveAll(t, e)
	head, _, _, err := e.snapshot.Read(datadir.ProjectKey(project))
	if err != nil {
		t.Fatal(err)
	}
	mustPut(t, e, project, owner, "a", "1")
	staysInTheLog(t, e,
		func(e *Engine) { rewrite(t, e, datadir.ProjectKey(project), []byte("no project")) },
		func(e *Engine) { rewrite(t, e, datadir.ProjectKey(project), head) })
}

func TestProjectWhoseEntriesDoNotFitStaysInTheLog(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustPut(t, e, project, owner, "a", "1")
	unfit := withoutContents(1<<40, &datadir.Entry{
		Target: datadir.TargetProject, ID: project, Events: eventOf(t, new(work.ContributionReviewed)),
	})
	change := func(e *Engine, next func(before []waitingEntry) []waitingEntry) {
		h, known := e.handles.Load(project)
		if !known {
			t.Fatal("the project is lost")
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.mu.tail = &logTail{entries: next(h.waiting())}
	}
	staysInTheLog(t, e, func(e *Engine) {
		change(e, func(before []waitingEntry) []waitingEntry { return append(before, unfit) })
	}, func(e *Engine) {
		change(e, func(before []waitingEntry) []waitingEntry {
			return slices.DeleteFunc(before, func(in waitingEntry) bool {
				return in.position == unfit.position
			})
		})
	})
}

// TestSaveWritesOnlyWhatChanged expects of each snapshot the sections of what has changed since the
// one before.
func TestSaveWritesOnlyWhatChanged(t *testing.T) {
	e, project, _ := oneProject(t, nil)
	saveAll(t, e)
	var reports []id.ID
	identify := func(command identity.Command) string {
		t.Helper()
		done, err := e.DoIdentity(identityOrderOf(command))
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, done.Result.(*identity.ReportMade).Report.ID)
		return datadir.ReportKey(reports[len(reports)-1])
	}
	complaint := &identity.MakeReport{
		Type: identity.ReportedProject, Entity: project, Reason: identity.ReasonSpam,
	}
	for _, step := range []struct {
		name   string
		change func() (key string)
		// also are further sections that it writes.
		also []string
	}{
		{name: "nothing"},
		{name: "a report", change: func() string { return identify(complaint) }},
		{name: "nothing again"},
		{name: "another report", change: func() string { return identify(complaint) }},
		{name: "an agent", change: func() string {
			return datadir.AgentKey(register(t, e, "another"))
		}},
		{name: "a report that is handled", change: func() string {
			return identify(&identity.HandleReport{Report: reports[0]})
		}, also: []string{datadir.OperatorKey}},
		{name: "nothing at the end"},
	} {
		before, want := maps.Collect(e.sectionKeys("")), []string{}
		if step.change != nil {
			want = append(append(want, step.change()), step.also...)
			want = append(want, datadir.ChallengesKey, datadir.TimeKey)
			slices.Sort(want)
		}
		saveAll(t, e)
		after, moved := maps.Collect(e.sectionKeys("")), []string{}
		for key, position := range after {
			if position != before[key] {
				moved = append(moved, key)
			}
		}
		slices.Sort(moved)
		written := e.snapshot.Stats().LastRun.Sections
		if !slices.Equal(moved, want) || written != len(want) {
			t.Errorf("%s: %d sections are written, of which %q are new; want %q", step.name, written,
				moved, want)
		}
	}
}

// TestStartDoesNotReplaySavedEntries starts with a log whose newest entries are in the snapshot,
// and with one whose newest entries are in the sections alone, which were written AFTER the
// position of the snapshot was taken. None of them waits to be applied, and no project has to be
// saved again.
func TestStartDoesNotReplaySavedEntries(t *testing.T) {
	for name, racing := range map[string]bool{"in the snapshot": false, "in the sections": true} {
		t.Run(name, func(t *testing.T) {
			e, project, owner := oneProject(t, nil)
			mustPut(t, e, project, owner, "a", "1")
			e.saver.hook = func(step string) error {
				if racing && step == "position" {
					register(t, e, "late")
					mustPut(t, e, project, owner, "b", "2")
				}
				return nil
			}
			saveAll(t, e)
			behind := e.journal.Stats().Last - e.snapshot.Position()
			if racing != (behind > 0) {
				t.Fatalf("the log has %d entries behind the snapshot", behind)
			}
			again, found, err := Open(quiet(crashCopy(t, e.config.Dir)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { stop(t, again) })
			if found.Entries != behind {
				t.Errorf("%d entries are replayed, want %d", found.Entries, behind)
			}
			if got, want := again.blobs.RecentBytes(), e.blobs.RecentBytes(); got != want {
				t.Errorf("%d bytes of contents wait to be packed, want %d", got, want)
			}
			h, _ := again.handles.Load(project)
			if len(h.waiting()) != 0 || viewsLoaded(again) != 0 {
				t.Errorf("%d entries wait to be applied, and %d projects are loaded", len(h.waiting()),
					viewsLoaded(again))
			}
			saveAll(t, again)
			// A newer position has its time.
			want := min(behind, 1)
			if written := again.snapshot.Stats().LastRun.Sections; uint64(written) != want {
				t.Errorf("%d sections are written, want %d", written, want)
			}
			sameState(t, "behind a kill", fullState(t, e), fullState(t, again))
		})
	}
}

// TestSavesGoOnDuringADrop has snapshots be saved, with packs to merge, while it is being found out
// which contents to drop. They do not wait for that, and the next one merges.
func TestSavesGoOnDuringADrop(t *testing.T) {
	e := start(t, quiet(filepath.Join(t.TempDir(), "data")))
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	err := e.blobs.Drop(func() ([]blobs.Hash, error) {
		saved := make(chan struct{})
		go func() {
			defer close(saved)
			for n := range 8 {
				mustPut(t, e, project, owner, "f", fmt.Sprint(n))
				saveAll(t, e)
			}
		}()
		select {
		case <-saved:
		case <-time.After(time.Minute):
			t.Error("a snapshot waits for the drop")
		}
		return nil, nil
	})
	if err != nil || !e.blobs.NeedsMerge() {
		t.Errorf("nothing is left to merge, %v", err)
	}
	mustPut(t, e, project, owner, "f", "last")
	if saveAll(t, e); e.blobs.NeedsMerge() {
		t.Error("the next snapshot does not merge")
	}
}
