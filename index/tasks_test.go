package index

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	difference "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pws/internal/id"
	"pws/work"
)

// tasksModel answers queries by a full scan.
type tasksModel struct {
	projects map[id.ID]*ProjectTasks
	parked   map[id.ID]bool
	now      int64
}

func (m *tasksModel) each(yield func(project id.ID, p *ProjectTasks, entry TaskEntry)) {
	for project, p := range m.projects {
		for _, entry := range p.Entries {
			yield(project, p, entry)
		}
	}
}

// status is the current status of a task.
func (m *tasksModel) status(entry TaskEntry) work.TaskStatus {
	if entry.Until != 0 && entry.Until <= m.now {
		return entry.Then
	}
	return entry.Status
}

func sortPlaces(places []TaskPlace) []TaskPlace {
	slices.SortFunc(places, func(a, b TaskPlace) int {
		return cmp.Or(-cmp.Compare(a.Priority, b.Priority), a.Task.Compare(b.Task))
	})
	return places
}

func (m *tasksModel) public(status work.TaskStatus) (places []TaskPlace) {
	m.each(func(project id.ID, p *ProjectTasks, entry TaskEntry) {
		if p.Public && m.status(entry) == status {
			places = append(places, TaskPlace{TaskPosition{entry.Priority, entry.Task}, project})
		}
	})
	return sortPlaces(places)
}

// among are the claims of some projects by expiry, and their BLOCKED tasks by age, up to a limit
// for each project.
func (m *tasksModel) among(asked []id.ID, limit int) (claims []ClaimPlace, blocked []TaskPlace) {
	byExpiry := func(a, b ClaimPlace) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), a.Task.Compare(b.Task))
	}
	byAge := func(a, b TaskPlace) int { return a.Task.Compare(b.Task) }
	for project, p := range m.projects {
		if !slices.Contains(asked, project) {
			continue
		}
		var held []ClaimPlace
		var stuck []TaskPlace
		for _, entry := range p.Entries {
			if entry.Until > m.now {
				held = append(held, ClaimPlace{Expiry{entry.Until, entry.Task}, project})
			}
			if m.status(entry) == work.TaskBlocked {
				stuck = append(stuck, TaskPlace{TaskPosition{entry.Priority, entry.Task}, project})
			}
		}
		slices.SortFunc(held, byExpiry)
		slices.SortFunc(stuck, byAge)
		claims = append(claims, held[:min(len(held), limit)]...)
		blocked = append(blocked, stuck[:min(len(stuck), limit)]...)
	}
	slices.SortFunc(claims, byExpiry)
	slices.SortFunc(blocked, byAge)
	return claims, blocked
}

func (m *tasksModel) own(agent id.ID) (projects []id.ID) {
	var places []TaskPlace
	m.each(func(project id.ID, p *ProjectTasks, entry TaskEntry) {
		if !p.Public && slices.Contains(p.Members, agent) && m.status(entry) == work.TaskOpen {
			places = append(places, TaskPlace{TaskPosition{entry.Priority, entry.Task}, project})
		}
	})
	for _, place := range sortPlaces(places) {
		if !slices.Contains(projects, place.Project) {
			projects = append(projects, place.Project)
		}
	}
	return projects
}

// with returns the tasks of offered projects that have a term, the best first; the empty term
// matches all.
func (m *tasksModel) with(term string) (places []TaskPlace) {
	for _, place := range m.public(work.TaskOpen) {
		p := m.projects[place.Project]
		at := slices.IndexFunc(p.Entries, func(e TaskEntry) bool { return e.Task == place.Task })
		if p.Active && !m.parked[place.Project] && (term == "" || p.Entries[at].Terms.has(term)) {
			places = append(places, place)
		}
	}
	return places
}

// offered returns the projects that have a task with a term, each with the best.
func (m *tasksModel) offered(term string) (places []TaskPlace) {
	known := map[id.ID]bool{}
	for _, place := range m.with(term) {
		if !known[place.Project] {
			known[place.Project] = true
			places = append(places, place)
		}
	}
	return places
}

// working returns the projects with a subject that have a task, the newest first.
func (m *tasksModel) working(term string) (projects []id.ID) {
	for _, place := range m.offered("") {
		if term == "" || m.projects[place.Project].Subjects.has(term) {
			projects = append(projects, place.Project)
		}
	}
	slices.SortFunc(projects, func(a, b id.ID) int { return b.Compare(a) })
	return projects
}

func (m *tasksModel) due() map[id.ID]bool {
	due := map[id.ID]bool{}
	m.each(func(project id.ID, _ *ProjectTasks, entry TaskEntry) {
		if entry.Until != 0 && entry.Until <= m.now {
			due[project] = true
		}
	})
	return due
}

