package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pws/internal/id"
	"pws/work"
)

// ownProjects gives an index so many projects of one agent, and returns their places, the newest
// first.
func ownProjects(m *Memberships, agent id.ID, count int) (places []Position) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range count {
		p := work.NewProject()
		// Some change in the same millisecond.
		created := int64(1 + random.IntN(count/2+1))
		p.Apply(&work.ProjectCreated{
			ID: id.ID{byte(n >> 16), byte(n >> 8), byte(n), 1}, Owner: agent,
			About: work.About{Name: "Data", Visibility: work.Private, Status: work.Active},
		}, work.Moment{Now: created, Agent: agent})
		m.Update(nil, p, nil)
		places = append(places, Position{created, p.ID})
	}
	slices.SortFunc(places, func(a, b Position) int {
		return cmp.Or(-cmp.Compare(a.Millis, b.Millis), -a.ID.Compare(b.ID))
	})
	return places
}

// TestMembershipPages reads the projects of an agent in pages of several sizes.
func TestMembershipPages(t *testing.T) {
	agent := id.ID{9}
	m := NewMemberships()
	want := ownProjects(m, agent, 100)
	if got := m.Count(agent); got != 100 || m.Count(id.ID{8}) != 0 {
		t.Errorf("counted %d projects", got)
	}
	for _, limit := range []int{1, 7, 99, 100, 101} {
		var got []Position
		for after := (Position{}); ; after = got[len(got)-1] {
			page := m.Of(agent, &MembershipFilter{}, after, limit)
			got = append(got, page...)
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", limit, got, want)
		}
	}
	if got := m.Of(agent, &MembershipFilter{}, Position{}, 0); len(got) != 0 {
		t.Errorf("a page of none has %v", got)
	}
}

// TestMembershipsOfTenThousandProjects: the time of a page is proportional to the number of
// projects, in whatever order they come.
func TestMembershipsOfTenThousandProjects(t *testing.T) {
	const count, limit = 10_000, 200
	agent := id.ID{9}
	m := NewMemberships()
	want := ownProjects(m, agent, count)
	fastest := time.Hour
	for range 20 {
		began := time.Now()
		got := m.Of(agent, &MembershipFilter{Name: "dat"}, Position{}, limit)
		fastest = min(fastest, time.Since(began))
		if !slices.Equal(got, want[:limit]) {
			t.Fatalf("the first page is %v", got)
		}
	}
	t.Logf("a page of %d of %d projects takes %v", limit, count, fastest)
	if most := 50 * time.Millisecond; fastest > most {
		t.Errorf("a page takes %v, more than %v", fastest, most)
	}
}

// BenchmarkMemberships reads a page of an agent with ten thousand projects.
func BenchmarkMemberships(b *testing.B) {
	agent := id.ID{9}
	m := NewMemberships()
	ownProjects(m, agent, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if len(m.Of(agent, &MembershipFilter{Name: "dat"}, Position{}, 50)) != 50 {
			b.Fatal("the page is short")
		}
	}
}

// BenchmarkTouch applies a change of the state of a project to the index.
func BenchmarkTouch(b *testing.B) {
	agent := id.ID{9}
	m := NewMemberships()
	before := work.NewProject()
	before.Apply(&work.ProjectCreated{ID: id.ID{1}, Owner: agent},
		work.Moment{Now: 1, Agent: agent})
	m.Update(nil, before, nil)
	events := []work.Event{new(work.StateUpdated)}
	next := *before
	b.ReportAllocs()
	for b.Loop() {
		next.UpdatedAt++
		m.Update(before, &next, events)
	}
}
