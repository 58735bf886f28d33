package checkout

import "testing"

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
	contribute := func() (done Pushed, err error) {
		err = p.tree.Locked(t.Context(), func() (err error) {
			done, err = p.tree.Contribute(t.Context(), PushOptions{Message: "m"})
			return err
		})
		return done, err
	}
	p.server.cut(true)
	if _, err := contribute(); err == nil {
		t.Error("the answer is not lost")
	}
	p.server.cut(false)
	done, err := contribute()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	if err != nil || !done.Pending || len(p.server.mu.workspaces) != 1 || p.server.mu.submitted != 1 {
		t.Errorf("%+v, %v, %d workspaces", done, err, len(p.server.mu.workspaces))
	}
}
