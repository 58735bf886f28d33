package actors

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pws/api"
	"pws/index"
	"pws/internal/disk/disktest"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// checkEnd expects of the index what a project says of its end: the owner of a deleted one finds
// it, and the sweep when it is over.
func checkEnd(t testing.TB, what string, of *index.Memberships, p *work.Project) {
	t.Helper()
	end := p.End()
	until := int64(math.MaxInt64)
	if end != nil {
		until = end.Until()
		filter := index.MembershipFilter{
			Role: work.Owner, Visibility: end.Visibility, Status: work.Deleted,
		}
		at := index.Position{Millis: p.UpdatedAt, ID: p.ID}
		if got := of.Of(p.Owner, &filter, index.Position{}, 1<<20); !slices.Contains(got, at) {
			t.Errorf("%s: its owner does not find the deleted %s", what, p.ID.Format(id.Project))
		}
		if slices.Contains(of.Ended(until-1, 1<<20), p.ID) {
			t.Errorf("%s: %s ends too early", what, p.ID.Format(id.Project))
		}
	}
	if slices.Contains(of.Ended(until, 1<<20), p.ID) != (end != nil) {
		t.Errorf("%s: %s ends wrongly, its end is %+v", what, p.ID.Format(id.Project), end)
	}
}

const endMillis = work.ProjectRestoreSeconds * 1000

// deleteProject deletes a project as its owner.
func deleteProject(t testing.TB, e *Engine, project id.ID) {
	t.Helper()
	command := &work.DeleteProject{IfMatch: func(*work.Project) error { return nil }}
	mustDo(t, e, project, viewOf(t, e, project).Owner, command)
}

// restoreDeleted restores a project as an agent.
func restoreDeleted(e *Engine, project, agent id.ID) error {
	_, err := e.Do(api.Order{Project: project, Agent: agent, Command: new(work.RestoreProject)})
	return err
}

// TestEndedProjectsLeaveTheDisk deletes projects: until the time to restore them is over they keep
// what they have, and then nothing of them is on the disk that no other project has.
func TestEndedProjectsLeaveTheDisk(t *testing.T) {
	w := newDropWorld(t, dropConfig(t))
	w.AwaitSearch()
	deleteProject(t, w.Engine, w.doomed)
	deleteProject(t, w.Engine, w.copied)
	stored := w.StoredBy(w.owner, id.ID{}).Bytes
	checkMemberships(t, "deleted", w.Engine)
	saveAll(t, w.Engine)
	w.Advance(endMillis - 1000)
	for _, text := range append(slices.Clone(dropTexts), sharedText) {
		if name, err := disktest.Holding(w.config.Dir, text); err != nil || name == "" {
			t.Fatalf("%s is nowhere, %v", text, err)
		}
	}
	if got := w.StoredBy(w.owner, id.ID{}).Bytes; got != stored {
		t.Errorf("%d bytes are stored, %d before", got, stored)
	}
	if err := restoreDeleted(w.Engine, w.doomed, w.owner); err != nil {
		t.Fatal(err)
	}
	w.Advance(2000)
	// The fork of the restored project has ended, and what both have stays.
	if p := viewOf(t, w.Engine, w.copied); !p.Erased() {
		t.Errorf("%+v", p.Record)
	}
	p := viewOf(t, w.Engine, w.doomed)
	if text, _, err := contentOf(w.Engine, p, "late.txt"); err != nil || text != "the xylospace" {
		t.Errorf("%q, %v", text, err)
	}
	deleteProject(t, w.Engine, w.doomed)
	w.Advance(endMillis)
	w.checkDropped(t, w.Engine)
	if err := restoreDeleted(w.Engine, w.doomed, w.owner); fault.CodeOf(err) != fault.ProjectNotFound {
		t.Errorf("restored too late: %v", err)
	}
	checkAccounts(t, w.Engine)
	checkMemberships(t, "dropped", w.Engine)
	if got := w.StoredBy(w.owner, id.ID{}).Bytes; got >= stored {
		t.Errorf("%d bytes are stored, %d before", got, stored)
	}
	if len(w.Identity().Actions()) > 0 {
		t.Error("an operator is said to have done it")
	}
	stop(t, w.Engine)
	if _, err := Verify(w.config.Dir); err != nil {
		t.Error(err)
	}
	w.checkDropped(t, start(t, w.config))
}

