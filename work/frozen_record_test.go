package work_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

func frozenFinding(p *work.Project) work.Finding {
	return work.Finding{
		Entity: work.Entity{Type: work.EntityChangeset, ID: p.ChangesetNumber(2).ID},
		Kind:   work.ExternalAttestation, Outcome: work.Failed, Method: "m", Summary: "s",
		Evidence: []string{"e", "f"}, Source: "lab", Reference: "17",
	}
}

// frozenDeletionEvents are the events of deleted records.
var frozenDeletionEvents = []frozenEvent{
	{"46-discussion-deleted-reason", &work.DiscussionDeleted{
		Discussion: agent("discussion"), Reason: "spam", Author: agent("eve"),
	}},
	{"47-comment-deleted-reason", &work.CommentDeleted{
		Discussion: agent("discussion"), Comment: agent("comment"), Reason: "spam",
		Author: agent("eve"),
	}},
	{"60-verification-deleted", &work.VerificationDeleted{
		Verification: agent("verification"), Author: agent("eve"), Reason: "spam",
		Entity: work.Entity{Type: work.EntityArtifact, ID: agent("artifact")},
	}},
	{"61-review-deleted", &work.ReviewDeleted{
		Contribution: agent("contribution"), Review: agent("review"), Author: agent("eve"),
		Reason: "spam",
	}},
	{"62-contribution-deleted", &work.ContributionDeleted{
		Contribution: agent("contribution"), Author: agent("eve"), Reason: "spam", Decides: true,
	}},
	{"62-contribution-deleted-decided", &work.ContributionDeleted{
		Contribution: agent("contribution"), Author: agent("eve"),
	}},
	{"63-handoff-deleted", &work.HandoffDeleted{
		Handoff: agent("handoff"), Author: agent("eve"), Reason: "spam",
	}},
}

