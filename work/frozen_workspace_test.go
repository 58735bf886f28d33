package work_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

var frozenWorkspaceEvents = []frozenEvent{
	{"18-workspace-opened", &work.WorkspaceOpened{
		ID: agent("workspace"), Mode: work.CommunityMode, Base: agent("changeset"),
	}},
	{"19-workspace-changed", &work.WorkspaceChanged{
		Workspace: agent("workspace"), Set: frozenOverlay, Unset: []string{"c"},
		Resolved: []string{"a"},
	}},
	{"20-workspace-refreshed", &work.WorkspaceRefreshed{
		Workspace: agent("workspace"), Base: agent("changeset"), Files: frozenOverlay,
		Conflicts: []work.Conflict{{
			Path: "a", Kind: work.ContentConflict, Base: blob("1").Hash, Ours: blob("22").Hash,
			Theirs: blob("333").Hash, Marked: blob("4444").Hash, BaseType: "text/plain", BaseSize: 1,
			MarkedSize: 4,
		}, {Path: "b", Kind: work.DeletedByUs, Theirs: blob("1").Hash}},
	}},
	{"21-workspace-published", &work.WorkspacePublished{
		Workspace: agent("workspace"), Changeset: agent("changeset"),
	}},
	{"22-turn-taken", &work.TurnTaken{Workspace: agent("workspace"), ExpiresAt: testNow}},
	{"23-turn-renewed", &work.TurnRenewed{ExpiresAt: testNow}},
}

var frozenOverlay = []work.Overlaid{
	{Path: "a", From: "b", Blob: blob("22").Hash, Size: 2, Type: "text/x", At: testNow},
	{Path: "b", At: testNow},
}

// frozenTurns is what the frozen snapshot with workspaces was made of: one that was published, and
// one in a turn, with a conflict.
func frozenTurns(t *testing.T) *world {
	w := newWorld()
	w.must(t, &work.CreateProject{
		ID: agent("project"), Kind: work.Community,
		About: work.About{Name: "c", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT"},
		Files: []work.Operation{createOp("a", "1"), createOp("b", "2")},
	})
	write := func(path, content string) {
		t.Helper()
		w.now++
		w.must(t, &work.WriteWorkspaceFile{
			Workspace: w.project.CommunityWorkspace(agent("ann"), 0).ID, Path: path,
			Blob: blob(content), ContentType: "text/plain",
		})
	}
	w.must(t, new(work.TakeTurn))
	write("a", "one")
	w.must(t, &work.SubmitTurn{Summary: "s"})
	w.must(t, new(work.TakeTurn))
	write("a", "ours")
	open := w.project.CommunityWorkspace(agent("ann"), 0)
	w.must(t, &work.RenameWorkspaceFile{Workspace: open.ID, Path: "b", NewPath: "c"})
	w.put(t, "a", "theirs")
	open = w.project.CommunityWorkspace(agent("ann"), 0)
	w.must(t, &work.RefreshWorkspace{Workspace: open.ID, Plan: w.plan(open)})
	return w
}

// TestFrozenTurns reads a project that was saved when workspaces had come to it.
func TestFrozenTurns(t *testing.T) {
	const folder = "testdata/snapshot/v3-workspaces"
	fresh := func() saved { return mustSave(t, frozenTurns(t).project) }
	name := work.Chunk{Kind: work.WorkspaceChunk}
	s := saved{chunks: map[work.Chunk][]byte{}}
	s.head = frozen(t, filepath.Join(folder, "head.cbor"), func() []byte { return fresh().head })
	s.chunks[name] = frozen(t, filepath.Join(folder, "workspaces.cbor"),
		func() []byte { return fresh().chunks[name] })
	p, err := s.restore()
	if err != nil {
		t.Fatal(err)
	}
	var got []*work.Workspace
	p.Workspaces(func(w *work.Workspace) bool { got = append(got, w); return true })
	if len(got) != 2 {
		t.Fatalf("%d workspaces, want 2", len(got))
	}
	marked := blob("<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n")
	want := []*work.Workspace{{
		ID: got[0].ID, Agent: agent("ann"), Mode: work.CommunityMode, Status: work.WorkspaceDone,
		Base: p.ChangesetNumber(2).ID, Published: p.ChangesetNumber(3).ID, Revision: 3,
		CreatedAt: testNow, UpdatedAt: testNow + 1,
	}, {
		ID: got[1].ID, Agent: agent("ann"), Mode: work.CommunityMode, Status: work.WorkspaceOpen,
		Base: p.Head().ID, Revision: 4, CreatedAt: testNow + 1, UpdatedAt: testNow + 2,
		Files: []work.Overlaid{
			{
				Path: "a", From: "a", Blob: blob("ours").Hash, Size: 4, Type: "text/plain",
				At: testNow + 2,
			},
			{Path: "b"},
			{
				Path: "c", From: "b", Blob: blob("2").Hash, Size: 1, Type: "text/plain",
				At: testNow + 2,
			},
		},
		Conflicts: []work.Conflict{{
			Path: "a", Kind: work.ContentConflict, Base: blob("one").Hash, BaseSize: 3,
			BaseType: "text/plain", Ours: blob("ours").Hash, Theirs: blob("theirs").Hash,
			Marked: marked.Hash, MarkedSize: len(marked.Content),
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	turn, held := p.Turn(testNow + 2)
	wantTurn := &work.Turn{
		Agent: agent("ann"), Workspace: got[1].ID, ExpiresAt: testNow + 2 + work.TurnSeconds*1000,
	}
	if diff := cmp.Diff(wantTurn, turn); !held || diff != "" {
		t.Error(diff)
	}
	if p.CommunityWorkspace(agent("ann"), 0) != got[1] || p.Has(id.Workspace, agent("none")) {
		t.Error("the open workspace is another")
	}
}