func (m *tasksModel) put(project id.ID, entry TaskEntry) (first bool) {
	delete(m.parked, project)
	p := m.projects[project]
	if p == nil {
		p, first = new(ProjectTasks), true
		m.projects[project] = p
	}
	m.drop(project, entry.Task)
	m.projects[project] = p
	p.Entries = append(p.Entries, entry)
	slices.SortFunc(p.Entries, func(a, b TaskEntry) int { return a.Task.Compare(b.Task) })
	return first
}

func (m *tasksModel) drop(project, task id.ID) {
	p := m.projects[project]
	if p == nil {
		return
	}
	before := len(p.Entries)
	p.Entries = slices.DeleteFunc(p.Entries, func(e TaskEntry) bool { return e.Task == task })
	if len(p.Entries) < before {
		delete(m.parked, project)
	}
	if len(p.Entries) == 0 {
		delete(m.projects, project)
	}
}

func (m *tasksModel) setAudience(project id.ID, public bool, members []id.ID) {
	if p := m.projects[project]; p != nil {
		p.Public, p.Members = public, members
		if public {
			p.Members = nil
		}
	}
}

// advance moves the time on. A claim that expires makes its project one with work again.
func (m *tasksModel) advance(millis int64) {
	was := m.now
	m.now += millis
	m.each(func(project id.ID, _ *ProjectTasks, entry TaskEntry) {
		if entry.Until > was && entry.Until <= m.now {
			delete(m.parked, project)
		}
	})
}

// drawn draws the parts of random steps.
type drawn struct{ *rapid.T }

func (d drawn) project() id.ID { return id.ID{0: 1, 15: d.ByteRange("project", 1, 4)} }

func (d drawn) ByteRange(name string, from, to byte) byte {
	return rapid.ByteRange(from, to).Draw(d.T, name)
}

// task draws a task ID. A task belongs to only one project.
func (d drawn) task(project id.ID) id.ID {
	return id.ID{0: 2, 14: project[15], 15: d.ByteRange("task", 1, 12)}
}

func (d drawn) members() (members []id.ID) {
	for agent := range byte(4) {
		if rapid.Bool().Draw(d.T, "member") {
			members = append(members, id.ID{0: 3, 15: agent})
		}
	}
	return members
}

func (d drawn) terms() Terms {
	return MakeTerms(rapid.SliceOfN(rapid.SampledFrom([]string{"go", "Go", "sql", "c"}), 0, 3).
		Draw(d.T, "terms")...)
}

func (d drawn) entry(project id.ID, now int64) TaskEntry {
	entry := TaskEntry{
		Task:     d.task(project),
		Priority: work.Priority(d.ByteRange("priority", 1, 4)),
		Status:   work.TaskStatus(d.ByteRange("status", 1, 4)),
		Terms:    d.terms(),
	}
	if rapid.Bool().Draw(d.T, "claimed") {
		// A claim may be expired when it is added, as after a restart.
		entry.Until = max(1, now+rapid.Int64Range(-5, 20).Draw(d.T, "lasts"))
		entry.Then = work.TaskStatus(d.ByteRange("then", 1, 4))
	}
	return entry
}

func (d drawn) step(tasks *Tasks, model *tasksModel) {
	project := d.project()
	switch d.ByteRange("step", 0, 11) {
	case 0, 1, 2, 3:
		entry := d.entry(project, model.now)
		if got, want := tasks.Put(project, entry), model.put(project, entry); got != want {
			d.Fatalf("Put says first: %v, want %v", got, want)
		}
	case 4, 5:
		task := d.task(project)
		tasks.Drop(project, task)
		model.drop(project, task)
	case 6:
		public, members := rapid.Bool().Draw(d.T, "public"), d.members()
		tasks.SetAudience(project, public, members)
		model.setAudience(project, public, members)
	case 8:
		active, subjects := rapid.Bool().Draw(d.T, "active"), d.terms()
		tasks.SetSubjects(project, active, subjects)
		if p := model.projects[project]; p != nil {
			p.Active, p.Subjects = active, subjects
		}
	case 7:
		all := ProjectTasks{Active: rapid.Bool().Draw(d.T, "active"), Subjects: d.terms()}
		all.Public = rapid.Bool().Draw(d.T, "public")
		if !all.Public {
			all.Members = d.members()
		}
		other := &tasksModel{projects: map[id.ID]*ProjectTasks{project: {}}}
		for range d.ByteRange("entries", 0, 3) {
			other.put(project, d.entry(project, model.now))
		}
		delete(model.projects, project)
		delete(model.parked, project)
		if p := other.projects[project]; p != nil && len(p.Entries) > 0 {
			all.Entries = slices.Clone(p.Entries)
			p.Public, p.Members = all.Public, all.Members
			p.Active, p.Subjects = all.Active, all.Subjects
			model.projects[project] = p
		}
		tasks.Replace(project, all)
	case 9:
		// A reader has looked at the project, so claims that have expired are moved.
		tasks.Offered("", model.now, 1)
		if tasks.Park(project, 0, model.now); model.projects[project] != nil {
			model.parked[project] = true
		}
	default:
		model.advance(rapid.Int64Range(0, 8).Draw(d.T, "time goes on"))
	}
}

