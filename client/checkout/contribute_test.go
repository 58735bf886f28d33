package checkout

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestWorkspaceOfAgent: each agent of a directory has a workspace of its own, also where an older
// program has not noted whose the one is that it has opened.
func TestWorkspaceOfAgent(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	opens := func(agent, want string) {
		t.Helper()
		p.as(t, agent)
		p.server.mu.Lock()
		p.server.mu.agent = agent
		p.server.mu.Unlock()
		w, err := p.tree.openWorkspace(t.Context())
		if err != nil || w.ID != want {
			t.Errorf("the workspace of %s: %+v, %v, want %s", agent, w, err, want)
		}
	}
	opens("agt_1", "wsp_0")
	must(t, p.tree.writeOrder(contributeFile, contributing{Key: "k", Workspace: "wsp_0"}))
	opens("agt_1", "wsp_0")
	opens("agt_2", "wsp_1")
	opens("agt_1", "wsp_0")
	opens("agt_3", "wsp_2")
	opens("agt_2", "wsp_1")
}

// TestLostSubmission loses the answer to a submission: the next one finds it pending, in the same
// workspace.
func TestLostSubmission(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.as(t, "agt_1")
	p.server.mu.agent = "agt_1"
	write(t, p.dir, files{"a": "b\n"})
	p.server.cut(true)
	if _, err := contribute(t, p.tree); err == nil {
		t.Error("the answer is not lost")
	}
	p.server.cut(false)
	done, err := contribute(t, p.tree)
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if err != nil || !done.Pending || len(p.server.mu.workspaces) != 1 || p.server.mu.submitted != 1 {
		t.Errorf("%+v, %v, %d workspaces", done, err, len(p.server.mu.workspaces))
	}
}

// TestAcceptedContribution: what was contributed from here and accepted is no change of others, nor
// one of the directory's own: later changes there are taken as they are.
func TestAcceptedContribution(t *testing.T) {
	const five, changed = "1\n2\n3\n4\n5\n", "1\n2\n3\n4\nFIVE\n"
	begin := files{"f": five, "gone": "g\n", "old": "moved\n", "more": five}
	mine := files{"f": changed, "new": "n\n", "drop": "d\n", "renamed": "moved\n", "more": changed}
	later := files{
		"f": "1\n2\n3\n4\nV\n", "new": "n\nn\n", "gone": "back\n", "renamed": "moved\ntoo\n",
		"more": "1\n2\n3\n4\nV\n",
	}
	here := maps.Clone(mine)
	here["more"] = "0\n" + changed
	for _, accepted := range []bool{true, false} {
		for _, cut := range []bool{false, true} {
			p := newPlace(t, newFake(t, begin))
			p.server.mu.agent = "agt_1"
			write(t, p.dir, mine)
			p.server.cut(cut)
			if _, err := contribute(t, p.tree); (err != nil) != cut {
				t.Fatal(err)
			}
			p.server.cut(false)
			write(t, p.dir, here)
			p.server.decide("REJECTED", nil)
			if accepted {
				p.server.decide("ACCEPTED", mine)
			}
			p.server.set(later)
			done, err := pull(t, p.tree)
			must(t, err)
			if p.has(contributedFile) {
				t.Error("it is remembered")
			}
			if !accepted {
				if len(done.Conflicts) == 0 {
					t.Errorf("rejected: %+v", done)
				}
				continue
			}
			want := maps.Clone(later)
			want["more"] = "0\n1\n2\n3\n4\nV\n"
			wantFiles(t, p.dir, want)
			if !slices.Equal(done.Written, []string{"f", "gone", "new", "renamed"}) ||
				!slices.Equal(done.Deleted, []string{"drop"}) || len(done.Conflicts) > 0 ||
				!slices.Equal(done.Merged, []string{"more"}) {
				t.Errorf("pull: %+v", done)
			}
		}
	}
}

// TestPendingContribution: a contribution is remembered over pulls until it is decided.
func TestPendingContribution(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n", "b": "b\n"}))
	p.server.mu.agent = "agt_1"
	write(t, p.dir, files{"a": "A\n", "b": "b\n"})
	_, err := contribute(t, p.tree)
	must(t, err)
	p.server.set(files{"a": "a\n", "b": "B\n"})
	p.pullOK(t)
	p.server.decide("ACCEPTED", files{"a": "A\n", "b": "B\n"})
	p.server.set(files{"b": "B\n"})
	done := p.pullOK(t)
	if !slices.Equal(done.Deleted, []string{"a"}) || p.has(contributedFile) {
		t.Errorf("pull: %+v", done)
	}
}

