package work_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// deletedWorld is a project in which records of all kinds were deleted: a review and a whole
// contribution, a verification record, handoffs of a full chunk and behind it, a discussion and a
// comment.
func deletedWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "a", "1")
	w.must(t, &work.AddMember{Agent: agent("eve"), Role: work.Contributor})
	by := func(who string, command work.Command) id.ID {
		t.Helper()
		w.now++
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		return decision.Result.Subject
	}
	for n := range work.HandoffChunk.Len() + 2 {
		by("eve", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: secret, Blockers: []string{fmt.Sprint(n)},
		}})
	}
	offer := func() *work.Contribution {
		space := by("eve", new(work.OpenWorkspace))
		by("eve", &work.WriteWorkspaceFile{
			Workspace: space, Path: secret, Blob: blob("2"), ContentType: "text/plain",
		})
		by("eve", &work.SubmitWorkspace{Workspace: space, Summary: secret})
		found, _ := w.project.Workspace(space)
		return must(w.project.Contribution(found.Contribution))
	}
	reviewed, gone := offer(), offer()
	var reviews []id.ID
	for _, one := range []*work.Contribution{reviewed, gone} {
		reviews = append(reviews, by("mal", &work.ReviewContribution{
			Contribution: one.ID, Revision: one.Current(), Verdict: work.VerdictApprove,
			Body: secret, Comments: []work.ReviewComment{{Path: secret, Body: secret}},
		}))
	}
	finding := work.Finding{
		Entity: w.project.Entity(), Kind: work.ExternalAttestation, Outcome: work.Failed,
		Method: secret, Summary: secret, Evidence: []string{secret}, Source: secret,
		Reference: secret,
	}
	doubt := by("mal", &work.CreateVerification{Finding: finding})
	kept := work.Finding{
		Entity: w.project.Entity(), Kind: work.SelfReport, Outcome: work.Passed, Summary: "kept",
	}
	by("mal", &work.CreateVerification{Finding: kept})
	talk := by("mal", &work.CreateDiscussion{Title: secret, Body: secret})
	remark := by("mal", &work.AddComment{Discussion: talk, Body: secret})
	w.must(t, &work.RemoveMember{Agent: agent("eve")})
	handoffs := w.project.Handoffs()
	for _, command := range []work.Command{
		&work.DeleteReview{Contribution: reviewed.ID, Review: reviews[0], Reason: "a review"},
		&work.DeleteContribution{Contribution: gone.ID, Reason: "a contribution"},
		&work.DeleteVerification{Verification: doubt, Reason: "a record"},
		&work.DeleteHandoff{Handoff: handoffs[3].ID, Reason: "a handoff"},
		&work.DeleteHandoff{Handoff: handoffs[len(handoffs)-1].ID, Reason: "the last"},
		&work.DeleteComment{Discussion: talk, Comment: remark, Reason: "a comment"},
		&work.DeleteDiscussion{Discussion: talk, Reason: "a discussion"},
	} {
		w.now++
		w.must(t, command)
	}
	return w
}

// secret is a text of records that were deleted, and of some that were not.
const secret = "unwanted"

