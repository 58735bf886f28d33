package index

import (
	"slices"
	"sync"
	"testing"

	difference "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

func inboxAgent(n int) id.ID { return id.New(1, [10]byte{byte(n) + 1}) }

// modelItemsMax is the number of items that the model keeps.
const modelItemsMax = 10

// inboxModel keeps all items that agents ever received, and marks each item separately.
type inboxModel struct {
	all      map[id.ID][]InboxItem
	archived map[id.ID]map[identity.Place]bool
	gone     map[id.ID]map[identity.Place]bool
	// ofDay counts the items of each agent that were not refused by the daily limit.
	ofDay map[id.ID]map[InboxCount]int
}

func newInboxModel() *inboxModel {
	return &inboxModel{
		all:      map[id.ID][]InboxItem{},
		archived: map[id.ID]map[identity.Place]bool{},
		gone:     map[id.ID]map[identity.Place]bool{},
		ofDay:    map[id.ID]map[InboxCount]int{},
	}
}

func (m *inboxModel) deliver(one Delivery) {
	agent := one.Agent
	if m.archived[agent] == nil {
		m.archived[agent], m.gone[agent] = map[identity.Place]bool{}, map[identity.Place]bool{}
		m.ofDay[agent] = map[InboxCount]int{}
	}
	most := map[work.NoticeKind]int{
		work.NoticeMention: 20, work.NoticeReply: 100, work.NoticeMemberAdded: 20,
		work.NoticeReviewRequested: 100, work.NoticeReviewed: 100,
	}[one.Kind]
	day := InboxCount{Actor: one.Actor, Kind: one.Kind, Day: one.At / (24 * 3600 * 1000)}
	if most > 0 && m.ofDay[agent][day] == most {
		return
	}
	m.ofDay[agent][day]++
	m.all[agent] = append(m.all[agent], one.InboxItem)
	room := func(kind work.NoticeKind) int {
		switch kind {
		case work.NoticeReviewRequested, work.NoticeContributionDecided, work.NoticeClaimExpired:
			return 1
		case work.NoticeKeyAdded, work.NoticeKeyRevoked:
			return 2
		}
		return 0
	}
	items := slices.DeleteFunc(m.items(agent), func(item InboxItem) bool {
		return room(item.Kind) != room(one.Kind)
	})
	if len(items) <= modelItemsMax {
		return
	}
	// The oldest of the actor that most of them are of, or of the actor with the most in the project
	// with more than any actor has, unless one is archived.
	goes := m.surplus(items)
	for _, item := range items {
		if item.Archived {
			goes = item.Place
			break
		}
	}
	m.gone[agent][goes] = true
}

// surplus returns the item that has to go if none is archived.
func (m *inboxModel) surplus(items []InboxItem) (goes identity.Place) {
	most := func(of func(InboxItem) id.ID) (count map[id.ID]int, most int) {
		count = map[id.ID]int{}
		for _, item := range items {
			count[of(item)]++
			most = max(most, count[of(item)])
		}
		return count, most
	}
	byActor := func(item InboxItem) id.ID { return item.Actor }
	ofProject, inProject := most(func(item InboxItem) id.ID { return item.Project })
	if _, ofActor := most(byActor); inProject > ofActor {
		items = slices.DeleteFunc(slices.Clone(items), func(item InboxItem) bool {
			return ofProject[item.Project] < inProject
		})
	}
	count, ofActor := most(byActor)
	return items[slices.IndexFunc(items, func(item InboxItem) bool {
		return count[item.Actor] == ofActor
	})].Place
}

func (m *inboxModel) items(agent id.ID) (items []InboxItem) {
	for _, item := range m.all[agent] {
		if item.Archived = m.archived[agent][item.Place]; !m.gone[agent][item.Place] {
			items = append(items, item)
		}
	}
	return items
}

func (m *inboxModel) mark(e *identity.InboxMarked) {
	for _, item := range m.items(e.Agent) {
		all := item.Place.Compare(e.Through) <= 0 && !item.Archived &&
			!slices.Contains(e.Spared, item.Place)
		if all || slices.Contains(e.Items, item.Place) {
			m.archived[e.Agent][item.Place] = e.Status == identity.ItemArchived
		}
	}
}

// drawMark marks some of an agent's items, or all of them up to one.
func drawMark(rt *rapid.T, agent id.ID, items []InboxItem) *identity.InboxMarked {
	e := &identity.InboxMarked{
		Agent: agent, Status: identity.ItemStatus(rapid.IntRange(0, 2).Draw(rt, "status")),
	}
	some := func(label string) (places []identity.Place) {
		for range rapid.IntRange(0, 3).Draw(rt, label) {
			nth := rapid.IntRange(0, len(items)-1).Draw(rt, "item")
			places = append(places, items[nth].Place)
		}
		return places
	}
	if rapid.Bool().Draw(rt, "all") {
		e.Through = items[rapid.IntRange(0, len(items)-1).Draw(rt, "through")].Place
		e.Spared = some("spared")
	} else {
		e.Items = some("items")
	}
	return e
}

// drawDeliveries draws the deliveries of one entry to an agent.
func drawDeliveries(rt *rapid.T, agent id.ID, entry uint64, day int64) []Delivery {
	count := rapid.SampledFrom([]int{0, 1, 3, 8, 25}).Draw(rt, "count")
	// Entries written around midnight may come in either order.
	at := (day - int64(rapid.IntRange(0, 1).Draw(rt, "before"))) * dayMillis
	kind := rapid.SampledFrom([]work.NoticeKind{
		work.NoticeMention, work.NoticeMention, work.NoticeReply,
		work.NoticeReviewRequested, work.NoticeMemberAdded, work.NoticeKeyAdded,
		work.NoticeKeyRevoked,
	}).Draw(rt, "kind")
	actor := inboxAgent(10 + rapid.IntRange(0, 1).Draw(rt, "actor"))
	project := inboxAgent(6 + rapid.IntRange(0, 2).Draw(rt, "project"))
	deliveries := make([]Delivery, count)
	for nth := range deliveries {
		deliveries[nth] = Delivery{agent, InboxItem{
			Place: identity.Place{Entry: entry, Nth: uint16(nth)}, At: at, Kind: kind,
			Project: project, Actor: actor,
		}}
	}
	return deliveries
}

// TestInboxMatchesItsModel compares the inbox with a model after random deliveries and marks. An
// inbox that was saved at any time and then received the same entries again, including the saved
// ones, must match too.
func TestInboxMatchesItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fresh := func() *Inbox {
			b := NewInbox()
			b.max = modelItemsMax
			return b
		}
		model, live, saved := newInboxModel(), fresh(), fresh()
		entry, day := uint64(0), int64(20_000)
		both := func(do func(b *Inbox)) { do(live); do(saved) }
		steps := rapid.IntRange(1, 80).Draw(rt, "steps")
		for range steps {
			entry++
			agent := inboxAgent(rapid.IntRange(0, 2).Draw(rt, "agent"))
			if items := model.items(agent); len(items) > 0 && rapid.Bool().Draw(rt, "mark") {
				e := drawMark(rt, agent, items)
				model.mark(e)
				both(func(b *Inbox) { b.Mark(entry, e) })
			} else {
				day += int64(rapid.IntRange(0, 9).Draw(rt, "day") / 9)
				deliveries := drawDeliveries(rt, agent, entry, day)
				for nth := range deliveries {
					model.deliver(deliveries[nth])
				}
				both(func(b *Inbox) { b.Deliver(entry, slices.Clone(deliveries)) })
			}
			for n := range 3 {
				kept, _ := live.Saved(inboxAgent(n))
				again, _ := saved.Saved(inboxAgent(n))
				if !slices.Equal(kept.Counts, again.Counts) {
					rt.Fatalf("counts %v, restored %v", kept.Counts, again.Counts)
				}
			}
			if rapid.IntRange(0, 19).Draw(rt, "save") == 0 {
				saved = fresh()
				for agent := range live.DrainDirty() {
					if saving, head := live.Saved(agent); head != entry {
						rt.Fatalf("saved at %d, want %d", head, entry)
					} else {
						saved.Restore(agent, saving, head)
					}
				}
				live.RequeueDirty(map[id.ID]struct{}{
					inboxAgent(0): {}, inboxAgent(1): {}, inboxAgent(2): {},
				})
				// Replay starts at an earlier entry: saved items must not be delivered twice.
				for _, agent := range saved.Agents() {
					saved.Deliver(entry, []Delivery{{agent, InboxItem{Kind: work.NoticeReply}}})
					saved.Mark(entry, &identity.InboxMarked{
						Agent: agent, Through: identity.Place{Entry: entry},
					})
				}
				saved.Deliver(entry, nil)
			}
		}
		for n := range 3 {
			want := model.items(inboxAgent(n))
			for name, b := range map[string]*Inbox{"live": live, "restored": saved} {
				got, head := b.Items(inboxAgent(n))
				if diff := difference.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
					rt.Fatalf("%s, agent %d: %s", name, n, diff)
				}
				if head != entry {
					rt.Fatalf("%s: head %d, want %d", name, head, entry)
				}
			}
		}
	})
}

