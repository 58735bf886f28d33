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
