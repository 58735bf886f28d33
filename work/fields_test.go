package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/fieldtest"
	"pws/internal/id"
	"pws/work"
)

// notSaved are the fields of a project that a snapshot need not keep, each with the reason.
var notSaved = map[string]string{
	"Project.summary":            "made of a head alone, never saved",
	"Tree.manifest":              "stored as contents",
	"AuthorCount.Inherited":      "added up when authors are read",
	"Project.queuesShared":       "whether another state shares the tree",
	"Project.coordinationShared": "whether another state shares the records",
	"history.namesShared":        "whether another state shares the names",
	"history.spilled":            "blocks that a restored project has in the heap",
	"storedResults.full":         "compared as results; a restored project has other blocks",
	"storedResults.open":         "compared as results; a restored project has other blocks",
	"Turn.Renewals":              "written by older programs; the frozen snapshot v7 has it",
	"treeSet.shared":             "whether another state shares the tree",
	"comments.shared":            "whether another state shares the tree",
	"watchers.shared":            "whether another state shares the tree",
	"recordBlock.changed":        "counted since the project was loaded",
	"watchers.changed":           "counted since the project was loaded",
	"stateHistory.changed":       "counted since the project was loaded",
	"pastBlock.changed":          "counted since the project was loaded",
}

// fieldWorlds are projects that together have a value in every field.
func fieldWorlds(t *testing.T) map[string]*world {
	worlds := map[string]*world{
		"busy": busy(t), "first": frozenWorld(t), "work": frozenWorkWorld(t),
		"offers": frozenArtifacts(t), "contributions": frozenContributions(t),
		"discussions": frozenDiscussions(t), "records": frozenRecords(t), "turns": frozenTurns(t),
	}
	worlds["fork"] = forkedWorld(t)
	worlds["bundle"] = bundleWorld()
	worlds["moderated"] = moderatedWorld(t)
	worlds["guests"] = guestWorld(t)
	worlds["handoff of a guest"] = guestHandoffWorld(t)
	worlds["a turn is awaited"] = guestWorld(t)
	worlds["a turn is awaited"].must(t, new(work.EndTurn))
	worlds["blocked by a stranger"] = strangerBlocks(t)
	worlds["removed"] = removedWorld(t)
	worlds["erased"] = erasedWorld(t)
	worlds["stored"] = storedWorld(t)
	worlds["states"] = frozenStates(t)
	worlds["away"] = awayWorld(t)
	worlds["texts of tasks"] = taskTextWorld(t)
	worlds["long texts"] = longTextWorld(t)
	worlds["deleted"] = deletedWorld(t)
	worlds["ended"] = endedWorld(t)
	answered := newWorld()
	answered.create(t)
	for nth := range 20 {
		answered.project.Remember(work.StoredResult{
			Key: [16]byte{15: byte(nth)}, ExpiresAt: testNow + 1000, Guest: true,
			Body: make([]byte, work.GuestResultBytesMax/8),
		}, testNow)
	}
	worlds["answers to guests"] = answered
	imported := newWorld()
	imported.create(t)
	offer := far()
	offer.Origins, offer.Omitted = frozenOrigins, work.Omitted{
		Authors: 1, Credits: 2, Origins: 3, Histories: 4,
	}
	imported.must(t, &work.ImportArtifact{Source: offer})
	worlds["imported"] = imported
	renamed := newWorld()
	renamed.create(t)
	renamed.put(t, "a", "a")
	renamed.publish(t, work.Operation{Action: work.Rename, Path: "a", NewPath: "b"})
	worlds["renamed"] = renamed
	described := newWorld()
	described.create(t)
	text := "what it is for"
	described.must(t, &work.UpdateProject{Description: &text})
	worlds["described"] = described
	for seed := range uint64(3) {
		draw := source(rand.New(rand.NewPCG(seed, 0)).IntN)
		w, m := newWorld(), newModels()
		w.create(t)
		m.left.sessions[w.project.Owner] = &modelSession{
			started: w.now, last: w.now, changesets: []uint32{1},
		}
		for range 600 {
			if err := m.act(w, draw); err != nil {
				t.Fatal(err)
			}
		}
		worlds[fmt.Sprint("random ", seed)] = w
	}
	return worlds
}

