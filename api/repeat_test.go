package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// longText has many lines, of which those of another seed have few in common.
func longText(seed uint64, bytes int) string {
	random, text := rand.New(rand.NewPCG(seed, 1)), make([]byte, bytes)
	for i := range text {
		if text[i] = "ab"[random.IntN(2)]; i%2 == 1 {
			text[i] = '\n'
		}
	}
	return string(text)
}

// rewritten is a project with files of which each was replaced, and the changeset that did it.
func rewritten(o *testEngine, owner *testAgent, files, bytes int) (project, changeset id.ID) {
	project, _ = o.project(owner, work.Public)
	for nth, action := range []work.Action{work.Create, work.Modify} {
		view, err := o.Project(project)
		if err != nil {
			o.t.Fatal(err)
		}
		command := &work.PublishChangeset{Base: view.Head().ID}
		for n := range files {
			command.Operations = append(command.Operations, work.Operation{
				Action: action, Path: fmt.Sprintf("f%d", n), ContentType: "text/plain",
				Content: textBlob(longText(uint64(files*nth+n), bytes)),
			})
		}
		changeset = o.give(owner, project, command).Changeset
	}
	return project, changeset
}

func diffRequest(project, changeset id.ID) request {
	return request{operation: "changeset.diff", params: []string{
		project.Format(id.Project), changeset.Format(id.Changeset),
	}}
}

// Equal diffs are made once, however many requests want them.
func TestEqualDiffsAreMadeOnce(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, changeset := rewritten(o, ann, 3, 50_000)
	before := o.reads.Load()
	var all sync.Map
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			_, data, err := o.call(nil, diffRequest(project, changeset))
			if err != nil {
				t.Error(err)
			}
			all.Store(fmt.Sprint(data), true)
		})
	}
	wait.Wait()
	if reads := o.reads.Load() - before; reads != 6 {
		t.Errorf("20 diffs read %d contents, want 6", reads)
	}
	answers := 0
	all.Range(func(text, _ any) bool {
		answers++
		if !strings.Contains(text.(string), "diff --git a/f0 b/f0") {
			t.Error("the answer has no diff")
		}
		return true
	})
	if answers != 1 {
		t.Errorf("%d different answers", answers)
	}
	o.give(ann, project, &work.UpdateProject{Visibility: work.Private})
	if _, _, err := o.call(nil, diffRequest(project, changeset)); fault.CodeOf(err) !=
		fault.ProjectNotFound {
		t.Errorf("the diff of a private project: %v", err)
	}
}

// conflicting is a contribution that conflicts with the head in each of its files.
func conflicting(o *testEngine, owner *testAgent, files, bytes int) (project id.ID, r request) {
	project, _ = rewritten(o, owner, files, bytes)
	space := o.give(owner, project, new(work.OpenWorkspace)).Subject
	view, err := o.Project(project)
	if err != nil {
		o.t.Fatal(err)
	}
	theirs := &work.PublishChangeset{Base: view.Head().ID}
	for n := range files {
		path := fmt.Sprintf("f%d", n)
		o.give(owner, project, &work.WriteWorkspaceFile{
			Workspace: space, Path: path, ContentType: "text/plain",
			Blob: *textBlob(longText(uint64(1000+n), bytes)),
		})
		theirs.Operations = append(theirs.Operations, work.Operation{
			Action: work.Modify, Path: path, ContentType: "text/plain",
			Content: textBlob(longText(uint64(2000+n), bytes)),
		})
	}
	o.give(owner, project, theirs)
	contribution := o.give(owner, project, &work.SubmitWorkspace{
		Workspace: space, Summary: "s",
	}).Subject
	if view, err = o.Project(project); err != nil {
		o.t.Fatal(err)
	}
	from, _ := view.Contribution(contribution)
	return project, request{
		operation: "contribution.accept", params: []string{contribution.Format(id.Contribution)},
		body: fmt.Sprintf(`{"revision_id":%q}`, from.Current().Format(id.Revision)),
	}
}

// A merge that ends in a conflict is not made again for the same contents, although the head moves.
func TestConflictingMergesAreMadeOnce(t *testing.T) {
	o := newTestEngine(t)
	ann := o.register("ann")
	project, accept := conflicting(o, ann, 3, 20_000)
	before := o.reads.Load()
	var marked string
	for n := range 5 {
		_, _, err := o.call(ann, accept)
		if fault.CodeOf(err) != fault.ContributionConflict {
			t.Fatal(err)
		}
		text, _ := json.Marshal(err.(*fault.Error).Details["conflicts"])
		details := string(text)
		if marked == "" {
			marked = details
		}
		if details != marked || len(details) < 3*20_000 {
			t.Errorf("attempt %d has other conflicts, of %d bytes", n, len(details))
		}
		o.give(ann, project, &work.PutFile{
			Path: "else", Blob: *textBlob(fmt.Sprint(n)), ContentType: "text/plain",
		})
	}
	// Each of the three conflicts reads three contents once.
	if reads := o.reads.Load() - before; reads > 9 {
		t.Errorf("5 attempts read %d contents, want 9", reads)
	}
}

func BenchmarkRepeatedDiff(b *testing.B) {
	o := newTestEngine(b)
	project, changeset := rewritten(o, o.register("ann"), 7, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := o.call(nil, diffRequest(project, changeset)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRepeatedAccept(b *testing.B) {
	o := newTestEngine(b)
	ann := o.register("ann")
	_, accept := conflicting(o, ann, 2, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := o.call(ann, accept); fault.CodeOf(err) != fault.ContributionConflict {
			b.Fatal(err)
		}
	}
}
