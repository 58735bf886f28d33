package actors

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"pws/api"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// damagedGroup is a group of three servers, of which the first one leads, and where projects can be
// damaged on single servers.
type damagedGroup struct {
	*group
	t        *testing.T
	owner    id.ID
	projects []id.ID
	logs     []*bytes.Buffer
}

func markOf(at int) string { return damagedMark + string(rune('a'+at)) }

func newDamagedGroup(t *testing.T, projects int) *damagedGroup {
	t.Helper()
	g := &damagedGroup{t: t, group: newGroup(t, 3)}
	g.elect(g.nodes[0])
	g.deliverAll()
	g.atOnce = true
	for range g.nodes {
		g.logs = append(g.logs, new(bytes.Buffer))
	}
	g.owner = register(t, g.nodes[0].e, "owner")
	for i := range projects {
		project := createProject(t, g.nodes[0].e, g.owner, work.Public)
		name := markOf(i)
		mustDo(t, g.nodes[0].e, project, g.owner, &work.UpdateProject{Name: &name})
		mustPut(t, g.nodes[0].e, project, g.owner, "a.txt", "content of "+name)
		g.projects = append(g.projects, project)
	}
	return g
}

// damage saves a server, and starts it again AFTER the record of a project was damaged there.
func (g *damagedGroup) damage(server, project int) {
	g.t.Helper()
	n := g.nodes[server]
	if err := n.e.Save(); err != nil {
		g.t.Fatal(err)
	}
	g.restart(server, func() { flipMark(g.t, n.config.Dir, markOf(project)) })
}

// restart starts a server again. It does not lead then.
func (g *damagedGroup) restart(server int, meanwhile func()) {
	g.t.Helper()
	n := g.nodes[server]
	if n.reign != 0 {
		n.depose()
	}
	stop(g.t, n.e)
	meanwhile()
	n.config.SharedJournal = true
	n.config.Log = slog.New(slog.NewTextHandler(g.logs[server], nil))
	n.e = start(g.t, n.config)
}

// lead has a server lead.
func (g *damagedGroup) lead(server int) {
	g.elect(g.nodes[server])
	g.deliverAll()
}

// isDamaged reports whether a project is damaged on a server, and fails for other errors.
func (g *damagedGroup) isDamaged(server, project int) bool {
	g.t.Helper()
	_, err := g.nodes[server].e.Project(g.projects[project])
	if err != nil && !errors.Is(err, api.ErrDamaged) {
		g.t.Fatal(err)
	}
	return err != nil
}

func (g *damagedGroup) put(project int, path string) {
	g.t.Helper()
	for _, n := range g.nodes {
		if n.reign != 0 {
			mustPut(g.t, n.e, g.projects[project], g.owner, path, "content of "+path)
			return
		}
	}
	g.t.Fatal("no server leads")
}

func (g *damagedGroup) has(server, project int, path string) bool {
	g.t.Helper()
	_, there, err := contentOf(g.nodes[server].e, viewOf(g.t, g.nodes[server].e, g.projects[project]),
		path)
	if err != nil {
		g.t.Error(err)
	}
	return there
}

// TestFollowerKeepsEntriesOfADamagedProject writes to projects of which one is damaged on one
// follower, and another one on the other follower. They are damaged there alone, AFTER each start,
// and what was written to them stays in the log.
func TestFollowerKeepsEntriesOfADamagedProject(t *testing.T) {
	g := newDamagedGroup(t, 3)
	g.damage(1, 0)
	g.damage(2, 1)
	check := func(path string) {
		t.Helper()
		for server := range 3 {
			for project := range 3 {
				want := server > 0 && project == server-1
				if damaged := g.isDamaged(server, project); damaged != want {
					t.Errorf("%s: project %d is damaged on server %d: %v", path, project, server, damaged)
				} else if !want && !g.has(server, project, path) {
					t.Errorf("%s is not in project %d of server %d", path, project, server)
				}
			}
		}
	}
	first := g.nodes[1].Durable() + 1
	for _, path := range []string{"one", "two", "three"} {
		for project := range g.projects {
			g.put(project, path)
		}
		check(path)
		for server := 1; server < 3; server++ {
			n := g.nodes[server]
			saveAll(t, n.e)
			if n.first > first+uint64(server)-1 {
				t.Errorf("the log of server %d was cut in front of %d", server, n.first)
			}
			g.restart(server, func() {})
		}
		check(path)
	}
}

// TestDamagedProjectIsRemovedElsewhere removes a project that is damaged on a follower: it leaves
// that one, too, whether it is up meanwhile or starts AFTER that.
func TestDamagedProjectIsRemovedElsewhere(t *testing.T) {
	g := newDamagedGroup(t, 2)
	g.damage(1, 0)
	g.damage(2, 0)
	g.put(0, "later")
	if !g.isDamaged(1, 0) {
		t.Fatal("it is not damaged")
	}
	kept := crashCopy(t, g.nodes[2].config.Dir)
	if err := g.nodes[0].e.RemoveProject(g.projects[0], "malware"); err != nil {
		t.Fatal(err)
	}
	// The directory of the third server is that of BEFORE the removal, the log has all of it.
	g.restart(2, func() { g.nodes[2].config.Dir = kept })
	for server, n := range g.nodes {
		if p := viewOf(t, n.e, g.projects[0]); p == nil || !p.Erased() {
			t.Errorf("server %d: %+v", server, p)
		}
		if count := n.e.damages.count(); count != 0 {
			t.Errorf("server %d: %d are damaged", server, count)
		}
		if count := n.e.Indexes(^index.Set(0)).Listing.Len(); count != 1 {
			t.Errorf("server %d lists %d", server, count)
		}
		saveAll(t, n.e)
	}
	g.put(1, "later")
	if !g.has(1, 1, "later") || !strings.Contains(g.logs[1].String(), "was removed") {
		t.Errorf("%s", g.logs[1])
	}
}