// TestFrozenDeletions reads a project that was saved with the marks of deleted records.
func TestFrozenDeletions(t *testing.T) {
	p, head := frozenProject(t, "testdata/snapshot/v9-deletions", deletedWorld,
		map[string]work.ChunkKind{
			"contributions.cbor": work.ContributionChunk, "revisions.cbor": work.RevisionChunk,
			"verifications.cbor": work.VerificationChunk, "handoffs.cbor": work.HandoffChunk,
			"workspaces.cbor": work.WorkspaceChunk, "discussions.cbor": work.DiscussionChunk,
			"comments.cbor": work.CommentChunk,
		})
	mark := func(nth int64, reason string) work.Deletion {
		return work.Deletion{By: agent("ann"), At: p.UpdatedAt - 6 + nth, Reason: reason}
	}
	reviewed, gone := contributionsOf(p)[0], contributionsOf(p)[1]
	handoffs := p.Handoffs()
	records := recordsOf(p)
	got := []work.Deletion{
		reviewed.Reviews[0].Deleted, gone.Deleted, gone.Reviews[0].Deleted, records[0].Deleted,
		handoffs[3].Deleted, handoffs[len(handoffs)-1].Deleted,
	}
	want := []work.Deletion{
		mark(0, "a review"), mark(1, "a contribution"), mark(1, ""), mark(2, "a record"),
		mark(3, "a handoff"), mark(4, "the last"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if latest := p.LatestHandoff(); latest != handoffs[len(handoffs)-2] {
		t.Errorf("the latest handoff is %+v", latest)
	}
	if gone.Status != work.RejectedStatus || reviewed.Status != work.SubmittedStatus ||
		p.PendingContributions() != 1 {
		t.Errorf("the contributions are %s and %s", gone.Status, reviewed.Status)
	}
	summary, err := work.RestoreSummary(head)
	if err != nil || summary.OwnTally() != p.OwnTally() || p.OwnTally().Attestations != 0 ||
		p.OwnTally().SelfReports != 1 {
		t.Errorf("the evidence is %+v: %v", p.OwnTally(), err)
	}
	if err := findText(p, secret); err != nil {
		t.Error(err)
	}
}

func contributionsOf(p *work.Project) (all []*work.Contribution) {
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		all = append([]*work.Contribution{c}, all...)
		return true
	})
	return all
}

func recordsOf(p *work.Project) (all []*work.Verification) {
	p.AllVerifications(func(one *work.Verification) bool { all = append(all, one); return true })
	return all
}

// findText finds a text in the deleted records of a project.
func findText(p *work.Project, text string) error {
	look := func(mark work.Deletion, name string, record ...any) error {
		if !mark.Is() {
			return nil
		}
		if shown := fmt.Sprintf("%+v", record); bytes.Contains([]byte(shown), []byte(text)) {
			return fmt.Errorf("a deleted %s shows %s", name, shown)
		}
		return nil
	}
	for _, h := range p.Handoffs() {
		if err := look(h.Deleted, "handoff", *h); err != nil {
			return err
		}
	}
	for _, v := range recordsOf(p) {
		if err := look(v.Deleted, "verification record", *v); err != nil {
			return err
		}
	}
	for _, c := range contributionsOf(p) {
		for _, review := range c.Reviews {
			if err := look(review.Deleted, "review", *review); err != nil {
				return err
			}
		}
		parts := []any{c.Note, c.Conflicts}
		for _, revision := range p.RevisionsOf(c) {
			parts = append(parts, *revision)
		}
		if w, ok := p.Workspace(c.Workspace); ok && w.Contribution == c.ID {
			parts = append(parts, *w)
		}
		if err := look(c.Deleted, "contribution", parts...); err != nil {
			return err
		}
	}
	return nil
}

// TestDeletedHandoffsOfSavedChunks deletes a handoff AFTER its chunk was saved. The chunk does not
// change, and the head says that the handoff was deleted.
func TestDeletedHandoffsOfSavedChunks(t *testing.T) {
	w := newWorld()
	w.create(t)
	for range work.HandoffChunk.Len() + 1 {
		w.must(t, &work.CreateHandoff{Continuation: work.Continuation{Summary: secret}})
	}
	before := mustSave(t, w.project)
	for _, handoff := range w.project.Handoffs() {
		w.must(t, &work.DeleteHandoff{Handoff: handoff.ID})
	}
	if (work.HandoffChunk).Changes() {
		t.Fatal("chunks of handoffs change")
	}
	after := mustSave(t, w.project)
	restored, err := saved{head: after.head, chunks: before.chunks}.restore()
	if err != nil {
		t.Fatal(err)
	}
	if err := findText(restored, secret); err != nil || restored.LatestHandoff() != nil {
		t.Errorf("the latest handoff is %+v: %v", restored.LatestHandoff(), err)
	}
	if !mustSave(t, restored).equal(after) {
		t.Error("the restored state is another")
	}
	// A mark of a handoff that does not exist is damage.
	chunk := work.Chunk{Kind: work.HandoffChunk}
	other := newWorld()
	other.create(t)
	other.now += 1000
	for range work.HandoffChunk.Len() {
		other.must(t, new(work.CreateHandoff))
	}
	wrong := saved{head: after.head, chunks: map[work.Chunk][]byte{
		chunk: mustSave(t, other.project).chunks[chunk],
	}}
	if _, err := wrong.restore(); err == nil {
		t.Error("marks of handoffs that do not exist are accepted")
	}
}

