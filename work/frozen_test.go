package work_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

var update = flag.Bool("update", false, "write frozen samples that are missing")

// frozenEvent is an event as it was first written. Its file is never rewritten: it represents logs
// on users' disks.
type frozenEvent struct {
	file  string
	event work.Event
}

var frozenEvents = []frozenEvent{
	{"1-project-created", &work.ProjectCreated{
		ID: agent("project"), Kind: work.Community, Owner: agent("ann"),
		About: work.About{
			Name: "sample", Description: "of all", Visibility: work.Unlisted,
			Reuse: work.ReferenceOnly, License: "MIT OR Apache-2.0",
			Topics: []string{"one", "two"}, Status: work.Active,
		},
	}},
	{"2-project-updated", &work.ProjectUpdated{About: work.About{
		Name: "ä", Visibility: work.Private, Reuse: work.AllowReuse, License: "NONE",
		Status: work.Archived,
	}}},
	{"2-project-hidden", &work.ProjectUpdated{Was: work.Public, About: work.About{
		Name: "ä", Visibility: work.Private, Reuse: work.AllowReuse, License: "NONE",
		Status: work.Active,
	}}},
	{"2-project-stays-private", &work.ProjectUpdated{StaysPrivate: true, About: work.About{
		Name: "ä", Visibility: work.Private, Reuse: work.AllowReuse, License: "NONE",
		Status: work.Active,
	}}},
	{"3-member-added", &work.MemberAdded{Member: work.Member{
		Agent: agent("bob"), Role: work.Contributor, AddedBy: agent("ann"), AddedAt: testNow,
	}}},
	{"4-member-changed", &work.MemberChanged{
		Agent: agent("bob"), Role: work.Owner, By: agent("ann"),
	}},
	{"5-member-removed", &work.MemberRemoved{Agent: agent("bob"), By: agent("bob")}},
	{"6-changeset-published", &work.ChangesetPublished{
		ID: agent("changeset"), Message: "several", Source: work.SourceImport,
		SourceID: agent("source"),
		Ops: []work.OpRecord{
			{Action: work.Create, Path: "a", Blob: blob("1").Hash, Size: 1, Type: "text/plain"},
			{Action: work.Modify, Path: "b/c", Blob: blob("22").Hash, Size: 2, Type: "text/x"},
			{Action: work.Rename, Path: "e", From: "d", Blob: blob("").Hash, Type: "a/b"},
			{Action: work.Delete, Path: "f"},
		},
	}},
	{"6-changeset-empty", &work.ChangesetPublished{
		ID: agent("changeset"), Source: work.SourceProject,
	}},
	{"48-project-hidden", &work.ProjectHidden{Reason: "spam", Owner: agent("ann")}},
	{"49-project-shown", &work.ProjectShown{Owner: agent("ann")}},
	{"50-project-removed", &work.ProjectRemoved{Reason: "malware"}},
	{"56-project-erased", new(work.ProjectErased)},
	{"57-task-texts-forgotten", &work.TaskTextsForgotten{
		Task: agent("task"), Hashes: []work.Hash{blob("texts").Hash},
	}},
	{"50-project-removed-stored", &work.ProjectRemoved{
		Reason: "malware", Stored: []work.StoredBytes{{Agent: agent("ann"), Bytes: 1 << 33}},
	}},
	{"70-project-deleted", &work.ProjectDeleted{Members: []id.ID{agent("ann"), agent("bob")}}},
	{"71-project-restored", new(work.ProjectRestored)},
	{"31-project-forked", &work.ProjectForked{
		ID: agent("changeset"), Project: agent("source"), Changeset: agent("head"),
		Root: blob("root").Hash, Files: 3, Bytes: 1 << 33,
		Authors: []work.InheritedAuthor{{Agent: agent("ann"), Changesets: 7}},
	}},
	{"31-project-forked-credits", &work.ProjectForked{
		ID: agent("changeset"), Project: agent("source"), Changeset: agent("head"),
		Root: blob("root").Hash, Files: 3, Bytes: 1 << 33,
		Authors: []work.InheritedAuthor{{Agent: agent("ann"), Changesets: 7}},
		Credits: frozenCredits,
	}},
}