// strangerBlocks is a project in which an agent that is no member has set a task BLOCKED.
func strangerBlocks(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	task := w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "for all"}}).Result.Subject
	for _, command := range []work.Command{
		&work.ClaimTask{Task: task},
		&work.UpdateTask{Task: task, Change: work.TaskChange{
			Status:  work.TaskBlocked,
			Blocked: &work.Blocked{Kind: work.BlockedByTransient, Reason: "no network"},
		}},
	} {
		if _, err := w.do(agent("eve"), command); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// moderatedWorld is a project in which discussions were locked and deleted, a comment was deleted,
// and a workspace was closed.
func moderatedWorld(t *testing.T) *world {
	w := frozenDiscussions(t)
	var all []id.ID
	w.project.Discussions(id.ID{}, func(d *work.Discussion) bool {
		all = append(all, d.ID)
		return true
	})
	locked, deleted := all[0], all[1]
	var comment id.ID
	w.project.Comments(deleted, id.ID{}, func(c *work.Comment) bool {
		comment = c.ID
		return false
	})
	w.must(t, &work.SetDiscussion{Discussion: locked, Status: work.DiscussionLocked})
	w.must(t, &work.DeleteComment{Discussion: deleted, Comment: comment})
	w.must(t, &work.DeleteDiscussion{Discussion: deleted})
	opened, err := w.do(w.project.Owner, new(work.OpenWorkspace))
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, &work.CloseWorkspace{Workspace: opened.Result.Subject})
	return w
}

// forkedWorld is a fork that has all that a fork can take along, and an import like it.
func forkedWorld(t *testing.T) *world {
	source := many(t, 40)
	command := forkOf(source.project, source.project.Head(), agent("fork"))
	command.Credits = append(frozenCredits[:1:1], frozenSaidCredit())
	command.BundledAuthors = []work.BundledAuthor{{Agent: frozenAgent("carl"), Changesets: 7}}
	command.Origins = frozenOrigins
	command.Imports = []*work.Import{{
		ID: agent("import"), Artifact: agent("artifact"), Source: agent("other"),
		SourceChangeset: agent("there"), Changeset: agent("became"), License: "MIT", Name: "n",
		CreatedBy: agent("ann"), CreatedAt: testNow, Project: agent("source"),
	}}
	w := newWorld()
	if _, err := w.do(agent("bob"), command); err != nil {
		t.Fatal(err)
	}
	return w
}

// bundleWorld is a project that was made of a bundle with records of every kind.
func bundleWorld() *world {
	event := *frozenBundleEvents[0].event.(*work.ProjectImported)
	second := frozenBundleEvents[1].event.(*work.ProjectImported)
	event.Contributions, event.Revisions = second.Contributions, second.Revisions
	event.Imports = second.Imports
	event.States = []*work.State{{
		Statement: work.Statement{Summary: "s"}, Changeset: agent("changeset"), Version: 6,
		UpdatedBy: agent("ann"), UpdatedAt: testNow, Changed: 1,
	}}
	event.Imported.States = []work.VersionOrigin{{Version: 6, Origin: frozenOrigin("old state")}}
	origins := second.Imported
	event.Imported.Contributions, event.Imported.Credits = origins.Contributions, origins.Credits
	event.Imported.Authors, event.Imported.Imports = origins.Authors, origins.Imports
	event.Imported.Relations = origins.Relations
	event.Imported.Contributions = slices.Clone(event.Imported.Contributions)
	event.Imported.Contributions[0].Project = agent("source")
	event.Imported.First = &work.FirstOrigin{
		Project: frozenOrigin("first"), ForkedFrom: agent("source"), ForkedAt: agent("base"),
	}
	event.Discussions = []*work.Discussion{{
		ID: agent("discussion"), Author: agent("ann"), Title: "t", CreatedAt: testNow,
	}}
	event.Comments = []*work.Comment{{
		ID: agent("comment"), Discussion: agent("discussion"), Author: agent("ann"), Body: "b",
		CreatedAt: testNow,
	}}
	event.Imported.Discussions = []work.Origin{frozenOrigin("old discussion")}
	event.Imported.Comments = []work.Origin{frozenOrigin("old comment")}
	result := *event.Tasks[0].Result
	result.Contribution = agent("contribution")
	task := *event.Tasks[0]
	task.Result = &result
	event.Tasks = []*work.Task{&task}
	event.Imported.License, event.Imported.Origins = "MIT", frozenOrigins
	w := newWorld()
	w.project = work.NewProject()
	for _, one := range []work.Event{
		&work.ProjectCreated{ID: agent("project"), Kind: work.Standard, Owner: agent("ann")},
		&event,
	} {
		w.project.Apply(one, work.Moment{Now: testNow, Agent: agent("ann")})
	}
	return w
}

