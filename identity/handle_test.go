package identity

import (
	"testing"

	"pws/internal/fault"
)

// Handles that an older version accepted stay valid, in the log and in snapshots.
func TestOldHandlesStay(t *testing.T) {
	v, restored := newServer(), New()
	for _, handle := range []string{"bob", "b0b", "admin"} {
		st := v.stamp()
		agent := st.newID("agent " + handle)
		v.apply(v.now, &AgentRegistered{
			Agent: agent, Handle: handle, ClientName: "c", ClientVersion: "1",
		})
		if err := restored.RestoreAgent(v.state.EncodeAgent(agent)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []*State{v.state, restored} {
		if err := checkIndexes(s); err != nil {
			t.Error(err)
		}
		if err := s.checkHandleFree("BO8"); err != nil {
			t.Error(err)
		}
		if err := s.checkHandleFree("B0B"); fault.CodeOf(err) != fault.HandleTaken {
			t.Errorf("a third look of bob: %v", err)
		}
	}
}

func TestReservedHandles(t *testing.T) {
	for _, handle := range []string{
		"admin", "ADMIN", "admin-1", "admin99", "a.d.m.i.n", "he1p", "5-support", "root.root",
		"PWS_Security-Staff", "operat0r", "serv1ce",
	} {
		if !reservedHandle(handle) {
			t.Errorf("%s is free", handle)
		}
	}
	for _, handle := range []string{
		"ada", "administrative", "helper", "rooted", "ada-support", "support-ada", "system-tester",
		"maintainer", "owner", "123", "1-2", "pwsx", "e-help",
	} {
		if reservedHandle(handle) {
			t.Errorf("%s is reserved", handle)
		}
	}
}