// pages reads a list to its end in pages of a size.
func pages(tasks *Tasks, status work.TaskStatus, now int64, size int) (all []TaskPlace) {
	for after := (TaskPosition{}); ; after = all[len(all)-1].TaskPosition {
		page := tasks.Public(status, now, after, size)
		all = append(all, page...)
		if len(page) < size {
			return all
		}
	}
}

// dueAll reads all pages of Due.
func dueAll(tasks *Tasks, now int64, size int) map[id.ID]bool {
	all := map[id.ID]bool{}
	for after := (Expiry{}); ; {
		page, next := tasks.Due(now, after, size)
		if len(page) == 0 {
			return all
		}
		for _, project := range page {
			all[project] = true
		}
		after = next
	}
}

func (d drawn) check(tasks *Tasks, model *tasksModel) {
	same := func(what string, got, want any) {
		if diff := difference.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			d.Fatalf("%s at %d: %s", what, model.now, diff)
		}
	}
	size := int(d.ByteRange("page", 1, 5))
	// Either query may move the expired claims; the result must not depend on which does.
	if rapid.Bool().Draw(d.T, "due first") {
		same("due", dueAll(tasks, model.now, size), model.due())
	}
	for agent := range byte(4) {
		agent := id.ID{0: 3, 15: agent}
		same(fmt.Sprint("own of ", agent[15]), tasks.Own(agent, model.now), model.own(agent))
	}
	for status := work.TaskStatus(0); status <= work.TaskCancelled; status++ {
		got := pages(tasks, status, model.now, size)
		if !status.Final() && tasks.CountPublic(status, model.now) != len(model.public(status)) {
			d.Fatalf("%s: the count is %d", status, tasks.CountPublic(status, model.now))
		}
		if want := model.public(status); !status.Final() && status != 0 {
			same(status.String(), got, want)
		} else if len(got) > 0 {
			d.Fatalf("status %d: %v", status, got)
		}
	}
	same("due", dueAll(tasks, model.now, size), model.due())
	for _, term := range []string{"", "go", "sql", "c", "d"} {
		want := model.offered(term)
		got, more := tasks.Offered(term, model.now, size)
		same(term, got, want[:min(size, len(want))])
		if more != (len(want) > size) {
			d.Fatalf("%q: there are more than %d of %d: %v", term, size, len(want), more)
		}
		same(term, tasks.Working(term, model.now, 100), model.working(term))
		if term != "" {
			sameWith(d, tasks, model, term, size)
		}
	}
	working := model.working("")
	same("working", tasks.Working("", model.now, size), working[:min(size, len(working))])
	count := 0
	for project := range byte(6) {
		project := id.ID{0: 1, 15: project}
		want := ProjectTasks{}
		if p := model.projects[project]; p != nil {
			want = *p
		}
		count += len(want.Entries)
		same("project", tasks.Get(project), want)
		if tasks.Has(project) != (len(want.Entries) > 0) {
			d.Fatal("Has is wrong")
		}
	}
	same("count", tasks.Len(), count)
	asked := []id.ID{d.project()}
	if other := d.project(); other != asked[0] {
		asked = append(asked, other)
	}
	claims, blocked := tasks.Among(asked, model.now, size)
	wantClaims, wantBlocked := model.among(asked, size)
	same("claims", claims, wantClaims)
	same("blocked", blocked, wantBlocked)
}

// sameWith compares the tasks of each project that have a term.
func sameWith(d drawn, tasks *Tasks, model *tasksModel, term string, size int) {
	want := map[id.ID][]id.ID{}
	for _, place := range model.with(term) {
		want[place.Project] = append(want[place.Project], place.Task)
	}
	for project := range model.projects {
		some := want[project][:min(size, len(want[project]))]
		if got := tasks.With(project, term, model.now, size); !slices.Equal(got, some) {
			d.Fatalf("tasks of %v with %q are %v, want %v", project, term, got, some)
		}
	}
}

// TestTasksAnswerAsTheModel applies random changes to the index and to an unsorted model.
func TestTasksAnswerAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, tasks := drawn{t}, NewTasks()
		if rapid.Bool().Draw(t, "low limits") {
			tasks.limits = bigLimits{big: 6, small: 3, wide: 2, narrow: 2}
		}
		model := &tasksModel{
			projects: map[id.ID]*ProjectTasks{}, parked: map[id.ID]bool{}, now: 100,
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d.step(tasks, model)
			if rapid.Bool().Draw(t, "check") {
				d.check(tasks, model)
			}
		}
		d.check(tasks, model)
	})
}

