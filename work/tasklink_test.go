package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pws/internal/id"
)

// linkedProject is a project with the given number of tasks.
func linkedProject(tasks int) (*Project, []id.ID) {
	p, names := NewProject(), make([]id.ID, tasks)
	last := id.New(1, [10]byte{})
	for n := range names {
		last = last.Next()
		names[n] = last
		p.putTask(&Task{ID: last, Status: TaskOpen, Spec: TaskSpec{Priority: PriorityNormal}})
	}
	return p, names
}

// backByWalk is backThrough by one walk for each task, as a reference.
func backByWalk(task uint32, links []uint32, of func(uint32) []uint32) int {
	seen := map[uint32]bool{}
	for i, first := range links {
		open := []uint32{first}
		for len(open) > 0 {
			next := open[len(open)-1]
			open = open[:len(open)-1]
			if next == task {
				return i
			}
			if next != nowhere && !seen[next] {
				seen[next] = true
				open = append(open, of(next)...)
			}
		}
	}
	return -1
}

func TestLinksLeadBackAsByWalk(t *testing.T) {
	rings := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		tasks := 1 + random.IntN(12)
		list := func() []uint32 {
			links := make([]uint32, random.IntN(4))
			for i := range links {
				if links[i] = uint32(random.IntN(tasks + 1)); links[i] == uint32(tasks) {
					links[i] = nowhere
				}
			}
			return links
		}
		stored := make([][]uint32, tasks)
		for n := range stored {
			stored[n] = list()
		}
		l := changedLinks{stored: func(task uint32) []uint32 { return stored[task] }}
		type change struct {
			task  uint32
			links []uint32
		}
		changes := make([]change, 1+random.IntN(6))
		for i := range changes {
			changes[i] = change{uint32(random.IntN(tasks)), list()}
			l.change(changes[i].task, changes[i].links)
		}
		for _, one := range changes {
			want := backByWalk(one.task, one.links, l.of)
			if got := l.backThrough(one.task, one.links, tasks); got != want {
				t.Fatalf("seed %d, task %d, links %v: %d, want %d", seed, one.task, one.links,
					got, want)
			}
			if want >= 0 {
				rings++
			}
		}
	}
	if rings < 500 {
		t.Errorf("%d rings: too few to test anything", rings)
	}
}

// The links that a request follows grow with the project, not with the project times the tasks of
// the request.
func TestOneRequestFollowsEachLinkOnce(t *testing.T) {
	const width = 10
	for _, changes := range []int{1, 10, 100} {
		p, names := linkedProject(1000)
		links := 0
		for n := range names {
			next := *p.tasks().at(n)
			next.Spec.Dependencies = slices.Clone(names[max(0, n-width):n])
			next.Spec.Parent = names[max(0, n-1)]
			links += len(next.Spec.Dependencies)
			p.putTask(&next)
		}
		l := newTaskLinks(p)
		update := make([]TaskChange, changes)
		for n := range update {
			// Each waits for the newest one that stays, so that all of them are reached.
			list := []id.ID{names[len(names)-1-changes]}
			update[n] = TaskChange{Dependencies: &list, Parent: &list[0]}
			l.change(names[len(names)-1-n], &update[n])
		}
		for n := range update {
			if faults := l.faults(names[len(names)-1-n], &update[n], ""); len(faults) > 0 {
				t.Fatal(fmt.Sprint(faults))
			}
		}
		if followed := l.dependencies.graph.followed; followed > links+changes {
			t.Errorf("%d changes followed %d dependencies of %d", changes, followed, links)
		}
		if followed := l.parents.graph.followed; followed > len(names) {
			t.Errorf("%d changes followed %d parents of %d", changes, followed, len(names))
		}
	}
}

// The positions of dependencies follow every change, and are the same after a restore.
func TestPositionsOfDependencies(t *testing.T) {
	p, names := linkedProject(300)
	check := func(p *Project, nth int, want ...uint32) {
		t.Helper()
		if got := p.tasks().at(nth).waitsFor; !slices.Equal(got, want) {
			t.Errorf("task %d waits for %d, want %d", nth, got, want)
		}
	}
	depend := func(nth int, on ...id.ID) {
		change := TaskChange{Dependencies: &on}
		p.putTask(change.on(p.tasks().at(nth)))
	}
	depend(250, names[3], names[299], names[130])
	check(p, 250, 3, 299, 130)
	older := p
	p = p.Clone()
	depend(250, names[4])
	check(p, 250, 4)
	check(older, 250, 3, 299, 130)
	freed := *p.tasks().at(250)
	p.putTask(&freed)
	check(p, 250, 4)

	imported, _ := linkedProject(0)
	for nth := range p.tasks().len() {
		one := *p.tasks().at(nth)
		one.waitsFor = nil
		imported.storeTask(&one)
	}
	imported.linkTasks()
	check(imported, 250, 4)
}