// TestInboxListsDoNotChange checks that a list does not change after it was returned, and is
// complete up to the head returned with it.
func TestInboxListsDoNotChange(t *testing.T) {
	b, agent := NewInbox(), inboxAgent(0)
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				items, head := b.Items(agent)
				before := slices.Clone(items)
				// Items beyond the limit may have been removed for an item after the head.
				if n := len(items); n > 0 && items[n-1].Place.Entry != head/2*2 ||
					n > InboxItemsMax || head < 2*InboxItemsMax-100 && n != int(head/2) {
					t.Errorf("%d items, the last of entry %d, at %d", n,
						items[max(0, n-1)].Place.Entry, head)
					return
				}
				select {
				case <-done:
					return
				default:
				}
				if !slices.Equal(items, before) {
					t.Error("a returned list has changed")
					return
				}
			}
		})
	}
	for entry := uint64(1); entry <= 2500; entry++ {
		if entry%2 == 1 {
			b.Mark(entry, &identity.InboxMarked{
				Agent: agent, Status: identity.ItemArchived, Items: []identity.Place{{Entry: entry - 3}},
			})
			continue
		}
		b.Deliver(entry, []Delivery{{agent, InboxItem{Kind: work.NoticeContributionDecided}}})
	}
	close(done)
	readers.Wait()
}

