package work_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// far is an artifact of another project: a file by two agents, which that project had from a third
// one under another license.
func far() *work.ImportSource {
	return &work.ImportSource{
		Artifact: agent("artifact"), Project: agent("far"), Changeset: agent("there"),
		Name: "far", License: "MIT", Authors: []id.ID{agent("sam"), agent("tom")},
		Files: []work.FileInfo{{
			Path: "x", Blob: blob("x").Hash, Size: 1, ContentType: "text/plain",
		}},
		Origins: []work.FileOrigin{{Project: agent("deep"), License: "BSD-3-Clause"}},
		Omitted: work.Omitted{Authors: 2},
	}
}

// by lets several maintainers change a project.
func (w *world) by(t testing.TB, who string, operations ...work.Operation) {
	t.Helper()
	_, err := w.do(agent(who), &work.PublishChangeset{
		Base: w.project.Head().ID, Operations: operations,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// offerOf makes an artifact of a path and reads what it offers.
func (w *world) offerOf(t testing.TB, who, path string) *work.ImportSource {
	t.Helper()
	made, err := w.do(agent(who), &work.CreateArtifact{
		Name: "part", Type: work.Library, Paths: []string{path}, License: "Apache-2.0",
		Reuse: work.AllowReuse,
	})
	if err != nil {
		t.Fatal(err)
	}
	artifact, _ := w.project.Artifact(made.Result.Subject)
	offer, err := w.project.ImportSource(artifact, agent("anybody"))
	if err != nil {
		t.Fatal(err)
	}
	return offer
}

func (w *world) maintainers(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		w.must(t, &work.AddMember{Agent: agent(name), Role: work.Maintainer})
	}
}

func write(action work.Action, path, content string) work.Operation {
	made := blob(content)
	return work.Operation{
		Action: action, Path: path, Content: &made, ContentType: "text/plain",
	}
}

// reusable is a project that others may take from.
func reusable(t testing.TB) *world {
	t.Helper()
	w := newWorld()
	w.must(t, &work.CreateProject{
		ID: agent("importer"), Kind: work.Standard,
		About: work.About{
			Name: "importer", Visibility: work.Public, Reuse: work.AllowReuse,
			License: "Apache-2.0",
		},
	})
	return w
}

// TestLineage: everybody who wrote a version of a file is its author, through renames.
func TestLineage(t *testing.T) {
	w := reusable(t)
	w.maintainers(t, "bob", "carl", "dora", "eve")
	w.by(t, "bob", write(work.Create, "a", "1"))
	w.by(t, "carl", write(work.Modify, "a", "2"))
	w.by(t, "dora", work.Operation{Action: work.Rename, Path: "a", NewPath: "b"})
	// Another file at the path that was left is nobody else's.
	w.by(t, "eve", write(work.Create, "a", "other"))
	w.by(t, "ann", write(work.Modify, "b", "3"))
	check := func(path string, want ...string) {
		t.Helper()
		var names []string
		for _, author := range w.offerOf(t, "ann", path).Authors {
			names = append(names, name(author))
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s is by %v, not %v", path, names, want)
		}
	}
	check("b", "ann", "dora", "carl", "bob")
	check("a", "eve")
	// Deleting a file and making it again does not make it somebody else's.
	w.by(t, "eve", work.Operation{Action: work.Delete, Path: "b"})
	w.by(t, "eve", write(work.Create, "b", "3"))
	check("b", "eve", "ann", "dora", "carl", "bob")
}

// TestForkOfImporter: an artifact of a fork of a project that imported files names all their
// authors and licenses.
func TestForkOfImporter(t *testing.T) {
	w := reusable(t)
	w.must(t, &work.ImportArtifact{Source: far(), Prefix: "lib"})
	w.maintainers(t, "bob")
	w.by(t, "bob", write(work.Modify, "lib/x", "better"))
	fork := w.fork(t, w.project.Head(), agent("carl"))
	license := "GPL-3.0-only"
	if _, err := fork.do(agent("carl"), &work.UpdateProject{License: &license}); err != nil {
		t.Fatal(err)
	}
	again := fork.fork(t, fork.project.Head(), agent("dora"))
	again.by(t, "dora", write(work.Modify, "lib/x", "best"))
	imported := []work.FileOrigin{
		{Project: agent("far"), License: "MIT"}, {Project: agent("deep"), License: "BSD-3-Clause"},
	}
	importer := work.FileOrigin{Project: w.project.ID, License: "Apache-2.0"}
	forked := work.FileOrigin{Project: fork.project.ID, License: "GPL-3.0-only"}
	for _, c := range []struct {
		name    string
		w       *world
		who     string
		authors []string
		origins []work.FileOrigin
	}{
		{"the importer", w, "ann", []string{"ann", "bob", "sam", "tom"}, imported},
		{
			"its fork", fork, "carl", []string{"ann", "bob", "sam", "tom"},
			append([]work.FileOrigin{importer}, imported...),
		},
		{
			"a fork of that", again, "dora", []string{"ann", "bob", "dora", "sam", "tom"},
			append([]work.FileOrigin{forked, importer}, imported...),
		},
	} {
		offer := c.w.offerOf(t, c.who, "lib")
		names := []string{}
		for _, author := range offer.Authors {
			names = append(names, name(author))
		}
		slices.Sort(names)
		// The importer wrote nothing of it where others are known to have.
		known := slices.DeleteFunc(slices.Clone(c.authors), func(one string) bool {
			return c.w == w && one == "ann"
		})
		if diff := cmp.Diff(known, names); diff != "" {
			t.Errorf("%s: authors: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.origins, offer.Origins); diff != "" {
			t.Errorf("%s: origins: %s", c.name, diff)
		}
		if offer.Omitted.Authors < 2 {
			t.Errorf("%s forgets that authors were left out", c.name)
		}
	}
}

// TestLineageIsBounded gives more authors and origins than are kept.
func TestLineageIsBounded(t *testing.T) {
	w := reusable(t)
	offer := far()
	offer.Authors, offer.Origins, offer.Omitted = nil, nil, work.Omitted{}
	for nth := range work.OriginsMax + 5 {
		offer.Origins = append(offer.Origins, work.FileOrigin{
			Project: agent(fmt.Sprint("origin", nth)), License: "MIT",
		})
	}
	for nth := range work.ImportAuthorsMax {
		offer.Authors = append(offer.Authors, agent(fmt.Sprint("author", nth)))
	}
	w.must(t, &work.ImportArtifact{Source: offer})
	w.by(t, "ann", write(work.Modify, "x", "mine"))
	got := w.offerOf(t, "ann", "x")
	if len(got.Authors) != work.ImportAuthorsMax || len(got.Origins) != work.OriginsMax ||
		got.Omitted != (work.Omitted{Authors: 1, Origins: 6}) {
		t.Errorf("%d authors, %d origins, %+v", len(got.Authors), len(got.Origins), got.Omitted)
	}
	if slices.Index(got.Authors, agent("ann")) != 0 {
		t.Error("the last writer is not the first author")
	}
	// A fork of it costs a few kilobytes at most, and one without imports a few bytes.
	for _, c := range []struct {
		w    *world
		most int
	}{{w, 6 << 10}, {reusable(t), 200}} {
		forked := c.w.fork(t, c.w.project.Head(), agent("carl"))
		from, _ := forked.project.ForkedFrom()
		data, err := work.EncodeEvent(nil, &work.ProjectForked{
			Authors: from.Authors, Imports: from.Imports, License: from.License,
			Origins: from.Origins,
		})
		if err != nil || len(data) > c.most {
			t.Errorf("%d bytes for what goes along with a fork: %v", len(data), err)
		}
		t.Logf("%d bytes", len(data))
	}
}
