package index

import (
	"encoding/binary"
	"fmt"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// bigEntry is a task of a project with 10,000 tasks, each with 20 of 20,000 skills.
func bigEntry(nth int) TaskEntry {
	words := make([]string, 20)
	for i := range words {
		words[i] = fmt.Sprint("skill", (nth+i*997)%20_000)
	}
	entry := TaskEntry{
		Priority: work.Priority(1 + nth%4), Status: work.TaskOpen, Terms: MakeTerms(words...),
	}
	binary.BigEndian.PutUint64(entry.Task[:], uint64(nth+1))
	return entry
}

// TestHidingIsCheap expects that few entries of a big project are in the common lists, from which
// it is removed when it is hidden or archived.
func TestHidingIsCheap(t *testing.T) {
	tasks, reviews, project := NewTasks(), NewReviews(), id.ID{1}
	const entriesMax = 300
	for nth := range 10_000 {
		entry := bigEntry(nth)
		tasks.Put(project, entry)
		reviews.Put(project, ReviewEntry{Contribution: entry.Task, Terms: entry.Terms})
	}
	tasks.SetAudience(project, true, nil)
	tasks.SetSubjects(project, true, MakeTerms("go", "sql"))
	reviews.SetAudience(project, true, nil)
	listed := tasks.orders.best.Len() + len(tasks.orders.wide) + len(reviews.big)
	for status := range tasks.orders.public {
		listed += tasks.orders.public[status].Len() + tasks.orders.heads[status].Len()
	}
	for _, order := range tasks.orders.terms.orders {
		listed += order.Len()
	}
	for _, order := range reviews.public.orders {
		listed += order.Len()
	}
	if listed > entriesMax {
		t.Errorf("%d entries of one project are in the common lists", listed)
	}
	if got := tasks.CountPublic(work.TaskOpen, 0); got != 10_000 {
		t.Errorf("%d tasks are counted", got)
	}
	if found, more := tasks.Offered("skill7", 0, 9); len(found) != 1 || more {
		t.Errorf("found %v, %v", found, more)
	}
	if found := reviews.Public("skill7", id.ID{9}, 100); len(found) != 10 {
		t.Errorf("found %d contributions", len(found))
	}
	tasks.SetAudience(project, false, nil)
	if got := len(tasks.Public(work.TaskOpen, 0, TaskPosition{}, 10)); got != 0 {
		t.Errorf("%d tasks are still listed", got)
	}
}

// TestParkAfterAChange parks a project by a state that has changed since.
func TestParkAfterAChange(t *testing.T) {
	tasks, project := NewTasks(), id.ID{1}
	all := ProjectTasks{Active: true}
	all.Public, all.Entries = true, []TaskEntry{bigEntry(1)}
	tasks.Replace(project, all)
	for _, c := range []struct {
		reached, seen uint64
		offered       int
	}{{0, 4, 0}, {5, 4, 1}, {5, 5, 0}, {6, 7, 0}} {
		// Any change offers the project again.
		tasks.Reach(project, c.reached)
		tasks.Put(project, bigEntry(1))
		tasks.Park(project, c.seen, 0)
		if found, _ := tasks.Offered("", 0, 9); len(found) != c.offered {
			t.Errorf("parked by revision %d at %d, %d are offered", c.seen, c.reached, len(found))
		}
	}
}

// TestParkAfterAnExpiry parks a project as it was before a claim has expired.
func TestParkAfterAnExpiry(t *testing.T) {
	for _, c := range []struct {
		looked  int64
		offered int
	}{{9, 1}, {10, 0}, {12, 0}} {
		tasks, project := NewTasks(), id.ID{1}
		claimed := bigEntry(1)
		claimed.Status, claimed.Until, claimed.Then = work.TaskInProgress, 10, work.TaskOpen
		all := ProjectTasks{Active: true}
		all.Public, all.Entries = true, []TaskEntry{claimed, bigEntry(2)}
		tasks.Replace(project, all)
		tasks.Offered("", 10, 9)
		tasks.Park(project, 0, c.looked)
		if found, _ := tasks.Offered("", 12, 9); len(found) != c.offered {
			t.Errorf("parked by a look at %d, %d are offered, want %d", c.looked, len(found), c.offered)
		}
	}
}

// BenchmarkHide hides a project with 10,000 tasks of 20 skills each, or shows it again.
func BenchmarkHide(b *testing.B) {
	tasks, project := NewTasks(), id.ID{1}
	for nth := range 10_000 {
		tasks.Put(project, bigEntry(nth))
	}
	tasks.SetSubjects(project, true, MakeTerms("go", "sql"))
	for nth := 0; b.Loop(); nth++ {
		tasks.SetAudience(project, nth%2 == 0, nil)
	}
}

// BenchmarkTakeTask moves a task of a big public project out of the OPEN ones and back.
func BenchmarkTakeTask(b *testing.B) {
	tasks, project := NewTasks(), id.ID{1}
	for nth := range 10_000 {
		tasks.Put(project, bigEntry(nth))
	}
	tasks.SetAudience(project, true, nil)
	tasks.SetSubjects(project, true, MakeTerms("go", "sql"))
	for nth := 0; b.Loop(); nth++ {
		entry := bigEntry(nth % 10_000)
		if nth&1 == 1 {
			entry = bigEntry((nth - 1) % 10_000)
		} else {
			entry.Status = work.TaskBlocked
		}
		tasks.Put(project, entry)
	}
}
