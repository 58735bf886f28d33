package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pws/api"
	"pws/internal/id"
	"pws/work"
)

// TestBundleOfManyArtifacts checks that the artifacts of a project do not make its bundle larger
// than an import takes, and that they have all their files in the new project.
func TestBundleOfManyArtifacts(t *testing.T) {
	const files, artifacts, listed = 1000, 12, 10
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "many"})
	for first := 0; first < files; first += 100 {
		var operations []work.Operation
		for i := range 100 {
			operations = append(operations, writes(fmt.Sprintf("lib/%04d", first+i), "x"))
		}
		d.publish(t, "more", operations...)
	}
	for range artifacts {
		d.now++
		d.do(t, "ann", &work.CreateArtifact{
			Name: "all", Type: work.Library, Paths: []string{"lib"}, Reuse: work.AllowReuse,
		})
	}
	text := d.export(t, "ann", true)
	var data struct {
		Bundle api.Bundle `json:"bundle"`
	}
	if err := json.Unmarshal(text, &data); err != nil {
		t.Fatal(err)
	}
	for i, one := range data.Bundle.Artifacts {
		want := 0
		if i < listed {
			want = files
		}
		if len(one.Files) != want {
			t.Errorf("artifact %d lists %d files, not %d", i, len(one.Files), want)
		}
	}
	made, _ := mustImport(t, text)
	count := 0
	made.project.Artifacts(id.ID{}, func(one *work.Artifact) bool {
		count++
		has := 0
		made.project.ArtifactFiles(one, func(work.FileInfo) bool { has++; return true })
		if has != files {
			t.Errorf("an artifact has %d files", has)
		}
		return true
	})
	if count != artifacts {
		t.Errorf("%d artifacts", count)
	}
}

// TestBundleOfUnusualPaths imports records that name files whose paths have control characters and
// separators outside of ASCII.
func TestBundleOfUnusualPaths(t *testing.T) {
	const separator, control = "a\u2028b.txt", "a\u0085b.txt"
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "paths"})
	d.publish(t, "one", writes(separator, "1"), writes(control, "2"))
	d.task(t, work.TaskSpec{Title: "one", RelatedFiles: []string{separator, control}})
	d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{Summary: "done"}})
	made, _ := mustImport(t, d.export(t, "ann", true))
	handoff := made.project.LatestHandoff()
	if handoff == nil || len(handoff.ChangedFiles) != 2 {
		t.Errorf("%+v", handoff)
	}
	for _, name := range []string{separator, control} {
		if _, found := made.project.File(name); !found {
			t.Errorf("%q is lost", name)
		}
	}
}
