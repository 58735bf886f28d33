package actors

import (
	"errors"
	"testing"

	"pws/actors/offline"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// offer makes an artifact of all that a project has in a folder.
func offer(t testing.TB, e *Engine, project, agent id.ID, folder string) id.ID {
	t.Helper()
	return mustDo(t, e, project, agent, &work.CreateArtifact{
		Name: "lib", Type: work.Library, Paths: []string{folder}, Reuse: work.AllowReuse,
	}).Result.Subject
}

// importing reads an artifact as a handler does.
func importing(t testing.TB, e *Engine, artifact, agent id.ID, prefix string) *work.ImportArtifact {
	t.Helper()
	source, err := e.Owner(id.Artifact, artifact, agent)
	if err != nil || source == nil {
		t.Fatalf("the owner is %v, %v", source, err)
	}
	offered, _ := source.Artifact(artifact)
	command := &work.ImportArtifact{Prefix: prefix}
	if command.Source, err = source.ImportSource(offered, agent); err != nil {
		t.Fatal(err)
	}
	return command
}

// TestImportsShareContents imports into two projects, over restarts of each kind, and finds the
// files with their contents, which are stored once, and counts the imports as each reader may.
func TestImportsShareContents(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	source := createProject(t, e, ann, work.Public)
	open, closed := createProject(t, e, bob, work.Unlisted), createProject(t, e, bob, work.Private)
	for _, path := range []string{"lib/a", "lib/b/c", "other"} {
		if _, err := put(e, source, ann, path, "content of "+path); err != nil {
			t.Fatal(err)
		}
	}
	artifact := offer(t, e, source, ann, "lib")
	stored := e.blobs.RecentBytes()
	check := func(what string, times int) {
		t.Helper()
		checkLinks(t, what, e)
		link := index.Link{Kind: index.LinkImport, Target: artifact}
		links := e.Indexes(index.ForLinks).Links
		if all, some := links.Count(link, bob), links.Count(link, id.ID{}); all != 2*times ||
			some != times || links.Count(link, ann) != times {
			t.Errorf("%s: %d imports, %d of them open", what, all, some)
		}
		for _, target := range []id.ID{open, closed} {
			p := viewOf(t, e, target)
			for path, of := range map[string]string{"v/lib/a": "lib/a", "v/lib/b/c": "lib/b/c"} {
				content, _, err := contentOf(e, p, path)
				if err != nil || content != "content of "+of {
					t.Errorf("%s: %s is %q, %v", what, path, content, err)
				}
			}
		}
	}
	for _, target := range []id.ID{open, closed} {
		mustDo(t, e, target, bob, importing(t, e, artifact, bob, "v"))
	}
	if more := e.blobs.RecentBytes() - stored; more != 0 {
		t.Errorf("the imports have stored %d bytes", more)
	}
	check("at once", 1)
	again := func(what string, times int) {
		t.Helper()
		stop(t, e)
		if _, err := Verify(config.Dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		e = start(t, config)
		check(what, times)
	}
	again("from the log", 1)
	saveAll(t, e)
	again("from the snapshot", 1)
	for _, target := range []id.ID{open, closed} {
		mustDo(t, e, target, bob, importing(t, e, artifact, bob, "w"))
	}
	again("from both", 2)
}

// TestVerifyReportsWrongArtifactsAndImports finds an artifact and an import that do not fit
// their project.
func TestVerifyReportsWrongArtifactsAndImports(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann := register(t, e, "ann")
	p := viewOf(t, e, createProject(t, e, ann, work.Public))
	now := e.Now()
	stop(t, e)
	entry := func(agent id.ID, event work.Event) []byte {
		one := datadir.Entry{
			Target: datadir.TargetProject, ID: p.ID, Now: now, Agent: agent, Events: eventOf(t, event),
		}
		return one.Encode()
	}
	logged(t, config.Dir,
		entry(ann, &work.ArtifactCreated{
			ID: p.ID.Next(), Changeset: p.Head().ID, Paths: []string{"none"}, Type: work.Tool,
		}),
		entry(p.ID, &work.ArtifactCreated{
			ID: p.ID.Next().Next(), Changeset: p.ID, Paths: []string{"none"}, Type: work.Tool,
		}),
		entry(ann, &work.ArtifactImported{
			ID: p.ID.Next(), Artifact: p.ID, Source: p.ID, Changeset: p.Head().ID,
			Authors: []id.ID{ann, p.ID.Next()},
		}))
	_, err := Verify(config.Dir)
	var damage *offline.Damage
	if !errors.As(err, &damage) || len(damage.Faults) != 5 {
		t.Errorf("found %v, want five faults", err)
	}
}