// TestManyClaimsExpireTogether expires more claims than are moved in one step.
func TestManyClaimsExpireTogether(t *testing.T) {
	tasks, project := NewTasks(), id.ID{0: 1}
	for n := range 3*movedAtOnce + 1 {
		tasks.Put(project, TaskEntry{
			Task: id.ID{14: byte(n >> 8), 15: byte(n)}, Priority: work.PriorityNormal,
			Status: work.TaskInProgress, Until: 50, Then: work.TaskOpen,
		})
	}
	tasks.SetAudience(project, true, nil)
	for _, at := range []struct {
		now        int64
		open, busy int
	}{{49, 0, 3*movedAtOnce + 1}, {50, 3*movedAtOnce + 1, 0}} {
		open := tasks.Public(work.TaskOpen, at.now, TaskPosition{}, 10_000)
		busy := tasks.Public(work.TaskInProgress, at.now, TaskPosition{}, 10_000)
		if len(open) != at.open || len(busy) != at.busy {
			t.Errorf("at %d: %d are open and %d in progress", at.now, len(open), len(busy))
		}
	}
}

// TestMoveWithAnEarlierTime calls move with a time that a concurrent caller has
// already passed.
func TestMoveWithAnEarlierTime(t *testing.T) {
	tasks, project := NewTasks(), id.ID{0: 1}
	entry := TaskEntry{
		Task: id.ID{0: 2}, Priority: work.PriorityLow, Status: work.TaskInProgress,
		Until: 15, Then: work.TaskOpen,
	}
	tasks.Put(project, entry)
	tasks.SetAudience(project, true, nil)
	if list := tasks.Public(work.TaskOpen, 20, TaskPosition{}, 9); len(list) != 1 {
		t.Fatalf("open: %v", list)
	}
	tasks.moveSome(10)
	tasks.Drop(project, entry.Task)
	if list := tasks.Public(work.TaskOpen, 20, TaskPosition{}, 9); len(list) != 0 {
		t.Fatalf("open: %v", list)
	}
}

// TestTasksConcurrently reads during changes: each list must be sorted, without duplicates.
func TestTasksConcurrently(t *testing.T) {
	tasks, project := NewTasks(), id.ID{0: 1}
	var writers, readers sync.WaitGroup
	over := make(chan struct{})
	for worker := range byte(4) {
		readers.Go(func() {
			for now := int64(0); ; now++ {
				select {
				case <-over:
					return
				default:
				}
				list := tasks.Public(work.TaskOpen, now/10, TaskPosition{}, 1000)
				if !slices.IsSortedFunc(list, func(a, b TaskPlace) int {
					return cmp.Or(a.Compare(b.TaskPosition), 1)
				}) {
					t.Error("a list is out of order")
					return
				}
				tasks.Own(id.ID{0: 3}, now/10)
				tasks.Due(now/10, Expiry{}, 10)
			}
		})
		writers.Go(func() {
			for n := range 120 {
				entry := TaskEntry{
					Task:     id.ID{13: worker, 15: byte(n % 50)},
					Priority: work.Priority(1 + n%4), Status: work.TaskStatus(1 + n%4),
				}
				if n%3 == 0 {
					entry.Until, entry.Then = int64(n), work.TaskOpen
				}
				tasks.Put(project, entry)
				if n%7 == 0 {
					tasks.SetAudience(project, n%2 == 0, []id.ID{{0: 3}})
				}
				if n%11 == 0 {
					tasks.Drop(project, entry.Task)
				}
			}
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestTasksAreSmall adds tasks of many projects, a third of them claimed.
func TestTasksAreSmall(t *testing.T) {
	const projects, each = 1000, 100
	tasks, before := NewTasks(), heap()
	for p := range projects {
		project := id.ID{0: 1, 14: byte(p >> 8), 15: byte(p)}
		for n := range each {
			entry := TaskEntry{
				Task:     id.ID{0: 2, 13: byte(p >> 8), 14: byte(p), 15: byte(n)},
				Priority: work.Priority(1 + n%4), Status: work.TaskOpen,
			}
			if n%3 == 0 {
				entry.Status, entry.Until, entry.Then = work.TaskInProgress, int64(n+p), work.TaskOpen
			}
			tasks.Put(project, entry)
		}
		tasks.SetAudience(project, p%2 == 0, []id.ID{{0: 3, 15: byte(p)}})
	}
	if size := float64(heap()-before) / projects / each; size > 100 {
		t.Fatalf("a task takes %.1f bytes", size)
	}
	if tasks.Len() != projects*each {
		t.Fatalf("%d tasks", tasks.Len())
	}
}