// anyTree draws files some of which are in each other's way, and some of which are equal.
func anyTree(t *rapid.T, label string) files {
	all := files{}
	names := []string{"a", "b", "c", "d", "a/b", "a/c", "b/a", "b/c/d", "b/c"}
	for _, name := range rapid.Permutation(names).Draw(t, label) {
		content := rapid.SampledFrom([]string{"", "", "1", "2", "3", "4"}).Draw(t, "content of "+name)
		w := fakeWorkspace{files: map[string]fakeFile{}}
		for other := range all {
			w.files[other] = fakeFile{}
		}
		if content != "" && w.room(name) == nil {
			all[name] = content + name[:1] + "\n"
			if content > "2" {
				// Equal files are taken for renamed ones.
				all[name] = content + "\n"
			}
		}
	}
	return all
}

// wantWorkspace checks that a workspace has the files of the directory. What the project has keeps
// its type, also where it is renamed; a new file has that of its path.
func (p *place) wantWorkspace(t *rapid.T, done Pushed, local files) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	w := p.server.mu.workspaces[0]
	want := map[string]fakeFile{}
	for name, content := range local {
		want[name] = fakeFile{content: content, contentType: fakeType(name)}
	}
	for _, one := range done.Changes {
		switch one.Action {
		case actionCreate:
			want[one.Path] = fakeFile{local[one.Path], fakeTypeByPath, ""}
		case actionRename:
			want[one.Path] = fakeFile{local[one.Path], fakeType(one.Previous), ""}
		}
	}
	got := map[string]fakeFile{}
	for name, one := range w.files {
		got[name] = fakeFile{one.content, one.contentType, ""}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("the workspace has\n%q\nwant\n%q", got, want)
	}
}

// TestSecondContributionRevisesTheFirst contributes two random states of a directory, the second as
// a revision of the first, so that it takes back what that has done. A third one without a change
// changes nothing.
func TestSecondContributionRevisesTheFirst(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		begin := anyTree(r, "base")
		p := newPlace(t, newFake(t, begin))
		p.as(t, "agt_1")
		p.server.mu.agent = "agt_1"
		for range 2 {
			local := anyTree(r, "local")
			if maps.Equal(local, begin) {
				continue
			}
			write(t, p.dir, local)
			done, err := contribute(t, p.tree)
			if err != nil {
				r.Fatal(err)
			}
			if !done.Pending {
				p.wantWorkspace(r, done, local)
			}
			before := p.server.changes()
			if done, err = contribute(t, p.tree); err != nil || !done.Pending {
				r.Fatalf("%+v, %v, want none", done, err)
			}
			if after := p.server.changes(); after != before {
				r.Fatalf("%d requests for no change", after-before)
			}
		}
	})
}

// TestContributionOfAFolder has a workspace with changes outside of the folder that the directory
// keeps: they are taken back, and the file of the project has its content and type again.
func TestContributionOfAFolder(t *testing.T) {
	server := newFake(t, files{"a": "a\n", "docs/b": "b\n", "docs/c": "c\n"})
	server.mu.agent = "agt_1"
	p := &place{server: server, dir: t.TempDir()}
	p.as(t, "agt_1")
	p.tree.prefix = "docs/"
	_, err := pull(t, p.tree)
	must(t, err)
	write(t, p.dir, files{"docs/b": "B\n", "docs/c": "c\n"})
	_, err = contribute(t, p.tree)
	must(t, err)
	server.mu.Lock()
	w := server.mu.workspaces[0]
	w.files["a"] = fakeFile{"A\n", fakeTypeByPath, "a"}
	w.files["new"] = fakeFile{"new\n", fakeTypeByPath, ""}
	server.mu.Unlock()
	_, err = contribute(t, p.tree)
	must(t, err)
	want := map[string]fakeFile{
		"a": {"a\n", fakeType("a"), "a"}, "docs/b": {"B\n", fakeType("docs/b"), "docs/b"},
		"docs/c": {"c\n", fakeType("docs/c"), "docs/c"},
	}
	if !maps.Equal(w.files, want) {
		t.Errorf("the workspace has\n%q\nwant\n%q", w.files, want)
	}
}

// TestTypeOfANewFile has a workspace with a new file of the directory's content and another content
// type, as an earlier revision has moved it there: it gets the type of its path.
func TestTypeOfANewFile(t *testing.T) {
	p := newPlace(t, newFake(t, files{"a": "a\n"}))
	p.as(t, "agt_1")
	p.server.mu.agent = "agt_1"
	write(t, p.dir, files{"a": "a\n", "new": "new\n"})
	_, err := contribute(t, p.tree)
	must(t, err)
	p.server.mu.Lock()
	w := p.server.mu.workspaces[0]
	w.files["new"] = fakeFile{"new\n", fakeType("moved"), ""}
	p.server.mu.Unlock()
	for range 2 {
		_, err = contribute(t, p.tree)
		must(t, err)
	}
	want := fakeFile{"new\n", fakeTypeByPath, ""}
	if got := w.files["new"]; got != want || p.server.changes() != 2 {
		t.Errorf("%q AFTER %d changes, want %q", got, p.server.changes(), want)
	}
}
