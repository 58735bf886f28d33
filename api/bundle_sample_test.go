package api_test

import (
	"pws/internal/id"
	"pws/work"
)

// sampleBundle exports a project that has a record of every kind.
func sampleBundle(t failer) []byte {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "sample"})
	d.publish(t, "one", writes("a.txt", "1"), writes("b/c.txt", "2"))
	d.publish(t, "two", work.Operation{
		Action: work.Modify, Path: "a.txt", Content: textBlob("3"), ContentType: "text/plain",
	}, work.Operation{Action: work.Rename, Path: "b/c.txt", NewPath: "b/d.txt"})
	first := d.task(t, work.TaskSpec{Title: "one"})
	second := d.task(t, work.TaskSpec{Title: "two", Dependencies: []id.ID{first}, Parent: first})
	d.block(t, second, "why")
	d.do(t, "ann", &work.UpdateTask{Task: first, Change: work.TaskChange{
		Result: &work.TaskResult{Summary: "half", Changeset: d.project.Head().ID},
	}})
	for _, summary := range []string{"first", "second"} {
		d.now++
		d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
			Summary: summary, Tasks: []id.ID{first},
		}})
	}
	d.do(t, "ann", &work.UpdateState{Statement: work.Statement{Summary: "state"}})
	d.do(t, "ann", &work.CreateArtifact{
		Name: "part", Type: work.Library, Paths: []string{"b"}, Reuse: work.AllowReuse,
	})
	d.do(t, "ann", &work.CreateVerification{Finding: work.Finding{
		Entity: d.project.Entity(), Kind: work.ExternalAttestation, Outcome: work.Passed,
		Source: "lab", Reference: "1",
	}})
	d.do(t, "ann", &work.CreateRelation{Type: work.DependsOn, Target: agent("other")})
	opened := d.do(t, "ann", &work.CreateDiscussion{
		Title: "why", Body: "how", Subject: work.Matter{Type: work.MatterTask, ID: first},
		Mentions: []id.ID{agent("ann")},
	}).Result.Subject
	comment := d.do(t, "ann", &work.AddComment{Discussion: opened, Body: "so"}).Result.Subject
	d.do(t, "ann", &work.AddComment{Discussion: opened, Body: "no", ReplyTo: comment})
	sampleContributions(t, d)
	return d.export(t, "ann", true)
}

// sampleContributions adds an accepted contribution, a pending one, and an import.
func sampleContributions(t failer, d *fakeEngine) {
	for _, who := range []string{"con", "eve"} {
		d.join(who, who)
	}
	submit := func(path, content string) (*work.Contribution, id.ID) {
		opened := d.do(t, "con", &work.OpenWorkspace{}).Result.Subject
		d.do(t, "con", &work.WriteWorkspaceFile{
			Workspace: opened, Path: path, Blob: *textBlob(content), ContentType: "text/plain",
		})
		made := d.do(t, "con", &work.SubmitWorkspace{Workspace: opened, Summary: "mine"})
		c, _ := d.project.Contribution(made.Result.Subject)
		d.do(t, "eve", &work.ReviewContribution{
			Contribution: c.ID, Revision: c.Current(), Verdict: work.VerdictApprove, Body: "good",
			Comments: []work.ReviewComment{{Path: path, Line: 1, Body: "so"}},
		})
		return c, c.Current()
	}
	taken, revision := submit("n.txt", "new")
	d.do(t, "ann", &work.AcceptContribution{Contribution: taken.ID, Revision: revision})
	submit("b/d.txt", "other")
	var part *work.Artifact
	d.project.Artifacts(id.ID{}, func(a *work.Artifact) bool { part = a; return false })
	offer, err := d.project.ImportSource(part, agent("ann"))
	if err != nil {
		t.Fatalf("offer: %v", err)
	}
	d.do(t, "ann", &work.ImportArtifact{Source: offer, Prefix: "in"})
}
