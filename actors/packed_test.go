package actors

import (
	"strings"
	"testing"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// importOf is a command that makes a project with one file, whose content was stored before.
func importOf(e *Engine, owner id.ID, content string) *work.ImportProject {
	blob := blobOf(content)
	of := e.stamp(owner)
	origin := work.Origin{ID: of.ID(2), Agent: of.ID(3), CreatedAt: 1, Source: work.SourceFilePut}
	op := work.OpRecord{
		Action: work.Create, Path: "f", Blob: blob.Hash, Size: len(content), Type: "text/plain",
	}
	return &work.ImportProject{
		ID: of.ID(0), Source: of.ID(1), Kind: work.Standard,
		About: work.About{
			Name: "imported", Visibility: work.Private, License: "MIT", Status: work.Active,
		},
		Imported: work.Imported{Project: origin, Whole: true},
		Stored:   map[work.Hash]int{blob.Hash: len(content)},
		Files:    []work.BundledFile{{Path: "f", Blob: blob.Hash, Type: "text/plain"}},
		History: []work.BundledChangeset{{
			ID: origin.ID, Ops: []work.BundledOp{{OpRecord: op}}, Origin: origin,
		}},
	}
}

func storeBatch(t testing.TB, e *Engine, content string) {
	t.Helper()
	batch, err := e.blobs.Begin()
	if err == nil {
		err = batch.Add(blobs.Hash(blobOf(content).Hash), []byte(content))
	}
	if err == nil {
		err = batch.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportOfStoredContents imports a project whose contents were put into a pack before. Its
// entry is small and counts them in quotas, also AFTER another start, with and without a snapshot.
func TestImportOfStoredContents(t *testing.T) {
	var config Config
	limits := limited(api.StoredLimits{Agent: 1 << 20})
	e, _, owner := oneProject(t, func(c *Config) { limits(c); config = *c })
	content := strings.Repeat("content ", 1000)
	command := importOf(e, owner, content)
	order := api.Order{Project: command.ID, Agent: owner, Command: command}
	if _, err := e.Do(order); fault.CodeOf(err) != fault.RateLimited {
		t.Fatalf("contents that are not stored: %v", err)
	}
	storeBatch(t, e, content)
	before := e.StoredBy(owner, id.ID{}).Bytes
	stamp := e.Stamp(owner, command.ID)
	if err := command.Prepare(stamp); err != nil {
		t.Fatal(err)
	}
	logged := e.journal.Stats().RawBytes
	done, err := e.Do(order)
	if err != nil {
		t.Fatal(err)
	}
	if head := done.Project.Head(); head.ID.Millis() != stamp.Now {
		t.Errorf("the changeset is of %d, prepared at %d", head.ID.Millis(), stamp.Now)
	}
	stored := e.StoredBy(owner, id.ID{}).Bytes - before
	if entry := e.journal.Stats().RawBytes - logged; stored <= int64(len(content)) || entry > 4<<10 {
		t.Errorf("%d bytes count, and the entry has %d", stored, entry)
	}
	want := fullState(t, e)
	for _, when := range []string{"in the log", "in a snapshot"} {
		copied := quiet(crashCopy(t, config.Dir))
		limits(&copied)
		again := start(t, copied)
		sameState(t, when, want, fullState(t, again))
		checkAccounts(t, again)
		got, _, err := contentOf(again, viewOf(t, again, command.ID), "f")
		if err != nil || got != content {
			t.Errorf("%s: %d bytes, %v", when, len(got), err)
		}
		stop(t, again)
		if _, err := Verify(copied.Dir); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		saveAll(t, e)
	}
}

// TestImportOfRemovedContents imports contents that were stored and have been removed since, with a
// project or by an operator.
func TestImportOfRemovedContents(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	const content = "content of a project that is removed"
	mustPut(t, e, project, owner, "f", content)
	storeBatch(t, e, content)
	note := &identity.DropProject{Project: project, Reason: "x"}
	if err := e.DropProjects(note); err != nil {
		t.Fatal(err)
	}
	command := importOf(e, owner, content)
	order := api.Order{Project: command.ID, Agent: owner, Command: command}
	if _, err := e.Do(order); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("contents that were dropped: %v", err)
	}
	storeBatch(t, e, content)
	if err := e.PurgeContent(blobOf(content).Hash, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Do(order); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("contents that were purged: %v", err)
	}
	if e.blobs.Has(blobs.Hash(blobOf(content).Hash)) {
		t.Error("a purged content is still stored")
	}
}
