package actors

import (
	"path/filepath"
	"testing"

	"pws/api"
	"pws/work"
)

// TestIdentityChangesWhileASaveRuns begins a snapshot, registers an agent, and ends the snapshot:
// the agent must be there after a restart, and after one more snapshot.
func TestIdentityChangesWhileASaveRuns(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	register(t, e, "early")
	position, taken := e.wal.Durable(), e.takeDirty()
	register(t, e, "late")
	if err := e.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	want := fullState(t, e)
	config.Dir = crashCopy(t, e.config.Dir)
	sameState(t, "after a kill", want, fullState(t, start(t, config)))
	saveAll(t, e)
	config.Dir = crashCopy(t, e.config.Dir)
	sameState(t, "after one more snapshot", want, fullState(t, start(t, config)))
}

// TestPassiveBetweenTwoSaves makes a project passive after a snapshot has taken it as changed and
// before it is written.
func TestPassiveBetweenTwoSaves(t *testing.T) {
	config := quiet(filepath.Join(t.TempDir(), "data"))
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	mustPut(t, e, project, owner, "a", "1")
	position, taken := e.wal.Durable(), e.takeDirty()
	mustPut(t, e, project, owner, "a", "2")
	if err := e.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	want := fullState(t, e)
	position, taken = e.wal.Durable(), e.takeDirty()
	if e.sweep(e.Advance(1000)) != 1 {
		t.Fatal("the project is still in memory")
	}
	if err := e.saveAt(position, taken); err != nil {
		t.Fatal(err)
	}
	sameState(t, "woken up", want, fullState(t, e))
	config.Dir = crashCopy(t, e.config.Dir)
	again := start(t, config)
	sameState(t, "after a kill", want, fullState(t, again))
	if list, err := again.PublicProjects(api.ListPosition{}, 10); err != nil || len(list) != 1 {
		t.Fatalf("%d projects are listed: %v", len(list), err)
	}
}
