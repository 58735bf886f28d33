package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// taskLinks holds the dependencies and parents of tasks as they will be AFTER all changes of one
// request, so that the order of the changes does not matter.
type taskLinks struct {
	project      *Project
	dependencies map[id.ID][]id.ID
	parents      map[id.ID]id.ID
}

func (l *taskLinks) change(task id.ID, change *TaskChange) {
	if change.Dependencies != nil {
		if l.dependencies == nil {
			l.dependencies = map[id.ID][]id.ID{}
		}
		l.dependencies[task] = *change.Dependencies
	}
	if change.Parent != nil {
		if l.parents == nil {
			l.parents = map[id.ID]id.ID{}
		}
		l.parents[task] = *change.Parent
	}
}

func (l *taskLinks) dependenciesOf(task id.ID) []id.ID {
	if changed, ok := l.dependencies[task]; ok {
		return changed
	}
	if t, ok := l.project.task(task); ok {
		return t.Spec.Dependencies
	}
	return nil
}

func (l *taskLinks) parentOf(task id.ID) id.ID {
	if changed, ok := l.parents[task]; ok {
		return changed
	}
	if t, ok := l.project.task(task); ok {
		return t.Spec.Parent
	}
	return id.ID{}
}

// waitsThrough returns the index of the first dependency that leads back to the task, -1 if none
// does.
func (l *taskLinks) waitsThrough(task id.ID, dependencies []id.ID) int {
	seen := map[id.ID]bool{}
	for at, first := range dependencies {
		open := []id.ID{first}
		for len(open) > 0 {
			next := open[len(open)-1]
			open = open[:len(open)-1]
			if next == task {
				return at
			}
			if !seen[next] {
				seen[next] = true
				open = append(open, l.dependenciesOf(next)...)
			}
		}
	}
	return -1
}

// containsItself reports whether a task would be its own ancestor under a parent. Cycles among
// other tasks are ignored.
func (l *taskLinks) containsItself(task, parent id.ID) bool {
	seen := map[id.ID]bool{}
	for ; !parent.IsZero() && !seen[parent]; parent = l.parentOf(parent) {
		if parent == task {
			return true
		}
		seen[parent] = true
	}
	return false
}

// faults returns an error for each link of a changed task that is unknown or leads back to the
// task.
func (l *taskLinks) faults(task id.ID, change *TaskChange, field string) (faults []fault.Field) {
	if change.Dependencies != nil {
		faults = l.project.unknownTasks(*change.Dependencies, field+"dependencies")
		if at := l.waitsThrough(task, *change.Dependencies); at >= 0 {
			faults = append(faults, fault.Field{
				Field:   indexed(field+"dependencies", at),
				Problem: "would make the task wait for itself",
			})
		}
	}
	if change.Parent == nil || change.Parent.IsZero() {
		return faults
	}
	if _, ok := l.project.task(*change.Parent); !ok {
		faults = append(faults, errParent(field, "names no task of this project"))
	} else if l.containsItself(task, *change.Parent) {
		faults = append(faults, errParent(field, "would make the task a part of itself"))
	}
	return faults
}
