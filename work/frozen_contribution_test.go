package work_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

var frozenContributionEvents = []frozenEvent{
	{"6-changeset-of-another", &work.ChangesetPublished{
		ID: agent("changeset"), Message: "taken over", Source: work.SourceContribution,
		SourceID: agent("contribution"), Author: agent("eve"),
		Ops: []work.OpRecord{{Action: work.Delete, Path: "a"}},
	}},
	{"24-contribution-submitted", &work.ContributionSubmitted{
		ID: agent("contribution"), Workspace: agent("workspace"), Revision: agent("revision"),
		Summary: "s",
	}},
	{"25-revision-submitted", &work.RevisionSubmitted{
		Contribution: agent("contribution"), ID: agent("revision"), Summary: "s",
	}},
	{"26-contribution-reviewed", &work.ContributionReviewed{
		Contribution: agent("contribution"), ID: agent("review"), Revision: agent("revision"),
		Verdict: work.VerdictRequestChanges, Binding: true, Body: "b",
		Comments: []work.ReviewComment{
			{Path: "a", Line: 7, Body: "here"}, {Path: "b/c", Body: "all of it"},
		},
	}},
	{"27-contribution-conflicted", &work.ContributionConflicted{
		Contribution: agent("contribution"),
		Conflicts: []work.Conflict{{
			Path: "a", Kind: work.ContentConflict, Base: blob("1").Hash, Ours: blob("22").Hash,
			Theirs: blob("333").Hash, Marked: blob("4444").Hash, BaseType: "text/plain", BaseSize: 1,
			MarkedSize: 4,
		}},
	}},
	{"28-contribution-accepted", &work.ContributionAccepted{
		Contribution: agent("contribution"), Changeset: agent("changeset"), Note: "n",
	}},
	{"29-contribution-rejected", &work.ContributionRejected{
		Contribution: agent("contribution"), Reason: "r",
	}},
	{"24-contribution-for-review", &work.ContributionSubmitted{
		ID: agent("contribution"), Workspace: agent("workspace"), Revision: agent("revision"),
		Summary: "s", Deciders: []id.ID{agent("ann"), agent("bob")},
	}},
	{"25-revision-for-review", &work.RevisionSubmitted{
		Contribution: agent("contribution"), ID: agent("revision"), Summary: "s",
		Deciders: []id.ID{agent("ann")},
	}},
	{"26-contribution-of-eve-reviewed", &work.ContributionReviewed{
		Contribution: agent("contribution"), ID: agent("review"), Revision: agent("revision"),
		Verdict: work.VerdictComment, Author: agent("eve"),
	}},
	{"27-contribution-of-eve-conflicted", &work.ContributionConflicted{
		Contribution: agent("contribution"), Author: agent("eve"),
		Conflicts: []work.Conflict{{Path: "a", Kind: work.DeletedByThem}},
	}},
	{"28-contribution-of-eve-accepted", &work.ContributionAccepted{
		Contribution: agent("contribution"), Changeset: agent("changeset"), Author: agent("eve"),
	}},
	{"29-contribution-of-eve-rejected", &work.ContributionRejected{
		Contribution: agent("contribution"), Author: agent("eve"),
	}},
	{"30-contribution-withdrawn", &work.ContributionWithdrawn{
		Contribution: agent("contribution"), Reason: "r",
	}},
}