// TestEndedProjectsSurviveCrashes copies the data directory at each step of the drop of deleted
// projects, as a killed process leaves it: every copy goes on when it is started.
func TestEndedProjectsSurviveCrashes(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	deleteProject(t, w.Engine, w.doomed)
	deleteProject(t, w.Engine, w.copied)
	copies := map[string]string{}
	var names []string
	keep := func(step string) error {
		name := fmt.Sprintf("%02d %s", len(names), step)
		names, copies[name] = append(names, name), crashCopy(t, w.config.Dir)
		return nil
	}
	w.onErasure(func(step string) error {
		w.saver.hook = func(saved string) error { return keep(step + ", " + saved) }
		return keep(step)
	})
	w.Advance(endMillis)
	w.checkDropped(t, w.Engine)
	for _, name := range sampleOf(names) {
		e := start(t, quiet(copies[name]))
		if err := e.erasing.resumeErasure(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		e.erasing.dropEnded()
		w.checkDropped(t, e)
		checkMemberships(t, name, e)
		stop(t, e)
		if _, err := Verify(copies[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if t.Failed() {
			t.Fatalf("after a crash at %q", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("%d steps", len(names))
	}
}

// TestEndedProjectsAreSweptAfterAStart: a project whose time was over while the service was stopped
// is dropped by the loop, without a request.
func TestEndedProjectsAreSweptAfterAStart(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	deleteProject(t, w.Engine, w.doomed)
	deleteProject(t, w.Engine, w.copied)
	saveAll(t, w.Engine)
	stop(t, w.Engine)
	config.SweepEvery = time.Millisecond
	w.Engine = start(t, config)
	gone := make(chan struct{})
	w.onErasure(func(step string) error {
		if step == "older sections" {
			close(gone)
		}
		return nil
	})
	w.clock.Advance(endMillis)
	<-gone
	// The lock is free once the last step is over.
	w.onErasure(nil)
	w.checkDropped(t, w.Engine)
}

// TestForkOfDeletedProject: an order that copies a project is refused where the project was deleted
// since its view was read, and accepted once it is restored.
func TestForkOfDeletedProject(t *testing.T) {
	config := dropConfig(t)
	config.NoSearch = true
	w := newDropWorld(t, config)
	p := viewOf(t, w.Engine, w.doomed)
	order := forkOrderAt(w.Engine, p, p.Head(), w.owner, work.Public)
	deleteProject(t, w.Engine, w.doomed)
	if _, err := w.Do(order); fault.CodeOf(err) != fault.ProjectNotFound {
		t.Errorf("a fork of a deleted project: %v", err)
	}
	saveAll(t, w.Engine)
	w.sweep(math.MaxInt64)
	if h, _ := w.handles.Load(w.doomed); !h.passive() {
		t.Fatal("the deleted project is not passive")
	}
	order.Project = w.stamp(w.owner).ID(0)
	order.Command.(*work.ForkProject).ID = order.Project
	if _, err := w.Do(order); fault.CodeOf(err) != fault.ProjectNotFound {
		t.Errorf("a fork of a deleted project that is passive: %v", err)
	}
	if err := restoreDeleted(w.Engine, w.doomed, w.owner); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Do(order); err != nil {
		t.Errorf("a fork of a restored project: %v", err)
	}
}

// failOnce has the erasure fail once, AFTER a step.
func (w *dropWorld) failOnce(at string) (failed *bool) {
	failed = new(bool)
	w.onErasure(func(step string) error {
		if step == at && !*failed {
			*failed = true
			return errors.New("no room for a moment")
		}
		return nil
	})
	return failed
}

// TestFailedDropsAreTriedAgain has the drop of deleted projects fail once AFTER each step: a later
// sweep of the same process goes on with it.
func TestFailedDropsAreTriedAgain(t *testing.T) {
	for _, at := range []string{
		"noted", "removed", "settled", "log", "contents", "manifests", "state", "feed", "sections",
		"older sections",
	} {
		t.Run(at, func(t *testing.T) {
			config := dropConfig(t)
			config.NoSearch = true
			w := newDropWorld(t, config)
			deleteProject(t, w.Engine, w.doomed)
			deleteProject(t, w.Engine, w.copied)
			failed := w.failOnce(at)
			w.Advance(endMillis)
			if dropping := w.Identity().Dropping(w.doomed); !*failed || !dropping {
				t.Fatalf("it has failed: %v, %v", *failed, dropping)
			}
			w.Advance(dropEndedEvery)
			w.checkDropped(t, w.Engine)
		})
	}
}

// TestFailedErasureIsTriedAgain has the erasure of a purged content fail once AFTER each step.
func TestFailedErasureIsTriedAgain(t *testing.T) {
	for _, at := range []string{"marked", "settled", "texts", "log", "contents", "packs"} {
		t.Run(at, func(t *testing.T) {
			config := dropConfig(t)
			config.NoSearch = true
			w := newDropWorld(t, config)
			failed := w.failOnce(at)
			if err := w.PurgeContent(blobOf("the "+sharedText).Hash, "t"); err == nil || !*failed {
				t.Fatalf("it has failed: %v, %v", *failed, err)
			}
			w.Advance(dropEndedEvery)
			if w.erasing.erasureDue() {
				t.Error("the erasure is still due")
			}
			if name, err := disktest.Holding(w.config.Dir, sharedText); err != nil || name != "" {
				t.Errorf("it is still in %s, %v", name, err)
			}
		})
	}
}

// TestDamagedProjectsKeepNoOthers has a damaged project end in front of another one, where one is
// dropped at a time.
func TestDamagedProjectsKeepNoOthers(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	damaged := createProject(t, e, owner, work.Public)
	name := damagedMark
	mustDo(t, e, damaged, owner, &work.UpdateProject{Name: &name})
	sound := createProject(t, e, owner, work.Public)
	deleteProject(t, e, damaged)
	e.advance(1000)
	deleteProject(t, e, sound)
	saveAll(t, e)
	stop(t, e)
	flipMark(t, config.Dir, damagedMark)
	e = start(t, config)
	e.advance(endMillis + 1000)
	if first := e.Indexes(index.ForMemberships).Memberships.Ended(e.Now(), 1); first[0] != damaged {
		t.Fatalf("%s ends first", first[0].Format(id.Project))
	}
	if ended := e.erasing.endedProjects(1); len(ended) != 1 || ended[0].Project != sound {
		t.Errorf("to be dropped: %v", ended)
	}
}
