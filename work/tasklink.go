package work

import (
	"maps"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// taskLinks holds the dependencies and parents of tasks as they will be AFTER all changes of one
// request, so that the order of the changes does not matter.
type taskLinks struct {
	project      *Project
	dependencies changedLinks
	parents      changedLinks
}

func newTaskLinks(p *Project) *taskLinks {
	l := &taskLinks{project: p}
	l.dependencies.stored = func(task uint32) []uint32 { return p.tasks().at(int(task)).waitsFor }
	l.parents.stored = func(task uint32) []uint32 {
		if parent := p.tasks().at(int(task)).Spec.Parent; !parent.IsZero() {
			return p.places([]id.ID{parent})
		}
		return nil
	}
	return l
}

func (l *taskLinks) change(task id.ID, change *TaskChange) {
	place := l.project.place(task)
	if place == nowhere {
		return
	}
	if change.Dependencies != nil {
		l.dependencies.change(place, l.project.places(*change.Dependencies))
	}
	if change.Parent != nil {
		l.parents.change(place, l.project.places([]id.ID{*change.Parent}))
	}
}

// changedLinks holds the links of one kind between tasks.
type changedLinks struct {
	// changed has the links of the changed tasks, stored those of the others.
	changed map[uint32][]uint32
	stored  func(task uint32) []uint32
	// graph is nil until a link is checked. All links of a request are checked with one graph.
	graph *linkGraph
}

func (l *changedLinks) change(task uint32, links []uint32) {
	if l.changed == nil {
		l.changed = map[uint32][]uint32{}
	}
	l.changed[task] = links
}

func (l *changedLinks) of(task uint32) []uint32 {
	if links, changed := l.changed[task]; changed {
		return links
	}
	return l.stored(task)
}

// backThrough returns the index of the first of a task's links that leads back to the task, -1 if
// none does. The number of tasks is that of the project.
func (l *changedLinks) backThrough(task uint32, links []uint32, tasks int) int {
	if !slices.Equal(l.changed[task], links) {
		// A later change of the same task replaces these links. The way back does not depend on
		// which links of the task count, so a graph with these ones has the answer.
		own := changedLinks{changed: maps.Clone(l.changed), stored: l.stored}
		own.change(task, links)
		return own.backThrough(task, links, tasks)
	}
	if l.graph == nil {
		l.graph = newLinkGraph(tasks, l.of)
	}
	return slices.IndexFunc(links, func(link uint32) bool { return l.graph.inRing(task, link) })
}

// faults returns an error for each link of a changed task that is unknown or leads back to the
// task.
func (l *taskLinks) faults(task id.ID, change *TaskChange, field string) (faults []fault.Field) {
	place, tasks := l.project.place(task), l.project.tasks().len()
	if change.Dependencies != nil {
		links := l.project.places(*change.Dependencies)
		faults = unknownPlaces(links, field+"dependencies")
		if at := l.dependencies.backThrough(place, links, tasks); at >= 0 {
			faults = append(faults, fault.Field{
				Field:   indexed(field+"dependencies", at),
				Problem: "would make the task wait for itself",
			})
		}
	}
	if change.Parent == nil || change.Parent.IsZero() {
		return faults
	}
	parent := l.project.places([]id.ID{*change.Parent})
	if parent[0] == nowhere {
		faults = append(faults, errParent(field, "names no task of this project"))
	} else if l.parents.backThrough(place, parent, tasks) >= 0 {
		faults = append(faults, errParent(field, "would make the task a part of itself"))
	}
	return faults
}

// place returns the position of a task in the project, nowhere if it has no such task. Tasks are
// never removed and new ones come last, so that a position never changes.
func (p *Project) place(task id.ID) uint32 {
	nth, found := p.tasks().find(task)
	if !found {
		return nowhere
	}
	return uint32(nth) // #nosec G115 -- at most TasksMax
}

func (p *Project) places(tasks []id.ID) []uint32 {
	if len(tasks) == 0 {
		return nil
	}
	places := make([]uint32, len(tasks))
	for i, task := range tasks {
		places[i] = p.place(task)
	}
	return places
}

// unknownTasks returns an error for each ID of a list that is not a task of the project.
func (p *Project) unknownTasks(list []id.ID, field string) []fault.Field {
	return unknownPlaces(p.places(list), field)
}

func unknownPlaces(places []uint32, field string) (faults []fault.Field) {
	for i, place := range places {
		if place == nowhere {
			faults = append(faults, fault.Field{
				Field: indexed(field, i), Problem: "names no task of this project",
			})
		}
	}
	return faults
}