// frozenRecords is what the frozen snapshot with records was made of: evidence for the project and
// for a changeset, two relations, and a workspace that an agent works in.
func frozenRecords(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	eve := func(command work.Command) id.ID {
		t.Helper()
		w.now++
		decision, err := w.do(agent("eve"), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	eve(&work.CreateVerification{Finding: work.Finding{
		Entity: w.project.Entity(), Kind: work.SelfReport, Outcome: work.Passed,
	}})
	eve(&work.CreateVerification{Finding: frozenFinding(w.project)})
	w.must(t, &work.CreateRelation{Type: work.DependsOn, Target: agent("other"), Note: "n"})
	w.must(t, &work.CreateRelation{Type: work.Supersedes, Target: agent("old")})
	space := eve(new(work.OpenWorkspace))
	eve(&work.WriteWorkspaceFile{
		Workspace: space, Path: "b", Blob: blob("22"), ContentType: "text/x",
	})
	eve(&work.DeleteWorkspaceFile{Workspace: space, Path: "a"})
	return w
}

// TestFrozenRecords reads a project that was saved with records of others about it.
func TestFrozenRecords(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v4-records", frozenRecords,
		map[string]work.ChunkKind{
			"verifications.cbor": work.VerificationChunk, "relations.cbor": work.RelationChunk,
			"workspaces.cbor": work.WorkspaceChunk,
		})
	checkFrozenRecords(t, p)
	var spaces []*work.Workspace
	p.Workspaces(func(w *work.Workspace) bool { spaces = append(spaces, w); return true })
	if len(spaces) != 1 || !p.Has(id.Workspace, spaces[0].ID) {
		t.Fatalf("%d workspaces", len(spaces))
	}
	want := &work.Workspace{
		ID: spaces[0].ID, Agent: agent("eve"), Mode: work.ContributionMode,
		Status: work.WorkspaceOpen, Base: p.Head().ID, Revision: 3,
		CreatedAt: testNow + 3, UpdatedAt: testNow + 5,
		Files: []work.Overlaid{{Path: "a", At: testNow + 5}, {
			Path: "b", Blob: blob("22").Hash, Size: 2, Type: "text/x", At: testNow + 4,
		}},
	}
	if diff := cmp.Diff(want, spaces[0]); diff != "" {
		t.Error(diff)
	}
	summary, err := work.RestoreSummary(head)
	if err != nil || !summary.HasVerifications() || summary.OwnTally().SelfReports != 1 {
		t.Errorf("the summary: %v", err)
	}
	if !summary.Outdated() {
		t.Error("a head without outcomes does not ask for the whole project")
	}
}

// TestFrozenEvidence reads a head that was saved with what records came to.
func TestFrozenEvidence(t *testing.T) {
	_, head := frozenProject(t, "testdata/snapshot/v6-evidence", func(t *testing.T) *world {
		w := frozenRecords(t)
		for _, outcome := range []work.Outcome{work.Failed, work.Inconclusive} {
			w.now++
			w.must(t, &work.CreateVerification{Finding: work.Finding{
				Entity: w.project.Entity(), Kind: work.ExternalAttestation, Outcome: outcome,
				Summary: strings.Repeat("ä", 201), Source: "lab", Reference: "18",
			}})
		}
		return w
	}, map[string]work.ChunkKind{
		"verifications.cbor": work.VerificationChunk, "relations.cbor": work.RelationChunk,
		"workspaces.cbor": work.WorkspaceChunk,
	})
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.Outdated() {
		t.Fatalf("the summary: %v", err)
	}
	got := summary.OwnEvidence()
	if got.Latest == nil || got.LatestFailed == nil {
		t.Fatalf("the evidence: %+v", got)
	}
	short := strings.Repeat("ä", work.DigestCharsMax-1) + "…"
	want := work.Evidence{
		Tally: work.Tally{
			SelfReports: 1, Attestations: 2, Reported: work.Outcomes{Passed: 1},
			Attested: work.Outcomes{Failed: 1, Inconclusive: 1},
		},
		Latest: &work.VerificationDigest{
			ID: got.Latest.ID, Kind: work.ExternalAttestation, Outcome: work.Inconclusive,
			Summary: short, CreatedAt: testNow + 7,
		},
		LatestFailed: &work.VerificationDigest{
			ID: got.LatestFailed.ID, Kind: work.ExternalAttestation, Outcome: work.Failed,
			Summary: short, CreatedAt: testNow + 6,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func checkFrozenRecords(t *testing.T, p *work.Project) {
	t.Helper()
	var found []*work.Verification
	p.Verifications(id.ID{}, func(v *work.Verification) bool {
		found = append(found, v)
		return true
	})
	var said []*work.Relation
	p.Relations(id.ID{}, func(r *work.Relation) bool { said = append(said, r); return true })
	if len(found) != 2 || len(said) != 2 || !p.Has(id.Verification, found[0].ID) {
		t.Fatalf("%d verification records, %d relations", len(found), len(said))
	}
	finding := frozenFinding(p)
	wantFound := []*work.Verification{
		{ID: found[0].ID, Author: agent("eve"), Finding: finding, CreatedAt: testNow + 2},
		{
			ID: found[1].ID, Author: agent("eve"), CreatedAt: testNow + 1,
			Finding: work.Finding{
				Entity: p.Entity(), Kind: work.SelfReport, Outcome: work.Passed,
			},
		},
	}
	if diff := cmp.Diff(wantFound, found); diff != "" {
		t.Error(diff)
	}
	own := work.Tally{SelfReports: 1, Reported: work.Outcomes{Passed: 1}}
	of := work.Tally{Attestations: 1, Attested: work.Outcomes{Failed: 1}}
	if p.OwnTally() != own || p.Tally(finding.Entity) != of {
		t.Errorf("the tallies are %+v and %+v", p.OwnTally(), p.Tally(finding.Entity))
	}
	wantSaid := []*work.Relation{{
		ID: said[0].ID, Type: work.Supersedes, Target: agent("old"), CreatedBy: agent("ann"),
		CreatedAt: testNow + 2,
	}, {
		ID: said[1].ID, Type: work.DependsOn, Target: agent("other"), Note: "n",
		CreatedBy: agent("ann"), CreatedAt: testNow + 2,
	}}
	if diff := cmp.Diff(wantSaid, said); diff != "" {
		t.Error(diff)
	}
}