// resultLeaves are the fields of the stored results of a project, which are bytes in it.
func resultLeaves(walk *fieldtest.Walk, p *work.Project) (leaves []map[string]string) {
	first, end := p.ResultRange()
	for nth := first; nth < end; nth++ {
		one, _ := p.ResultAt(nth)
		leaves = append(leaves, walk.Leaves(&one))
	}
	return leaves
}

// TestSnapshotsKeepEveryField saves and restores projects and compares all fields.
func TestSnapshotsKeepEveryField(t *testing.T) {
	walk := fieldtest.New(notSaved)
	for name, world := range fieldWorlds(t) {
		want := walk.Leaves(world.project)
		restored, err := mustSave(t, world.project).restore()
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, walk.Leaves(restored)); diff != "" {
			t.Errorf("%s: restored (+) differs from saved (-):\n%s", name, diff)
		}
		diff := cmp.Diff(resultLeaves(walk, world.project), resultLeaves(walk, restored))
		if diff != "" {
			t.Errorf("%s: restored (+) results differ from saved (-):\n%s", name, diff)
		}
	}
	for _, field := range walk.Unset() {
		t.Errorf("no project sets %s: add a project to fieldWorlds that does", field)
	}
}

// notInEvents are the fields of shared records that no event sets, each with the reason.
var notInEvents = map[string]string{
	"ProjectForked.Tree":     "stored as contents",
	"Handoff.Previous":       "computed when the event is applied",
	"Contribution.Workspace": "a bundle has no workspaces",
	"Contribution.Conflicts": "a bundle has none",
	"Task.Blocked":           "a bundle has no blocked tasks",
	"Task.Claim":             "a bundle has no claims",
	"Task.Holders":           "a bundle has no claims",
	"Task.SpecGuest":         "the importer is a member",
	"Task.WorkGuest":         "the importer is a member",
	"Task.Token":             "a bundle has no claims",
	"Task.waitsFor":          "computed when the event is applied",
	"Discussion.Mentions":    "a bundle notifies nobody",
	"Discussion.Status":      "set by DiscussionSet",
	"Discussion.ChangedBy":   "set by DiscussionSet",
	"Discussion.ChangedAt":   "set by DiscussionSet",
	"Discussion.Deleted":     "set by DiscussionDeleted",
	"Comment.Mentions":       "a bundle notifies nobody",
	"Comment.Deleted":        "set by CommentDeleted",
	"Verification.Deleted":   "set by VerificationDeleted",
	"Review.Deleted":         "set by ReviewDeleted",
	"Contribution.Deleted":   "set by ContributionDeleted",
	"Handoff.Deleted":        "set by HandoffDeleted",
	"Deletion.By":            "computed when the event is applied",
	"Deletion.At":            "computed when the event is applied",
	"Deletion.Reason":        "computed when the event is applied",
}

// TestFrozenEventsSetEveryField fails for a field of an event that is zero in all frozen samples.
func TestFrozenEventsSetEveryField(t *testing.T) {
	walk := fieldtest.New(notInEvents)
	for _, sample := range frozenSamples() {
		walk.Leaves(sample.event)
	}
	for _, field := range walk.Unset() {
		t.Errorf("no frozen event sets %s: add a sample to a list of frozenSamples", field)
	}
}
