package actors

import (
	"strings"
	"sync/atomic"
	"testing"

	"pws/identity"
	"pws/internal/disk"
	"pws/work"
)

// TestOperatorsActOnANearlyFullDisk has an operator stop an agent and make space while the writes
// of agents are refused.
func TestOperatorsActOnANearlyFullDisk(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	w := newDropWorld(t, smallDisk(t.TempDir(), &free))
	filler := register(t, w.Engine, "filler")
	made := mustDo(t, w.Engine, w.other, w.owner, &work.CreateTask{
		Spec: work.TaskSpec{Title: "t", Description: "the leaked " + strings.Repeat("x", 2000)},
	})
	mustDo(t, w.Engine, w.other, filler, &work.ClaimTask{Task: made.Result.Subject})
	mustPut(t, w.Engine, w.other, w.owner, "leak", "the leaked")
	saveAll(t, w.Engine)
	// Of this file an earlier section names another content.
	mustPut(t, w.Engine, w.doomed, w.owner, "a.txt", "newer")
	free.Store(w.config.ReserveBytes - 1)
	settleSpace(t, w.Engine, false)
	if _, err := put(w.Engine, w.other, w.owner, "b.txt", "2"); !refusedForSpace(err) {
		t.Fatalf("a write on a nearly full disk: %v", err)
	}
	for _, act := range []struct {
		name string
		do   func() error
	}{
		{"registration", func() error {
			_, err := w.OperatorDo(&identity.SetRegistration{Mode: identity.RegistrationClosed})
			return err
		}},
		{"suspend", func() error { _, err := w.SuspendAgent("filler", "spam"); return err }},
		{"restore", func() error {
			_, err := w.OperatorDo(&identity.RestoreAgent{Agent: "filler", Reason: "no spam"})
			return err
		}},
		{"quota", func() error {
			_, err := w.SetQuota(&identity.SetQuota{
				Quota: identity.QuotaAgent, Agent: "filler", Bytes: 1000, Reason: "too much",
			})
			return err
		}},
		{"hide", func() error { return w.HideProject(w.other, "spam") }},
		{"show", func() error { return w.ShowProject(w.other, "no spam") }},
		{"purge", func() error { return w.PurgeContent(blobOf("the leaked").Hash, "leaked") }},
		{"remove", w.remove},
	} {
		if err := act.do(); err != nil {
			t.Errorf("%s: %v", act.name, err)
		}
	}
	if viewOf(t, w.Engine, w.other).HasLiveClaims(filler, w.Now()) {
		t.Error("the suspended agent still has its claim")
	}
	w.checkDropped(t, w.Engine)
	if _, err := put(w.Engine, w.other, w.owner, "b.txt", "2"); !refusedForSpace(err) {
		t.Fatalf("a write on a nearly full disk: %v", err)
	}
}

// TestRemovalWaitsForSpace removes projects where the rewriting does not fit into the reserve: the
// removal is noted, no snapshot has failed, and it goes on once there is space. Below the floor of
// the log operators are refused, too.
func TestRemovalWaitsForSpace(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	w := newDropWorld(t, smallDisk(t.TempDir(), &free))
	floor := spaceFloor(w.config.ReserveBytes)
	free.Store(floor - 1)
	settleSpace(t, w.Engine, false)
	if err := w.RemoveProject(w.doomed, "malware"); !refusedForSpace(err) {
		t.Fatalf("a removal below the floor: %v", err)
	}
	free.Store(2*floor - 1)
	settleSpace(t, w.Engine, false)
	if err := w.remove(); !disk.IsFull(err) {
		t.Fatalf("a removal without room: %v", err)
	}
	for _, check := range w.Health() {
		if check.Fault != "" {
			t.Errorf("%s has failed: %s", check.Name, check.Fault)
		}
	}
	if p := viewOf(t, w.Engine, w.doomed); !p.Removed() {
		t.Error("the project is still there")
	}
	free.Store(w.config.ReserveBytes - 1)
	settleSpace(t, w.Engine, false)
	if err := w.erasing.resumeErasure(); err != nil {
		t.Fatal(err)
	}
	w.checkDropped(t, w.Engine)
}