// frozenContributions is what the frozen snapshot with contributions was made of: one that was
// accepted, and one in conflict, in its second revision and with a review.
func frozenContributions(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	do := func(who string, command work.Command) id.ID {
		t.Helper()
		w.now++
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	write := func(workspace id.ID, path, content string) {
		t.Helper()
		do("eve", &work.WriteWorkspaceFile{
			Workspace: workspace, Path: path, Blob: blob(content), ContentType: "text/plain",
		})
	}
	first, second := do("eve", new(work.OpenWorkspace)), do("eve", new(work.OpenWorkspace))
	write(first, "b", "2")
	one := do("eve", &work.SubmitWorkspace{Workspace: first, Summary: "first"})
	c, _ := w.project.Contribution(one)
	do("ann", &work.AcceptContribution{Contribution: one, Revision: c.Current(), Message: "m"})
	write(second, "a", "ours")
	two := do("eve", &work.SubmitWorkspace{Workspace: second, Summary: "old"})
	c, _ = w.project.Contribution(two)
	do("bob", &work.ReviewContribution{
		Contribution: two, Revision: c.Current(), Verdict: work.VerdictApprove, Body: "good",
		Comments: []work.ReviewComment{{Path: "a", Line: 1, Body: "this"}},
	})
	write(second, "c", "3")
	do("eve", &work.SubmitWorkspace{Workspace: second, Summary: "new"})
	w.put(t, "a", "theirs")
	c, _ = w.project.Contribution(two)
	w.now++
	if _, err := w.do(agent("ann"), &work.AcceptContribution{
		Contribution: two, Revision: c.Current(), Plan: w.acceptance(two),
	}); err == nil {
		t.Fatal("there is no conflict")
	}
	return w
}

// TestFrozenContributions reads a project that was saved with contributions.
func TestFrozenContributions(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v4-contributions", frozenContributions,
		map[string]work.ChunkKind{
			"workspaces.cbor": work.WorkspaceChunk, "revisions.cbor": work.RevisionChunk,
			"contributions.cbor": work.ContributionChunk,
		})
	var got []*work.Contribution
	p.Contributions(id.ID{}, func(c *work.Contribution) bool { got = append(got, c); return true })
	if len(got) != 2 || p.PendingContributions() != 1 || !p.Has(id.Contribution, got[0].ID) {
		t.Fatalf("%d contributions, %d pending", len(got), p.PendingContributions())
	}
	checkFrozenContributions(t, p, got[0], got[1])
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.PendingContributions() != 1 {
		t.Errorf("the summary has %d pending: %v", summary.PendingContributions(), err)
	}
}

func checkFrozenContributions(t *testing.T, p *work.Project, open, accepted *work.Contribution) {
	t.Helper()
	published := p.ChangesetNumber(3)
	want := &work.Contribution{
		ID: accepted.ID, Workspace: accepted.Workspace, Author: agent("eve"),
		Status: work.AcceptedStatus, Revisions: accepted.Revisions, Changeset: published.ID,
		DecidedBy: agent("ann"), DecidedAt: testNow + 5, Note: "m",
		CreatedAt: testNow + 4, UpdatedAt: testNow + 5, Version: 2,
	}
	if diff := cmp.Diff(want, accepted); diff != "" || published.Author != agent("eve") ||
		published.SourceID != accepted.ID {
		t.Errorf("the accepted one by %v: %s", published.Author, diff)
	}
	marked := blob("<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n")
	want = &work.Contribution{
		ID: open.ID, Workspace: open.Workspace, Author: agent("eve"),
		Status: work.ConflictStatus, Revisions: open.Revisions,
		Reviews: []*work.Review{{
			ID: open.Reviews[0].ID, Revision: open.Revisions[0], Author: agent("bob"),
			Verdict: work.VerdictApprove, Body: "good", CreatedAt: testNow + 8,
			Comments: []work.ReviewComment{{Path: "a", Line: 1, Body: "this"}},
		}},
		Conflicts: []work.Conflict{{
			Path: "a", Kind: work.ContentConflict, Base: blob("1").Hash, BaseSize: 1,
			BaseType: "text/plain", Ours: blob("ours").Hash, Theirs: blob("theirs").Hash,
			Marked: marked.Hash, MarkedSize: len(marked.Content),
		}},
		CreatedAt: testNow + 7, UpdatedAt: testNow + 11, Version: 4,
	}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("the open one: %s", diff)
	}
	file := work.Overlaid{
		Path: "a", From: "a", Blob: blob("ours").Hash, Size: 4, Type: "text/plain",
		At: testNow + 6,
	}
	wantRevisions := []*work.Revision{{
		ID: open.Revisions[0], Contribution: open.ID, Number: 1, Base: p.ChangesetNumber(2).ID,
		Summary: "old", Files: []work.Overlaid{file}, CreatedAt: testNow + 7,
	}, {
		ID: open.Revisions[1], Contribution: open.ID, Number: 2, Base: p.ChangesetNumber(2).ID,
		Summary: "new", CreatedAt: testNow + 10,
		Files: []work.Overlaid{file, {
			Path: "c", Blob: blob("3").Hash, Size: 1, Type: "text/plain", At: testNow + 9,
		}},
	}}
	if diff := cmp.Diff(wantRevisions, p.RevisionsOf(open)); diff != "" {
		t.Errorf("its revisions: %s", diff)
	}
	w, _ := p.Workspace(open.Workspace)
	if w.Status != work.WorkspaceConflict || w.Contribution != open.ID {
		t.Errorf("its workspace is %+v", w)
	}
}
