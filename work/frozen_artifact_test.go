package work_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

var frozenArtifactEvents = []frozenEvent{
	{"32-artifact-created", &work.ArtifactCreated{
		ID: agent("artifact"), Changeset: agent("changeset"), Name: "n", Type: work.Dataset,
		Description: "d", Paths: []string{"a/b", "c"}, License: "MIT", Reuse: work.ReferenceOnly,
	}},
	{"33-artifact-imported", &work.ArtifactImported{
		ID: agent("import"), Artifact: agent("artifact"), Source: agent("source"),
		SourceChangeset: agent("there"), Prefix: "p", Changeset: agent("changeset"), Files: 2,
		License: "MIT", Name: "n", Authors: []id.ID{agent("ann"), agent("bob")},
	}},
	{"33-artifact-imported-credits", &work.ArtifactImported{
		ID: agent("import"), Artifact: agent("artifact"), Source: agent("source"),
		SourceChangeset: agent("there"), Changeset: agent("changeset"), Files: 2, License: "MIT",
		Name: "n", Authors: []id.ID{agent("ann")}, Credits: frozenCredits,
	}},
	{"33-artifact-imported-origins", &work.ArtifactImported{
		ID: agent("import"), Artifact: agent("artifact"), Source: agent("source"),
		SourceChangeset: agent("there"), Changeset: agent("changeset"), Files: 2, License: "MIT",
		Name: "n", Authors: []id.ID{agent("ann")}, Origins: frozenOrigins,
		Omitted: work.Omitted{Authors: 1, Credits: 2, Origins: 3, Histories: 4},
	}},
	{"36-project-imported-origins", &work.ProjectImported{
		Changesets: []work.ChangesetPublished{{ID: agent("changeset"), Source: work.SourceImport}},
		Status:     work.Active,
		Imported: work.Imported{
			Project: frozenOrigin("project"), State: frozenOrigin(""), Whole: true,
			License: "Apache-2.0", Origins: frozenOrigins,
		},
	}},
	{"31-project-forked-origins", &work.ProjectForked{
		ID: agent("changeset"), Project: agent("source"), Changeset: agent("head"),
		Root: blob("root").Hash, Files: 3, Bytes: 1 << 33, License: "Apache-2.0",
		Origins: frozenOrigins,
	}},
}

var frozenOrigins = []work.FileOrigin{
	{Project: agent("source"), License: "MIT"},
	{Project: agent("copy"), License: "ISC", Bundled: agent("first"), FromBundle: true},
}

var frozenCredits = []work.Credit{
	{
		Project: agent("project"), Contribution: agent("contribution"),
		Changeset: agent("became"), Author: agent("eve"), AcceptedBy: agent("ann"),
		Reviewers: []id.ID{agent("bob"), agent("ann")},
	},
	{Project: agent("project"), Contribution: agent("other"), Author: agent("bob")},
}

// frozenArtifacts is what the frozen snapshot with artifacts was made of: one of the project,
// and two imports.
func frozenArtifacts(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.put(t, "d/a", "1")
	artifact := w.must(t, &work.CreateArtifact{
		Name: "lib", Type: work.Library, Description: "of use", Paths: []string{"d"},
		License: "ISC", Reuse: work.AllowReuse,
	}).Result.Subject
	offered, _ := w.project.Artifact(artifact)
	offer, err := w.project.ImportSource(offered, agent("ann"))
	if err != nil {
		t.Fatal(err)
	}
	w.now++
	w.must(t, &work.ImportArtifact{Source: offer, Prefix: "x"})
	w.must(t, &work.ImportArtifact{Replace: true, Source: &work.ImportSource{
		Artifact: agent("artifact"), Project: agent("source"), Changeset: agent("changeset"),
		Name: "far", License: "NONE",
		Files: []work.FileInfo{{
			Path: "d/a", Blob: blob("22").Hash, Size: 2, ContentType: "text/x",
		}},
	}})
	return w
}

// TestFrozenArtifacts reads a project that was saved when artifacts had come to it.
func TestFrozenArtifacts(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v3-artifacts", frozenArtifacts,
		map[string]work.ChunkKind{
			"artifacts.cbor": work.ArtifactChunk, "imports.cbor": work.ImportChunk,
		})
	var artifacts []*work.Artifact
	p.Artifacts(id.ID{}, func(a *work.Artifact) bool { artifacts = append(artifacts, a); return true })
	if len(artifacts) != 1 {
		t.Fatalf("%d artifacts, want 1", len(artifacts))
	}
	wantArtifact := &work.Artifact{
		ID: artifacts[0].ID, Changeset: p.ChangesetNumber(2).ID, Name: "lib", Type: work.Library,
		Description: "of use", Paths: []string{"d"}, License: "ISC", Reuse: work.AllowReuse,
		CreatedBy: agent("ann"), CreatedAt: testNow,
	}
	if diff := cmp.Diff(wantArtifact, artifacts[0]); diff != "" {
		t.Error(diff)
	}
	var imports []*work.Import
	p.Imports(id.ID{}, func(i *work.Import) bool { imports = append(imports, i); return true })
	if len(imports) != 2 {
		t.Fatalf("%d imports, want 2", len(imports))
	}
	wantImports := []*work.Import{{
		ID: imports[0].ID, Artifact: agent("artifact"), Source: agent("source"),
		SourceChangeset: agent("changeset"), Changeset: p.ChangesetNumber(4).ID, Files: 1,
		License: "NONE", Name: "far", CreatedBy: agent("ann"), CreatedAt: testNow + 1,
	}, {
		ID: imports[1].ID, Artifact: artifacts[0].ID, Source: p.ID,
		SourceChangeset: p.ChangesetNumber(2).ID, Prefix: "x", Changeset: p.ChangesetNumber(3).ID,
		Files: 1, License: "ISC", Name: "lib", Authors: []id.ID{agent("ann")},
		CreatedBy: agent("ann"), CreatedAt: testNow + 1,
	}}
	if diff := cmp.Diff(wantImports, imports); diff != "" {
		t.Error(diff)
	}
	for i, c := range []*work.Changeset{p.ChangesetNumber(4), p.ChangesetNumber(3)} {
		if c.Source != work.SourceImport || c.SourceID != imports[i].ID {
			t.Errorf("changeset %d comes from %s %v", c.Sequence, c.Source, c.SourceID)
		}
	}
}