// refusesHere reports whether an error names a project that is damaged, and what to do.
func (g *damagedGroup) refusesHere(err error, project int) bool {
	var refusal *fault.Error
	return errors.As(err, &refusal) && refusal.Code == fault.StateConflict &&
		refusal.Details["project_id"] == g.projects[project].Format(id.Project) &&
		strings.Contains(refusal.Message, "pws cluster transfer")
}

// TestLeaderRefusesPurgeBesideDamage has a leader refuse a purge while a project is damaged there.
// One that another server has begun waits for a server without damage, too.
func TestLeaderRefusesPurgeBesideDamage(t *testing.T) {
	g := newDamagedGroup(t, 2)
	secret := blobOf("content of " + markOf(0)).Hash
	g.damage(1, 0)
	g.lead(1)
	if err := g.nodes[1].e.PurgeContent(secret, "leaked"); !g.refusesHere(err, 0) {
		t.Errorf("a purge on a server with damage: %v", err)
	}
	for server, n := range g.nodes {
		if n.e.Identity().Purged(secret) {
			t.Errorf("server %d knows of a purge that was refused", server)
		}
	}
	g.lead(0)
	errStop := errors.New("it is lost")
	g.nodes[0].e.erasing.hook = func(step string) error {
		if step == "settled" {
			return errStop
		}
		return nil
	}
	if err := g.nodes[0].e.PurgeContent(secret, "leaked"); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	g.lead(1)
	if err := g.nodes[1].e.erasing.resumeErasure(); !g.refusesHere(err, 0) {
		t.Errorf("a server with damage goes on: %v", err)
	}
	erased := func() bool { return g.nodes[2].e.Identity().PurgedContents()[0].ErasedAt != 0 }
	if erased() {
		t.Error("the erasure has ended without a project")
	}
	g.lead(2)
	if err := g.nodes[2].e.erasing.resumeErasure(); err != nil {
		t.Error(err)
	}
	if !erased() {
		t.Error("the erasure has not ended")
	}
}

// TestLeaderRefusesToRemoveAProjectDamagedThere has a server that leads refuse to remove a project
// that is damaged on it. One that another server has begun to remove waits for a server without
// damage, and so does what another project had.
func TestLeaderRefusesToRemoveAProjectDamagedThere(t *testing.T) {
	g := newDamagedGroup(t, 3)
	g.put(2, "shared")
	g.put(0, "shared")
	g.damage(1, 0)
	g.lead(1)
	leads := g.nodes[1].e
	if err := leads.RemoveProject(g.projects[0], "malware"); !g.refusesHere(err, 0) {
		t.Errorf("a removal on a server with damage: %v", err)
	}
	if err := leads.HideProject(g.projects[0], "spam"); !g.refusesHere(err, 0) {
		t.Errorf("a project with damage is hidden: %v", err)
	}
	if drops := leads.Identity().Drops(); len(drops) > 0 {
		t.Errorf("a removal that was refused is noted: %+v", drops)
	}
	if err := leads.RemoveProject(g.projects[2], "malware"); !g.refusesHere(err, 0) {
		t.Errorf("the removal of another project: %v", err)
	}
	if p := viewOf(t, g.nodes[0].e, g.projects[2]); !p.Removed() {
		t.Error("another project can still be read")
	}
	g.lead(0)
	if err := g.nodes[0].e.RemoveProject(g.projects[0], "malware"); err != nil {
		t.Error(err)
	}
	for server, n := range g.nodes {
		for _, project := range []int{0, 2} {
			if p := viewOf(t, n.e, g.projects[project]); !p.Erased() {
				t.Errorf("project %d on server %d: %+v", project, server, p.Record)
			}
		}
		if drops := n.e.Identity().Drops(); len(drops) > 0 {
			t.Errorf("server %d: %+v", server, drops)
		}
	}
}

// TestFollowedErasureDoesNotWaitForADamagedProject has a follower with damage, whose log keeps
// entries of the project, not wait for ever to erase what was purged elsewhere.
func TestFollowedErasureDoesNotWaitForADamagedProject(t *testing.T) {
	g := newDamagedGroup(t, 2)
	g.damage(1, 0)
	g.put(0, "kept in the log")
	if err := g.nodes[0].e.PurgeContent(blobOf("content of "+markOf(1)).Hash, "leaked"); err != nil {
		t.Fatal(err)
	}
	follows := g.nodes[1].e
	if err := follows.erasing.eraseFollowed(); !g.refusesHere(err, 0) {
		t.Errorf("a follower with damage erases: %v", err)
	}
	g.lead(1)
	if err := follows.RemoveProject(g.projects[1], "malware"); !g.refusesHere(err, 0) {
		t.Errorf("a removal: %v", err)
	}
}