// TestInboxCountsAreBounded checks that the counts are bounded however many agents mention one
// agent, and that counts of past days are removed.
func TestInboxCountsAreBounded(t *testing.T) {
	b, agent := NewInbox(), inboxAgent(0)
	deliver := func(entry uint64, author int, day int64) {
		b.Deliver(entry, []Delivery{{agent, InboxItem{
			Kind: work.NoticeMention, At: day * dayMillis,
			Actor: id.New(int64(author), [10]byte{}),
		}}})
	}
	for n := range InboxCountsMax + 5 {
		deliver(uint64(n)+1, n, 7)
	}
	saved, _ := b.Saved(agent)
	if n := len(saved.Counts); n != InboxCountsMax || len(saved.Items) != InboxItemsMax {
		t.Fatalf("%d counts, %d items", n, len(saved.Items))
	}
	if first := saved.Counts[0].Actor; first != id.New(5, [10]byte{}) {
		t.Fatalf("the oldest count is of %v", first)
	}
	deliver(5000, 1, 9)
	if saved, _ := b.Saved(agent); len(saved.Counts) != 1 || saved.Counts[0].Day != 9 {
		t.Fatalf("%d counts are left", len(saved.Counts))
	}
}

// TestInboxSavedIsCompleteUpToItsEntry saves an inbox while entries are delivered. A start replays
// the entries after the saved one, so no saved item may belong to a later entry.
func TestInboxSavedIsCompleteUpToItsEntry(t *testing.T) {
	const entries = 50_000
	b, agent := NewInbox(), inboxAgent(0)
	var saving sync.WaitGroup
	for range 2 {
		saving.Go(func() {
			for head := uint64(0); head < entries; {
				var saved SavedInbox
				saved, head = b.Saved(agent)
				if n := len(saved.Items); n > 0 && saved.Items[n-1].Place.Entry > head {
					t.Errorf("saved with entry %d: an item of entry %d", head,
						saved.Items[n-1].Place.Entry)
					return
				}
			}
		})
	}
	for entry := range uint64(entries) {
		b.Deliver(entry+1, []Delivery{{Agent: agent, InboxItem: InboxItem{
			Kind: work.NoticeReviewRequested, Actor: inboxAgent(1),
		}}})
	}
	saving.Wait()
}

// TestItemsOfManyProjectsDisplaceNoOthers fills an inbox from many projects of a few actors.
func TestItemsOfManyProjectsDisplaceNoOthers(t *testing.T) {
	const most = 100
	box, honest := new(inboxBox), inboxAgent(1)
	for nth := range 3 * most {
		item := InboxItem{
			Place: identity.Place{Entry: uint64(nth + 1)}, Kind: work.NoticeReviewRequested,
			Project: inboxAgent(1000 + nth), Actor: inboxAgent(10 + nth%11),
		}
		if nth < 5 {
			item.Project, item.Actor = honest, honest
		}
		box.add(&item, most)
	}
	kept := 0
	for _, item := range box.items {
		if item.Actor == honest {
			kept++
		}
	}
	if kept != 5 || len(box.items) != most {
		t.Errorf("of 5 items that others have sent %d are kept, of all %d", kept, len(box.items))
	}
}

// TestItemsOfOneProjectDisplaceNoOthers fills an inbox from one project, where a few actors have
// sent most.
func TestItemsOfOneProjectDisplaceNoOthers(t *testing.T) {
	const most = 100
	box, honest := new(inboxBox), inboxAgent(1)
	for nth := range 3 * most {
		item := InboxItem{
			Place: identity.Place{Entry: uint64(nth + 1)}, Kind: work.NoticeReply,
			Project: honest, Actor: inboxAgent(10 + nth%4),
		}
		if nth < 15 {
			item.Actor = honest
		}
		box.add(&item, most)
	}
	kept := 0
	for _, item := range box.items {
		if item.Actor == honest {
			kept++
		}
	}
	if kept != 15 || len(box.items) != most {
		t.Errorf("of 15 items that others have sent %d are kept, of all %d", kept, len(box.items))
	}
}
