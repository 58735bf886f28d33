package index

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// reviewsModel answers queries by a full scan.
type reviewsModel map[id.ID]*ProjectReviews

func (m reviewsModel) public(term string, author id.ID) (places []ReviewPlace) {
	for project, p := range m {
		for _, entry := range p.Entries {
			if p.Public && entry.Author != author && (term == "" || entry.Terms.has(term)) {
				places = append(places, ReviewPlace{entry.Contribution, project})
			}
		}
	}
	slices.SortFunc(places, func(a, b ReviewPlace) int {
		return a.Contribution.Compare(b.Contribution)
	})
	return places
}

func (m reviewsModel) own(agent id.ID) (places []ReviewPlace) {
	for project, p := range m {
		for _, entry := range p.Entries {
			if !p.Public && slices.Contains(p.Members, agent) && entry.Author != agent {
				places = append(places, ReviewPlace{entry.Contribution, project})
			}
		}
	}
	slices.SortFunc(places, func(a, b ReviewPlace) int {
		if by := a.Project.Compare(b.Project); by != 0 {
			return by
		}
		return a.Contribution.Compare(b.Contribution)
	})
	return places
}

func (m reviewsModel) drop(project, contribution id.ID) {
	if p := m[project]; p != nil {
		p.Entries = slices.DeleteFunc(p.Entries, func(e ReviewEntry) bool {
			return e.Contribution == contribution
		})
		if len(p.Entries) == 0 {
			delete(m, project)
		}
	}
}

func (m reviewsModel) put(project id.ID, entry ReviewEntry) (first bool) {
	p := m[project]
	if p == nil {
		p, first = new(ProjectReviews), true
	} else {
		m.drop(project, entry.Contribution)
	}
	m[project] = p
	p.Entries = append(p.Entries, entry)
	slices.SortFunc(p.Entries, func(a, b ReviewEntry) int {
		return a.Contribution.Compare(b.Contribution)
	})
	return first
}

func (d drawn) review(project id.ID) ReviewEntry {
	return ReviewEntry{
		Contribution: id.ID{0: 4, 14: project[15], 15: d.ByteRange("contribution", 1, 6)},
		Author:       id.ID{0: 3, 15: d.ByteRange("author", 0, 3)}, Terms: d.terms(),
	}
}

// TestReviewsAnswerAsTheModel applies random changes to the index and to an unsorted model, and
// compares their answers.
func TestReviewsAnswerAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, reviews, model := drawn{t}, NewReviews(), reviewsModel{}
		if rapid.Bool().Draw(t, "low limits") {
			reviews.limits = bigLimits{big: 6, small: 3}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			project := d.project()
			entry := d.review(project)
			switch d.ByteRange("step", 0, 7) {
			case 0, 1:
				reviews.Drop(project, entry.Contribution)
				model.drop(project, entry.Contribution)
			case 2:
				public, members := rapid.Bool().Draw(t, "public"), d.members()
				reviews.SetAudience(project, public, members)
				if p := model[project]; p != nil {
					p.Public, p.Members = public, nil
					if !public {
						p.Members = members
					}
				}
			case 3:
				all := ProjectReviews{Members: d.members(), Entries: []ReviewEntry{entry}}
				reviews.Replace(project, all)
				model[project] = &all
			default:
				if got, want := reviews.Put(project, entry), model.put(project, entry); got != want {
					t.Fatalf("Put says first: %v, want %v", got, want)
				}
			}
			for agent := range byte(4) {
				agent := id.ID{0: 3, 15: agent}
				for _, term := range []string{"", "go", "sql"} {
					got, want := reviews.Public(term, agent, 100), model.public(term, agent)
					if !slices.Equal(got, want) {
						t.Fatalf("%q: %v, want %v", term, got, want)
					}
				}
				if got, want := reviews.Own(agent, 100), model.own(agent); !slices.Equal(got, want) {
					t.Fatalf("own: %v, want %v", got, want)
				}
			}
		}
	})
}
