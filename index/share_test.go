package index

import (
	"slices"
	"testing"

	"pws/internal/id"
	"pws/work"
)

func TestShareByOwner(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", ""},
		{"aaabbc", "abcaba"},
		{"xxxxm", "mxxxx"},
		{"xmxymx", "mmxyxx"},
	} {
		got := ShareByOwner([]byte(c.list), id.ID{'m'}, func(one byte) id.ID { return id.ID{one} })
		if string(got) != c.want {
			t.Errorf("%s is shared as %s, want %s", c.list, got, c.want)
		}
	}
}

// TestMembershipsShared adds an agent to many projects of another one.
func TestMembershipsShared(t *testing.T) {
	agent, other, third := id.ID{9}, id.ID{8}, id.ID{7}
	m, created := NewMemberships(), int64(0)
	add := func(owner id.ID) id.ID {
		created++
		p := work.NewProject()
		p.Apply(&work.ProjectCreated{
			ID: id.ID{1, byte(created >> 8), byte(created)}, Owner: owner,
			About: work.About{Visibility: work.Private, Status: work.Active},
		}, work.Moment{Now: created, Agent: owner})
		if owner != agent {
			p.Apply(&work.MemberAdded{Member: work.Member{Agent: agent, Role: work.Reader}},
				work.Moment{Now: created, Agent: owner})
		}
		m.Update(nil, p, nil)
		return p.ID
	}
	own, friends := add(agent), add(third)
	var newest id.ID
	for range 300 {
		newest = add(other)
	}
	got := m.Shared(agent, 3)
	if want := []id.ID{own, newest, friends}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.Owners([]id.ID{own, newest, {}}); !slices.Equal(got, []id.ID{agent, other, {}}) {
		t.Errorf("the owners are %v", got)
	}
}