// frozen reads a sample; with -update it is written first where it is missing.
func frozen(t *testing.T, name string, fresh func() []byte) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && *update {
		data = fresh()
		err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, data, 0o644))
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v; go test ./work -run Frozen -update writes missing samples", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func frozenSamples() []frozenEvent {
	return slices.Concat(
		frozenEvents, frozenWorkEvents, frozenWorkspaceEvents, frozenContributionEvents,
		frozenArtifactEvents, frozenBundleEvents, frozenDiscussionEvents, frozenAwayEvents,
		frozenDeletionEvents, frozenTaskTextEvents, frozenLongTextEvents,
	)
}

func TestFrozenEvents(t *testing.T) {
	kinds := map[work.Kind]bool{}
	for _, sample := range frozenSamples() {
		kind := work.KindOf(sample.event)
		kinds[kind] = true
		data := frozen(t, filepath.Join("testdata/events/v1", sample.file+".cbor"), func() []byte {
			data, err := work.EncodeEvent(nil, sample.event)
			if err != nil {
				t.Fatal(err)
			}
			return data
		})
		event, err := work.DecodeEvent(kind, data)
		if err != nil {
			t.Errorf("%s: %v", sample.file, err)
		} else if diff := cmp.Diff(sample.event, event, savedTask); diff != "" {
			t.Errorf("%s: %s", sample.file, diff)
		}
	}
	for kind := work.Kind(1); kind != 0; kind++ {
		if work.Known(kind) && !kinds[kind] {
			t.Errorf("no frozen event of kind %d: add one to a list of frozenSamples", kind)
		}
	}
}

// frozenWorld is what the frozen snapshot was made of.
func frozenWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	for n := range work.ChunkLen {
		w.put(t, fmt.Sprintf("f%d.go", n%3), fmt.Sprint(n))
	}
	w.publish(t, renameOp("f0.go", "g.py"), createOp("new", "new"))
	command := &work.DeleteFile{Path: "f1.go", Message: "away"}
	if _, err := w.do(agent("bob"), command, 3); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestFrozenSnapshot reads a project that was saved in format 1.
func TestFrozenSnapshot(t *testing.T) {
	fresh := func() saved { return mustSave(t, frozenWorld(t).project) }
	head := frozen(t, "testdata/snapshot/v1/head.cbor", func() []byte { return fresh().head })
	chunk := frozen(t, "testdata/snapshot/v1/chunk.cbor",
		func() []byte { return fresh().chunks[history(0)] })
	p, err := saved{head: head, chunks: map[work.Chunk][]byte{history(0): chunk}}.restore()
	if err != nil {
		t.Fatal(err)
	}
	checkFrozenRecord(t, p)
	summary, err := work.RestoreSummary(head)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(summary.About, p.About); diff != "" ||
		summary.FilesCount() != 3 || summary.FilesBytes() != p.FilesBytes() ||
		summary.ChangesetsCount() != 515 || summary.Head().ID != p.Head().ID {
		t.Fatalf("the summary is another: %s", diff)
	}
	tree := map[string]work.Hash{}
	p.Files("", func(f work.FileInfo) bool { tree[f.Path] = f.Blob; return true })
	want := map[string]work.Hash{
		"f2.go": blob("509").Hash, "g.py": blob("510").Hash, "new": blob("new").Hash,
	}
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Fatal(diff)
	}
	old, ok := p.FileAt("f1.go", p.ChangesetNumber(300))
	if !ok || old.Blob != blob("298").Hash || old.Created.Sequence != 3 {
		t.Fatalf("an old file is %+v", old)
	}
}

func checkFrozenRecord(t *testing.T, p *work.Project) {
	t.Helper()
	want := work.About{
		Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT",
		Status: work.Active,
	}
	if diff := cmp.Diff(want, p.About); diff != "" {
		t.Error(diff)
	}
	if p.ID != agent("project") || p.Kind != work.Standard || p.Owner != agent("ann") ||
		p.CreatedAt != testNow || p.UpdatedAt != testNow || p.Version != 2 || p.Revision != 517 {
		t.Errorf("the record is another: %+v", p)
	}
	if p.RoleOf(agent("bob")) != work.Maintainer || len(p.Members()) != 2 {
		t.Errorf("the members are %+v", p.Members())
	}
	if c := p.Head(); c.Author != agent("bob") || c.Message != "away" || c.DeletedBytes != 3 ||
		c.Source != work.SourceFileDelete || c.Ops[0].Action != work.Delete {
		t.Errorf("the head is %+v", c)
	}
	result, ok := p.ResultAt(0)
	if !ok || result.Key[0] != 3 || result.Status != 201 || string(result.Body) != "body" ||
		result.Result.Changeset != p.Head().ID {
		t.Errorf("the stored result is %+v", result)
	}
}