// TestDeletionsAndQuotas deletes records of a guest. What others delete no longer counts against
// its quota; what it deletes itself counts as before, except for the texts.
func TestDeletionsAndQuotas(t *testing.T) {
	w := newWorld()
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: work.Community, About: work.About{
		Name: "open", License: "MIT", Visibility: work.Public, Reuse: work.AllowReuse,
	}})
	used := func() string {
		counts := map[string]int{}
		for _, usage := range w.project.QuotaUsages(agent("eve"), w.now) {
			counts[usage.Quota] = usage.Used
		}
		return fmt.Sprint(counts["verifications_of_agent"], counts["handoffs_of_agent"],
			counts["text_bytes_of_agent"])
	}
	by := func(who string, command work.Command, want string) id.ID {
		t.Helper()
		w.now++
		decision, err := w.do(agent(who), command)
		if err != nil {
			t.Fatal(err)
		}
		if got := used(); got != want {
			t.Errorf("after %T by %s: %s, want %s", command, who, got, want)
		}
		return decision.Result.Subject
	}
	vouch := func() work.Command {
		return &work.CreateVerification{Finding: work.Finding{
			Entity: w.project.Entity(), Kind: work.SelfReport, Outcome: work.Passed, Summary: "12345",
		}}
	}
	leave := &work.CreateHandoff{Continuation: work.Continuation{Summary: "1234567"}}
	first := by("eve", vouch(), "1 0 5")
	second := by("eve", vouch(), "2 0 10")
	by("ann", &work.DeleteVerification{Verification: first, Reason: "a long reason"}, "1 0 5")
	by("eve", &work.DeleteVerification{Verification: second, Reason: "a long reason"}, "1 0 0")
	first = by("eve", leave, "1 1 7")
	second = by("eve", leave, "1 2 14")
	by("ann", &work.DeleteHandoff{Handoff: first}, "1 1 7")
	by("eve", &work.DeleteHandoff{Handoff: second}, "1 1 0")
}

// TestDeletedReviewsAndQuotas lets a guest write as many reviews of a contribution as it may.
func TestDeletedReviewsAndQuotas(t *testing.T) {
	w := newWorld()
	w.create(t)
	space := must2(w.do(agent("eve"), new(work.OpenWorkspace))).Result.Subject
	must2(w.do(agent("eve"), &work.WriteWorkspaceFile{
		Workspace: space, Path: "a", Blob: blob("2"), ContentType: "text/plain",
	}))
	offered := must2(w.do(agent("eve"), &work.SubmitWorkspace{Workspace: space, Summary: "s"}))
	c := must(w.project.Contribution(offered.Result.Subject))
	praise := func() (id.ID, string) {
		decision, err := w.do(agent("mal"), &work.ReviewContribution{
			Contribution: c.ID, Revision: c.Current(), Verdict: work.VerdictApprove,
		})
		return decision.Result.Subject, quotaOf(t, err)
	}
	var reviews []id.ID
	for range work.GuestReviewsMax {
		review, quota := praise()
		if quota != "" {
			t.Fatal(quota)
		}
		reviews = append(reviews, review)
	}
	must2(w.do(agent("mal"), &work.DeleteReview{Contribution: c.ID, Review: reviews[0]}))
	if _, quota := praise(); quota != "reviews_of_contribution_of_agent" {
		t.Errorf("after the author has deleted one: quota %q", quota)
	}
	must2(w.do(agent("ann"), &work.DeleteReview{Contribution: c.ID, Review: reviews[1]}))
	if _, quota := praise(); quota != "" {
		t.Errorf("after the owner has deleted one: quota %q", quota)
	}
	must2(w.do(agent("ann"), &work.DeleteContribution{Contribution: c.ID}))
	for _, usage := range w.project.QuotaUsages(agent("eve"), w.now) {
		if usage.Used != 0 && usage.Quota != "workspaces_of_agent_today" {
			t.Errorf("a deleted contribution counts: %+v", usage)
		}
	}
}

func must2(decision work.Decision, err error) work.Decision {
	if err != nil {
		panic(err)
	}
	return decision
}
