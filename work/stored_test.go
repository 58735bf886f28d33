package work_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// storedWorld is a project of ann, with bob as a member, in which they, a guest and the service
// itself have stored something.
func storedWorld(t *testing.T) *world {
	w := newWorld()
	w.create(t)
	w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Reader})
	w.project = w.project.Clone()
	for _, one := range storedInWorld {
		w.project.CountStored(one.Agent, one.Bytes-1)
		w.project.CountStored(one.Agent, 1)
	}
	return w
}

var storedInWorld = []work.StoredBytes{
	{Agent: id.ID{}, Bytes: 7}, {Agent: agent("ann"), Bytes: 1 << 33},
	{Agent: agent("bob"), Bytes: 200}, {Agent: agent("eve"), Bytes: 100},
}

// TestFrozenStoredBytes reads a project as it was first saved with what agents have stored.
func TestFrozenStoredBytes(t *testing.T) {
	p, _ := frozenProject(t, "testdata/snapshot/v8-stored", storedWorld, nil)
	if diff := cmp.Diff(storedInWorld, p.StoredByAgents()); diff != "" {
		t.Error(diff)
	}
	if all := p.StoredAll(); all != 1<<33+307 {
		t.Errorf("%d bytes are stored", all)
	}
	if guests := p.StoredByGuests(); guests != 100 {
		t.Errorf("guests have stored %d bytes", guests)
	}
}

// TestStoredBytesOfClones counts in a clone, and the state before is as it was.
func TestStoredBytesOfClones(t *testing.T) {
	p := storedWorld(t).project
	next := p.Clone()
	next.CountStored(agent("eve"), 1)
	if p.StoredBy(agent("eve")) != 100 || next.StoredBy(agent("eve")) != 101 ||
		next.StoredAll() != p.StoredAll()+1 {
		t.Errorf("%v, and the clone %v", p.StoredByAgents(), next.StoredByAgents())
	}
}

func TestStoredQuotasOfProjects(t *testing.T) {
	const limit = 25_600
	for _, test := range []struct {
		name   string
		stored map[string]int64
		who    string
		more   int64
		want   string
	}{
		{name: "a member", stored: map[string]int64{"ann": limit - 10}, who: "bob", more: 10},
		{name: "one byte too many", stored: map[string]int64{"ann": limit - 10}, who: "bob", more: 11,
			want: "stored_bytes_of_project"},
		{name: "members, where guests have used all of theirs",
			stored: map[string]int64{"eve": limit, "ann": 0}, who: "ann", more: limit},
		{name: "a guest", stored: map[string]int64{"ann": limit}, who: "eve", more: limit / 8},
		{name: "a guest, one byte too many", stored: map[string]int64{"ann": limit, "eve": 1},
			who: "eve", more: limit / 8, want: "stored_bytes_of_guest"},
		{name: "a newcomer in the last tenth", stored: map[string]int64{"mel": limit * 9 / 10},
			who: "eve", more: 100},
		{name: "others in the last tenth",
			stored: map[string]int64{"mel": limit*9/10 - 101, "eve": 101}, who: "eve", more: 1,
			want: "stored_bytes_of_guests"},
		{name: "all guests", stored: map[string]int64{"mel": limit}, who: "eve", more: 1,
			want: "stored_bytes_of_guests"},
		{name: "the service itself", stored: map[string]int64{"ann": 2 * limit}, who: "", more: 1},
	} {
		w := newWorld()
		w.create(t)
		w.must(t, &work.AddMember{Agent: agent("bob"), Role: work.Reader})
		p := w.project.Clone()
		for who, bytes := range test.stored {
			p.CountStored(agent(who), bytes)
		}
		var who id.ID
		if test.who != "" {
			who = agent(test.who)
		}
		if quota := quotaOf(t, p.RequireStored(who, test.more, limit)); quota != test.want {
			t.Errorf("%s: %q, want %q", test.name, quota, test.want)
		}
		if err := p.RequireStored(who, test.more, 0); err != nil {
			t.Errorf("%s, without a limit: %v", test.name, err)
		}
	}
	var none *work.Project
	if quota := quotaOf(t, none.RequireStored(agent("ann"), 11, 10)); quota == "" {
		t.Error("a new project may be larger than the limit")
	}
	if err := none.RequireStored(agent("ann"), 10, 10); err != nil {
		t.Error(err)
	}
}

// TestRemovedProjectsStoreNothing removes a project: the event has what each agent had stored.
func TestRemovedProjectsStoreNothing(t *testing.T) {
	w := storedWorld(t)
	decision := w.operate(t, &work.RemoveProject{Reason: "malware"})
	removed, ok := decision.Events[0].(*work.ProjectRemoved)
	if !ok {
		t.Fatalf("%T", decision.Events[0])
	}
	if diff := cmp.Diff(storedInWorld, removed.Stored); diff != "" {
		t.Error(diff)
	}
	if all := w.project.StoredAll(); all != 0 || len(w.project.StoredByAgents()) != 0 {
		t.Errorf("%d bytes are stored", all)
	}
}

// TestDeletionsNeedNoQuota names the commands that delete what others have left, which an owner has
// to be able to do where a quota is used up.
func TestDeletionsNeedNoQuota(t *testing.T) {
	for _, command := range []work.Command{
		new(work.DeleteDiscussion), new(work.DeleteComment), new(work.DeleteHandoff),
		new(work.DeleteVerification), new(work.DeleteReview), new(work.DeleteContribution),
		new(work.DeleteProject),
	} {
		if !work.EndsOnly(command) {
			t.Errorf("%T is refused where a quota is used up", command)
		}
	}
}
